// Public holidays: of whole countries by their statutes' rules, or days listed in a file.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "examples/timeseries/series/series.h"

namespace unroll {

// ISO 3166 codes: "AT", "BE", … "GB" is England and Wales, "US" the federal holidays. No holidays of single regions.
const std::vector<std::string>& holiday_countries();

// The holidays of a year as days since 1970, ascending, including substitutes for holidays on a weekend where the
// country has them. The rules hold from 2000 on; later years follow the law of 2026. Throws Error: unknown country.
std::vector<int64_t> holidays_of(std::string_view country, int year);

// Easter Sunday in the Gregorian calendar, as days since 1970 (Meeus 1991, after an anonymous correspondent of
// Nature 1876).
int64_t easter_of(int year);

// Reads a text with one date a line, perhaps followed by a name. A first line without a digit is a header. Throws
// InputError, with the origin and line, if a line is no date or there are no dates.
std::set<int64_t> holidays_in(std::string_view text, const std::string& origin);

// The holidays of a country, or of a file with one date a line (a header is optional). Throws InputError: unknown
// country (with the nearest code) or file, or a line that is no date (with its number).
class Holidays {
 public:
  explicit Holidays(const std::string& country_or_file);
  // Whether this day (since 1970) is a holiday.
  bool has(int64_t day) const;
  // Counts holidays from Monday to Friday among days [begin, end).
  int64_t working_days_in(int64_t begin, int64_t end) const;
  // All days of the file; nullptr if they are a country's.
  const std::set<int64_t>* listed() const { return country_.empty() ? &days_ : nullptr; }

 private:
  std::string country_;  // empty: days come from a file
  // Puts these years' holidays from Monday to Friday into working_.
  void count_years(int first, int last) const;
  mutable std::set<int64_t> days_;
  mutable std::set<int> years_;                        // of a country: years whose holidays are in days_
  mutable std::vector<int64_t> working_;               // ascending; of a file: all days
  mutable int first_counted_ = 0, last_counted_ = -1;  // years of a country
};

// Appends the channel "holiday", a calendar feature: 1 if the row's day is a holiday, else 0. If rows are more than a
// day apart, it counts the holidays from Monday to Friday in the row's step. Rows end their step if they lie at the end
// of their month, or are weeks apart on a Friday, Saturday or Sunday; else they begin it. Days follow the clock that
// the file shows. Notes say which rows end a step, which years have no date in the file, and if no row is a holiday.
//
// Throws InputError: the series has no dates, or has this channel; no date of the file lies in a year of the rows.
void add_holidays(Series& series, const std::string& country_or_file);

}  // namespace unroll

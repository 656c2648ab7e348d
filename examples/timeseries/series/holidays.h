// Public holidays: of whole countries, by rules that their statutes say; or days that a file lists.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "examples/timeseries/series/series.h"

namespace unroll {

// ISO 3166 codes: "AT", "BE", …; "GB" is England and Wales, "US" the federal holidays. Holidays of single regions are in none.
const std::vector<std::string>& holiday_countries();

// The holidays of a year, as days since 1970, ascending: with those that stand in for one on a weekend, where the country has
// such. The rules hold from 2000 on; of later years what the law of 2026 says. Error: no such country.
std::vector<int64_t> holidays_of(std::string_view country, int year);

// Sunday of Easter in the Gregorian calendar, as days since 1970 (Meeus 1991, after an anonymous correspondent of Nature 1876).
int64_t easter_of(int year);

// The days of a text with a date in each line, below a header or without one; behind it may stand a name. A header has no
// digit. InputError with the origin and the line: a line that is no date; there is none.
std::set<int64_t> holidays_in(std::string_view text, const std::string& origin);

// The days of a country, or of a file with a date in each line, below a header or without one. InputError: no such country (with
// the nearest code) or file; a line, with its number, that is no date.
class Holidays {
 public:
  explicit Holidays(const std::string& country_or_file);
  // Whether that day since 1970 is one.
  bool has(int64_t day) const;
  // How many of days [begin, end) are holidays from Monday to Friday.
  int64_t working_days_in(int64_t begin, int64_t end) const;
  // All days of a file; nullptr: they are a country's.
  const std::set<int64_t>* listed() const { return country_.empty() ? &days_ : nullptr; }

 private:
  std::string country_;  // empty: they are of a file
  // Has the holidays from Monday to Friday of these years in working_.
  void count_years(int first, int last) const;
  mutable std::set<int64_t> days_;
  mutable std::set<int> years_;                        // of a country, whose holidays are in days_
  mutable std::vector<int64_t> working_;               // ascending; of a file all
  mutable int first_counted_ = 0, last_counted_ = -1;  // years of a country
};

// Appends the channel "holiday", a feature of the calendar: 1 where the row's day is one, else 0. Of rows further apart than a
// day it counts the holidays from Monday to Friday in the row's step. Rows at the end of their month, and weeks on a Friday,
// Saturday or Sunday, end the step; other rows begin it. Days are those of the clock that the file shows. Notes say which rows
// end a step, years without a date in the file, and rows without any holiday. InputError: the series has no dates, or a channel
// of that name; no date of the file lies in a year of the rows.
void add_holidays(Series& series, const std::string& country_or_file);

}  // namespace unroll

// See holidays.h.
#include "examples/timeseries/series/holidays.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "data/csv.h"
#include "data/text_file.h"
#include "examples/timeseries/series/calendar.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

constexpr int monday = 0, thursday = 3, friday = 4, saturday = 5, sunday = 6;
constexpr int ever = std::numeric_limits<int>::max();

// The rule for a holiday on a weekend.
enum class Weekend : uint8_t {
  stays,
  nearest,     // on Saturday: the Friday before is free too; on Sunday: the Monday after
  next_free,   // the next day from Monday to Friday that is no holiday is free too
  day_before,  // on Sunday: the holiday is the day before
};

struct Rule {
  enum class Kind : uint8_t {
    date,     // day `day` of the month
    easter,   // so many days after Easter
    nth,      // the `day`-th `weekday` of the month, -1 the last
    from_day  // the first `weekday` on or after that day of the month
  } kind = Kind::date;
  int month = 1, day = 1, weekday = 0;
  int from = 0, to = ever;  // years
  Weekend weekend = Weekend::stays;

  int64_t in(int year) const {
    if (kind == Kind::easter) return easter_of(year) + day;
    if (kind == Kind::date) return days_of(year, month, day);
    const auto from_day = [&](int64_t first) { return first + (weekday - weekday_of(first) + 7) % 7; };
    if (kind == Kind::from_day) return from_day(days_of(year, month, day));
    if (day > 0) return from_day(days_of(year, month, 1)) + 7 * (day - 1);
    const int64_t last = days_of(year, month, days_in_month(year, month));
    return last - (weekday_of(last) - weekday + 7) % 7;
  }
};

Rule date(int month, int day, int from = 0, int to = ever) {
  return {.month = month, .day = day, .from = from, .to = to};
}
Rule once(int year, int month, int day) { return date(month, day, year, year); }
Rule easter(int days, int from = 0, int to = ever) {
  return {.kind = Rule::Kind::easter, .day = days, .from = from, .to = to};
}
Rule nth(int n, int weekday, int month, int from = 0, int to = ever) {
  return {.kind = Rule::Kind::nth, .month = month, .day = n, .weekday = weekday, .from = from, .to = to};
}
Rule from_day(int weekday, int month, int day) {
  return {.kind = Rule::Kind::from_day, .month = month, .day = day, .weekday = weekday};
}
Rule with(Weekend weekend, Rule rule) {
  rule.weekend = weekend;
  return rule;
}

constexpr int good_friday = -2, easter_sunday = 0, easter_monday = 1, ascension = 39, pentecost = 49,
              whit_monday = 50, corpus_christi = 60;

struct Country {
  const char* code;
  std::vector<Rule> rules;
};

const std::vector<Country>& countries() {
  static const std::vector<Country> all = {
      // Feiertagsruhegesetz 1957
      {"AT",
       {date(1, 1), date(1, 6), easter(easter_monday), date(5, 1), easter(ascension), easter(whit_monday),
        easter(corpus_christi), date(8, 15), date(10, 26), date(11, 1), date(12, 8), date(12, 25),
        date(12, 26)}},
      // Loi du 4 janvier 1974; the two Sundays by custom
      {"BE",
       {date(1, 1), easter(easter_sunday), easter(easter_monday), date(5, 1), easter(ascension),
        easter(pentecost), easter(whit_monday), date(7, 21), date(8, 15), date(11, 1), date(11, 11),
        date(12, 25)}},
      // Lei 662 of 1949, 6.802 of 1980, 14.759 of 2023; Lei 9.093 of 1995 (Good Friday)
      {"BR",
       {date(1, 1), easter(good_friday), date(4, 21), date(5, 1), date(9, 7), date(10, 12), date(11, 2),
        date(11, 15), date(11, 20, 2024), date(12, 25)}},
      // Zákon 245/2000 Sb.; Good Friday by 359/2015
      {"CZ",
       {date(1, 1), easter(good_friday, 2016), easter(easter_monday), date(5, 1), date(5, 8), date(7, 5),
        date(7, 6), date(9, 28), date(10, 28), date(11, 17), date(12, 24), date(12, 25), date(12, 26)}},
      // Einigungsvertrag, article 2, and the laws that all states share; 500 years of Reformation
      {"DE",
       {date(1, 1), easter(good_friday), easter(easter_monday), date(5, 1), easter(ascension),
        easter(whit_monday), date(10, 3), once(2017, 10, 31), date(12, 25), date(12, 26)}},
      // Great Prayer Day, the fourth Friday after Easter, was abolished by Lov 214 of 2023
      {"DK",
       {date(1, 1), easter(-3), easter(good_friday), easter(easter_sunday), easter(easter_monday),
        easter(26, 0, 2023), easter(ascension), easter(pentecost), easter(whit_monday), date(12, 25),
        date(12, 26)}},
      // The evenings before Midsummer and Christmas are free by agreement
      {"FI",
       {date(1, 1), date(1, 6), easter(good_friday), easter(easter_sunday), easter(easter_monday), date(5, 1),
        easter(ascension), easter(pentecost), from_day(friday, 6, 19), from_day(saturday, 6, 20),
        from_day(saturday, 10, 31), date(12, 6), date(12, 24), date(12, 25), date(12, 26)}},
      // Code du travail, L3133-1; the Monday of Pentecost was none from 2005 to 2007 (Loi 2004-626, 2008-351)
      {"FR",
       {date(1, 1), easter(easter_monday), date(5, 1), date(5, 8), easter(ascension),
        easter(whit_monday, 0, 2004), easter(whit_monday, 2008), date(7, 14), date(8, 15), date(11, 1),
        date(11, 11), date(12, 25)}},
      // Banking and Financial Dealings Act 1971, and royal proclamations
      {"GB",
       {with(Weekend::next_free, date(1, 1)),
        easter(good_friday),
        easter(easter_monday),
        nth(1, monday, 5, 0, 2019),
        once(2020, 5, 8),
        nth(1, monday, 5, 2021),
        nth(-1, monday, 5, 0, 2001),
        nth(-1, monday, 5, 2003, 2011),
        nth(-1, monday, 5, 2013, 2021),
        nth(-1, monday, 5, 2023),
        once(2002, 6, 3),
        once(2002, 6, 4),
        once(2011, 4, 29),
        once(2012, 6, 4),
        once(2012, 6, 5),
        once(2022, 6, 2),
        once(2022, 6, 3),
        once(2022, 9, 19),
        once(2023, 5, 8),
        nth(-1, monday, 8),
        with(Weekend::next_free, date(12, 25)),
        with(Weekend::next_free, date(12, 26))}},
      // Legge 260 of 1949; the Republic's day by 336 of 2000; 2011 by Decreto-legge 5; Saint Francis by 151 of 2025
      {"IT",
       {date(1, 1), date(1, 6), easter(easter_sunday), easter(easter_monday), date(4, 25), date(5, 1),
        nth(1, sunday, 6, 0, 2000), date(6, 2, 2001), once(2011, 3, 17), date(8, 15), date(10, 4, 2026),
        date(11, 1), date(12, 8), date(12, 25), date(12, 26)}},
      // Algemene termijnenwet; the fifth of May is free every fifth year
      {"NL",
       {date(1, 1),
        easter(good_friday),
        easter(easter_sunday),
        easter(easter_monday),
        with(Weekend::day_before, date(4, 30, 0, 2013)),
        with(Weekend::day_before, date(4, 27, 2014)),
        once(2000, 5, 5),
        once(2005, 5, 5),
        once(2010, 5, 5),
        once(2015, 5, 5),
        once(2020, 5, 5),
        once(2025, 5, 5),
        once(2030, 5, 5),
        once(2035, 5, 5),
        once(2040, 5, 5),
        once(2045, 5, 5),
        once(2050, 5, 5),
        easter(ascension),
        easter(pentecost),
        easter(whit_monday),
        date(12, 25),
        date(12, 26)}},
      // Lov om helligdager 1995, Lov om 1 og 17 mai 1947
      {"NO",
       {date(1, 1), easter(-3), easter(good_friday), easter(easter_sunday), easter(easter_monday), date(5, 1),
        date(5, 17), easter(ascension), easter(pentecost), easter(whit_monday), date(12, 25), date(12, 26)}},
      // Ustawa of 18 January 1951; Epiphany from 2011, Christmas Eve from 2025
      {"PL",
       {date(1, 1), date(1, 6, 2011), easter(easter_sunday), easter(easter_monday), date(5, 1), date(5, 3),
        easter(pentecost), easter(corpus_christi), date(8, 15), date(11, 1), date(11, 11), once(2018, 11, 12),
        date(12, 24, 2025), date(12, 25), date(12, 26)}},
      // Código do Trabalho, article 234; four were suspended from 2013 to 2015 (Lei 23/2012, 8/2016)
      {"PT",
       {date(1, 1), easter(good_friday), easter(easter_sunday), date(4, 25), date(5, 1),
        easter(corpus_christi, 0, 2012), easter(corpus_christi, 2016), date(6, 10), date(8, 15),
        date(10, 5, 0, 2012), date(10, 5, 2016), date(11, 1, 0, 2012), date(11, 1, 2016),
        date(12, 1, 0, 2012), date(12, 1, 2016), date(12, 8), date(12, 25)}},
      // Lag (1989:253); the National Day replaced the Monday of Pentecost in 2005
      {"SE",
       {date(1, 1), date(1, 6), easter(good_friday), easter(easter_sunday), easter(easter_monday), date(5, 1),
        easter(ascension), easter(pentecost), easter(whit_monday, 0, 2004), date(6, 6, 2005),
        from_day(saturday, 6, 20), from_day(saturday, 10, 31), date(12, 25), date(12, 26)}},
      // 5 U.S.C. 6103; Executive Order 11582 (weekends)
      {"US",
       {with(Weekend::nearest, date(1, 1)), nth(3, monday, 1), nth(3, monday, 2), nth(-1, monday, 5),
        with(Weekend::nearest, date(6, 19, 2021)), with(Weekend::nearest, date(7, 4)), nth(1, monday, 9),
        nth(2, monday, 10), with(Weekend::nearest, date(11, 11)), nth(4, thursday, 11),
        with(Weekend::nearest, date(12, 25))}},
  };
  return all;
}

const Country& country_of(std::string_view code) {
  const auto found = std::ranges::find(countries(), code, &Country::code);
  require(found != countries().end(), "holidays: there is no country '{}'", code);
  return *found;
}

// Adds the days from one year's rules; they may lie in neighbouring years.
void add_days(const Country& country, int year, std::set<int64_t>& days) {
  std::vector<int64_t> to_move;
  for (const Rule& rule : country.rules) {
    if (year < rule.from || year > rule.to) continue;
    int64_t day = rule.in(year);
    const int weekday = weekday_of(day);
    if (rule.weekend == Weekend::day_before && weekday == sunday) --day;
    days.insert(day);
    if (rule.weekend == Weekend::nearest && weekday >= saturday)
      days.insert(weekday == saturday ? day - 1 : day + 1);
    if (rule.weekend == Weekend::next_free && weekday >= saturday) to_move.push_back(day);
  }
  for (int64_t day : to_move) {
    while (weekday_of(day) >= saturday || days.contains(day)) ++day;
    days.insert(day);
  }
}

}  // namespace

std::set<int64_t> holidays_in(std::string_view text, const std::string& origin) {
  const std::size_t end =
      std::min(text.find_first_of(",;\t"), text.size());  // the separator; a name may follow the date
  CsvReader csv(text, origin, end < text.size() ? text[end] : ',');
  std::set<int64_t> days;
  while (csv.next()) {
    const std::string_view cell = csv.cells().front();
    if (cell.empty()) continue;
    // A header has no digit. A first line with one must be a date.
    if (csv.line() == 1 && cell.find_first_of("0123456789") == cell.npos) continue;
    const auto time = parse_time(cell);
    const bool is_day =
        time && (time->form == TimeForm::date ||
                 (time->form == TimeForm::date_time && time_of_day(time->count + time->offset) == 0));
    require_input(is_day, "{}:{}: '{}' is not a date, as 2024-12-24 is", origin, csv.line(), one_line(cell));
    days.insert(in_form(*time, TimeForm::date).count);
  }
  require_input(!days.empty(), "{}: there is no date in it", origin);
  return days;
}

int64_t easter_of(int year) {
  const int a = year % 19, b = year / 100, c = year % 100, d = b / 4, e = b % 4, f = (b + 8) / 25,
            g = (b - f + 1) / 3, h = (19 * a + b - d - g + 15) % 30, i = c / 4, k = c % 4,
            l = (32 + 2 * e + 2 * i - h - k) % 7, m = (a + 11 * h + 22 * l) / 451, n = h + l - 7 * m + 114;
  return days_of(year, n / 31, n % 31 + 1);
}

const std::vector<std::string>& holiday_countries() {
  static const std::vector<std::string> codes = [] {
    std::vector<std::string> all;
    for (const Country& country : countries()) all.emplace_back(country.code);
    return all;
  }();
  return codes;
}

std::vector<int64_t> holidays_of(std::string_view country, int year) {
  std::set<int64_t> days;
  for (const int of : {year - 1, year, year + 1}) add_days(country_of(country), of, days);
  return {days.lower_bound(days_of(year, 1, 1)), days.lower_bound(days_of(year + 1, 1, 1))};
}

Holidays::Holidays(const std::string& country_or_file) {
  if (country_or_file.find_first_of("./") != std::string::npos) {
    days_ = holidays_in(read_file(country_or_file), country_or_file);
    std::ranges::copy_if(days_, std::back_inserter(working_),
                         [](int64_t day) { return weekday_of(day) < saturday; });
    return;
  }
  const auto& codes = holiday_countries();
  require_input(
      std::ranges::find(codes, country_or_file) != codes.end(),
      "data.holidays = {}: there is no such country{}; a file of dates has a '.' or '/' in its name",
      toml_string(country_or_file), which_was_meant(country_or_file, codes));
  country_ = country_or_file;
}

bool Holidays::has(int64_t day) const {
  const MonthDay at = month_day(day);
  const int year = static_cast<int>(floor_div(at.month, 12));
  if (!country_.empty() && years_.insert(year).second)
    for (const int64_t free : holidays_of(country_, year)) days_.insert(free);
  return days_.contains(day);
}

int64_t Holidays::working_days_in(int64_t begin, int64_t end) const {
  if (end <= begin) return 0;
  const auto year_of = [](int64_t day) { return static_cast<int>(floor_div(month_day(day).month, 12)); };
  if (!country_.empty()) count_years(year_of(begin), year_of(end - 1));
  return std::ranges::lower_bound(working_, end) - std::ranges::lower_bound(working_, begin);
}

// A step may be a thousand years, so days are not visited one by one.
void Holidays::count_years(int first, int last) const {
  const auto add = [&](int year, std::vector<int64_t>& to) {
    std::ranges::copy_if(holidays_of(country_, year), std::back_inserter(to),
                         [](int64_t day) { return weekday_of(day) < saturday; });
  };
  if (last_counted_ < first_counted_) first_counted_ = first, last_counted_ = first - 1;
  while (last_counted_ < last) add(++last_counted_, working_);
  if (first >= first_counted_) return;
  std::vector<int64_t> earlier;
  for (int year = first; year < first_counted_; ++year) add(year, earlier);
  working_.insert(working_.begin(), earlier.begin(), earlier.end());
  first_counted_ = first;
}

}  // namespace unroll

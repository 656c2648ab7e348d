// Reads times from text. See times.h.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/time_names.h"
#include "examples/timeseries/series/times.h"

namespace unroll {

static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Of two bytes for a letter: U+00C0 to U+017F, or Greek or Cyrillic.
bool is_lead(char c) { return ('\xc3' <= c && c <= '\xc5') || ('\xcd' <= c && c <= '\xd1'); }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

// The rest of a text that is read from the left. After a failed step all later ones fail.
struct Scanner {
  std::string_view left;
  bool good = true;

  std::size_t digits_ahead() const {
    return std::size_t(std::find_if_not(left.begin(), left.end(), is_digit) - left.begin());
  }
  // Reads `least` to `most` digits, with no digit after them, of a value from `low` to `high`.
  int64_t digits(std::size_t least, std::size_t most, int64_t low, int64_t high) {
    const std::size_t count = digits_ahead();
    int64_t value = 0;
    if (count < least || count > most) return good = false;
    for (const char c : left.substr(0, count)) value = 10 * value + (c - '0');
    left.remove_prefix(count);
    good = good && low <= value && value <= high;
    return value;
  }
  // Reads exactly `count` digits, whatever follows.
  int64_t fixed(std::size_t count, int64_t low, int64_t high) {
    if (digits_ahead() < count) return good = false;
    Scanner part{left.substr(0, count)};
    const int64_t value = part.digits(count, count, low, high);
    good = good && part.good;
    left.remove_prefix(count);
    return value;
  }
  bool accept(char c) {
    if (!left.starts_with(c)) return false;
    left.remove_prefix(1);
    return true;
  }
  void expect(char c) { good = accept(c) && good; }
  bool skip(std::string_view words) {
    if (!left.starts_with(words)) return false;
    left.remove_prefix(words.size());
    return true;
  }
  // Letters, also é, ń and я.
  std::string_view word() {
    std::size_t end = 0;
    while (end < left.size() && (is_letter(left[end]) || (is_lead(left[end]) && end + 1 < left.size())))
      end += is_lead(left[end]) ? 2 : 1;
    const std::string_view found = left.substr(0, end);
    left.remove_prefix(found.size());
    return found;
  }
  // Skips a separator between a name and the numbers next to it: "-", "/", ".", ",", ". ", ".-", " ", " - ", " de " or nothing.
  void gap() {
    if (left.size() > 1 && left[0] == ' ' && left[1] == '-') accept(' ');
    if (left.starts_with(".-")) accept('.');  // janv.-20
    if (!left.empty() && std::string_view("-/.,").find(left[0]) != std::string_view::npos)
      left.remove_prefix(1);
    accept(' ');
    for (const std::string_view of : {"de ", "del ", "of "})
      if (skip(of)) return;
  }
  bool done() const { return good && left.empty(); }
};

std::optional<Time> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Differences of times, and sums of a time and a difference, must not overflow.
  if (error != std::errc() || end != text.data() + text.size() || value < -largest_number ||
      value > largest_number)
    return std::nullopt;
  return Time{TimeForm::number, value};
}

// A part of a year that is named and numbered: 2014 Q1, 1Q14, FY19 H2, P01-2023, KW 1/2024.
struct PartOfYear {
  std::string_view words;
  int64_t most, months;  // 0: a week
};
constexpr PartOfYear parts_of_year[] = {{" q t qtr quarter quartal trim k kvartal ", 4, 3},
                                        {" h half ", 2, 6},
                                        {" p m period ", 12, 1},
                                        {" w wk week cw kw woche semaine semana sem s ", 53, 0}};

// The numbers of a date; 0: it has none of these.
struct DateNumbers {
  int64_t year = 0, month = 0, day = 0, number = 0;  // of its part
  int64_t weekday = 0, of_year = 0;                  // Monday 1; the day of the year
  const PartOfYear* part = nullptr;
  bool may_be_short = false;  // the year beside it, as in 1Q14
};
// A number in a form: its letter there, how many digits it may have, and its values.
struct FormNumber {
  char letter;
  std::size_t least_digits, most_digits;
  int64_t least, most;
  int64_t DateNumbers::*to;
};
constexpr FormNumber form_numbers[] = {
    {'Y', 4, 4, 1, 9999, &DateNumbers::year},  {'m', 1, 2, 1, 12, &DateNumbers::month},
    {'M', 2, 2, 1, 12, &DateNumbers::month},   {'d', 1, 2, 1, 31, &DateNumbers::day},
    {'u', 1, 2, 1, 53, &DateNumbers::number},  {'k', 1, 1, 1, 7, &DateNumbers::weekday},
    {'j', 3, 3, 1, 366, &DateNumbers::of_year}};

// Letters are the numbers above; A and B a day and a month in the column's order; y a year of four digits or two; N a
// month's name; U a part of a year, and f its year; _ a separator or none; $ the end, which months and parts of a year need.
// 1999.05 and 01.1970 are numbers.
constexpr std::string_view date_forms[] = {"Y-m-d", "Y/m/d", "Y.m.d",   "Y-M$", "Y/M$",  "Y/0M$", "Y_N$",
                                           "Y_N_d", "f_Uu$", "f_Uu-k$", "Y-j$", "A/B/y", "A-B-y", "A.B.y",
                                           "m/Y$",  "m-Y$",  "d_N_y",   "N_y$", "N_d_Y", "Uu_f$", "u_U_f$"};

// Also reads two digits, beside an order: order_of_dates() gives one to a column whose years are sure to stand last.
int64_t read_last_year(Scanner& scan, DateOrder order) {
  if (order == DateOrder::unknown || scan.digits_ahead() != 2) return scan.digits(4, 4, 1, 9999);
  constexpr int64_t latest = 29, earliest = 69;  // programs disagree on the century of those between
  const int64_t year = scan.digits(2, 2, 0, 99);
  scan.good = scan.good && (year <= latest || year >= earliest);
  return year + (year <= latest ? 2000 : 1900);
}

// The name of a part of a year. Single letters but Q and H may name a thing beside two digits: P1-14.
void read_part(Scanner& scan, DateNumbers& found) {
  const std::string word = lower_case(scan.word());
  found.part = std::ranges::find_if(parts_of_year, [&](const PartOfYear& part) {
    return part.words.find(fmt::format(" {} ", word)) != part.words.npos;
  });
  // S46 is a week in French and Spanish, S1 half a year.
  scan.good = scan.good && found.part != std::end(parts_of_year) && (word != "s" || scan.digits_ahead() == 2);
  found.may_be_short = scan.good && (word.size() > 1 || word == "q" || word == "h");
  scan.accept(' ');
}

// The year beside its part; FY may stand before it.
int64_t read_year_of_part(Scanner& scan, bool may_be_short) {  // M1-1001 names a machine
  Scanner named = scan;
  const bool is_fiscal = lower_case(named.word()) == "fy";
  if (is_fiscal) scan = named, scan.accept(' ');
  const int64_t year =
      read_last_year(scan, may_be_short || is_fiscal ? DateOrder::day_first : DateOrder::unknown);
  scan.good = scan.good && (may_be_short ? 1500 <= year && year <= 2200 : 1900 <= year && year <= 2100);
  return year;
}

// A day may be an ordinal number: 1st, 2nd, 1er, 1º.
void read_number(Scanner& scan, DateNumbers& found, const FormNumber& number) {
  found.*number.to = scan.digits(number.least_digits, number.most_digits, number.least, number.most);
  if (number.letter != 'd') return;
  for (const std::string_view ending : {"st", "nd", "rd", "th", "er", "º"})
    if (scan.left.starts_with(ending)) return scan.left.remove_prefix(ending.size());
}

// Reads a form from the left. The scan fails if the text has another one.
DateNumbers read_form(Scanner& scan, std::string_view form, DateOrder order) {
  DateNumbers found;
  for (char c : form) {
    if (!scan.good) break;
    if (c == 'A' || c == 'B') {
      scan.good = order != DateOrder::unknown;
      c = (c == 'A') == (order == DateOrder::day_first) ? 'd' : 'm';
    }
    const auto number = std::ranges::find(form_numbers, c, &FormNumber::letter);
    if (number != std::end(form_numbers))
      read_number(scan, found, *number);
    else if (c == 'y')
      found.year = read_last_year(scan, order);
    else if (c == 'f')
      found.year = read_year_of_part(scan, found.may_be_short);
    else if (c == 'U')
      read_part(scan, found);
    else if (c == 'N')
      scan.good = (found.month = place_among(month_names, scan.word()) + 1) > 0;
    else if (c == '_')
      scan.gap();
    else
      scan.good = c == '$' ? scan.left.empty() : scan.accept(c) || scan.accept(lower(c));
  }
  return found;
}

// None: no calendar has this day or week.
std::optional<Time> time_of(const DateNumbers& n) {
  if (n.part && n.number > n.part->most) return std::nullopt;
  if (n.part && n.part->months > 0 && n.weekday > 0) return std::nullopt;
  if (n.part && n.part->months > 0)
    return Time{n.part->months == 3 ? TimeForm::quarter : TimeForm::month,
                *date_of(n.year, n.part->months * (n.number - 1) + 1, 1)};
  if (n.part) {  // Monday of week 1, which holds the fourth of January, and of the later ones
    const int64_t fourth = *date_of(n.year, 1, 4);
    const int64_t monday = fourth + (7 * (n.number - 1) - weekday_of(fourth)) * one_day;
    if (monday + 3 * one_day >= *date_of(n.year + 1, 1, 1)) return std::nullopt;  // most years have 52
    return Time{TimeForm::date, monday + std::max<int64_t>(n.weekday - 1, 0) * one_day};
  }
  if (n.of_year == 366 && !date_of(n.year, 2, 29)) return std::nullopt;
  if (n.of_year > 0) return Time{TimeForm::date, *date_of(n.year, 1, 1) + (n.of_year - 1) * one_day};
  const auto date = date_of(n.year, n.month, n.day == 0 ? 1 : n.day);
  if (!date) return std::nullopt;
  return Time{n.day == 0 ? TimeForm::month : TimeForm::date, *date};
}

std::optional<Time> read_form_of_date(Scanner& scan, DateOrder order) {
  if (scan.digits_ahead() == 8) {  // 19700131T1405: alone it is a number
    const DateNumbers found{scan.fixed(4, 1, 9999), scan.fixed(2, 1, 12), scan.fixed(2, 1, 31)};
    return scan.good ? time_of(found) : std::nullopt;
  }
  for (const std::string_view form : date_forms) {
    Scanner rest = scan;
    const DateNumbers found = read_form(rest, form, order);
    if (!rest.good) continue;
    scan = rest;
    return time_of(found);
  }
  return std::nullopt;
}

// Reads a quarter, a month or a date, with or without a weekday in front. The rest is a time of day.
std::optional<Time> read_date(Scanner& scan, DateOrder order) {
  Scanner named = scan;
  const std::string_view word = named.word();
  const int weekday = place_among(weekday_names, word);
  if (weekday < 0 || lower_case(word) == "mar") {  // a month, too
    Scanner rest = scan;
    const auto date = read_form_of_date(rest, order);
    if (weekday < 0 || date) return scan = rest, date;
  }
  scan = named;
  scan.skip("-feira");
  scan.accept('.');
  scan.accept(',');
  scan.expect(' ');
  const auto date = read_form_of_date(scan, order);
  const bool is_that_day = date && date->form == TimeForm::date &&
                           is_name(weekday_names[static_cast<std::size_t>(weekday_of(date->count))], word);
  return is_that_day ? date : std::nullopt;  // "ma" is a maandag or a mardi
}

// The offset in the rest, in microseconds east of UTC: Z, UTC, +02:00, +0200 or +02.
std::optional<int64_t> read_offset(Scanner& scan) {
  Scanner named = scan;
  named.accept(' ');
  const std::string_view word = named.word();
  if (named.left.empty() && (word == "Z" || word == "z" || word == "UTC" || word == "GMT")) {
    scan = named;
    return 0;
  }
  if (word != "UTC" && word != "GMT") named = scan, named.accept(' ');  // GMT-0700
  const bool west = named.accept('-');
  if (!west && !named.accept('+')) return std::nullopt;
  scan = named;
  int64_t offset = scan.fixed(2, 0, 23) * one_hour;
  if (!scan.left.empty()) {
    scan.accept(':');
    offset += scan.fixed(2, 0, 59) * 60 * one_second;
  }
  return west ? -offset : offset;
}

// Microseconds since midnight: 9:05, 14:05:59.25, 24:00, 2:05:59 PM, 14, 14h, or 140559 after a T.
int64_t read_time_of_day(Scanner& scan, bool basic) {
  const bool alone = basic && (scan.digits_ahead() == 4 || scan.digits_ahead() == 6);
  const bool is_short = scan.digits_ahead() < 2;
  int64_t hour = alone ? scan.fixed(2, 0, 23) : scan.digits(1, 2, 0, 24);
  if (!alone && ((!is_short && scan.left.empty()) || scan.left == "h")) {  // 2023-11-20 00
    scan.left = {};
    return hour * one_hour;
  }
  if (!alone) scan.expect(':');
  int64_t moment = scan.fixed(2, 0, 59) * 60 * one_second;
  const bool seconds = alone ? scan.digits_ahead() == 2 : scan.accept(':');
  if (seconds) {
    moment += scan.fixed(2, 0, 59) * one_second;
    const bool are_milliseconds = scan.left.size() == 4 && scan.left[0] == ':';  // of a logger: 13:45:03:412
    if (scan.accept('.') || scan.accept(',') || (are_milliseconds && scan.accept(':'))) {
      scan.good = scan.good && scan.digits_ahead() > 0;
      for (int64_t unit = one_second / 10; scan.good && scan.digits_ahead() > 0; unit /= 10) {
        const int64_t digit = scan.fixed(1, 0, 9);
        scan.good = scan.good && (unit > 0 || digit == 0);  // finer than microseconds only zeros
        moment += unit * digit;
      }
    }
  }
  Scanner named = scan;
  named.accept(' ');
  std::string half = lower_case(named.word());
  for (const std::string_view end : {".m.", ". m.", ".\xc2\xa0m."})  // a. m. of Spanish
    if (half.size() == 1 && named.skip(end)) half += 'm';
  if (half == "am" || half == "pm") {
    scan = named;
    scan.good = scan.good && 1 <= hour && hour <= 12;
    hour = hour % 12 + (half == "pm" ? 12 : 0);
  }
  scan.good = scan.good && hour * one_hour + moment <= one_day;  // 24:00 ends a day
  return hour * one_hour + moment;
}

// The form of most files, fast: 2017-03-31, 2017-03-31 14:05 or 2017-03-31 14:05:59, also with a T. None: any other.
std::optional<Time> iso_time(std::string_view text) {
  constexpr std::string_view form = "0000-00-00 00:00:00";
  if (text.size() != 10 && text.size() != 16 && text.size() != 19) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool fits = form[i] == '0' ? is_digit(text[i]) : text[i] == form[i] || (i == 10 && text[i] == 'T');
    if (!fits) return std::nullopt;
  }
  const auto two = [&](std::size_t i) { return 10 * (text[i] - '0') + (text[i + 1] - '0'); };
  const int year = 100 * two(0) + two(2), month = two(5), day = two(8);
  const auto date = date_of(year, month, day);
  if (year < 1 || !date) return std::nullopt;
  if (text.size() == 10) return Time{TimeForm::date, *date};
  const int hour = two(11), minute = two(14), second = text.size() == 19 ? two(17) : 0;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return Time{TimeForm::date_time, *date + hour * one_hour + (60 * minute + second) * one_second};
}

}  // namespace

// FY2019, FY1980/81, FY 1980-81: by the first year.
static std::optional<Time> fiscal_year(std::string_view text) {
  Scanner scan{text};
  if (lower_case(scan.word()) != "fy") return std::nullopt;
  scan.accept(' ');
  const int64_t year = scan.digits(4, 4, 1500, 2200);
  if (scan.accept('/') || scan.accept('-'))
    scan.good = scan.digits(2, 2, 0, 99) == (year + 1) % 100 && scan.good;
  return scan.done() ? std::optional(Time{TimeForm::year, *date_of(year, 1, 1)}) : std::nullopt;
}

std::optional<Time> parse_time(std::string_view text, DateOrder order) {
  for (const std::string_view end : {" Uhr", " г.", " г", "\u00a0г."})
    if (text.ends_with(end)) text.remove_suffix(end.size());
  if (text.ends_with(')') && text.find(" GMT") < text.find(" (")) text = text.substr(0, text.find(" ("));
  if (const auto time = iso_time(text)) return time;
  const auto is_of_script = [](char c) { return static_cast<uint8_t>(c) >= 0xe0; };
  if (text.size() > 6 && std::ranges::any_of(text, is_of_script))
    if (const std::string latin = latin_time(text); latin != text) return parse_time(latin, order);
  if (const auto count = number(text)) return count;
  if (const auto year = fiscal_year(text)) return year;
  Scanner scan{text};
  const auto date = read_date(scan, order);
  for (const std::string_view year : {" r.", "r.", " г.", "г.", " г"})  // Polish, Russian
    if (scan.left == year) scan.left = {};
  if (!date || !scan.good || scan.left.empty()) return date && scan.good ? date : std::nullopt;
  if (date->form != TimeForm::date) return std::nullopt;

  const bool letter = scan.accept('T') || scan.accept('t');
  if (!letter) {
    scan.accept(',');
    if (!scan.accept(':')) scan.expect(' ');  // 20Nov2023:00:00:00
  }
  int64_t moment = date->count + read_time_of_day(scan, letter);
  const auto offset = read_offset(scan);
  moment -= offset.value_or(0);
  if (!scan.done() || moment < *date_of(1, 1, 1) || moment >= *date_of(10'000, 1, 1)) return std::nullopt;
  return Time{
      .form = TimeForm::date_time, .count = moment, .utc = offset.has_value(), .offset = offset.value_or(0)};
}

bool reads_as_date(std::string_view text) {
  for (const DateOrder order : {DateOrder::day_first, DateOrder::month_first})
    if (const auto time = parse_time(text, order); time && time->form != TimeForm::number) return true;
  return false;
}

bool looks_like_a_date(std::string_view text) {
  int numbers = 0, slashes = 0;
  bool month = false, others = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_digit(c)) {
      numbers += i == 0 || !is_digit(text[i - 1]);
    } else if (is_letter(c) || is_lead(c)) {
      Scanner scan{text.substr(i)};
      const std::string_view word = scan.word();
      month = month || place_among(month_names, word) >= 0;
      i += std::max<std::size_t>(word.size(), 1) - 1;
    } else {
      slashes += c == '/' || c == ':';
      others = others || std::string_view("/:.,- ").find(c) == std::string_view::npos;
    }
  }
  return !others && (month ? numbers > 0 : numbers > 2 || (numbers == 2 && slashes == 1));
}

}  // namespace unroll

// Reads times from text. See times.h.
#include <algorithm>
#include <array>
#include <charconv>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/times.h"

namespace unroll {
namespace {

constexpr std::array<std::string_view, 12> month_names = {"january",   "february", "march",    "april",
                                                          "may",       "june",     "july",     "august",
                                                          "september", "october",  "november", "december"};
constexpr std::array<std::string_view, 7> weekday_names = {"monday", "tuesday",  "wednesday", "thursday",
                                                           "friday", "saturday", "sunday"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

// The index of a name, written out or as its first three letters; -1: not among `names`.
template <std::size_t count>
int place_in(const std::array<std::string_view, count>& names, std::string_view word) {
  std::string small(word);
  std::transform(small.begin(), small.end(), small.begin(), lower);
  if (small == "sept") small = "sep";
  for (std::size_t i = 0; i < count; ++i)
    if (small == names[i] || small == names[i].substr(0, 3)) return static_cast<int>(i);
  return -1;
}

// The rest of a text that is read from the left. After a failed step all later ones fail.
struct Scanner {
  std::string_view left;
  bool good = true;

  std::size_t digits_ahead() const {
    return std::min(
        static_cast<std::size_t>(std::find_if_not(left.begin(), left.end(), is_digit) - left.begin()),
        left.size());
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
  std::string_view word() {
    const auto end = std::find_if_not(left.begin(), left.end(), is_letter) - left.begin();
    const std::string_view found = left.substr(0, end);
    left.remove_prefix(found.size());
    return found;
  }
  // Skips a separator between a month's name and the numbers next to it: "-", "/", ".", ",", ". ", " " or nothing.
  void gap() {
    if (!left.empty() && std::string_view("-/.,").find(left[0]) != std::string_view::npos)
      left.remove_prefix(1);
    accept(' ');
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

std::optional<Time> date_of(const Scanner& scan, int64_t year, int64_t month, int64_t of_month) {
  if (!scan.good || year < 1 || of_month < 1 || of_month > days_in_month(year, static_cast<int>(month)))
    return std::nullopt;
  return Time{TimeForm::date, days_of(year, static_cast<int>(month), static_cast<int>(of_month))};
}
std::optional<Time> month_of(const Scanner& scan, int64_t year, int64_t month) {
  if (!scan.good) return std::nullopt;
  return Time{TimeForm::month, 12 * year + month - 1};
}

int64_t read_year(Scanner& scan) { return scan.digits(4, 4, 1, 9999); }
// Also reads two digits, beside an order: order_of_dates() gives one to a column whose years are sure to stand last.
int64_t read_last_year(Scanner& scan, DateOrder order) {
  if (order == DateOrder::unknown || scan.digits_ahead() != 2) return read_year(scan);
  constexpr int64_t latest = 29, earliest = 69;  // programs disagree on the century of those between
  const int64_t year = scan.digits(2, 2, 0, 99);
  scan.good = scan.good && (year <= latest || year >= earliest);
  return year + (year <= latest ? 2000 : 1900);
}
int64_t read_day(Scanner& scan) { return scan.digits(1, 2, 1, 31); }
// The month's number from 1. The scan fails if no month has this name.
int64_t read_month_name(Scanner& scan) {
  const int place = place_in(month_names, scan.word());
  scan.good = scan.good && place >= 0;
  return place + 1;
}

// The quarter's number of Q1 1970, or of the rest of 1970 Q1.
std::optional<int64_t> read_quarter(Scanner& scan) {
  if (scan.left.size() < 2 || lower(scan.left[0]) != 'q' || !is_digit(scan.left[1])) return std::nullopt;
  scan.left.remove_prefix(1);
  return scan.digits(1, 1, 1, 4);
}
std::optional<Time> quarter_of(const Scanner& scan, int64_t year, int64_t quarter) {
  if (!scan.good) return std::nullopt;
  return Time{TimeForm::quarter, 12 * year + 3 * (quarter - 1)};
}

// Monday of week 1, which holds the fourth of January, and of the later ones: the rest of 1970-W01.
std::optional<Time> read_week(Scanner& scan, int64_t year) {
  scan.left.remove_prefix(1);
  const int64_t week = scan.digits(1, 2, 1, 53);
  if (!scan.good || year < 1) return std::nullopt;
  const int64_t fourth = days_of(year, 1, 4), monday = fourth - weekday_of(fourth) + 7 * (week - 1);
  if (monday + 3 >= days_of(year + 1, 1, 1)) return std::nullopt;  // most years have 52
  return Time{TimeForm::date, monday};
}

// 1970 Q1, 1970-W01, 1970-01, 1970-01-31, 1970 Jan, 1970-Jan-31
std::optional<Time> read_year_first(Scanner& scan) {
  const int64_t year = read_year(scan);
  Scanner named = scan;
  named.gap();
  if (const auto quarter = read_quarter(named)) {
    scan = named;
    return quarter_of(scan, year, *quarter);
  }
  if (named.left.size() > 1 && lower(named.left[0]) == 'w' && is_digit(named.left[1])) {
    scan = named;
    return read_week(scan, year);
  }
  if (!named.left.empty() && is_letter(named.left[0]) && lower(named.left[0]) != 't') {
    scan = named;
    const int64_t month = read_month_name(scan);
    if (scan.left.empty()) return month_of(scan, year, month);
    scan.gap();
    return date_of(scan, year, month, read_day(scan));
  }
  const char dash = scan.left.starts_with('/') ? '/' : scan.left.starts_with('.') ? '.' : '-';
  scan.expect(dash);
  const bool two = scan.digits_ahead() == 2;
  const int64_t month = scan.digits(1, 2, 1, 12);
  if (!scan.left.starts_with(dash)) {
    // 1999.05 is a number, and 1999-1 may be a quarter.
    scan.good = scan.good && two && dash != '.';
    return month_of(scan, year, month);
  }
  scan.expect(dash);
  const int64_t of_month = read_day(scan);
  return scan.good ? date_of(scan, year, month, of_month) : std::nullopt;
}

// 31 Jan 1970, 31/01/1970, 01/31/1970, 01/1970
std::optional<Time> read_day_first(Scanner& scan, DateOrder order) {
  const int64_t first = read_day(scan);
  Scanner named = scan;
  named.gap();
  if (!named.left.empty() && is_letter(named.left[0])) {
    scan = named;
    const int64_t month = read_month_name(scan);
    scan.gap();
    const int64_t year = read_last_year(scan, order);
    return scan.good ? date_of(scan, year, month, first) : std::nullopt;
  }
  if (scan.left.empty() || std::string_view("/-.").find(scan.left[0]) == std::string_view::npos)
    return std::nullopt;
  const char dash = scan.left[0];
  scan.expect(dash);
  if (scan.digits_ahead() == 4) {
    scan.good = scan.good && dash != '.' && first <= 12;  // 01.1970 is a number
    return month_of(scan, read_year(scan), first);
  }
  const int64_t second = read_day(scan);
  scan.expect(dash);
  const int64_t year = read_last_year(scan, order);
  const bool day_first = order == DateOrder::day_first;
  const int64_t month = day_first ? second : first, of_month = day_first ? first : second;
  scan.good = scan.good && order != DateOrder::unknown && month <= 12;
  return scan.good ? date_of(scan, year, month, of_month) : std::nullopt;
}

// Q1 1970, Jan 1970, Jan 31, 1970
std::optional<Time> read_name_first(Scanner& scan, DateOrder order) {
  if (const auto quarter = read_quarter(scan)) {
    scan.gap();
    const int64_t year = read_year(scan);
    return quarter_of(scan, year, *quarter);
  }
  const int64_t month = read_month_name(scan);
  scan.gap();
  Scanner last = scan;
  const int64_t of_last = read_last_year(last, order);
  if (last.done()) {
    scan = last;
    return month_of(scan, of_last, month);
  }
  const int64_t of_month = read_day(scan);
  scan.gap();
  const int64_t year = read_year(scan);
  return scan.good ? date_of(scan, year, month, of_month) : std::nullopt;
}

// Reads a quarter, a month or a date, with or without a weekday in front. The rest is a time of day.
std::optional<Time> read_date(Scanner& scan, DateOrder order) {
  Scanner named = scan;
  const int weekday = place_in(weekday_names, named.word());
  if (weekday >= 0) {
    scan = named;
    scan.accept(',');
    scan.expect(' ');
  }
  std::optional<Time> date;
  if (!scan.left.empty() && is_letter(scan.left[0]))
    date = read_name_first(scan, order);
  else if (scan.digits_ahead() == 8) {  // 19700131T1405: alone it is a number
    const int64_t year = scan.fixed(4, 1, 9999), month = scan.fixed(2, 1, 12), day = scan.fixed(2, 1, 31);
    date = scan.good ? date_of(scan, year, month, day) : std::nullopt;
  } else {
    date = scan.digits_ahead() == 4 ? read_year_first(scan) : read_day_first(scan, order);
  }
  if (weekday >= 0 && (!date || date->form != TimeForm::date || weekday_of(date->count) != weekday))
    return std::nullopt;
  return date;
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
  named = scan;
  named.accept(' ');
  const bool west = named.left.starts_with('-');
  if (!west && !named.left.starts_with('+')) return std::nullopt;
  scan = named;
  scan.left.remove_prefix(1);
  int64_t offset = scan.fixed(2, 0, 23) * one_hour;
  if (!scan.left.empty()) {
    scan.accept(':');
    offset += scan.fixed(2, 0, 59) * 60 * one_second;
  }
  return west ? -offset : offset;
}

// Microseconds since midnight: 9:05, 14:05:59.25, 24:00, 2:05:59 PM, or 140559 after a T.
int64_t read_time_of_day(Scanner& scan, bool basic) {
  const bool alone = basic && (scan.digits_ahead() == 4 || scan.digits_ahead() == 6);
  int64_t hour = alone ? scan.fixed(2, 0, 23) : scan.digits(1, 2, 0, 24);
  if (!alone) scan.expect(':');
  int64_t moment = scan.fixed(2, 0, 59) * 60 * one_second;
  const bool seconds = alone ? scan.digits_ahead() == 2 : scan.accept(':');
  if (seconds) {
    moment += scan.fixed(2, 0, 59) * one_second;
    if (scan.accept('.')) {
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
  const std::string_view half = named.word();
  if (half.size() == 2 && lower(half[1]) == 'm' && (lower(half[0]) == 'a' || lower(half[0]) == 'p')) {
    scan = named;
    scan.good = scan.good && 1 <= hour && hour <= 12;
    hour = hour % 12 + (lower(half[0]) == 'p' ? 12 : 0);
  }
  scan.good = scan.good && hour * one_hour + moment <= one_day;  // 24:00 ends a day
  return hour * one_hour + moment;
}

// Fast path for most files: 2017-03-31, 2017-03-31 14:05 or 2017-03-31 14:05:59, also with a T. None: another form,
// or no time.
std::optional<Time> iso_time(std::string_view text) {
  constexpr std::string_view form = "0000-00-00 00:00:00";
  if (text.size() != 10 && text.size() != 16 && text.size() != 19) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool fits = form[i] == '0' ? is_digit(text[i]) : text[i] == form[i] || (i == 10 && text[i] == 'T');
    if (!fits) return std::nullopt;
  }
  const auto two = [&](std::size_t i) { return 10 * (text[i] - '0') + (text[i + 1] - '0'); };
  const int year = 100 * two(0) + two(2), month = two(5), day = two(8);
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) return std::nullopt;
  const int64_t days = days_of(year, month, day);
  if (text.size() == 10) return Time{TimeForm::date, days};
  const int hour = two(11), minute = two(14), second = text.size() == 19 ? two(17) : 0;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return Time{TimeForm::date_time, days * one_day + hour * one_hour + (60 * minute + second) * one_second};
}

}  // namespace

std::optional<Time> parse_time(std::string_view text, DateOrder order) {
  if (const auto time = iso_time(text)) return time;
  if (const auto count = number(text)) return count;
  Scanner scan{text};
  const auto date = read_date(scan, order);
  if (!date || !scan.good || scan.left.empty()) return date && scan.good ? date : std::nullopt;
  if (date->form != TimeForm::date) return std::nullopt;

  const bool letter = scan.accept('T') || scan.accept('t');
  if (!letter) {
    scan.accept(',');
    scan.expect(' ');
  }
  int64_t moment = date->count * one_day + read_time_of_day(scan, letter);
  const auto offset = read_offset(scan);
  moment -= offset.value_or(0);
  if (!scan.done() || moment < days_of(1, 1, 1) * one_day || moment >= days_of(10'000, 1, 1) * one_day)
    return std::nullopt;
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
    } else if (is_letter(c)) {
      Scanner scan{text.substr(i)};
      const std::string_view word = scan.word();
      month = month || (word.size() >= 3 && place_in(month_names, word.substr(0, 3)) >= 0);
      i += word.size() - 1;
    } else {
      slashes += c == '/' || c == ':';
      others = others || std::string_view("/:.,- ").find(c) == std::string_view::npos;
    }
  }
  return !others && (month ? numbers > 0 : numbers > 2 || (numbers == 2 && slashes == 1));
}

}  // namespace unroll

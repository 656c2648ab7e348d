// See times.h.
#include "data/times.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "framework/check.h"

namespace unroll {
namespace {

constexpr int64_t second = 1'000'000, day = 86'400 * second;  // in microseconds

int64_t days_of(int64_t year, unsigned month, unsigned of_month) {
  using namespace std::chrono;
  return sys_days(std::chrono::year(static_cast<int>(year)) / std::chrono::month(month) /
                  std::chrono::day(of_month))
      .time_since_epoch()
      .count();
}

int days_in_month(int64_t year, unsigned month) {
  using namespace std::chrono;
  const year_month_day_last last(std::chrono::year(static_cast<int>(year)),
                                 month_day_last(std::chrono::month(month)));
  return static_cast<int>(static_cast<unsigned>(last.day()));
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// What is left of a text that is read from the left. A failed step makes all later ones fail.
struct Scanner {
  std::string_view left;
  bool good = true;

  // Exactly so many digits, from `low` to `high`.
  int64_t digits(std::size_t count, int64_t low, int64_t high) {
    int64_t value = 0;
    if (left.size() < count) return good = false;
    for (const char c : left.substr(0, count)) {
      good = good && c >= '0' && c <= '9';
      value = 10 * value + (c - '0');
    }
    left.remove_prefix(count);
    good = good && low <= value && value <= high;
    return value;
  }
  bool accept(char c) {
    if (!left.starts_with(c)) return false;
    left.remove_prefix(1);
    return true;
  }
  void expect(char c) { good = accept(c) && good; }
  bool done() const { return good && left.empty(); }
};

std::optional<Time> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr int64_t at_most = 1'000'000'000'000'000;  // differences and sums of times must not overflow
  if (error != std::errc() || end != text.data() + text.size() || value < -at_most || value > at_most)
    return std::nullopt;
  return Time{TimeForm::number, value};
}

}  // namespace

std::optional<Time> parse_time(std::string_view text) {
  if (const auto count = number(text)) return count;
  Scanner scan{text};
  const int64_t year = scan.digits(4, 1, 9999);
  scan.expect('-');
  const int64_t month = scan.digits(2, 1, 12);
  if (scan.done()) return Time{TimeForm::month, 12 * year + month - 1};
  scan.expect('-');
  const int64_t of_month = scan.digits(2, 1, 31);
  if (!scan.good) return std::nullopt;
  const auto date = std::chrono::year(static_cast<int>(year)) /
                    std::chrono::month(static_cast<unsigned>(month)) /
                    std::chrono::day(static_cast<unsigned>(of_month));
  if (!date.ok()) return std::nullopt;
  const int64_t days = days_of(year, static_cast<unsigned>(month), static_cast<unsigned>(of_month));
  if (scan.done()) return Time{TimeForm::date, days};

  if (!scan.accept('T')) scan.expect(' ');
  int64_t moment = days * day + scan.digits(2, 0, 23) * 3600 * second;
  scan.expect(':');
  moment += scan.digits(2, 0, 59) * 60 * second;
  if (scan.accept(':')) {
    moment += scan.digits(2, 0, 59) * second;
    if (scan.accept('.')) {
      scan.good = scan.good && !scan.left.empty();
      for (int64_t unit = second / 10; unit > 0 && scan.good && !scan.left.empty() && scan.left != "Z";
           unit /= 10)
        moment += unit * scan.digits(1, 0, 9);
    }
  }
  scan.accept('Z');
  if (!scan.done()) return std::nullopt;
  return Time{TimeForm::date_time, moment};
}

CalendarTime calendar_of(const Time& time) {
  using namespace std::chrono;
  require(time.form != TimeForm::number, "calendar: rows are numbered, not dated");
  CalendarTime result;
  int64_t days = time.count, rest = 0;
  if (time.form == TimeForm::month) {
    days = days_of(floor_div(time.count, 12),
                   static_cast<unsigned>(time.count - 12 * floor_div(time.count, 12)) + 1, 1);
  } else if (time.form == TimeForm::date_time) {
    days = floor_div(time.count, day);
    rest = (time.count - days * day) / second;
  }
  require(std::abs(days) < 11'000'000, "calendar: a time beyond the year 30000");
  const sys_days date{std::chrono::days(days)};
  const year_month_day ymd(date);
  result.year = static_cast<int>(ymd.year());
  result.month = static_cast<int>(static_cast<unsigned>(ymd.month()));
  result.day = static_cast<int>(static_cast<unsigned>(ymd.day()));
  result.weekday = static_cast<int>(std::chrono::weekday(date).iso_encoding()) - 1;
  result.day_of_year = static_cast<int>(days - days_of(result.year, 1, 1)) + 1;
  result.hour = static_cast<int>(rest / 3600);
  result.minute = static_cast<int>(rest / 60 % 60);
  result.second = static_cast<int>(rest % 60);
  return result;
}

bool looks_like_a_date(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  constexpr std::array<std::string_view, 12> months = {"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
  int numbers = 0, slashes = 0;
  bool month = false, others = false;
  std::string word;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    if (is_digit(c)) {
      numbers += i == 0 || !is_digit(text[i - 1]);
    } else if (lower >= 'a' && lower <= 'z') {
      word += lower;
      month = month || std::find(months.begin(), months.end(), word) != months.end();
      continue;
    } else {
      slashes += c == '/' || c == ':';
      others = others || std::string_view("/:.,- ").find(c) == std::string_view::npos;
    }
    word.clear();
  }
  return !others && (month ? numbers > 0 : numbers > 2 || (numbers == 2 && slashes == 1));
}

std::string to_text(const Time& time) {
  if (time.form == TimeForm::number) return fmt::format("{}", time.count);
  const CalendarTime c = calendar_of(time);
  std::string text = fmt::format("{:04}-{:02}", c.year, c.month);
  if (time.form == TimeForm::month) return text;
  text += fmt::format("-{:02}", c.day);
  if (time.form == TimeForm::date) return text;
  text += fmt::format(" {:02}:{:02}:{:02}", c.hour, c.minute, c.second);
  const int64_t fraction = time.count - floor_div(time.count, second) * second;
  return fraction ? text + fmt::format(".{:06}", fraction) : text;
}

void Times::find_months() {
  months = 0;
  month_ends = false;
  const bool has_days = form == TimeForm::date || form == TimeForm::date_time;
  if (!has_days || at.size() < 2) return;
  const int64_t unit = form == TimeForm::date ? 1 : day;
  const auto time_of_day = [&](int64_t count) { return count - floor_div(count, unit) * unit; };
  const CalendarTime first = calendar(0);
  bool same_day = first.day <= 28, last_day = true;
  int64_t before = 0;
  std::map<int64_t, int64_t> counts;
  for (std::size_t row = 0; row < at.size(); ++row) {
    const CalendarTime now = calendar(static_cast<int64_t>(row));
    same_day = same_day && now.day == first.day;
    last_day = last_day && now.day == days_in_month(now.year, static_cast<unsigned>(now.month));
    if ((!same_day && !last_day) || time_of_day(at[row]) != time_of_day(at[0])) return;
    const int64_t month = 12 * now.year + now.month - 1;
    if (row > 0) ++counts[month - before];
    before = month;
  }
  months = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
             return a.second < b.second;
           })->first;
  month_ends = last_day;
}

Time Times::time(int64_t row) const {
  const int64_t rows = static_cast<int64_t>(at.size()), ahead = row - (rows - 1);
  require(row >= 0 && rows > 0, "times: no row {}", row);
  if (ahead <= 0) return {form, at[static_cast<std::size_t>(row)]};
  require(step == 0 || ahead <= (int64_t{1} << 62) / step, "times: row {} is too far ahead", row);
  if (months == 0) return {form, at.back() + ahead * step};
  const CalendarTime last = calendar_of({form, at.back()});
  const int64_t from = 12 * last.year + last.month - 1;
  require(ahead <= (12 * 30'000 - from) / months, "times: row {} is beyond the year 30000", row);
  const int64_t count = from + ahead * months, year = count / 12;
  const unsigned month = static_cast<unsigned>(count % 12) + 1;
  const int64_t days =
      days_of(year, month, static_cast<unsigned>(month_ends ? days_in_month(year, month) : last.day));
  if (form == TimeForm::date) return {form, days};
  return {form, days * day + at.back() - floor_div(at.back(), day) * day};
}

CalendarTime Times::calendar(int64_t row) const { return calendar_of(time(row)); }

}  // namespace unroll

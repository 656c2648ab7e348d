// See times.h.
#include "examples/timeseries/series/times.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

#include "data/lower_case.h"
#include "examples/timeseries/series/calendar.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

const char* times_called(TimeForm form) {
  constexpr const char* names[] = {"numbers", "years", "quarters", "months", "dates", "times"};
  return names[static_cast<int>(form)];
}

namespace {

// The date or month with the digits 20170331 or 201703.
std::optional<Time> from_digits(int64_t number, TimeForm form) {
  const int64_t months = form == TimeForm::date ? number / 100 : number;
  if (months < 1500'00 || months > 2200'99) return std::nullopt;
  const auto date = date_of(months / 100, months % 100, form == TimeForm::date ? number % 100 : 1);
  return date ? std::optional(Time{form, *date, true}) : std::nullopt;
}

bool is_year(int64_t number) { return 1500 <= number && number <= 2200; }

// The quarter or week with the digits 20141 or 202401.
std::optional<Time> part_from_digits(int64_t number, TimeForm form) {
  const int64_t base = form == TimeForm::quarter ? 10 : 100;
  if (!is_year(number / base)) return std::nullopt;
  return parse_time(fmt::format("{}{}{}", number / base, base == 10 ? "Q" : "W", number % base));
}

// The time 2017033114, 201703311405 or 20170331140559, from 1900 on; or so many seconds, milli-, micro- or nanoseconds after
// 1970, from 1980 to 2099.
std::optional<Time> moment(int64_t number) {
  const std::string digits = fmt::format("{}", number);
  if ((digits.size() == 10 || digits.size() == 12 || digits.size() == 14) && digits >= "19")
    if (const auto time = parse_time(
            fmt::format("{}T{}{}", digits.substr(0, 8), digits.substr(8), digits.size() == 10 ? "00" : "")))
      return time;
  const int64_t from = *date_of(1980, 1, 1) / one_second, to = *date_of(2100, 1, 1) / one_second;
  for (int64_t second = 1; second <= 1000 * one_second; second *= 1000)
    if (from <= number / second && number / second < to)
      return Time{
          .form = TimeForm::date_time,
          .count = second > one_second ? number / (second / one_second) : number * (one_second / second),
          .utc = true};
  return std::nullopt;
}

// The last count of a form that can be read.
int64_t last_count(TimeForm form) {
  return form == TimeForm::number ? largest_number : *date_of(10'000, 1, 1) - 1;
}

// The words in a column's name, in letters of either case.
struct NameWords {
  std::string word;
  bool say(std::initializer_list<std::string_view> parts) const {
    return std::ranges::any_of(parts, [&](std::string_view part) { return word.find(part) != word.npos; });
  }
  bool are(std::initializer_list<std::string_view> words) const {
    return std::ranges::find(words, word) != words.end();
  }
};

// The difference that more than half of the neighbours have, if there is one.
struct NumberSteps {
  bool ascend = true, differ = true;  // each is above the one before; no two are alike
  std::optional<int64_t> most = {};
  bool all = false;  // all differences are that one

  explicit NumberSteps(const std::vector<int64_t>& numbers) {
    std::vector<int64_t> apart;
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      apart.push_back(numbers[i] - numbers[i - 1]);
      ascend = ascend && apart.back() > 0;
    }
    std::vector<int64_t> sorted = numbers;
    std::ranges::sort(sorted);
    differ = std::ranges::adjacent_find(sorted) == sorted.end();
    if (apart.empty()) return;
    const auto middle = apart.begin() + static_cast<std::ptrdiff_t>(apart.size() / 2);
    std::nth_element(apart.begin(), middle, apart.end());  // a value of more than half is in the middle
    const auto count = static_cast<std::size_t>(std::count(apart.begin(), apart.end(), *middle));
    if (2 * count > apart.size()) most = *middle;
    all = count == apart.size();
  }
};

template <class Is>
bool most_are(const std::vector<int64_t>& numbers, std::size_t rows, Is is) {
  return 2 * static_cast<std::size_t>(std::count_if(numbers.begin(), numbers.end(), is)) > rows;
}

// Whether all numbers are quarters or weeks, and one follows another in the next year; or most weeks of one year are in turn, some
// after the twelfth, and the name says so.
bool are_parts(const std::vector<int64_t>& numbers, TimeForm form, const NameWords& words) {
  const auto part = [&](int64_t number) { return part_from_digits(number, form); };
  const auto pass_year = [&](int64_t a, int64_t b) {
    return std::abs(a - b) > 1 &&
           std::abs(part(a)->count - part(b)->count) <= (form == TimeForm::quarter ? 92 : 7) * one_day;
  };
  if (std::ranges::any_of(numbers, [&](int64_t number) { return !part(number); })) return false;
  if (std::ranges::adjacent_find(numbers, pass_year) != numbers.end()) return true;
  return std::ranges::any_of(numbers, [](int64_t number) { return number % 100 > 12; }) &&
         std::abs(NumberSteps(numbers).most.value_or(0)) == 1 &&
         words.say({"week", "wk", "woche", "kw", "sem", "date", "period", "time"});
}

// A minute, a second, a millisecond or a microsecond: the longest of which the last times are multiples.
int64_t resolution(std::span<const int64_t> at) {
  constexpr std::size_t most = 1000;
  for (const int64_t part : {60 * one_second, one_second, one_second / 1000})
    if (std::ranges::all_of(at.last(std::min(at.size(), most)), [&](int64_t t) { return t % part == 0; }))
      return part;
  return 1;
}

}  // namespace

std::optional<Time> parse_time(std::string_view text, TimeForm beside, DateOrder order) {
  const auto time = parse_time(text, order);
  if (!time && beside == TimeForm::month) return dotted_month(text);
  if (!time || time->form != TimeForm::number || beside == TimeForm::number) return time;
  if (beside == TimeForm::quarter)
    if (const auto part = part_from_digits(time->count, beside)) return part;
  if (is_year(time->count)) return Time{TimeForm::year, moment_of({12 * time->count, 1})};
  if (const auto date = from_digits(time->count, TimeForm::date)) return date;
  if (const auto month = from_digits(time->count, TimeForm::month)) return month;
  return time;
}

std::optional<Time> time_in_column(std::string_view cell, TimeForm form, DateOrder order) {
  const auto number = form == TimeForm::date || form == TimeForm::date_time ? parse_time(cell) : std::nullopt;
  if (!number || number->form != TimeForm::number) return parse_time(cell, form, order);
  if (form == TimeForm::date_time) return moment(number->count);
  const auto week = number->count < 1'000'000 ? part_from_digits(number->count, form) : std::nullopt;
  return week ? week : parse_time(cell, form, order);
}

std::optional<Time> dotted_month(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == text.npos || text.find_first_not_of("0123456789.") != text.npos) return std::nullopt;
  std::string dashed(text);
  if (point == 3 && text[0] == '0') return dotted_month(text.substr(1));  // 001.2020, as SAP writes periods
  if (point == 4 && text.size() == 8 && text[5] == '0') return dotted_month(dashed.erase(5, 1));
  dashed[point] = text.size() - point == 5 ? '/' : '-';
  const auto time = parse_time(dashed);
  return time && time->form == TimeForm::month && is_year(month_day(time->count).month / 12) ? time
                                                                                             : std::nullopt;
}

TimeForm form_of_numbers(const std::vector<int64_t>& numbers, std::string_view name, std::size_t rows) {
  const NameWords words{lower_case(name)};
  const auto most_have = [&](TimeForm form) {
    return most_are(numbers, rows, [&](int64_t number) { return from_digits(number, form).has_value(); });
  };
  if (most_have(TimeForm::date)) return TimeForm::date;
  if (numbers.size() == rows && are_parts(numbers, TimeForm::quarter, words)) return TimeForm::quarter;
  if (numbers.size() == rows && are_parts(numbers, TimeForm::date, words)) return TimeForm::date;
  if (most_have(TimeForm::month)) {
    const auto passes_year = [](int64_t a, int64_t b) { return a % 100 == 12 && b == a + 89; };
    bool passes = false;
    for (std::size_t i = 1; i < numbers.size(); ++i)
      passes = passes || passes_year(numbers[i - 1], numbers[i]) || passes_year(numbers[i], numbers[i - 1]);
    if (passes || words.say({"month", "date", "period", "yyyymm"})) return TimeForm::month;
  }
  const NumberSteps apart(numbers);
  const bool are_moments = words.say({"time", "date", "stamp", "epoch", "unix"}) ||
                           words.are({"ts", "ds", "t"}) || apart.most.value_or(0) != 0;
  if (are_moments && most_are(numbers, rows, [](int64_t number) { return moment(number).has_value(); }))
    return TimeForm::date_time;
  const bool are_named = words.say({"year"}) || words.are({"yr"});
  const std::size_t others = rows - static_cast<std::size_t>(std::ranges::count_if(numbers, is_year));
  if (numbers.empty() || others > (are_named ? rows / 10 : 0)) return TimeForm::number;
  if (are_named)
    return apart.ascend || apart.most || (apart.differ && words.are({"year", "yr"})) ? TimeForm::year
                                                                                     : TimeForm::number;
  const bool even = apart.most && *apart.most != 0 && (apart.all || !apart.ascend);
  return even && (words.say({"date", "time", "period"}) || words.are({"ds", "t"})) ? TimeForm::year
                                                                                   : TimeForm::number;
}

bool names_a_moment(const std::string& name) {
  constexpr std::string_view words = " time date datetime timestamp stamp epoch unix unixtime ts at ";
  std::string word;
  for (const unsigned char c : name + ' ') {
    const bool goes_on =
        std::islower(c) || c >= 0x80 || (std::isupper(c) && (word.empty() || std::isupper(word.back())));
    if (!goes_on && !word.empty() && words.find(fmt::format(" {} ", lower_case(word))) != words.npos)
      return true;
    if (!goes_on) word.clear();
    if (std::isalpha(c) || c >= 0x80) word += static_cast<char>(c);
  }
  return false;
}

CalendarTime calendar_of(const Time& time) {
  require(time.form != TimeForm::number, "calendar: rows are numbered, not dated");
  const int64_t shown = time.count + time.offset, rest = time_of_day(shown) / one_second;
  require(std::abs(day_of(shown)) < 11'000'000, "calendar: a time beyond the year 30000");
  const MonthDay date = month_day(shown);
  const int64_t year = floor_div(date.month, 12);
  return {.year = static_cast<int>(year),
          .month = static_cast<int>(date.month - 12 * year) + 1,
          .day = date.day,
          .weekday = weekday_of(shown),
          .day_of_year = static_cast<int>(day_of(shown - moment_of({12 * year, 1}))) + 1,
          .hour = static_cast<int>(rest / 3600),
          .minute = static_cast<int>(rest / 60 % 60),
          .second = static_cast<int>(rest % 60)};
}

Time in_form(const Time& time, TimeForm form) {
  require((form == TimeForm::number) == (time.form == TimeForm::number), "times: a number is no date");
  Time result = time;
  result.form = form;
  if (form >= time.form) return result;
  result.count = midnight_of(time.count + time.offset), result.utc = false, result.offset = 0;
  const int64_t month = month_day(result.count).month;
  const int64_t months = form == TimeForm::year ? 12 : form == TimeForm::quarter ? 3 : 1;
  if (has_months_alone(form)) result.count = moment_of({floor_div(month, months) * months, 1});
  return result;
}

std::string to_text(const Time& time) {
  if (time.form == TimeForm::number) return fmt::format("{}", time.count);
  const CalendarTime c = calendar_of(time);
  const char* dash = time.compact ? "" : "-";
  std::string text = fmt::format("{:04}", c.year);
  if (time.form == TimeForm::year) return text;
  if (time.form == TimeForm::quarter) return text + fmt::format("-Q{}", (c.month + 2) / 3);
  text += fmt::format("{}{:02}", dash, c.month);
  if (time.form == TimeForm::month) return text;
  text += fmt::format("{}{:02}", dash, c.day);
  if (time.form == TimeForm::date) return text;
  text += fmt::format(" {:02}:{:02}:{:02}", c.hour, c.minute, c.second);
  const int64_t fraction = time.count - floor_div(time.count, one_second) * one_second;
  if (fraction) text += fmt::format(".{:06}", fraction);
  return time.utc ? text + offset_text(time.offset) : text;
}

std::string offset_text(int64_t microseconds) {
  if (microseconds == 0) return "Z";
  const int64_t minutes = std::abs(microseconds) / (60 * one_second);
  return fmt::format("{}{:02}:{:02}", microseconds < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

Time Times::time(int64_t row) const {
  const int64_t rows = static_cast<int64_t>(at.size()), ahead = row - (rows - 1);
  require(row >= 0 && rows > 0, "times: no row {}", row);
  Time result{.form = form, .count = 0, .compact = compact, .utc = utc};
  if (!offsets.empty()) result.offset = offsets[std::min(static_cast<std::size_t>(row), offsets.size() - 1)];
  if (ahead <= 0) {
    result.count = at[row];
    return result;
  }
  result.count = time_after(at.back(), step, ahead);
  if (step.unit == TimeStep::Unit::microsecond && step.jitter > 0)
    result.count = floor_div(result.count + resolution(at) / 2, resolution(at)) * resolution(at);
  require_input(result.count <= last_count(form),
                "{} row{} after {} {} beyond {}, the last time that is read", ahead, plural(ahead),
                text(rows - 1), ahead == 1 ? "lies" : "end", to_text({form, last_count(form), compact, utc}));
  return result;
}

int64_t Times::count_of(const Time& time) const {
  if (!utc && time.utc) return time.count + time.offset;
  if (offsets.empty() || time.utc) return time.count;
  std::size_t row = 0;  // the last row whose clock shows no later time
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (at[i] + offsets[i] <= time.count) row = i;
  return time.count - offsets[row];
}

CalendarTime Times::calendar(int64_t row) const { return calendar_of(time(row)); }

}  // namespace unroll

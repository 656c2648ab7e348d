// See time_step.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <sstream>

#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/time_names.h"
#include "examples/timeseries/series/time_step.h"
#include "examples/timeseries/series/times.h"
#include "framework/check.h"

namespace unroll {
namespace {

using Unit = TimeStep::Unit;
using Day = TimeStep::Day;

// --- arithmetic --------------------------------------------------------------------------------------------

// Counts days from Monday to Friday. Saturday and Sunday count as the Friday before.
int64_t business_day_of(int64_t at) { return 5 * floor_div(day_of(at) + 3, 7) + std::min(weekday_of(at), 4); }
int64_t midnight_of_business_day(int64_t count) {
  return (7 * floor_div(count, 5) + (count - 5 * floor_div(count, 5)) - 3) * one_day;
}

// The midnight of a row of this step in a month. `own`: its day where the step names none.
int64_t midnight_in(int64_t month, const TimeStep& step, int own) {
  const int last = days_in_month(month), of_month = step.of_month;
  const int64_t first = moment_of({month, 1});
  int day = 1;
  switch (step.day) {
    case Day::of_month:
    case Day::several:
      day = std::min(step.day == Day::of_month && of_month == 0 ? own : of_month, last);
      break;
    case Day::nth_weekday:
      day = 1 + (of_month % 7 - weekday_of(first) + 7) % 7 + 7 * (of_month / 7 - 1);
      if (day > last) day -= 7;
      break;
    case Day::last:
      day = last;
      break;
    case Day::last_business:
      day = last - std::max(0, weekday_of(first + (last - 1) * one_day) - 4);
      break;
    case Day::first_business:
      day = weekday_of(first) > 4 ? 8 - weekday_of(first) : 1;
      break;
  }
  return first + (day - 1) * one_day;
}

// The time on the clock whose calendar the step follows, as in winter.
int64_t by_clock(int64_t at, const TimeStep& step) {
  return at + step.zone + (step.summer >= 0 && time_of_day(at) == step.summer ? one_hour : 0);
}

// The slot's place in a cycle. In a shorter month it is at most the last day.
int64_t within(const TimeStep& step, int64_t cycle, int64_t slot) {
  return step.unit == Unit::month ? std::min<int64_t>(slot, days_in_month(cycle)) : slot;
}

// The number of the last place at or before a time on the rows' clock.
int64_t slot_of(int64_t at, const TimeStep& step) {
  const SlotPlace place = slot_place(at, step);
  const auto passed = std::ranges::count_if(
      step.slots, [&](int64_t slot) { return within(step, place.cycle, slot) <= place.within; });
  return place.cycle * std::ssize(step.slots) + passed - 1;
}

// The time `places` places after `at`. Throws InputError beyond the year 30000.
int64_t after_slots(int64_t at, const TimeStep& step, int64_t places) {
  const int64_t n = std::ssize(step.slots);
  const int64_t days_of_cycle = step.unit == Unit::month ? 28 : step.count / one_day;
  require_input(places < 11'000'000 / days_of_cycle * n, "{} rows ahead are beyond the year 30000", places);
  const int64_t slot = slot_of(at, step) + places, cycle = floor_div(slot, n);
  const int64_t place = within(step, cycle, step.slots[slot - n * cycle]);
  if (step.unit == Unit::month) return moment_of({cycle, static_cast<int>(place)}) + time_of_day(at);
  return cycle * step.count + place - 3 * one_day;
}

std::string counted(int64_t count, const char* what) {
  const bool vowel = std::string_view(what) == "hour";
  return count == 1 ? fmt::format("{} {}", vowel ? "an" : "a", what) : fmt::format("{} {}s", count, what);
}

std::string months_text(int64_t months) {
  if (months % 12 == 0) return counted(months / 12, "year");
  return months == 3 ? "a quarter" : counted(months, "month");
}

// In the largest unit of which it is a whole number.
std::string duration_text(int64_t microseconds) {
  if (microseconds == 7 * one_day) return "a week";
  if (microseconds % one_day == 0) return counted(microseconds / one_day, "day");
  if (microseconds % one_hour == 0) return counted(microseconds / one_hour, "hour");
  if (microseconds % (60 * one_second) == 0) return counted(microseconds / (60 * one_second), "minute");
  return fmt::format("{} s", static_cast<double>(microseconds) / static_cast<double>(one_second));
}

// A unit in which step and jitter read easily: its microseconds and name.
struct ReadableUnit {
  int64_t size;
  const char* name;
};
ReadableUnit unit_for(const TimeStep& step) {
  if (step.unit == Unit::number) return {1, ""};
  if (step.count % one_day == 0 && step.jitter % one_day == 0) return {one_day, " days"};
  if (step.count < 600 * one_second) return {one_second, " s"};
  return step.count < 10 * one_hour ? ReadableUnit{60 * one_second, " minutes"}
                                    : ReadableUnit{one_hour, " hours"};
}

// One at the place of a number's first digit: 0.01 for 0.035.
double first_digit(double of) { return std::pow(10, std::floor(std::log10(of))); }

// "on Monday, Wednesday and Friday", "from 09:00 to 17:00, 9 times a day"
std::string slots_text(const TimeStep& step) {
  std::vector<std::string> words;
  if (step.unit == Unit::month) {
    for (const int64_t day : step.slots)
      words.push_back(day == 31 ? "last"
                                : fmt::format("{}{}", day,
                                              day % 10 == 1 && day != 11   ? "st"
                                              : day % 10 == 2 && day != 12 ? "nd"
                                              : day % 10 == 3 && day != 13 ? "rd"
                                                                           : "th"));
    return "on the " + listed(words) + " of the month";
  }
  const auto at = [&](int64_t slot) {
    const std::string day = step.count == 7 * one_day ? weekdays[slot / one_day] : "";
    return day + (day.empty() ? "" : " ") + clock_text(slot % one_day);
  };
  const bool whole_days =
      std::ranges::all_of(step.slots, [&](int64_t slot) { return (slot - step.slots[0]) % one_day == 0; });
  if (whole_days) {
    for (const int64_t slot : step.slots) words.emplace_back(weekdays[slot / one_day]);
    return "on " + listed(words);
  }
  return fmt::format("from {} to {}, {} times a {}", at(step.slots.front()), at(step.slots.back()),
                     step.slots.size(), step.count == 7 * one_day ? "week" : "day");
}

constexpr std::array<std::string_view, 6> unit_codes = {"unknown",      "number", "microsecond",
                                                        "business_day", "month",  "slots"};
constexpr std::array<std::string_view, 6> day_codes = {"of_month",       "last",        "last_business",
                                                       "first_business", "nth_weekday", "several"};

}  // namespace

SlotPlace slot_place(int64_t at, const TimeStep& step) {
  if (step.unit == Unit::month) {
    const MonthDay day = month_day(at);
    return {day.month, day.day};
  }
  const int64_t since_monday = at + 3 * one_day;  // 1970 began on a Thursday
  const int64_t cycle = floor_div(since_monday, step.count);
  return {cycle, since_monday - cycle * step.count};
}

int64_t time_after(int64_t at, const TimeStep& step, int64_t steps) {
  require_input(step.unit != Unit::unknown, "the step from row to row is not known");
  constexpr int64_t furthest = std::numeric_limits<int64_t>::max() - largest_number;  // of sums of times
  require_input(step.count == 0 || steps <= furthest / step.count, "{} rows are too far ahead", steps);
  const int64_t ahead = steps * step.count, from = by_clock(at, step);
  if (!step.slots.empty()) return at + after_slots(from, step, steps) - from;
  if (step.unit == Unit::business_day) {
    require_input(ahead < 20'000'000, "{} rows ahead are beyond the year 30000", steps);
    return at + midnight_of_business_day(business_day_of(from) + ahead) - midnight_of(from);
  }
  if (step.unit != Unit::month) return at + ahead;
  const MonthDay day = month_day(from);
  require_input(ahead <= 12 * 30'000 - day.month, "{} rows ahead are beyond the year 30000", steps);
  return at + midnight_in(day.month + ahead, step, day.day) - midnight_of(from);
}

double steps_between(int64_t from, int64_t to, const TimeStep& step) {
  from = by_clock(from, step), to = by_clock(to, step);
  if (!step.slots.empty()) return static_cast<double>(slot_of(to, step) - slot_of(from, step));
  const int64_t apart = step.unit == Unit::business_day ? business_day_of(to) - business_day_of(from)
                        : step.unit == Unit::month      ? month_day(to).month - month_day(from).month
                                                        : to - from;
  return static_cast<double>(apart) / static_cast<double>(step.count);
}

// --- words -------------------------------------------------------------------------------------------------

std::string listed(const std::vector<std::string>& words) {
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

std::string clock_text(int64_t t) {
  return fmt::format("{:02}:{:02}", t / one_hour, t / (one_hour / 60) % 60);
}

std::string to_text(const TimeStep& step) {
  if (!step.slots.empty()) return slots_text(step);
  switch (step.unit) {
    case Unit::unknown:
    case Unit::slots:
      return "unknown";
    case Unit::business_day:
      return step.count == 1 ? "a business day" : fmt::format("{} business days", step.count);
    case Unit::month:
      return months_text(step.count);
    case Unit::number:
    case Unit::microsecond:
      break;
  }
  if (step.jitter == 0)
    return step.unit == Unit::number ? fmt::format("{}", step.count) : duration_text(step.count);
  // Rounded to the jitter's first digit.
  const auto [size, name] = unit_for(step);
  const double one = static_cast<double>(size), by = static_cast<double>(step.jitter) / one;
  const double digit = first_digit(by);
  return fmt::format("{:.6g}{}", std::round(static_cast<double>(step.count) / one / digit) * digit, name);
}

std::string apart_text(const TimeStep& step) {
  if (!step.slots.empty()) return slots_text(step);
  const std::string text = (step.unit == Unit::number ? "numbers " : "") + to_text(step) + " apart";
  if (step.jitter == 0) return text;
  const auto [size, name] = unit_for(step);
  const double by = static_cast<double>(step.jitter) / static_cast<double>(size), digit = first_digit(by);
  return fmt::format("{}, give or take {:.6g}{}", text, std::round(by / digit) * digit, name);
}

std::string difference_text(TimeForm form, int64_t from, int64_t to, const TimeStep& step) {
  if (form == TimeForm::number) return fmt::format("{}", to - from);
  if (has_months_alone(form)) return months_text(month_day(to).month - month_day(from).month);
  const double steps = steps_between(from, to, step);
  if (!step.slots.empty() && steps >= 1) return counted(std::llround(steps), "row");
  if ((step.unit == Unit::business_day || step.unit == Unit::month) && steps >= 1) {
    const auto count = static_cast<int64_t>(std::lround(steps * static_cast<double>(step.count)));
    return to_text(TimeStep{.unit = step.unit, .count = count});
  }
  return duration_text(to - from);
}

// --- for a file --------------------------------------------------------------------------------------------

std::string step_code(const TimeStep& step) {
  const std::string code = fmt::format("{} {}", unit_codes[static_cast<std::size_t>(step.unit)], step.count);
  std::string zone = step.zone == 0 && step.slots.empty() ? "" : fmt::format(" {}", step.zone);
  if (!step.slots.empty()) zone += fmt::format(" {}", fmt::join(step.slots, " "));
  if (step.unit == Unit::month)
    return fmt::format("{} {} {} {}{}", code, day_codes[static_cast<std::size_t>(step.day)], step.of_month,
                       step.summer, zone);
  return fmt::format("{} {} {}{}", code, step.jitter, step.summer, zone);
}

std::optional<TimeStep> parse_step(std::string_view code) {
  std::istringstream in{std::string(code)};
  std::string unit, day = "of_month";
  TimeStep step;
  in >> unit >> step.count;
  const bool months = unit == "month";
  if (months)
    in >> day >> step.of_month;
  else
    in >> step.jitter;
  in >> step.summer;
  const auto of_unit = std::ranges::find(unit_codes, unit), of_day = std::ranges::find(day_codes, day);
  if (!in || of_unit == unit_codes.end() || of_day == day_codes.end()) return std::nullopt;
  step.unit = static_cast<Unit>(of_unit - unit_codes.begin());
  step.day = static_cast<Day>(of_day - day_codes.begin());
  in >> step.zone;
  for (int64_t slot = 0; in >> slot;) step.slots.push_back(slot);
  if (step_code(step) != code) return std::nullopt;  // further words, or other ones

  const bool by_slots = step.unit == Unit::slots, is_nth = step.day == Day::nth_weekday;
  const int64_t most = months                            ? 12'000
                       : step.unit == Unit::business_day ? 1'000'000
                       : by_slots                        ? 7 * one_day
                       : step.unit == Unit::number       ? 2 * largest_number
                                                         : int64_t{1} << 60;
  const auto lies_in = [](int64_t number, int64_t from, int64_t to) {
    return from <= number && number <= to;
  };
  const bool has_zone = months || by_slots || step.unit == Unit::business_day;
  const bool has_slots = by_slots || step.day == Day::several;
  const auto& slots = step.slots;
  const bool good =
      lies_in(step.count, step.unit == Unit::unknown ? 0 : 1, most) &&
      lies_in(step.of_month, is_nth ? 7 : 0, is_nth ? 41 : 31) && lies_in(step.jitter, 0, most) &&
      lies_in(step.summer, -1, one_day - 1) &&
      lies_in(step.zone, has_zone ? -one_day : 0, has_zone ? one_day : 0) &&
      (!by_slots || step.count == one_day || step.count == 7 * one_day) &&
      (has_slots ? slots.size() >= 2 : slots.empty()) && std::ranges::is_sorted(slots, std::less_equal{}) &&
      (slots.empty() || (slots.front() >= int64_t{months} && slots.back() <= (months ? 31 : step.count - 1)));
  return good ? std::optional(step) : std::nullopt;
}

}  // namespace unroll

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
#include "examples/timeseries/series/time_step.h"
#include "examples/timeseries/series/times.h"
#include "framework/check.h"

namespace unroll {
namespace {

using Unit = TimeStep::Unit;
using Day = TimeStep::Day;

// --- arithmetic --------------------------------------------------------------------------------------------

bool has_days(TimeForm form) { return form == TimeForm::date || form == TimeForm::date_time; }
int64_t days_in(TimeForm form, int64_t at) { return floor_div(at, day_unit(form)); }

// Counts days from Monday to Friday. Saturday and Sunday count as the Friday before.
int64_t business_day_of(int64_t days) { return 5 * floor_div(days + 3, 7) + std::min(weekday_of(days), 4); }
int64_t days_of_business_day(int64_t count) {
  return 7 * floor_div(count, 5) + (count - 5 * floor_div(count, 5)) - 3;
}

// The day in a month of a row of this step.
int day_in(int64_t month, Day where, int of_month) {
  const int last = days_in_month(month);
  const int64_t days = days_of({month, 1});
  switch (where) {
    case Day::of_month:
    case Day::several:
      return std::min(of_month, last);
    case Day::nth_weekday: {
      const int day = 1 + (of_month % 7 - weekday_of(days) + 7) % 7 + 7 * (of_month / 7 - 1);
      return day > last ? day - 7 : day;
    }
    case Day::last:
      return last;
    case Day::last_business:
      return last - std::max(0, weekday_of(days + last - 1) - 4);
    case Day::first_business:
      break;
  }
  const int weekday = weekday_of(days);
  return weekday > 4 ? 8 - weekday : 1;
}

int64_t month_of(TimeForm form, int64_t at) {
  return has_days(form) ? month_day(days_in(form, at)).month : at;
}

// The time on the clock whose calendar the step follows, as in winter.
int64_t by_clock(TimeForm form, int64_t at, const TimeStep& step) {
  if (form != TimeForm::date_time) return at;
  return at + step.zone + (step.summer >= 0 && time_of_day(at) == step.summer ? one_hour : 0);
}

}  // namespace

int64_t time_after(TimeForm form, int64_t at, const TimeStep& step, int64_t steps) {
  require_input(step.unit != Unit::unknown, "the step from row to row is not known");
  constexpr int64_t furthest = std::numeric_limits<int64_t>::max() - largest_number;  // of sums of times
  require_input(step.count == 0 || steps <= furthest / step.count, "{} rows are too far ahead", steps);
  const int64_t ahead = steps * step.count, shift = by_clock(form, at, step) - at, from = at + shift;
  if (!step.slots.empty()) return after_slots(form, from, step, steps) - shift;
  switch (step.unit) {
    case Unit::unknown:
    case Unit::number:
    case Unit::slots:
      break;
    case Unit::microsecond:
      require(form != TimeForm::date || step.count % one_day == 0, "times: dates that are {} apart",
              to_text(step));
      return form == TimeForm::date ? at + ahead / one_day : at + ahead;
    case Unit::business_day: {
      require_input(ahead < 20'000'000, "{} rows ahead are beyond the year 30000", steps);
      const int64_t days = days_in(form, from);
      return from + (days_of_business_day(business_day_of(days) + ahead) - days) * day_unit(form) - shift;
    }
    case Unit::month: {
      const int64_t month = month_of(form, from);
      require_input(ahead <= 12 * 30'000 - month, "{} rows ahead are beyond the year 30000", steps);
      if (!has_days(form)) return at + ahead;
      const bool own = step.day == Day::of_month && step.of_month == 0;  // months without days
      const int of_month = own ? month_day(days_in(form, from)).day : step.of_month;
      const int64_t later = days_of({month + ahead, day_in(month + ahead, step.day, of_month)});
      return from + (later - days_in(form, from)) * day_unit(form) - shift;
    }
  }
  return at + ahead;
}

double steps_between(TimeForm form, int64_t from, int64_t to, const TimeStep& step) {
  from = by_clock(form, from, step), to = by_clock(form, to, step);
  const auto count = static_cast<double>(step.count);
  if (!step.slots.empty()) return static_cast<double>(slot_of(form, to, step) - slot_of(form, from, step));
  switch (step.unit) {
    case Unit::unknown:
    case Unit::number:
    case Unit::slots:
      break;
    case Unit::microsecond:
      return static_cast<double>(to - from) * (form == TimeForm::date ? static_cast<double>(one_day) : 1) /
             count;
    case Unit::business_day:
      return static_cast<double>(business_day_of(days_in(form, to)) - business_day_of(days_in(form, from))) /
             count;
    case Unit::month:
      return static_cast<double>(month_of(form, to) - month_of(form, from)) / count;
  }
  return static_cast<double>(to - from) / count;
}

// --- words -------------------------------------------------------------------------------------------------

namespace {

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

}  // namespace

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
  const double digit = std::pow(10, std::floor(std::log10(by)));
  return fmt::format("{:.6g}{}", std::round(static_cast<double>(step.count) / one / digit) * digit, name);
}

std::string apart_text(const TimeStep& step) {
  if (!step.slots.empty()) return slots_text(step);
  const std::string text = (step.unit == Unit::number ? "numbers " : "") + to_text(step) + " apart";
  if (step.jitter == 0) return text;
  const auto [size, name] = unit_for(step);
  return fmt::format("{}, give or take {:.1g}{}", text,
                     static_cast<double>(step.jitter) / static_cast<double>(size), name);
}

std::string difference_text(TimeForm form, int64_t from, int64_t to, const TimeStep& step) {
  if (form == TimeForm::number) return fmt::format("{}", to - from);
  if (!has_days(form)) return months_text(to - from);
  const double steps = steps_between(form, from, to, step);
  if (!step.slots.empty()) return fmt::format("{} rows", steps);
  if ((step.unit == Unit::business_day || step.unit == Unit::month) && steps >= 1) {
    const auto count = static_cast<int64_t>(std::lround(steps * static_cast<double>(step.count)));
    return to_text(TimeStep{.unit = step.unit, .count = count});
  }
  return duration_text((to - from) * (form == TimeForm::date ? one_day : 1));
}

// --- for a file --------------------------------------------------------------------------------------------

namespace {

constexpr std::array<std::string_view, 6> unit_codes = {"unknown",      "number", "microsecond",
                                                        "business_day", "month",  "slots"};
constexpr std::array<std::string_view, 6> day_codes = {"of_month",       "last",        "last_business",
                                                       "first_business", "nth_weekday", "several"};

}  // namespace

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

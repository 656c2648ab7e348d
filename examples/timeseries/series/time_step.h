// The time from one row of a series to the next: found from a file's times, or known from a model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/timeseries/series/calendar.h"

namespace unroll {

enum class TimeForm : uint8_t {
  number,
  year,
  quarter,
  month,
  date,
  date_time
};  // after `number` from coarse to fine
inline bool has_months_alone(TimeForm form) {
  return form == TimeForm::year || form == TimeForm::quarter || form == TimeForm::month;
}

struct TimeStep {
  enum class Unit : uint8_t { unknown, number, microsecond, business_day, month, slots };
  // A row's place in its month: day `of_month`, or the last day of a shorter month; the last day; the last, or
  // first, day from Monday to Friday; a weekday's first to fourth, or last, day; the days `slots`.
  enum class Day : uint8_t { of_month, last, last_business, first_business, nth_weekday, several };

  Unit unit = Unit::unknown;
  int64_t count = 0;  // in units; days and weeks in microseconds; for slots: a day or a week in microseconds
  Day day = Day::of_month;
  int of_month = 0;    // 0: times of this form have no days; for a weekday 7 * nth + weekday, nth 5: the last
  int64_t jitter = 0;  // for numbers and microseconds: nine in ten differences are so near to `count`
  // For date-times that shift by an hour with the season: rows at this time of day are written an hour early (22:00
  // instead of 23:00: midnight in UTC of a zone with summer time). Microseconds; -1: there are none.
  int64_t summer = -1;
  // For business days and months: microseconds from a date-time, as in winter, to the clock whose calendar the rows
  // follow. In a zone an hour ahead of UTC, Monday's midnight is on Sunday at 23:00 UTC.
  int64_t zone = 0;
  // The rows' places, ascending: microseconds since midnight, or since Monday's midnight; or days of the month (a
  // shorter month has its last day).
  std::vector<int64_t> slots = {};

  bool operator==(const TimeStep&) const = default;
};

// "a month", "a business day", "an hour", "60 s"; for slots like apart_text
std::string to_text(const TimeStep& step);
// "a month apart", "60 s apart, give or take 5 s", "on Monday and Friday"
std::string apart_text(const TimeStep& step);
// To text in a file and back: "month 1 last", "microsecond 3600000000 0". None: the text is no step.
std::string step_code(const TimeStep& step);
std::optional<TimeStep> parse_step(std::string_view code);

// The time `steps` steps after `at`. Throws InputError: the step is unknown, or the time is too far ahead.
int64_t time_after(int64_t at, const TimeStep& step, int64_t steps);
// The number of steps between two times; 1 between neighbours without a gap.
double steps_between(int64_t from, int64_t to, const TimeStep& step);
// The difference of neighbours, for messages about a step: "2 months", "3 days", "an hour".
std::string difference_text(TimeForm form, int64_t from, int64_t to, const TimeStep& step);

// Finds the step of ascending times. Notes say what could not be decided. Unknown: fewer than two times. `offsets`
// are the date-times' by row, in microseconds east of UTC; empty: none are written, or all are 0.
struct FoundStep {
  TimeStep step;
  std::vector<std::string> notes = {};
};
FoundStep find_step(TimeForm form, std::span<const int64_t> at, std::span<const int64_t> offsets = {});

// The step to go on with if a model's step differs from the file's. The model's, if it explains at least as many of
// the file's differences. Else the file's, if both are equally long (the 1st and the last of each month). None: the
// steps differ.
std::optional<TimeStep> same_step(TimeForm form, std::span<const int64_t> at, TimeStep model,
                                  const TimeStep& file);

// --- for the files time_*.cpp --------------------------------------------------------------------------------
//
// Steps with `slots`: rows lie at several places of a day, a week or a month, in turn: Monday, Wednesday and Friday; the
// 1st and the 15th; each hour from 9 to 17.

// The number of a time's day, week or month, and its place there: microseconds, or the day of the month. The time is on the
// clock whose calendar the rows follow.
struct SlotPlace {
  int64_t cycle, within;
};
SlotPlace slot_place(int64_t at, const TimeStep& step);

// "a, b and c"
std::string listed(const std::vector<std::string>& words);
// "09:00": microseconds since midnight.
std::string clock_text(int64_t t);

}  // namespace unroll

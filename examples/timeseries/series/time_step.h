// The time from one row of a series to the next: found from the times that a file has, or known from a model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unroll {

enum class TimeForm : uint8_t {
  number,
  year,
  quarter,
  month,
  date,
  date_time
};  // but for numbers, finer and finer
// Counted in months.
inline bool has_months_alone(TimeForm form) {
  return form == TimeForm::year || form == TimeForm::quarter || form == TimeForm::month;
}

struct TimeStep {
  enum class Unit : uint8_t { unknown, number, microsecond, business_day, month, slots };
  // A row's place in its month: on the day `of_month`, or on the last one of a month that is shorter; on the last
  // day; on the last, or first, day from Monday to Friday; on a weekday's first to fourth, or last, day; on the days `slots`.
  enum class Day : uint8_t { of_month, last, last_business, first_business, nth_weekday, several };

  Unit unit = Unit::unknown;
  int64_t count =
      0;  // so many units; days and weeks are microseconds too; of slots a day or a week, in microseconds
  Day day = Day::of_month;
  int of_month =
      0;  // 0: the form of the times has no days; of a weekday 7 * nth + weekday, nth 5 being the last
  int64_t jitter =
      0;  // of numbers and microseconds: nine in ten differences are not further than that from `count`
  // Date-times whose clock goes by an hour with the season: rows at this time of day are written an hour early
  // (22:00 where others have 23:00: midnight in UTC, of a zone with summer time). Microseconds; -1: there are none.
  int64_t summer = -1;
  // For business days and months: microseconds from a date-time, as in winter, to the clock whose calendar they keep
  // to. A zone an hour ahead of UTC has its Monday's midnight on a Sunday at 23:00 UTC.
  int64_t zone = 0;
  // The rows' places in turn, ascending: microseconds since a day's midnight, or since a week's on Monday; days of the month, of
  // which a shorter month has its last.
  std::vector<int64_t> slots = {};

  bool operator==(const TimeStep&) const = default;
};

// "a month", "a business day", "an hour", "60 s"; of slots as below
std::string to_text(const TimeStep& step);
// "a month apart", "60 s apart, give or take 5 s", "on Monday and Friday"
std::string apart_text(const TimeStep& step);
// For a file, and back: "month 1 last", "microsecond 3600000000 0". None: it says no step.
std::string step_code(const TimeStep& step);
std::optional<TimeStep> parse_step(std::string_view code);

// The time so many steps after one. InputError: the step is not known, or that is too far ahead.
int64_t time_after(TimeForm form, int64_t at, const TimeStep& step, int64_t steps);
// Microseconds from a date-time without an offset to the clock whose days the step keeps to: from 23:00 UTC, and in summer
// 22:00, to the midnight that a zone ahead of UTC has then. 0: rows keep to no other clock.
int64_t to_midnight(TimeForm form, int64_t at, const TimeStep& step);
// How many steps lie between two times; 1 between neighbours without a gap.
double steps_between(TimeForm form, int64_t from, int64_t to, const TimeStep& step);
// Differences of neighbours, beside a step: "2 months", "3 days", "an hour".
std::string difference_text(TimeForm form, int64_t from, int64_t to, const TimeStep& step);

// The step of times that ascend, and what of it could not be decided. It is unknown for fewer than two times.
// `offsets` are those of date-times by row, in microseconds east of UTC; empty: they are not written, or all are 0.
struct FoundStep {
  TimeStep step;
  std::vector<std::string> notes = {};
};
FoundStep find_step(TimeForm form, std::span<const int64_t> at, std::span<const int64_t> offsets = {});

// How the rows of a file go on, of which a model knows the step and the file has another: as the model's do, if that
// explains as many of the file's differences; as the file's do, if both are equally long (the 1st and the last of each
// month). None: they are different steps.
std::optional<TimeStep> same_step(TimeForm form, std::span<const int64_t> at, const TimeStep& model,
                                  const TimeStep& file);

}  // namespace unroll

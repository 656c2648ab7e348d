// Times of a series' rows: read from text, checked for order, continued beyond the last row.
//
// All times of a column have one form: whole numbers, years (1749), quarters (1970 Q1), months (2017-03, Mar 2017),
// dates (2017-03-31, 03/31/2017, 31 Mar 2017), or date-times (a date, then 14:05, 14:05:59.25 or 2:05 PM, with Z or
// +02:00 or without). A time counts microseconds since 1970, or is a number. However they were read, times are written as 1970-Q1,
// 2017-03, 2017-03-31 and 2017-03-31 14:05:59. Times with a UTC offset count in UTC and keep the offset: calendars,
// days and texts follow the clock that the file shows. Names are English, the calendar Gregorian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/timeseries/series/time_step.h"

namespace unroll {

struct Time {
  TimeForm form = TimeForm::number;
  // The number as written; else microseconds since 1970, of a coarser form than date-times its first moment.
  int64_t count = 0;
  bool compact = false;  // months and dates are written 201703 and 20170331
  bool utc = false;      // a date-time had an offset from UTC, or Z
  int64_t offset = 0;    // that offset, in microseconds east of UTC
};

// The form's name for messages: "dates".
const char* times_called(TimeForm form);

// The order of day and month in dates with the year last: 31/03/2017, 03/31/2017. Unknown: such dates are not read.
enum class DateOrder : uint8_t { unknown, day_first, month_first };

// The time in a text of one of the forms. None: it has no time, or a day that no calendar has. Whole numbers are
// numbers, even 1749 and 20170331.
std::optional<Time> parse_time(std::string_view text, DateOrder order = DateOrder::unknown);
// As above, in a column of times of form `beside`. Unless that is `number`, 1749 is a year, 201703 a month and
// 20170331 a date; beside `month`, 03.2017 and 2017.03 are months.
std::optional<Time> parse_time(std::string_view text, TimeForm beside, DateOrder order = DateOrder::unknown);
// The time in a cell of a column of this form, whose whole numbers may also be weeks, and moments since 1970.
std::optional<Time> time_in_column(std::string_view cell, TimeForm form, DateOrder order);
// The month in 03.2017 or 2017.03, from 1500 to 2200: alone these are numbers.
std::optional<Time> dotted_month(std::string_view text);
// Whether the text is a time other than a number, in either order.
bool reads_as_date(std::string_view text);
std::string to_text(const Time& time);
// "+02:00", "Z"
std::string offset_text(int64_t microseconds);
// The time in another form: its first moment in a finer form, or what contains it in a coarser one, by its own
// clock. Throws Error for numbers.
Time in_form(const Time& time, TimeForm form);

// The form of a column's whole numbers. `rows`: all cells of the column; those not in `numbers` are no whole
// numbers. The order of `numbers` does not matter, so that a fault in it can be reported later.
// * Dates, if more than half of the cells are one (20170331).
// * Quarters (20141) or dates, for weeks (202401), if all are one, and a year's last is beside the next one's first. Weeks of one
//   year, if most are in turn, some after the twelfth, and the name says so.
// * Months, if more than half are one (201703), and a December and a January follow each other, or the name says month,
//   date or period.
// * Years, if all are from 1500 to 2200 and the name says year, and they ascend or most are equally far apart. Or if
//   the name says date, time or period, and they are evenly spaced.
// * Date-times, if more than half are one (2017033114, 201703311405, 20170331140559); in UTC, if more than half lie between 1980 and 2100 as seconds, milli-, micro- or nanoseconds since 1970, and the
//   name says time or date or most are equally far apart.
// * Else numbers.
TimeForm form_of_numbers(const std::vector<int64_t>& numbers, std::string_view name, std::size_t rows);

// Moments since 1970 in a column that is not the first are times by a word of their name alone: createdAt, "Unix time".
bool names_a_moment(const std::string& name);

// Columns that begin with a smaller number are none of these.
constexpr int64_t least_dated = 1500;

// The largest magnitude of numbers read as times: beyond nanoseconds since 1970 in the first half of this century.
constexpr int64_t largest_number = 3'000'000'000'000'000'000;

// The forms except whole numbers, for messages.
constexpr const char* forms_of_time =
    "2017-03-31, 03/31/2017, 31.3.2017, 31 Mar 2017, 2017-03, Mar 2017, 2017-W13, 2017 Q1; after a day a time, 14:05:59 or 2:05 PM, "
    "and after that +02:00 or Z";
// Whether a text looks like a date or a time of day, even in a form that is not read: 1/31/20, 14:05, Jan-20.
bool looks_like_a_date(std::string_view text);

struct CalendarTime {
  int year = 0, month = 1, day = 1;  // from 1
  int weekday = 0;                   // Monday 0
  int day_of_year = 1;               // from 1
  int hour = 0, minute = 0, second = 0;
};
// Throws Error for numbers.
CalendarTime calendar_of(const Time& time);

struct Times {
  TimeForm form = TimeForm::number;
  bool compact = false, utc = false;  // as in Time
  std::vector<int64_t> at;  // by row, ascending; a series without a column of times counts its rows from 0
  TimeStep step = {.unit = TimeStep::Unit::number, .count = 1};

  // Offsets of date-times by row, in microseconds east of UTC, as they were written. Empty: none are written, or
  // all are 0. Rows beyond the last keep its offset.
  std::vector<int64_t> offsets = {};

  // The row's time; rows beyond the last go on by the step. Throws InputError: the time could not be read back, as
  // in the year 10000, or the step is unknown.
  Time time(int64_t row) const;
  std::string text(int64_t row) const { return to_text(time(row)); }
  // The count of a time of this form. A time without an offset follows the rows' own clock if these have offsets.
  int64_t count_of(const Time& time) const;
  // Throws Error for numbers.
  CalendarTime calendar(int64_t row) const;
};

}  // namespace unroll

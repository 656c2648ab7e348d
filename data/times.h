// The times of a series' rows: read from text, checked for order, continued beyond the last row.
//
// A column of times has one form throughout: whole numbers, months (2017-03), dates (2017-03-31), or
// date-times (2017-03-31 14:05, 2017-03-31T14:05:59.25Z). A time is a count of its form's unit. No zone but Z
// is read, and no calendar but the Gregorian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unroll {

enum class TimeForm : uint8_t { number, month, date, date_time };

struct Time {
  TimeForm form = TimeForm::number;
  int64_t count = 0;  // as it is written; months since year 0; days, microseconds since 1970
};

// The time that the text says in one of the forms; none if it says none, or a day that no calendar has.
std::optional<Time> parse_time(std::string_view text);
std::string to_text(const Time& time);
// Those forms but for whole numbers, for messages.
constexpr const char* forms_of_time = "2017-03, 2017-03-31 and 2017-03-31 14:05:59";
// A date or a time of day in whatever form, also one that is not read: 01/31/2020, 31.1.2020, 14:05, 31 Jan 2020.
bool looks_like_a_date(std::string_view text);

// What a calendar says of a moment.
struct CalendarTime {
  int year = 0, month = 1, day = 1;  // from 1
  int weekday = 0;                   // Monday 0
  int day_of_year = 1;               // from 1
  int hour = 0, minute = 0, second = 0;
};
// Error for numbers, which no calendar knows.
CalendarTime calendar_of(const Time& time);

struct Times {
  TimeForm form = TimeForm::number;
  std::vector<int64_t> at;  // by row, ascending; a series without a column of times counts its rows from 0
  int64_t step = 1;         // the most common difference of neighbours
  int64_t months = 0;       // the same in months, of times that keep to a day of the month; 0: of no others
  bool month_ends = false;  // that day is the last of each month

  // Sets `months` and `month_ends` from `at`: they are of dates and date-times that all have one time of day
  // and lie on the same day of their months, the 28th or before, or each on the last.
  void find_months();
  // The row's time; beyond the last row, `step` (or `months`, if it is not 0) further for each. Error: a time
  // too far ahead.
  Time time(int64_t row) const;
  std::string text(int64_t row) const { return to_text(time(row)); }
  // Error for numbers, which no calendar knows.
  CalendarTime calendar(int64_t row) const;
};

}  // namespace unroll

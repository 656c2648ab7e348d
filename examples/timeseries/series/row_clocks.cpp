// Reads times by the clock that rows keep to. See series_rows.h.
#include <algorithm>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/series_rows.h"
#include "framework/one_line.h"

namespace unroll {

void follow_clock(Series& series) {
  Times& times = series.times;
  const auto& offsets = times.offsets;
  if (!series.members.empty() || offsets.empty()) return;
  const auto [least, most] = std::ranges::minmax(offsets);
  if (least == most || most - least > one_hour) return;
  const TimeStep step = find_step(times.form, times.at, offsets).step;
  if (step.unit != TimeStep::Unit::microsecond || step.count > one_hour ||
      times.at.back() - times.at.front() < 4 * one_day)
    return;
  std::vector<int64_t> from, at;
  for (int64_t row = 0; row < series.rows(); ++row)
    if (const int64_t now = times.at[row] + offsets[row]; at.empty() || now > at.back())
      from.push_back(row), at.push_back(now);
  const int64_t twice = series.rows() - std::ssize(from);
  series.notes.push_back(
      "clocks are set within the rows: times are read without offsets, so that days keep their hours" +
      (twice > 0 ? fmt::format("; {} rows of an hour that comes twice are left out", twice) : ""));
  series.take_rows(from);
  times.at = at, times.offsets.clear(), times.utc = false, series.follows_clock = true;
}

void keep_to_day(Series& series, const TimeStep& found) {
  Times& times = series.times;
  if (found.unit != TimeStep::Unit::microsecond || 10 * found.jitter > found.count ||
      2 * found.count > one_day)
    return;
  const int64_t places = (one_day + found.count / 2) / found.count;
  TimeStep even = found;
  even.count = one_day / places, even.jitter = 0;
  const int64_t off = std::abs(found.count - even.count);
  int64_t most = 0;  // rows of a series
  for (int member = 0; member < series.count(); ++member)
    most = std::max(most, series.end_of(member) - series.begin_of(member));
  // More than a row of 20 that is passed, or left out, would be a pattern of the rows.
  if (one_day % places != 0 || off > found.jitter || 20 * off > even.count || off * most <= one_hour ||
      (times.step != found && times.step != even))
    return;
  NewRows rows;
  std::vector<int64_t> at;
  for (int member = 0; member < series.count(); ++member) {
    const int64_t begin = series.begin_of(member), end = series.end_of(member), first = times.at[begin];
    const auto own =
        std::span(times.at).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    const bool drifts = std::abs(find_step(times.form, own).step.count - found.count) <= found.jitter;
    for (int64_t row = begin, next = 0; row < end; ++row) {
      const int64_t since = times.at[row] - first;
      if (drifts && 4 * (next * even.count - since) > 3 * even.count) continue;
      const int64_t place = std::max(next, floor_div(since + even.count / 2, even.count));
      rows.from.push_back(row), at.push_back(drifts ? first + place * even.count : times.at[row]);
      next = place + 1;
    }
  }
  series.notes.push_back(fmt::format(
      "rows are {}: each is read at the nearest {}, so that days keep their hours; {} are left out",
      apart_text(found), to_text(even), series.rows() - std::ssize(at)));
  put_rows(series, rows, 0);
  times.at = at, times.step = even, series.follows_clock = true;
}

void note_unfinished(Series& series, int64_t now) {
  using Unit = TimeStep::Unit;
  const Times& times = series.times;
  if (times.form == TimeForm::number) return;
  std::vector<std::string> names;
  int64_t last = 0;
  for (int member = 0; member < series.count(); ++member) {
    const TimeStep& step = series.step_of(member);
    const int64_t row = series.end_of(member) - 1;  // the last
    const bool is_month = step.unit == Unit::month && step.slots.empty(),
               has_hours = times.form == TimeForm::date_time &&
                           !(is_month || step.unit == Unit::business_day ||
                             (step.unit == Unit::microsecond && step.count % one_day == 0));
    const auto is_over = [&](int64_t k) {
      const int64_t at = times.at[k] + (times.offsets.empty() ? 0 : times.offsets[k]);
      const MonthDay of = month_day(at);
      return now >=
             (is_month && of.day == 1 ? moment_of({of.month + step.count, 1}) : midnight_of(at) + one_day);
    };
    if (has_hours || row == series.begin_of(member) || is_over(row) || !is_over(row - 1)) continue;
    names.push_back(fmt::format("'{}'", one_line(series.name_of(member)))), last = row;
  }
  if (names.empty()) return;
  series.notes.push_back(fmt::format(
      "the last row{} ({}, line {}) is of a time that is not over: if it holds a part of a sum, delete its line, and it is forecast",
      series.members.empty() ? "" : " of " + first_of(names), times.text(last), series.lines[last]));
}

}  // namespace unroll

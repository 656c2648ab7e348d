// Reads times by the clock that rows keep to. See series_rows.h.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/series_rows.h"

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
  series.notes.push_back(fmt::format(
      "clocks are set within the rows: times are read without offsets, so that days keep their hours; {} rows of an "
      "hour that comes twice are left out",
      series.rows() - std::ssize(from)));
  series.take_rows(from);
  times.at = at, times.offsets.clear(), times.utc = false, series.follows_clock = true;
}

void keep_to_day(Series& series) {
  Times& times = series.times;
  TimeStep& step = times.step;
  if (step.unit != TimeStep::Unit::microsecond || !series.members.empty() || 10 * step.jitter > step.count ||
      2 * step.count > one_day)
    return;
  const int64_t places = (one_day + step.count / 2) / step.count, even = one_day / places;
  const int64_t off = std::abs(step.count - even);
  if (one_day % places != 0 || off > step.jitter || off * series.rows() <= one_hour) return;
  std::vector<int64_t> from, at;
  for (int64_t row = 0, next = 0; row < series.rows(); ++row) {
    const int64_t since = times.at[row] - times.at[0];
    if (4 * (next * even - since) > 3 * even) continue;
    const int64_t place = std::max(next, floor_div(since + even / 2, even));
    from.push_back(row), at.push_back(times.at[0] + place * even), next = place + 1;
  }
  series.notes.push_back(fmt::format(
      "rows are {}: each is read at the nearest {}, so that days keep their hours; {} are left out",
      apart_text(step), to_text(TimeStep{.unit = step.unit, .count = even}),
      series.rows() - std::ssize(from)));
  series.take_rows(from);
  times.at = at, step.count = even, step.jitter = 0, series.follows_clock = true;
}

}  // namespace unroll

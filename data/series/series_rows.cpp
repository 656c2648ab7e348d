// See series_rows.h.
#include "data/series/series_rows.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// The times and offsets of the longest series, which are those of the file if it has one.
struct LongestSeries {
  std::span<const int64_t> at, offsets;
  explicit LongestSeries(const Series& series) {
    int longest = 0;
    for (int k = 1; k < series.count(); ++k)
      if (series.end_of(k) - series.begin_of(k) > series.end_of(longest) - series.begin_of(longest))
        longest = k;
    const auto begin = static_cast<std::size_t>(series.begin_of(longest)),
               rows = static_cast<std::size_t>(series.end_of(longest)) - begin;
    at = std::span(series.times.at).subspan(begin, rows);
    if (!series.times.offsets.empty()) offsets = std::span(series.times.offsets).subspan(begin, rows);
  }
};

// A model's rows and those of a file are a step apart, the same one.
void take_step_of_model(Series& series, std::span<const int64_t> at, const SeriesOptions& options) {
  Times& times = series.times;
  const TimeStep& model = *options.step;
  const auto step = same_step(times.form, at, model, times.step);
  require_input(step.has_value(), "{}{} rows are {}, those of {} {}", options.model,
                options.model.empty() ? "the first file's" : ": the model's", apart_text(model),
                series.origin, apart_text(times.step));
  times.step = *step;
}

}  // namespace

void settle_step(Series& series, const SeriesOptions& options) {
  Times& times = series.times;
  if (series.time_name.empty()) return;
  const LongestSeries longest(series);
  const FoundStep found = find_step(times.form, longest.at, longest.offsets);
  times.step = found.step;
  if (options.step && options.step->unit != TimeStep::Unit::unknown) {
    take_step_of_model(series, longest.at, options);
  } else if (!options.step && !options.model.empty() && times.step.unit != TimeStep::Unit::unknown) {
    series.notes.push_back(fmt::format("{} does not say how far apart its rows are: taken from {}, {}",
                                       options.model, series.origin, to_text(times.step)));
  }
  if (times.step == found.step)
    series.notes.insert(series.notes.end(), found.notes.begin(), found.notes.end());
  int64_t uneven = 0;
  std::string first;
  int member = 0;
  for (std::size_t i = 1; i < times.at.size(); ++i) {
    if (static_cast<int64_t>(i) == series.end_of(member)) {
      ++member;
      continue;
    }
    const int64_t before = times.at[i - 1], now = times.at[i];
    const double steps = steps_between(times.form, before, now, times.step);
    if ((3 * steps >= 2 && 2 * steps <= 3) || ++uneven > 1) continue;
    constexpr int64_t hour = 3'600'000'000;
    const bool clock = times.form == TimeForm::date_time && !times.utc && times.step.count <= hour &&
                       now - before == times.step.count + hour;
    first =
        fmt::format("{} after {}, where rows are {}{}", difference_text(times.form, before, now, times.step),
                    to_text({times.form, before, times.compact, times.utc}), apart_text(times.step),
                    clock ? "; where clocks are set forward, times with an offset (+01:00) have no gap" : "");
    require_input(options.gaps == Gaps::allow, "{}:{}: {}{}{}", series.origin, series.lines[i],
                  steps > 1 ? "a gap of " : "", first,
                  options.model.empty() ? "; data.gaps = \"allow\" takes the rows as they come" : "");
    first = fmt::format("line {}: {}", series.lines[i], first);
  }
  if (uneven > 0)
    series.notes.push_back(
        fmt::format("{} gap{} in the times; the first, {}", uneven, uneven == 1 ? "" : "s", first));
}

void fill_in(Series& series, Missing missing) {
  const int width = series.width();
  const auto value = [&](int64_t row, int channel) -> double& {
    return series.values[static_cast<std::size_t>(row * width + channel)];
  };
  int64_t filled = 0, first_row = series.rows();
  const auto mark = [&](int64_t row, int channel, uint8_t how) {
    series.filled.resize(series.values.size());
    series.filled[static_cast<std::size_t>(row * width + channel)] = how;
  };
  const auto fill = [&](int member, int channel) {
    const int64_t begin = series.begin_of(member), end = series.end_of(member);
    for (int64_t row = begin; row < end; ++row) {
      if (!std::isnan(value(row, channel))) continue;
      int64_t next = row;
      while (next < end && std::isnan(value(next, channel))) ++next;
      const auto beside = [&](bool there, std::string_view which) {
        require_input(there,
                      "{}:{}: channel '{}': a value is missing, and there is none {} it{} to fill it in from",
                      series.origin, series.lines[static_cast<std::size_t>(row)],
                      one_line(series.channels[static_cast<std::size_t>(channel)]), which,
                      series.members.empty()
                          ? ""
                          : fmt::format(" in series '{}'",
                                        one_line(series.members[static_cast<std::size_t>(member)].name)));
      };
      if (missing == Missing::mask && row == begin) {
        beside(next < end, "after");
        for (int64_t i = row; i < next; ++i) {
          value(i, channel) = value(next, channel);
          mark(i, channel, 2);
        }
        first_row = std::min(first_row, row), filled += next - row;
        continue;
      }
      beside(row > begin, "before");
      if (missing == Missing::interpolate) beside(next < end, "after");
      const double before = value(row - 1, channel);
      for (int64_t i = row; i < next; ++i) {
        const double share = static_cast<double>(i - row + 1) / static_cast<double>(next - row + 1);
        value(i, channel) =
            missing == Missing::interpolate ? (1 - share) * before + share * value(next, channel) : before;
        mark(i, channel, 1);
      }
      first_row = std::min(first_row, row);
      filled += next - row;
    }
  };
  for (int channel = 0; channel < width; ++channel)
    for (int member = 0; member < series.count(); ++member) fill(member, channel);
  if (filled > 0) {
    series.notes.push_back(fmt::format("{} missing value{} filled in ({}); the first in line {}", filled,
                                       filled == 1 ? "" : "s",
                                       missing == Missing::previous ? "the previous value"
                                       : missing == Missing::mask   ? "the previous value, and marked"
                                                                    : "interpolated",
                                       series.lines[static_cast<std::size_t>(first_row)]));
  }
}

}  // namespace unroll

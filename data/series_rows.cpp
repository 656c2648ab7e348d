// See series_rows.h.
#include "data/series_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

std::string duration(TimeForm form, int64_t count) {
  if (form == TimeForm::number) return fmt::format("{}", count);
  if (form != TimeForm::date_time)
    return fmt::format("{} {}{}", count, form == TimeForm::month ? "month" : "day", count == 1 ? "" : "s");
  constexpr int64_t second = 1'000'000;
  if (count % (3600 * second) == 0) return fmt::format("{} h", count / (3600 * second));
  if (count % (60 * second) == 0) return fmt::format("{} min", count / (60 * second));
  return fmt::format("{} s", static_cast<double>(count) / static_cast<double>(second));
}

}  // namespace

void find_step(Series& series, const SeriesOptions& options) {
  Times& times = series.times;
  if (times.at.size() < 2) return;
  std::map<int64_t, int64_t> counts;
  for (std::size_t i = 1; i < times.at.size(); ++i) ++counts[times.at[i] - times.at[i - 1]];
  times.step = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                 return a.second < b.second;
               })->first;
  times.find_months();
  int64_t found = 0;
  std::string first;
  for (std::size_t i = 1; i < times.at.size(); ++i) {
    const int64_t difference = times.at[i] - times.at[i - 1];
    if (2 * difference <= 3 * times.step || ++found > 1) continue;
    first = fmt::format("{} after {}, where rows are {} apart", duration(times.form, difference),
                        series.times.text(static_cast<int64_t>(i) - 1), duration(times.form, times.step));
    require_input(options.gaps == Gaps::allow, "{}:{}: a gap of {}{}", series.origin, series.lines[i], first,
                  options.model.empty() ? "; gaps = \"allow\" takes the rows as they come" : "");
    first = fmt::format("line {}: {}", series.lines[i], first);
  }
  if (found > 0)
    series.notes.push_back(
        fmt::format("{} gap{} in the times; the first, {}", found, found == 1 ? "" : "s", first));
}

void fill_in(Series& series, Missing missing) {
  const int64_t rows = series.rows();
  const int width = series.width();
  const auto value = [&](int64_t row, int channel) -> double& {
    return series.values[static_cast<std::size_t>(row * width + channel)];
  };
  int64_t filled = 0, first_row = rows;
  for (int channel = 0; channel < width; ++channel) {
    for (int64_t row = 0; row < rows; ++row) {
      if (!std::isnan(value(row, channel))) continue;
      int64_t next = row;
      while (next < rows && std::isnan(value(next, channel))) ++next;
      const auto beside = [&](bool there, std::string_view which) {
        require_input(there,
                      "{}:{}: channel '{}': a value is missing, and there is none {} it to fill it in from",
                      series.origin, series.lines[static_cast<std::size_t>(row)],
                      one_line(series.channels[static_cast<std::size_t>(channel)]), which);
      };
      beside(row > 0, "before");
      if (missing == Missing::interpolate) beside(next < rows, "after");
      const double before = value(row - 1, channel);
      for (int64_t i = row; i < next; ++i) {
        const double share = static_cast<double>(i - row + 1) / static_cast<double>(next - row + 1);
        value(i, channel) =
            missing == Missing::previous ? before : (1 - share) * before + share * value(next, channel);
      }
      first_row = std::min(first_row, row);
      filled += next - row;
    }
  }
  if (filled > 0) {
    series.notes.push_back(fmt::format("{} missing value{} filled in ({}); the first in line {}", filled,
                                       filled == 1 ? "" : "s",
                                       missing == Missing::previous ? "the previous value" : "interpolated",
                                       series.lines[static_cast<std::size_t>(first_row)]));
  }
}

}  // namespace unroll

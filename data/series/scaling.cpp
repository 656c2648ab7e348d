// See scaling.h.
#include "data/series/scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

Part whole_series(const Series& series) { return {{0, series.rows(), 0}}; }

Scaling fit_scaling(const Series& series, const Part& part, ScalingKind kind,
                    std::vector<std::string>& notes) {
  require(rows_of(part) > 0, "scaling: no rows to measure");
  Scaling scaling;
  scaling.shift.assign(static_cast<std::size_t>(series.width()), 0);
  scaling.scale.assign(static_cast<std::size_t>(series.width()), 1);
  if (kind == ScalingKind::none) return scaling;
  std::vector<std::string> constant;
  for (int channel = 0; channel < series.width() - series.calendar; ++channel) {
    if (channel == series.label) continue;
    double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
    const auto each = [&](auto use) {
      for (const Span& span : part) {
        for (int64_t row = span.begin; row < span.end; ++row)
          if (!series.is_filled(row, channel)) use(series.at(row, channel));
      }
    };
    double rows = 0;
    each([&](double) { ++rows; });
    require_input(rows > 0, "{}: channel '{}': all values to measure its scale on are missing", series.origin,
                  one_line(series.channels[static_cast<std::size_t>(channel)]));
    each([&](double x) { least = std::min(least, x), most = std::max(most, x), sum += x / rows; });
    double squares = 0;
    each([&](double x) { squares += (x - sum) * (x - sum) / rows; });
    const std::size_t at = static_cast<std::size_t>(channel);
    const bool varies = most > least;  // rounding may leave a constant a deviation above 0
    scaling.shift[at] = kind == ScalingKind::standard && varies ? sum : least;
    if (varies) scaling.scale[at] = kind == ScalingKind::standard ? std::sqrt(squares) : most - least;
    if (!varies) constant.push_back("'" + one_line(series.channels[at]) + "'");
    require_input(std::isfinite(scaling.scale[at]) && scaling.scale[at] > 0,
                  "{}: channel '{}' spreads from {} to {}, which cannot be scaled", series.origin,
                  one_line(series.channels[at]), least, most);
  }
  if (!constant.empty()) {
    const std::size_t shown = std::min<std::size_t>(constant.size(), 5);
    notes.push_back(
        fmt::format("constant in training, so not scaled: {}{}",
                    fmt::join(constant.begin(), constant.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                    constant.size() > shown ? fmt::format(" and {} more", constant.size() - shown) : ""));
  }
  return scaling;
}

}  // namespace unroll

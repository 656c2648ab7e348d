// See scaling.h.
#include "examples/timeseries/series/scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

Part whole_series(const Series& series) {
  Part part;
  for (int member = 0; member < series.count(); ++member)
    part.push_back({series.begin_of(member), series.end_of(member), series.begin_of(member)});
  return part;
}

void require_positive(const Series& series, const Scaling& scaling) {
  if (!scaling.has_logs()) return;
  for (int member = 0; member < series.count(); ++member)
    for (int channel = 0; channel < series.width() - series.calendar; ++channel) {
      if (!scaling.at(scaling.place(channel, member)).is_log) continue;
      for (int64_t row = series.begin_of(member); row < series.end_of(member); ++row) {
        // Rows beyond the file's have no line and no value.
        const auto at = static_cast<std::size_t>(row);
        if (at >= series.lines.size() || series.lines[at] == 0) break;
        require_input(series.at(row, channel) > 0,
                      "{}:{}: channel '{}' is {}, and scaling.transform = \"log\" takes values above 0",
                      series.origin, series.lines[at], one_line(series.channels[channel]),
                      series.at(row, channel));
      }
    }
}

namespace {

// 'load'; with several series 'load' of 'north'.
std::string name_of(const Series& series, int channel, const Part& part) {
  const std::string name = "'" + one_line(series.channels[channel]) + "'";
  if (series.members.empty()) return name;
  const int member = series.member_of(part.front().begin);
  return fmt::format("{} of '{}'", name, one_line(series.members[member].name));
}

// Calls use(channel, value) for the observed values of channels [begin, end), row by row: a row of a long file is far from
// the next.
template <class Use>
void each_observed(const Series& series, const Part& part, int begin, int end, const Use& use) {
  for (const Span& span : part)
    for (int64_t row = span.begin; row < span.end; ++row)
      for (int channel = begin; channel < end; ++channel)
        if (!series.is_filled(row, channel)) use(channel, series.at(row, channel));
}

void fit_logarithm(ChannelScaling& scaling, const Series& series, const Part& part, ScalingKind kind,
                   int channel) {
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0, squares = 0, rows = 0;
  const auto each = [&](auto use) {
    each_observed(series, part, channel, channel + 1, [&](int, double value) { use(std::log(value)); });
  };
  each([&](double x) { ++rows, least = std::min(least, x), most = std::max(most, x), sum += x; });
  each([&](double x) { squares += (x - sum / rows) * (x - sum / rows); });
  scaling.log_shift = kind == ScalingKind::standard && most > least ? sum / rows : least;
  if (most > least)
    scaling.log_scale = kind == ScalingKind::standard ? std::sqrt(squares / rows) : most - least;
}

// Statistics of a channel's observed values.
struct Measured {
  double rows = 0, least = std::numeric_limits<double>::infinity(), most = -least;
  double mean = 0, squares = 0;  // squares: mean square distance from the mean
};
// By channel, without calendar features.
std::vector<Measured> measured(const Series& series, const Part& part) {
  const int count = series.width() - series.calendar;
  std::vector<Measured> of(count);
  each_observed(series, part, 0, count, [&](int c, double) { ++of[c].rows; });
  each_observed(series, part, 0, count, [&](int c, double x) {
    of[c].least = std::min(of[c].least, x), of[c].most = std::max(of[c].most, x),
    of[c].mean += x / of[c].rows;
  });
  each_observed(series, part, 0, count,
                [&](int c, double x) { of[c].squares += (x - of[c].mean) * (x - of[c].mean) / of[c].rows; });
  return of;
}

// Fits the scaling of one series on the rows in `part`.
void fit_one(std::span<ChannelScaling> scaling, const Series& series, const Part& part, ScalingKind kind,
             std::vector<std::string>& constant) {
  if (kind == ScalingKind::none) return;
  for (std::size_t at = 0; at < scaling.size(); ++at)
    if (scaling[at].is_log) fit_logarithm(scaling[at], series, part, kind, static_cast<int>(at));
  const std::vector<Measured> of = measured(series, part);
  for (int channel = 0; channel < series.width() - series.calendar; ++channel) {
    if (channel == series.label) continue;
    const auto& [rows, least, most, mean, squares] = of[channel];
    require_input(rows > 0, "{}: channel {}: all values to measure its scale on are missing", series.origin,
                  name_of(series, channel, part));
    ChannelScaling& to = scaling[channel];
    const bool varies = most > least;  // rounding may leave a constant a deviation above 0
    to.shift = kind == ScalingKind::standard && varies ? mean : least;
    if (varies) to.scale = kind == ScalingKind::standard ? std::sqrt(squares) : most - least;
    if (!varies) constant.push_back(name_of(series, channel, part));
    require_input(std::isfinite(to.scale) && to.scale > 0,
                  "{}: channel {} spreads from {} to {}, which cannot be scaled", series.origin,
                  name_of(series, channel, part), least, most);
  }
}

}  // namespace

Scaling fit_scaling(const Series& series, const Part& part, ScalingKind kind, std::vector<std::string>& notes,
                    Transform transform, const std::vector<int>& transformed) {
  require(rows_of(part) > 0, "scaling: no rows to measure");
  const auto width = static_cast<std::size_t>(series.width()),
             members = static_cast<std::size_t>(series.count());
  Scaling all{.channels = std::vector<ChannelScaling>(width * members), .members = series.count()};
  const auto is_transformed = [&](int channel) {
    if (!transformed.empty()) return std::ranges::find(transformed, channel) != transformed.end();
    return channel < series.width() - series.calendar && channel != series.label;
  };
  for (std::size_t place = 0; transform == Transform::log && place < all.channels.size(); ++place)
    all.channels[place].is_log = is_transformed(static_cast<int>(place % width));
  require_positive(series, all);  // checks all values, also those of rows that are not measured
  std::vector<std::string> constant;
  for (int member = 0; member < series.count(); ++member) {
    Part own = within(part, series.begin_of(member), series.end_of(member));
    if (own.empty()) own = {{series.begin_of(member), series.end_of(member), series.begin_of(member)}};
    const auto first = static_cast<std::size_t>(all.place(0, member));
    fit_one(std::span(all.channels).subspan(first, width), series, own, kind, constant);
  }
  constexpr std::size_t shown = 5;
  if (!constant.empty())
    notes.push_back(
        fmt::format("constant in training, so not scaled: {}{}",
                    fmt::join(constant.begin(),
                              constant.begin() + std::min(std::ssize(constant), std::ptrdiff_t{shown}), ", "),
                    constant.size() > shown ? fmt::format(" and {} more", constant.size() - shown) : ""));
  return all;
}

}  // namespace unroll

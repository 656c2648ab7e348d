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

double box_cox(double x, double lambda) {
  return lambda == 0 ? std::log(x) : std::expm1(lambda * std::log(x)) / lambda;
}

double inverse_box_cox(double y, double lambda) {
  if (lambda == 0) return std::exp(y);
  const double power = lambda * y;
  return power <= -1 ? 0 : std::exp(std::log1p(power) / lambda);
}

std::optional<double> guerrero_lambda(std::span<const double> y, int64_t period) {
  const auto length = static_cast<std::size_t>(std::max<int64_t>(period, 2));
  std::vector<double> means, deviations;
  for (std::size_t end = y.size(); end >= length; end -= length) {
    const std::span rows = y.subspan(end - length, length);
    double mean = 0, squares = 0;
    for (const double value : rows) mean += value / static_cast<double>(length);
    for (const double value : rows) squares += (value - mean) * (value - mean);
    means.push_back(mean), deviations.push_back(std::sqrt(squares / static_cast<double>(length - 1)));
  }
  constexpr std::size_t least_seasons = 3;
  if (means.size() < least_seasons) return {};
  double best = std::numeric_limits<double>::infinity();
  std::optional<double> found;
  for (int percent = 0; percent <= 100; ++percent) {
    const double lambda = percent / 100.0, n = static_cast<double>(means.size());
    std::vector<double> ratios;
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < means.size(); ++i)
      ratios.push_back(deviations[i] / std::pow(means[i], 1 - lambda)), mean += ratios.back() / n;
    for (const double ratio : ratios) squares += (ratio - mean) * (ratio - mean);
    if (mean > 0 && std::sqrt(squares) / mean < best) best = std::sqrt(squares) / mean, found = lambda;
  }
  return found;
}

void require_positive(const Series& series, const Scaling& scaling) {
  // Rows beyond the file's have no line, and no value.
  const auto rows = std::min<int64_t>(series.rows(), static_cast<int64_t>(series.lines.size()));
  for (int channel = 0; channel < series.width() - series.calendar; ++channel) {
    if (!scaling.is_transformed(channel)) continue;
    for (int64_t row = 0; row < rows; ++row)
      require_input(series.at(row, channel) > 0,
                    "{}:{}: channel '{}' is {}, and scaling.transform = \"{}\" takes values above 0",
                    series.origin, series.lines[static_cast<std::size_t>(row)],
                    one_line(series.channels[static_cast<std::size_t>(channel)]), series.at(row, channel),
                    scaling.power[static_cast<std::size_t>(channel)] == 0 ? "log" : "box-cox");
  }
}

namespace {

// The observed values of the part's longest span are those of one season after another.
std::vector<double> longest_span_of(const Series& series, const Part& part, int channel) {
  const auto longest = std::max_element(part.begin(), part.end(), [](const Span& a, const Span& b) {
    return a.end - a.begin < b.end - b.begin;
  });
  std::vector<double> values;
  for (int64_t row = longest->begin; row < longest->end; ++row) values.push_back(series.at(row, channel));
  return values;
}

void fit_transform(Scaling& scaling, const Series& series, const Part& part, ScalingKind kind,
                   Transform transform, int64_t period, std::vector<std::string>& notes) {
  if (transform == Transform::none) return;
  const auto width = static_cast<std::size_t>(series.width());
  scaling.power.assign(width, std::nan("")), scaling.inner_shift.assign(width, 0),
      scaling.inner_scale.assign(width, 1);
  std::vector<std::string> powers;
  for (int channel = 0; channel < series.width() - series.calendar; ++channel)
    if (channel != series.label) scaling.power[static_cast<std::size_t>(channel)] = 0;
  require_positive(series, scaling);
  for (int channel = 0; channel < series.width() - series.calendar; ++channel) {
    const auto at = static_cast<std::size_t>(channel);
    if (std::isnan(scaling.power[at])) continue;  // a label
    if (transform == Transform::box_cox) {
      scaling.power[at] = guerrero_lambda(longest_span_of(series, part, channel), period).value_or(0);
      powers.push_back(fmt::format("{:g} of '{}'", scaling.power[at], one_line(series.channels[at])));
    }
    double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0, squares = 0, rows = 0;
    const auto each = [&](auto use) {
      for (const Span& span : part)
        for (int64_t row = span.begin; row < span.end; ++row)
          if (!series.is_filled(row, channel)) use(box_cox(series.at(row, channel), scaling.power[at]));
    };
    each([&](double x) { ++rows, least = std::min(least, x), most = std::max(most, x), sum += x; });
    each([&](double x) { squares += (x - sum / rows) * (x - sum / rows); });
    if (kind == ScalingKind::none) continue;
    scaling.inner_shift[at] = kind == ScalingKind::standard && most > least ? sum / rows : least;
    if (most > least)
      scaling.inner_scale[at] = kind == ScalingKind::standard ? std::sqrt(squares / rows) : most - least;
  }
  constexpr std::size_t shown = 8;
  if (powers.size() > shown) powers.resize(shown), powers.emplace_back("…");
  if (!powers.empty())
    notes.push_back(fmt::format("Box-Cox: the power is {} (Guerrero 1993)", fmt::join(powers, ", ")));
}

}  // namespace

Scaling fit_scaling(const Series& series, const Part& part, ScalingKind kind, std::vector<std::string>& notes,
                    Transform transform, int64_t period) {
  require(rows_of(part) > 0, "scaling: no rows to measure");
  Scaling scaling;
  fit_transform(scaling, series, part, kind, transform, period, notes);
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

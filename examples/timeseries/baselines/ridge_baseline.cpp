// The ridge regression. See baselines.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/baselines/baselines.h"
#include "framework/signals.h"

namespace unroll {
namespace {

// --- equations ---------------------------------------------------------------------------------------------

struct RidgeForm {
  int window, horizon;
  std::vector<int64_t> periods;  // of the seasons

  static constexpr int64_t most_waves = 3;
  int waves() const {
    int count = 0;
    for (const int64_t period : periods) count += static_cast<int>(2 * std::min(most_waves, period / 2));
    return count;
  }
  int columns() const { return window - 1 + waves(); }
};

// Writes the distances of the window's rows from its last one, then the harmonics of each season at the origin.
template <class At>
void read_features(const RidgeForm& form, int64_t origin, double unit, At at, std::span<double> to) {
  const double last = at(origin - 1);
  std::size_t i = 0;
  for (int64_t k = 2; k <= form.window; ++k) to[i++] = at(origin - k) - last;
  for (const int64_t period : form.periods)
    for (int64_t wave = 1; wave <= std::min(RidgeForm::most_waves, period / 2); ++wave) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(wave * (origin % period)) / static_cast<double>(period);
      to[i++] = unit * std::cos(angle), to[i++] = unit * std::sin(angle);
    }
}

// X'X [columns, columns] and X'Y [columns, horizon], row-major, of distances from the means.
struct Sums {
  int64_t count = 0;
  std::vector<double> mean_x = {}, mean_y = {}, xx = {}, xy = {};
};

Sums sums_of(std::span<const double> x, std::span<const double> y, std::size_t columns, std::size_t horizon) {
  const std::size_t n = y.size() / horizon;
  Sums s{.count = static_cast<int64_t>(n),
         .mean_x = std::vector<double>(columns),
         .mean_y = std::vector<double>(horizon)};
  s.xx.resize(columns * columns), s.xy.resize(columns * horizon);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < columns; ++c) s.mean_x[c] += x[r * columns + c] / static_cast<double>(n);
    for (std::size_t h = 0; h < horizon; ++h) s.mean_y[h] += y[r * horizon + h] / static_cast<double>(n);
  }
  std::vector<double> row(columns), target(horizon);
  for (std::size_t r = 0; r < n; ++r) {
    if (r % 256 == 0) stop_if_signalled();
    for (std::size_t c = 0; c < columns; ++c) row[c] = x[r * columns + c] - s.mean_x[c];
    for (std::size_t h = 0; h < horizon; ++h) target[h] = y[r * horizon + h] - s.mean_y[h];
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t d = 0; d <= c; ++d) s.xx[c * columns + d] += row[c] * row[d];
      for (std::size_t h = 0; h < horizon; ++h) s.xy[c * horizon + h] += row[c] * target[h];
    }
  }
  return s;
}

// Solves (X'X + penalty I) w = X'Y by Cholesky's decomposition. Empty: the matrix has none.
std::vector<double> solve(const Sums& s, std::size_t columns, std::size_t horizon, double penalty) {
  std::vector<double> lower(columns * columns), w = s.xy;
  for (std::size_t i = 0; i < columns; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = s.xx[i * columns + j] + (i == j ? penalty : 0);
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i * columns + k] * lower[j * columns + k];
      if (i != j) {
        lower[i * columns + j] = sum / lower[j * columns + j];
        continue;
      }
      if (!(sum > 0)) return {};
      lower[i * columns + i] = std::sqrt(sum);
    }
  }
  const auto row = [&](std::size_t i) { return std::span(w).subspan(i * horizon, horizon); };
  for (std::size_t i = 0; i < columns; ++i) {
    for (std::size_t k = 0; k < i; ++k)
      for (std::size_t h = 0; h < horizon; ++h) row(i)[h] -= lower[i * columns + k] * row(k)[h];
    for (double& value : row(i)) value /= lower[i * columns + i];
  }
  for (std::size_t i = columns; i-- > 0;) {
    for (std::size_t k = i + 1; k < columns; ++k)
      for (std::size_t h = 0; h < horizon; ++h) row(i)[h] -= lower[k * columns + i] * row(k)[h];
    for (double& value : row(i)) value /= lower[i * columns + i];
  }
  return w;
}

struct RidgeModel {
  double unit = 1;                // the harmonics' amplitude
  std::vector<double> constants;  // [horizon]
  std::vector<double> weights;    // [columns, horizon]
};

RidgeModel model_of(const Sums& s, std::vector<double> weights, double unit, std::size_t horizon) {
  RidgeModel model{unit, s.mean_y, std::move(weights)};
  for (std::size_t c = 0; c < s.mean_x.size(); ++c)
    for (std::size_t h = 0; h < horizon; ++h)
      model.constants[h] -= s.mean_x[c] * model.weights[c * horizon + h];
  return model;
}

double squares_of(const RidgeModel& model, std::span<const double> x, std::span<const double> y,
                  std::size_t columns, std::size_t horizon) {
  double squares = 0;
  std::vector<double> found(horizon);
  for (std::size_t r = 0; r < y.size() / horizon; ++r) {
    found = model.constants;
    for (std::size_t c = 0; c < columns; ++c)
      for (std::size_t h = 0; h < horizon; ++h)
        found[h] += x[r * columns + c] * model.weights[c * horizon + h];
    for (std::size_t h = 0; h < horizon; ++h)
      squares += (found[h] - y[r * horizon + h]) * (found[h] - y[r * horizon + h]);
  }
  return squares;
}

std::optional<RidgeModel> fit(const Series& series, const Part& train, const RidgeForm& form, int channel) {
  const auto columns = static_cast<std::size_t>(form.columns()),
             horizon = static_cast<std::size_t>(form.horizon);
  double mean = 0, squares = 0, count = 0;
  for (const Span& span : train)
    for (int64_t row = span.begin; row < span.end; ++row) mean += series.at(row, channel), ++count;
  for (const Span& span : train)
    for (int64_t row = span.begin; row < span.end; ++row)
      squares += std::pow(series.at(row, channel) - mean / count, 2);
  const double unit = std::sqrt(squares / count);
  if (!(unit > 0) || !std::isfinite(unit)) return std::nullopt;
  std::vector<double> x, y, features(columns);
  for (const Span& span : train)
    for (int64_t origin = span.begin + form.window; origin + form.horizon <= span.end; ++origin) {
      bool is_filled = false;
      for (int64_t row = origin; row < origin + form.horizon; ++row)
        is_filled = is_filled || series.is_filled(row, channel);
      if (is_filled) continue;
      read_features(
          form, origin, unit, [&](int64_t row) { return series.at(row, channel); }, features);
      x.insert(x.end(), features.begin(), features.end());
      for (int64_t row = origin; row < origin + form.horizon; ++row)
        y.push_back(series.at(row, channel) - series.at(origin - 1, channel));
    }
  const std::size_t n = y.size() / horizon, first = n * 4 / 5;
  constexpr std::size_t least_equations = 10;
  if (n < least_equations) return std::nullopt;
  const std::span all_x(x), all_y(y);
  const Sums early = sums_of(all_x.first(first * columns), all_y.first(first * horizon), columns, horizon);
  double trace = 0;
  for (std::size_t c = 0; c < columns; ++c) trace += early.xx[c * columns + c] / static_cast<double>(columns);
  double best = std::numeric_limits<double>::infinity(), best_share = 0;
  for (const double share : {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0}) {
    std::vector<double> weights = solve(early, columns, horizon, share * trace);
    if (weights.empty()) continue;
    const double found =
        squares_of(model_of(early, std::move(weights), unit, horizon), all_x.subspan(first * columns),
                   all_y.subspan(first * horizon), columns, horizon);
    if (found < best) best = found, best_share = share;
  }
  if (!std::isfinite(best)) return std::nullopt;
  const Sums whole = sums_of(all_x, all_y, columns, horizon);
  trace = 0;
  for (std::size_t c = 0; c < columns; ++c) trace += whole.xx[c * columns + c] / static_cast<double>(columns);
  std::vector<double> weights = solve(whole, columns, horizon, best_share * trace);
  if (weights.empty()) return std::nullopt;
  return model_of(whole, std::move(weights), unit, horizon);
}

}  // namespace

std::optional<ForecastBaseline> ridge(const Series& series, const Part& train, int window, int horizon,
                                      const std::vector<int64_t>& periods, std::span<const int> targets) {
  RidgeForm form{window, horizon, {}};
  for (const int64_t period : periods)
    if (period > 1) form.periods.push_back(period);
  std::map<int, RidgeModel> models;
  for (const int channel : targets) {
    auto model = form.columns() > 0 ? fit(series, train, form, channel) : std::nullopt;
    if (!model) return std::nullopt;
    models.emplace(channel, std::move(*model));
  }
  return ForecastBaseline{
      fmt::format("ridge regression ({})", window), window,
      [form, models](const Series& now, int64_t origin, int channel, std::span<double> forecast) {
        const RidgeModel& model = models.at(channel);
        const auto at = [&](int64_t row) {
          return row < origin ? now.at(row, channel) : forecast[row - origin];
        };
        std::vector<double> features(form.columns());
        const auto horizon = static_cast<std::size_t>(form.horizon);
        for (std::size_t begin = 0; begin < forecast.size(); begin += horizon) {
          const int64_t first = origin + static_cast<int64_t>(begin);
          read_features(form, first, model.unit, at, features);
          const double last = at(first - 1);
          for (std::size_t h = 0; h < horizon && begin + h < forecast.size(); ++h) {
            double value = last + model.constants[h];
            for (std::size_t c = 0; c < features.size(); ++c)
              value += features[c] * model.weights[c * horizon + h];
            forecast[begin + h] = value;
          }
        }
      }};
}

}  // namespace unroll

// The ridge regression. See baselines.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/baselines/baselines.h"
#include "framework/signals.h"

namespace unroll {
namespace {

// --- equations ---------------------------------------------------------------------------------------------

// The value that is subtracted from the window and from the rows to forecast.
enum class Reference : uint8_t { last, mean, nothing };

struct RidgeForm {
  int window, horizon;
  std::vector<int64_t> periods;  // of the seasons
  Reference reference = Reference::last;

  static constexpr int64_t most_waves = 3;
  int waves() const {
    int count = 0;
    for (const int64_t period : periods) count += static_cast<int>(2 * std::min(most_waves, period / 2));
    return count;
  }
  int columns() const { return window - first() + waves(); }
  int first() const { return reference == Reference::last ? 1 : 0; }  // the last row less itself is 0
};

// Writes the window's rows less their reference, then the harmonics of each season at the origin. Returns the reference.
template <class At>
double read_features(const RidgeForm& form, int64_t origin, double unit, At at, std::span<double> to) {
  double reference = form.reference == Reference::last ? at(origin - 1) : 0;
  for (int64_t k = 1; k <= form.window && form.reference == Reference::mean; ++k)
    reference += at(origin - k) / form.window;
  std::size_t i = 0;
  for (int64_t k = 1 + form.first(); k <= form.window; ++k) to[i++] = at(origin - k) - reference;
  for (const int64_t period : form.periods)
    for (int64_t wave = 1; wave <= std::min(RidgeForm::most_waves, period / 2); ++wave) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(wave * (origin % period)) / static_cast<double>(period);
      to[i++] = unit * std::cos(angle), to[i++] = unit * std::sin(angle);
    }
  return reference;
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

struct Equations {
  std::vector<double> x = {}, y = {};  // [count, columns], [count, horizon]
  std::size_t early = 0;               // so many come before the border
};

// Equations of each `every`th window whose targets are observed and lie on one side of the border.
Equations equations_of(const Series& series, const Part& train, const RidgeForm& form, int channel,
                       double unit, int64_t border, int64_t every) {
  Equations e;
  std::vector<double> features(static_cast<std::size_t>(form.columns()));
  for (const Span& span : train)
    for (int64_t origin = span.begin + form.window; origin + form.horizon <= span.end; origin += every) {
      bool is_left_out = origin < border && border < origin + form.horizon;  // would fit by rows to come
      for (int64_t row = origin; row < origin + form.horizon; ++row)
        is_left_out = is_left_out || series.is_filled(row, channel);
      if (is_left_out) continue;
      const double reference = read_features(
          form, origin, unit, [&](int64_t row) { return series.at(row, channel); }, features);
      e.x.insert(e.x.end(), features.begin(), features.end());
      for (int64_t row = origin; row < origin + form.horizon; ++row)
        e.y.push_back(series.at(row, channel) - reference);
      e.early += origin < border;
    }
  return e;
}

double trace_of(const Sums& s, std::size_t columns) {
  double trace = 0;
  for (std::size_t c = 0; c < columns; ++c) trace += s.xx[c * columns + c] / static_cast<double>(columns);
  return trace;
}

// The standard deviation of a channel's rows.
double unit_of(const Series& series, const Part& train, int channel) {
  double mean = 0, squares = 0, count = 0;
  for (const Span& span : train)
    for (int64_t row = span.begin; row < span.end; ++row) mean += series.at(row, channel), ++count;
  for (const Span& span : train)
    for (int64_t row = span.begin; row < span.end; ++row)
      squares += std::pow(series.at(row, channel) - mean / count, 2);
  return std::sqrt(squares / count);
}

struct Choice {
  RidgeForm form;
  double share = 0,
         error = std::numeric_limits<double>::infinity();  // penalty; mean square on the last fifth
};

// The penalty that forecasts the later equations best from the early ones.
Choice best_penalty(const RidgeForm& form, const Equations& e, double unit) {
  const auto columns = static_cast<std::size_t>(form.columns()),
             horizon = static_cast<std::size_t>(form.horizon);
  const std::span x(e.x), y(e.y);
  const Sums early = sums_of(x.first(e.early * columns), y.first(e.early * horizon), columns, horizon);
  Choice best{form};
  for (const double share : {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0}) {
    std::vector<double> weights = solve(early, columns, horizon, share * trace_of(early, columns));
    if (weights.empty()) continue;
    const std::span later = y.subspan(e.early * horizon);
    const double found = squares_of(model_of(early, std::move(weights), unit, horizon),
                                    x.subspan(e.early * columns), later, columns, horizon) /
                         static_cast<double>(later.size());
    if (found < best.error) best.error = found, best.share = share;
  }
  return best;
}

constexpr std::size_t least_equations = 10;

// Takes only some windows of a long series, where all would take more multiplications than this.
int64_t stride_for(const RidgeForm& form, int64_t rows, double most) {
  const double each = form.columns() * (form.columns() / 2.0 + form.horizon);
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(static_cast<double>(rows) * each / most)));
}

// The window and the reference that forecast the last fifth best. All are tried on the same rows. If `asked` is above 0, only
// this window minus its last value is tried. If rows are too few, the error is infinite.
Choice search(const Series& series, const Part& train, int asked, int horizon,
              const std::vector<int64_t>& periods, int channel, double unit) {
  constexpr double most = 1e8;
  const int64_t rows = longest_span(train),
                border = train.back().end - std::max<int64_t>(rows / 5, horizon + 4);
  std::set<int64_t> windows = {horizon, 2 * int64_t{horizon}};
  for (const int64_t period : periods) windows.insert({period, 2 * period, 3 * period});
  if (periods.empty()) windows.insert({3, 6, 12, 24});
  if (asked > 0) windows = {asked};
  Choice best{};
  for (const int64_t window : windows)
    for (const Reference reference : {Reference::last, Reference::mean, Reference::nothing}) {
      const RidgeForm form{static_cast<int>(window), horizon, periods, reference};
      if (asked > 0 ? reference != Reference::last || form.columns() <= 0
                    : window < 2 || train.back().begin + window + 2 * window > border)
        continue;
      const Equations e =
          equations_of(series, train, form, channel, unit, border, stride_for(form, rows, most));
      if (e.early < least_equations || e.early * static_cast<std::size_t>(horizon) == e.y.size()) continue;
      if (Choice found = best_penalty(form, e, unit); found.error < best.error) best = std::move(found);
    }
  return best;
}

// The model of one channel.
std::optional<std::pair<RidgeForm, RidgeModel>> fit(const Series& series, const Part& train, int window,
                                                    int horizon, const std::vector<int64_t>& periods,
                                                    int channel) {
  constexpr double most = 1e10;
  const double unit = unit_of(series, train, channel);
  if (!(unit > 0) || !std::isfinite(unit)) return std::nullopt;
  const Choice choice = search(series, train, window, horizon, periods, channel, unit);
  if (!std::isfinite(choice.error)) return std::nullopt;
  const RidgeForm& form = choice.form;
  const auto columns = static_cast<std::size_t>(form.columns()),
             steps = static_cast<std::size_t>(form.horizon);
  const Equations all =
      equations_of(series, train, form, channel, unit, 0, stride_for(form, longest_span(train), most));
  const Sums whole = sums_of(all.x, all.y, columns, steps);
  std::vector<double> weights = solve(whole, columns, steps, choice.share * trace_of(whole, columns));
  if (weights.empty()) return std::nullopt;
  return std::pair(form, model_of(whole, std::move(weights), unit, steps));
}

}  // namespace

std::optional<ForecastBaseline> ridge(const Series& series, const Part& train, int window, int horizon,
                                      const std::vector<int64_t>& periods, std::span<const int> targets) {
  std::vector<int64_t> seasons;
  for (const int64_t period : periods)
    if (period > 1) seasons.push_back(period);
  std::map<int, std::pair<RidgeForm, RidgeModel>> models;
  int longest = window;
  for (const int channel : targets) {
    auto model = fit(series, train, window, horizon, seasons, channel);
    if (!model) return std::nullopt;
    longest = std::max(longest, model->first.window);
    models.emplace(channel, std::move(*model));
  }
  return ForecastBaseline{
      fmt::format("ridge regression ({})", longest), longest,
      [models](const Series& now, int64_t origin, int channel, std::span<double> forecast) {
        const auto& [form, model] = models.at(channel);
        const auto at = [&](int64_t row) {
          return row < origin ? now.at(row, channel) : forecast[row - origin];
        };
        std::vector<double> features(form.columns());
        const auto horizon = static_cast<std::size_t>(form.horizon);
        for (std::size_t begin = 0; begin < forecast.size(); begin += horizon) {
          const int64_t first = origin + static_cast<int64_t>(begin);
          const double reference = read_features(form, first, model.unit, at, features);
          for (std::size_t h = 0; h < horizon && begin + h < forecast.size(); ++h) {
            double value = reference + model.constants[h];
            for (std::size_t c = 0; c < features.size(); ++c)
              value += features[c] * model.weights[c * horizon + h];
            forecast[begin + h] = value;
          }
        }
      }};
}

}  // namespace unroll

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
  std::vector<int64_t> periods = {};  // of the seasons
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
  std::vector<double> mean_x, mean_y, xx, xy;
};

Sums sums_of(std::span<const double> x, std::span<const double> y, const RidgeForm& form) {
  const auto columns = static_cast<std::size_t>(form.columns()),
             horizon = static_cast<std::size_t>(form.horizon), n = y.size() / horizon;
  using Numbers = std::vector<double>;
  Sums s{Numbers(columns), Numbers(horizon), Numbers(columns * columns), Numbers(columns * horizon)};
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
std::vector<double> solve(const Sums& s, double penalty) {
  const std::size_t columns = s.mean_x.size(), horizon = s.mean_y.size();
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
  RidgeForm form;
  double unit;                    // the harmonics' amplitude
  std::vector<double> constants;  // [horizon]
  std::vector<double> weights;    // [columns, horizon]
};

// With a penalty of so many mean squares of the columns. None: the equations cannot be solved.
std::optional<RidgeModel> model_of(const RidgeForm& form, const Sums& s, double share, double unit) {
  const std::size_t columns = s.mean_x.size(), horizon = s.mean_y.size();
  double trace = 0;
  for (std::size_t c = 0; c < columns; ++c) trace += s.xx[c * columns + c] / static_cast<double>(columns);
  RidgeModel model{form, unit, s.mean_y, solve(s, share * trace)};
  if (model.weights.empty()) return std::nullopt;
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t h = 0; h < horizon; ++h)
      model.constants[h] -= s.mean_x[c] * model.weights[c * horizon + h];
  return model;
}

double squares_of(const RidgeModel& model, std::span<const double> x, std::span<const double> y) {
  const std::size_t horizon = model.constants.size(), columns = model.weights.size() / horizon;
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

// A channel to fit to, and the standard deviation of its rows.
struct Channel {
  const Series& series;
  const Part& train;
  int channel;
  double unit;
};

double unit_of(const Series& series, const Part& train, int channel) {
  double mean = 0, squares = 0, count = 0;
  for (const Span& span : train)
    for (int64_t row = span.begin; row < span.end; ++row) mean += series.at(row, channel), ++count;
  for (const Span& span : train)
    for (int64_t row = span.begin; row < span.end; ++row)
      squares += std::pow(series.at(row, channel) - mean / count, 2);
  return std::sqrt(squares / count);
}

// Equations of the windows whose targets are observed and lie on one side of the border; only of some of a long series, where
// all would take more multiplications than `most`.
Equations equations_of(const Channel& of, const RidgeForm& form, int64_t border, double most) {
  const double each = form.columns() * (form.columns() / 2.0 + form.horizon),
               all = static_cast<double>(longest_span(of.train)) * each;
  const int64_t every = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(all / most)));
  Equations e;
  std::vector<double> features(static_cast<std::size_t>(form.columns()));
  for (const Span& span : of.train)
    for (int64_t origin = span.begin + form.window; origin + form.horizon <= span.end; origin += every) {
      bool is_left_out = origin < border && border < origin + form.horizon;  // would fit by rows to come
      for (int64_t row = origin; row < origin + form.horizon; ++row)
        is_left_out = is_left_out || of.series.is_filled(row, of.channel);
      if (is_left_out) continue;
      const double reference = read_features(
          form, origin, of.unit, [&](int64_t row) { return of.series.at(row, of.channel); }, features);
      e.x.insert(e.x.end(), features.begin(), features.end());
      for (int64_t row = origin; row < origin + form.horizon; ++row)
        e.y.push_back(of.series.at(row, of.channel) - reference);
      e.early += origin < border;
    }
  return e;
}

struct Choice {
  RidgeForm form;
  double share = 0,
         error = std::numeric_limits<double>::infinity();  // penalty; mean square on the last fifth
};

// The penalty that forecasts the later equations best from the early ones.
Choice best_penalty(const RidgeForm& form, const Equations& e, double unit) {
  const std::size_t x_early = e.early * static_cast<std::size_t>(form.columns()),
                    y_early = e.early * static_cast<std::size_t>(form.horizon);
  const std::span x(e.x), y(e.y);
  const Sums early = sums_of(x.first(x_early), y.first(y_early), form);
  Choice best{form};
  for (const double share : {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0}) {
    const auto model = model_of(form, early, share, unit);
    if (!model) continue;
    const std::span later = y.subspan(y_early);
    const double found = squares_of(*model, x.subspan(x_early), later) / static_cast<double>(later.size());
    if (found < best.error) best.error = found, best.share = share;
  }
  return best;
}

// The window and the reference that forecast the last fifth best. All are tried on the same rows. If the window that is asked for
// is above 0, only this window minus its last value is tried. If rows are too few, the error is infinite.
Choice search(const Channel& of, const RidgeForm& asked) {
  constexpr double most = 1e8, most_to_solve = 7e7;  // multiplications; it is solved for each penalty and reference
  constexpr std::size_t least_equations = 10;
  const auto& [asked_window, horizon, periods, last] = asked;
  const int64_t begin = of.train.back().begin,
                border = of.train.back().end - std::max<int64_t>(longest_span(of.train) / 5, horizon + 4);
  std::set<int64_t> windows = {horizon, 2 * int64_t{horizon}};
  for (const int64_t period : periods) windows.insert({period, 2 * period, 3 * period});
  const auto too_long = std::erase_if(windows, [&](int64_t window) {
    const double columns = RidgeForm{static_cast<int>(window), horizon, periods}.columns();
    return columns * columns * (columns / 6 + horizon) > most_to_solve;
  });
  if (periods.empty() || too_long > 0) windows.insert({3, 6, 12, 24});
  if (asked_window > 0) windows = {asked_window};
  Choice best{};
  for (const int64_t window : windows)
    for (const Reference reference : {Reference::last, Reference::mean, Reference::nothing}) {
      const RidgeForm form{static_cast<int>(window), horizon, periods, reference};
      if (asked_window > 0 ? reference != last || form.columns() <= 0
                           : window < 2 || begin + window + 2 * window > border)
        continue;
      const Equations e = equations_of(of, form, border, most);
      if (e.early < least_equations || e.early * static_cast<std::size_t>(horizon) == e.y.size()) continue;
      if (Choice found = best_penalty(form, e, of.unit); found.error < best.error) best = std::move(found);
    }
  return best;
}

// The model of one channel.
std::optional<RidgeModel> fit(const Channel& of, const RidgeForm& asked) {
  constexpr double most = 3e9;
  if (!(of.unit > 0) || !std::isfinite(of.unit)) return std::nullopt;
  const Choice choice = search(of, asked);
  if (!std::isfinite(choice.error)) return std::nullopt;
  const Equations all = equations_of(of, choice.form, 0, most);
  return model_of(choice.form, sums_of(all.x, all.y, choice.form), choice.share, of.unit);
}

}  // namespace

Fitted ridge(const BaselineRows& rows) {
  RidgeForm asked{.window = rows.keys.window, .horizon = rows.keys.horizon};
  for (const int64_t period : {rows.keys.period, rows.keys.second_period})
    if (period > 1) asked.periods.push_back(period);
  std::map<int, RidgeModel> models;
  int longest = asked.window;
  for (const int channel : rows.targets) {
    auto model = fit({rows.series, rows.train, channel, unit_of(rows.series, rows.train, channel)}, asked);
    if (!model) return std::nullopt;
    longest = std::max(longest, model->form.window);
    models.emplace(channel, std::move(*model));
  }
  return ForecastBaseline{
      fmt::format("ridge regression ({})", longest), longest,
      [models](const Series& now, int64_t origin, int channel, std::span<double> forecast) {
        const RidgeModel& model = models.at(channel);
        const auto at = [&](int64_t row) {
          return row < origin ? now.at(row, channel) : forecast[row - origin];
        };
        std::vector<double> features(model.form.columns());
        const std::size_t horizon = model.constants.size();
        for (std::size_t begin = 0; begin < forecast.size(); begin += horizon) {
          const int64_t first = origin + static_cast<int64_t>(begin);
          const double reference = read_features(model.form, first, model.unit, at, features);
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

// See ets.h.
#include "examples/timeseries/baselines/ets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace unroll {
namespace {

using Trend = EtsForm::Trend;
using Season = EtsForm::Season;
constexpr double infinity = std::numeric_limits<double>::infinity();

// --- one row -----------------------------------------------------------------------------------------------

struct Step {
  double q, mu, e, level, slope, season;
};

Step step_of(const EtsModel& m, double level, double slope, double season, double y) {
  const bool multiplies = m.form.season == Season::multiplicative;
  const double q = level + m.phi * slope, mu = multiplies ? q * season : q + season, e = y - mu;
  const double moved = multiplies ? e / season : e;
  return {q,
          mu,
          e,
          q + m.alpha * moved,
          m.phi * slope + m.beta * moved,
          season + m.gamma * (multiplies ? e / q : e)};
}

// --- likelihood and its slopes -----------------------------------------------------------------------------

// Minus twice the log likelihood, up to a constant: n log Σ ε², plus 2 Σ log|μ| if errors multiply. Adds `least`
// for each row to the sum, so that a perfect fit has a finite value. The `variance` of the slopes is the mean square of the errors.
double badness(const EtsModel& m, const FittedRows& rows, double least, EtsModel* slopes) {
  const std::size_t n = rows.y.size(), period = std::max<std::size_t>(m.season.size(), 1);
  const bool multiplies = m.form.season == Season::multiplicative, relative = m.form.multiplicative_error;
  std::vector<double> season = m.season;
  if (season.empty()) season = {0};
  struct Kept {
    double slope, season, q, mu, e;
  };
  std::vector<Kept> kept(slopes ? n : 0);
  double level = m.level, slope = m.slope, squares = 0, logs = 0, count = 0;
  for (std::size_t t = 0; t < n; ++t) {
    double& s = season[t % period];
    const Step step = step_of(m, level, slope, s, rows.y[t]);
    if (relative && !(step.mu > 0)) return infinity;
    if (multiplies && !(s > 0 && step.q > 0)) return infinity;
    if (slopes) kept[t] = {slope, s, step.q, step.mu, step.e};
    if (rows.counts(t)) {
      const double error = relative ? step.e / step.mu : step.e;
      squares += error * error;
      if (relative) logs += std::log(step.mu);
      ++count;
    }
    level = step.level, slope = step.slope, s = step.season;
  }
  squares += count * least;
  if (!std::isfinite(squares)) return infinity;
  if (slopes) {
    *slopes = {.form = m.form,
               .alpha = 0,
               .phi = 0,
               .season = std::vector<double>(period),
               .variance = squares / count};
    double of_level = 0, of_slope = 0;  // gradients by the states after the row
    for (std::size_t t = n; t-- > 0;) {
      const Kept& k = kept[t];
      double& of_season = slopes->season[t % period];
      double of_e = 0, of_mu = 0;
      if (rows.counts(t)) {
        const double by = 2 * count / squares;
        if (relative) {
          const double error = k.e / k.mu;
          of_e = by * error / k.mu;
          of_mu = -by * error * error / k.mu + 2 / k.mu;
        } else {
          of_e = by * k.e;
        }
      }
      const double moved = multiplies ? k.e / k.season : k.e, turned = multiplies ? k.e / k.q : k.e;
      const double of_moved = m.alpha * of_level + m.beta * of_slope, of_turned = m.gamma * of_season;
      slopes->alpha += moved * of_level;
      slopes->beta += moved * of_slope;
      slopes->gamma += turned * of_season;
      slopes->phi += k.slope * of_slope;
      double of_q = of_level;
      of_e += (multiplies ? of_moved / k.season : of_moved) + (multiplies ? of_turned / k.q : of_turned);
      if (multiplies) {
        of_q -= of_turned * turned / k.q;
        of_season -= of_moved * moved / k.season;
      }
      of_mu -= of_e;
      of_q += multiplies ? of_mu * k.season : of_mu;
      of_season += multiplies ? of_mu * k.q : of_mu;
      slopes->phi += k.slope * of_q;
      of_slope = m.phi * of_slope + m.phi * of_q;
      of_level = of_q;
    }
    slopes->level = of_level, slopes->slope = of_slope;
  }
  return count * std::log(squares) + 2 * logs;
}

// The square to add for each row: far below what matters, above the rounding errors of a perfect fit.
double least_square(const EtsForm& form, const FittedRows& rows) {
  const auto [low, high] = std::minmax_element(rows.y.begin(), rows.y.end());
  const double spread = form.multiplicative_error ? 1 : *high - *low;
  return 1e-18 * spread * spread;
}

double likelihood_of(double badness, double n) {
  return -0.5 * (badness + n * (1 + std::log(2 * std::numbers::pi / n)));
}

// --- what is fitted: free numbers to a model ---------------------------------------------------------------

constexpr double least_rows = 5;  // for the AICc with a level, its smoothing and a variance
constexpr double lowest = 1e-4, highest = 0.9999, least_phi = 0.8, most_phi = 0.98;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double inverse_logistic(double share) { return std::log(share / (1 - share)); }

// Maps a model to free numbers: α; β and γ as shares of what α leaves them; φ; level, slope, season but its last state.
class Free {
 public:
  Free(const EtsForm& form, int64_t period, double unit)
      : form_(form),
        period_(form.season == Season::none ? 0 : static_cast<std::size_t>(period)),
        unit_(unit),
        centre_(form.season == Season::multiplicative ? 1 : 0) {
    if (form.trend != Trend::none) smoothing_.push_back(&EtsModel::beta), line_.push_back(&EtsModel::slope);
    if (period_ > 0) smoothing_.push_back(&EtsModel::gamma);
    if (form.trend == Trend::damped) smoothing_.push_back(&EtsModel::phi);
  }

  std::size_t count() const { return smoothing_.size() + line_.size() + free_season(); }

  EtsModel model(std::span<const double> x) const {
    EtsModel m{.form = form_};
    std::size_t i = 0;
    for (const Parameter p : smoothing_) {
      const Ends ends = ends_of(p, m);
      m.*p = ends.low + (ends.high - ends.low) * logistic(x[i++]);
    }
    for (const Parameter p : line_) m.*p = x[i++] * unit_;
    if (period_ == 0) return m;
    double rest = 0;
    for (std::size_t k = 0; k < free_season(); ++k) {
      const double off = x[i++] * season_unit();
      m.season.push_back(off + centre_);
      rest -= off;
    }
    m.season.push_back(rest + centre_);
    return m;
  }

  // The gradient by the free numbers, from the gradient `of` by the model.
  void chain(std::span<const double> x, const EtsModel& m, const EtsModel& of, std::span<double> to) const {
    double by_alpha = of.alpha;
    const auto moved = [&](std::size_t k, double slope) {
      const Ends ends = ends_of(smoothing_[k], m);
      const double share = logistic(x[k]);
      if (ends.high_by_alpha != 0) by_alpha += ends.high_by_alpha * (slope * share);
      return slope * (ends.high - ends.low) * (share * (1 - share));
    };
    for (std::size_t k = 1; k < smoothing_.size(); ++k) to[k] = moved(k, of.*smoothing_[k]);
    to[0] = moved(0, by_alpha);
    std::size_t i = smoothing_.size();
    for (const Parameter p : line_) to[i++] = of.*p * unit_;
    for (std::size_t k = 0; k < free_season(); ++k)
      to[i++] = (of.season[k] - of.season[period_ - 1]) * season_unit();
  }

  // The starting point with this α, this share for γ, and these states.
  std::vector<double> first(double alpha, double share, const EtsModel& states) const {
    std::vector<double> x = {inverse_logistic((alpha - lowest) / (highest - lowest))};
    for (const Parameter p : std::span(smoothing_).subspan(1))
      x.push_back(inverse_logistic(p == &EtsModel::beta ? 0.1 : p == &EtsModel::gamma ? share : 0.9));
    for (const Parameter p : line_) x.push_back(states.*p / unit_);
    for (std::size_t k = 0; k < free_season(); ++k) x.push_back((states.season[k] - centre_) / season_unit());
    return x;
  }

 private:
  using Parameter = double EtsModel::*;
  // A smoothing parameter lies between these. The upper end may move with α.
  struct Ends {
    double low, high, high_by_alpha;
  };
  static Ends ends_of(Parameter p, const EtsModel& m) {
    if (p == &EtsModel::beta) return {lowest, m.alpha, 1};
    if (p == &EtsModel::gamma) return {lowest, 1 - m.alpha, -1};
    return p == &EtsModel::phi ? Ends{least_phi, most_phi, 0} : Ends{lowest, highest, 0};
  }
  std::size_t free_season() const { return period_ > 0 ? period_ - 1 : 0; }
  double season_unit() const { return centre_ == 1 ? 0.1 : unit_; }

  EtsForm form_;
  std::size_t period_;
  double unit_, centre_;  // of values; the mean of the season
  std::vector<Parameter> smoothing_ = {&EtsModel::alpha}, line_ = {&EtsModel::level};
};

// Initial states: a line through the first rows, and each season place's mean distance from it.
EtsModel first_states(const EtsForm& form, const FittedRows& rows, int64_t period) {
  const bool has_season = form.season != Season::none, multiplies = form.season == Season::multiplicative;
  const auto m = static_cast<std::size_t>(has_season ? period : 1);
  const std::size_t n = std::min(rows.y.size(), has_season ? 4 * m : std::size_t{10});
  std::vector<double> x, y;
  for (std::size_t t = 0; t < n; ++t) {
    x.push_back(1);
    if (form.trend != Trend::none) x.push_back(static_cast<double>(t) + 1);
    y.push_back(rows.y[t]);
  }
  const std::vector<double> line = least_squares(x, y, form.trend != Trend::none ? 2 : 1);
  EtsModel states{.form = form, .level = line[0], .slope = line.size() > 1 ? line[1] : 0};
  if (!has_season) return states;
  double total = 0;
  for (std::size_t k = 0; k < m; ++k) {
    double sum = 0, count = 0;
    for (std::size_t t = k; t < n; t += m, ++count) {
      const double at = states.level + states.slope * (static_cast<double>(t) + 1);
      sum += multiplies ? (at > 0 ? rows.y[t] / at : 1) : rows.y[t] - at;
    }
    states.season.push_back(sum / count);
    total += sum / count;
  }
  const double mean = total / static_cast<double>(m);
  for (double& s : states.season) s = multiplies ? std::max(s / mean, 0.05) : s - mean;
  if (multiplies) {  // keeps the mean at 1 after raising some to 0.05
    const double now =
        std::accumulate(states.season.begin(), states.season.end(), 0.0) / static_cast<double>(m);
    for (double& s : states.season) s /= now;
  }
  return states;
}

double unit_of(const FittedRows& rows) {
  const double n = static_cast<double>(rows.y.size());
  const double mean = std::accumulate(rows.y.begin(), rows.y.end(), 0.0) / n;
  double squares = 0;
  for (const double y : rows.y) squares += (y - mean) * (y - mean) / n;
  return std::sqrt(squares);
}

}  // namespace

std::string EtsForm::name() const {
  std::string text = multiplicative_error ? "M" : "A";
  text += trend == Trend::none ? "N" : trend == Trend::additive ? "A" : "Ad";
  return text + (season == Season::none ? "N" : season == Season::additive ? "A" : "M");
}

double log_likelihood(const EtsModel& model, const FittedRows& rows, EtsModel* slopes) {
  const double found = badness(model, rows, 0, slopes);
  if (!std::isfinite(found)) return -infinity;
  if (slopes) {
    for (double* slope :
         {&slopes->alpha, &slopes->beta, &slopes->gamma, &slopes->phi, &slopes->level, &slopes->slope})
      *slope *= -0.5;
    for (double& slope : slopes->season) slope *= -0.5;
  }
  return likelihood_of(found, rows.count());
}

std::optional<EtsModel> fit_ets(const EtsForm& form, const FittedRows& rows, int64_t period) {
  const double n = rows.count(), unit = rows.y.empty() ? 0 : unit_of(rows);
  const bool has_season = form.season != Season::none;
  const bool positive = std::all_of(rows.y.begin(), rows.y.end(), [](double y) { return y > 0; });
  if ((form.multiplicative_error || form.season == Season::multiplicative) && !positive) return std::nullopt;
  if (has_season && (period < 2 || static_cast<int64_t>(rows.y.size()) < 2 * period)) return std::nullopt;
  const Free free(form, period, unit);
  const double parameters = static_cast<double>(free.count()) + 1;  // plus the variance
  if (n - parameters - 1 <= 0 || !(unit > 0) || !std::isfinite(unit)) return std::nullopt;
  const double least = least_square(form, rows);
  EtsModel slopes;
  const SmoothFunction function = [&](std::span<const double> x, std::span<double> gradient) {
    const EtsModel model = free.model(x);
    const double value = badness(model, rows, least, gradient.empty() ? nullptr : &slopes);
    if (!gradient.empty() && std::isfinite(value)) free.chain(x, model, slopes, gradient);
    return value;
  };
  const EtsModel states = first_states(form, rows, period);
  constexpr double least_gain = 1e-5;  // in minus twice the log likelihood
  constexpr int most_steps = 300;
  // There may be local optima: hardly any smoothing; a moving season with a fixed level; and the opposite.
  constexpr std::pair<double, double> starts[] = {{0.1, 0.1}, {0.3, 0.7}, {0.7, 0.1}};
  std::optional<Minimum> best;
  for (const auto& [alpha, share] : starts) {
    if (!has_season && share > 0.5) continue;
    Minimum found = minimise(function, free.first(alpha, share, states), least_gain, most_steps);
    if (std::isfinite(found.value) && (!best || found.value < best->value)) best = std::move(found);
  }
  if (!best) return std::nullopt;
  EtsModel model = free.model(best->x);
  model.log_likelihood = likelihood_of(best->value, n);
  model.aicc = aicc(model.log_likelihood, parameters, n);
  (void)badness(model, rows, least, &slopes);
  model.variance = slopes.variance * n / (n - parameters);
  return model;
}

std::optional<EtsModel> choose_ets(const FittedRows& rows, int64_t period) {
  if (rows.count() < least_rows) return std::nullopt;
  if (rows.is_constant()) return EtsModel{.form = {}, .level = rows.y.front()};
  std::optional<EtsModel> best;
  for (const bool relative : {false, true})
    for (const Trend trend : {Trend::none, Trend::additive, Trend::damped})
      for (const Season season : {Season::none, Season::additive, Season::multiplicative}) {
        if (season == Season::multiplicative && !relative) continue;
        const auto found = fit_ets({relative, trend, season}, rows, period);
        if (found && (!best || found->aicc < best->aicc)) best = found;
      }
  return best;
}

// --- states ------------------------------------------------------------------------------------------------

std::vector<EtsModel::State> EtsModel::before() const {
  if (season.empty()) return {{level, slope, 0}};
  std::vector<State> states;
  for (const double s : season) states.push_back({level, slope, s});
  return states;
}

// The season of a row so many steps after the last one of the past.
double EtsModel::season_ahead(std::span<const State> past, std::size_t step) const {
  return season.empty() ? 0 : past[past.size() - season.size() + step % season.size()].season;
}

EtsModel::State EtsModel::next(std::span<const State> past, double y) const {
  const Step step = step_of(*this, past.back().level, past.back().slope, season_ahead(past, 0), y);
  return {step.level, step.slope, step.season};
}

void EtsModel::forecast(std::span<const State> past, std::span<double> to) const {
  double value = past.back().level, damped = past.back().slope;
  for (std::size_t h = 0; h < to.size(); ++h) {
    damped *= phi, value += damped;
    const double s = season_ahead(past, h);
    to[h] = form.season == Season::multiplicative ? value * s : value + s;
  }
}

void EtsModel::deviations(std::span<const State> past, std::span<double> to) const {
  const std::size_t period = season.size();
  const bool multiplies = form.season == Season::multiplicative;
  // An error moves forecasts j rows later by c_j times itself. `base` is a forecast, without a season that multiplies;
  // `theta` is the mean of its square.
  double value = past.back().level, damped = past.back().slope, phis = 0, power = 1;
  std::vector<double> c, theta;
  for (std::size_t h = 0; h < to.size(); ++h) {
    damped *= phi, value += damped;
    const double s = season_ahead(past, h), base = multiplies ? value : value + s;
    double sum = 0, squares = 0;
    for (std::size_t j = 0; j < c.size(); ++j) {
      squares += c[j] * c[j];
      sum += c[j] * c[j] * theta[c.size() - 1 - j];
    }
    theta.push_back(base * base + variance * sum);
    const double turned =
        multiplies ? std::pow(1 + gamma * gamma * variance, static_cast<double>(h / period)) : 1;
    const double square = form.multiplicative_error ? theta[h] * (1 + variance) * turned - base * base
                                                    : variance * (1 + squares);
    to[h] = std::sqrt(std::max(square, 0.0)) * (multiplies ? std::abs(s) : 1);
    power *= phi, phis += power;
    c.push_back(alpha + beta * phis + (period > 0 && !multiplies && (h + 1) % period == 0 ? gamma : 0));
  }
}

}  // namespace unroll

// See ces.h.
#include "examples/timeseries/baselines/ces.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "examples/timeseries/baselines/theta.h"

namespace unroll {
namespace {

using State = CesModel::State;
constexpr double unbounded = std::numeric_limits<double>::infinity();

// --- one row -----------------------------------------------------------------------------------------------

constexpr bool has_own_season(CesSeason season) {
  return season == CesSeason::partial || season == CesSeason::full;
}

// `last` is the state after the previous row, `before` the one of a period before. Without a season they are one. The
// season is a template's argument in the fit, so the compiler drops the other branches.
constexpr double value_of(CesSeason season, const State& last, const State& before) {
  return has_own_season(season) ? last[0] + before[2] : before[0];
}

constexpr State next_state(CesSeason season, const CesModel& m, const State& last, const State& before,
                           double e) {
  const double l = (has_own_season(season) ? last : before)[0],
               c = (has_own_season(season) ? last : before)[1];
  State next = {l - (1 - m.alpha1) * c + (m.alpha0 - m.alpha1) * e,
                l + (1 - m.alpha0) * c + (m.alpha0 + m.alpha1) * e, 0, 0};
  if (season == CesSeason::partial) next[2] = before[2] + m.beta0 * e;
  if (season == CesSeason::full) {
    next[2] = before[2] - (1 - m.beta1) * before[3] + (m.beta0 - m.beta1) * e;
    next[3] = before[2] + (1 - m.beta0) * before[3] + (m.beta0 + m.beta1) * e;
  }
  return next;
}

template <CesSeason season>
double squares_with(const CesModel& m, const FittedRows& rows, bool backwards, std::vector<State>& states) {
  const std::size_t n = rows.y.size(), lag = m.first.size();
  states.resize(n + 2 * lag);
  std::ranges::copy(m.first, states.begin());
  State last = m.first.back();
  double sum = 0;
  for (std::size_t k = 0; k < n + lag; ++k) {
    const State before = season == CesSeason::none ? last : states[k];
    double e = 0;
    if (k < n) {
      const std::size_t row = backwards ? n - 1 - k : k;
      e = rows.y[row] - value_of(season, last, before);
      if (rows.counts(row)) sum += e * e;
    }
    last = states[k + lag] = next_state(season, m, last, before, e);
  }
  return sum;
}

// The sum of squared errors. Leaves the states of the rows, and of a period after them, in `states`.
double squares_of(const CesModel& m, const FittedRows& rows, bool backwards, std::vector<State>& states) {
  constexpr decltype(&squares_of) of[] = {squares_with<CesSeason::none>, squares_with<CesSeason::simple>,
                                          squares_with<CesSeason::partial>, squares_with<CesSeason::full>};
  return of[static_cast<std::size_t>(m.season)](m, rows, backwards, states);
}

// --- the fit -----------------------------------------------------------------------------------------------

State state_of(double level, double season) { return {level, level / 1.1, season, season / 1.1}; }

// The states that the first time over the rows begins with.
std::vector<State> first_states(CesSeason season, const FittedRows& rows, int64_t period) {
  const std::span y = rows.y;
  const auto mean_of_first = [&](int64_t count) {
    const auto n = std::min<std::size_t>(y.size(), static_cast<std::size_t>(count));
    return std::accumulate(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(n), 0.0) /
           static_cast<double>(n);
  };
  if (season == CesSeason::none) return {state_of(mean_of_first(10), 0)};
  std::vector<State> states;
  std::vector<double> places(static_cast<std::size_t>(period));
  if (season != CesSeason::simple)
    if (const auto found = classical_season(rows, period, false); !found.empty()) places = found;
  for (std::size_t k = 0; k < places.size(); ++k)
    states.push_back(season == CesSeason::simple ? state_of(y[k], 0)
                                                 : state_of(mean_of_first(period), places[k]));
  return states;
}

struct Range {
  double least, most;
  double at(double x) const { return least + (most - least) / (1 + std::exp(-x)); }
  double place_of(double value) const { return std::log((value - least) / (most - value)); }
};
constexpr Range ranges[] = {{0.01, 1.8}, {0.01, 1.9}, {0.01, 1.5}, {0.01, 1.5}};

std::size_t parameters_of(CesSeason season) {
  return season == CesSeason::full ? 4 : season == CesSeason::partial ? 3 : 2;
}

void set_parameters(CesModel& m, std::span<const double> x) {
  double* const all[] = {&m.alpha0, &m.alpha1, &m.beta0, &m.beta1};
  for (std::size_t k = 0; k < x.size(); ++k) *all[k] = ranges[k].at(x[k]);
}

// Finds the states before the first row: those that the rows, read backwards, end with.
double find_first(CesModel& m, const FittedRows& rows, const std::vector<State>& begin,
                  std::vector<State>& states) {
  m.first = begin;
  for (const bool backwards : {false, true}) {
    if (!std::isfinite(squares_of(m, rows, backwards, states))) return unbounded;
    std::copy_n(states.rbegin(), m.first.size(), m.first.begin());
  }
  return squares_of(m, rows, false, states);
}

}  // namespace

std::string CesModel::name() const {
  constexpr const char* names[] = {"N", "S", "P", "F"};
  return names[static_cast<std::size_t>(season)];
}

double log_likelihood(const CesModel& model, const FittedRows& rows) {
  std::vector<State> states;
  return -0.5 * rows.count() * std::log(squares_of(model, rows, false, states));
}

std::optional<CesModel> fit_ces(CesSeason season, const FittedRows& rows, int64_t period) {
  const std::span y = rows.y;
  const double n = rows.count(),
               parameters = static_cast<double>(parameters_of(season)) + 1;  // the variance
  if (n - parameters - 1 <= 0 || rows.is_constant()) return std::nullopt;
  if (season != CesSeason::none && (period < 2 || static_cast<int64_t>(y.size()) < 2 * period))
    return std::nullopt;
  const std::vector<State> begin = first_states(season, rows, period);
  CesModel model{.season = season};
  std::vector<State> states;
  states.reserve(y.size() + 2 * begin.size());
  const auto [low, high] = std::ranges::minmax(y);
  const double least = 1e-18 * (high - low) * (high - low);  // a perfect fit is finite
  const auto badness = [&](std::span<const double> x) {
    set_parameters(model, x);
    const double squares = find_first(model, rows, begin, states) + n * least;
    return std::isfinite(squares) ? n * std::log(squares) : unbounded;
  };
  // A forward difference is off by its step times the curvature, and by what rounding leaves of n log Σ e² over it.
  constexpr double step = 1e-6;
  const SmoothFunction function = [&](std::span<const double> x, std::span<double> gradient) {
    const double here = badness(x);
    std::vector<double> moved(x.begin(), x.end());
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      moved[k] = x[k] + step;
      gradient[k] = (badness(moved) - here) / step;
      moved[k] = x[k];
    }
    return here;
  };
  constexpr double least_gain = 1e-4;  // in minus twice the log likelihood
  constexpr int most_steps = 100;
  const double starts[] = {1.3, 1, season == CesSeason::partial ? 0.1 : 1.3, 1};
  std::vector<double> x;
  for (std::size_t k = 0; k < parameters_of(season); ++k) x.push_back(ranges[k].place_of(starts[k]));
  const Minimum best = minimise(function, std::move(x), least_gain, most_steps);
  if (!std::isfinite(best.value)) return std::nullopt;
  model.log_likelihood = -0.5 * badness(best.x);
  model.aicc = aicc(model.log_likelihood, parameters, n);
  return model;
}

std::optional<CesModel> choose_ces(const FittedRows& rows, int64_t period) {
  constexpr double least_rows = 5;  // for the AICc of two parameters and a variance
  if (rows.count() < least_rows) return std::nullopt;
  if (rows.is_constant()) return CesModel{.alpha0 = 1, .alpha1 = 1, .first = {{rows.y.front(), 0, 0, 0}}};
  std::optional<CesModel> best;
  for (const CesSeason season : {CesSeason::none, CesSeason::simple, CesSeason::partial, CesSeason::full}) {
    const auto found = fit_ces(season, rows, period);
    if (found && (!best || found->aicc < best->aicc)) best = found;
  }
  return best;
}

// --- states ------------------------------------------------------------------------------------------------

State CesModel::next(std::span<const State> past, double y) const {
  const State &last = past.back(), &a_period_before = past[past.size() - first.size()];
  return next_state(season, *this, last, a_period_before, y - value_of(season, last, a_period_before));
}

void CesModel::forecast(std::span<const State> past, std::span<double> to) const {
  std::vector<State> states(past.end() - std::ssize(first), past.end());
  for (double& value : to) {
    const State &last = states.back(), &a_period_before = states[states.size() - first.size()];
    value = value_of(season, last, a_period_before);
    states.push_back(next_state(season, *this, last, a_period_before, 0));
  }
}

}  // namespace unroll

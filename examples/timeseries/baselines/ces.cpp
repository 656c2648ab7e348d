// See ces.h.
#include "examples/timeseries/baselines/ces.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "examples/timeseries/baselines/minimise.h"
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

// Appends the state after a row, which was as it was forecast if there is no value.
void add_row(const CesModel& m, std::vector<State>& states, const double* y) {
  const State last = states.back(), before = states[states.size() - m.first.size()];
  states.push_back(next_state(m.season, m, last, before, y ? *y - value_of(m.season, last, before) : 0));
}

bool counts(std::span<const uint8_t> filled, std::size_t row) { return filled.empty() || !filled[row]; }

template <CesSeason season>
double squares_with(const CesModel& m, std::span<const double> y, std::span<const uint8_t> filled,
                    bool backwards, std::vector<State>& states) {
  const std::size_t n = y.size(), lag = m.first.size();
  states.resize(n + 2 * lag);
  std::ranges::copy(m.first, states.begin());
  State last = m.first.back();
  double sum = 0;
  for (std::size_t k = 0; k < n + lag; ++k) {
    const State before = season == CesSeason::none ? last : states[k];
    double e = 0;
    if (k < n) {
      const std::size_t row = backwards ? n - 1 - k : k;
      e = y[row] - value_of(season, last, before);
      if (counts(filled, row)) sum += e * e;
    }
    last = states[k + lag] = next_state(season, m, last, before, e);
  }
  return sum;
}

// The sum of squared errors. Leaves the states of the rows, and of a period after them, in `states`.
double squares_of(const CesModel& m, std::span<const double> y, std::span<const uint8_t> filled,
                  bool backwards, std::vector<State>& states) {
  constexpr decltype(&squares_of) of[] = {squares_with<CesSeason::none>, squares_with<CesSeason::simple>,
                                          squares_with<CesSeason::partial>, squares_with<CesSeason::full>};
  return of[static_cast<std::size_t>(m.season)](m, y, filled, backwards, states);
}

// --- the fit -----------------------------------------------------------------------------------------------

State state_of(double level, double season) { return {level, level / 1.1, season, season / 1.1}; }

// The states that the first time over the rows begins with.
std::vector<State> first_states(CesSeason season, std::span<const double> y, std::span<const uint8_t> filled,
                                int64_t period) {
  const auto mean_of_first = [&](int64_t rows) {
    const auto n = std::min<std::size_t>(y.size(), static_cast<std::size_t>(rows));
    return std::accumulate(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(n), 0.0) /
           static_cast<double>(n);
  };
  if (season == CesSeason::none) return {state_of(mean_of_first(10), 0)};
  std::vector<State> states;
  std::vector<double> places(static_cast<std::size_t>(period));
  if (season != CesSeason::simple)
    if (const auto found = classical_season(y, filled, period, false); !found.empty()) places = found;
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

double count_of(std::span<const double> y, std::span<const uint8_t> filled) {
  double count = 0;
  for (std::size_t row = 0; row < y.size(); ++row) count += counts(filled, row);
  return count;
}

// Finds the states before the first row: those that the rows, read backwards, end with.
double find_first(CesModel& m, std::span<const double> y, std::span<const uint8_t> filled,
                  const std::vector<State>& begin, std::vector<State>& states) {
  m.first = begin;
  for (const bool backwards : {false, true}) {
    if (!std::isfinite(squares_of(m, y, filled, backwards, states))) return unbounded;
    std::copy_n(states.rbegin(), m.first.size(), m.first.begin());
  }
  return squares_of(m, y, filled, false, states);
}

bool is_constant(std::span<const double> y) {
  return std::ranges::all_of(y, [&](double value) { return value == y.front(); });
}

}  // namespace

const char* CesModel::name() const {
  constexpr const char* names[] = {"N", "S", "P", "F"};
  return names[static_cast<std::size_t>(season)];
}

double log_likelihood(const CesModel& model, std::span<const double> y, std::span<const uint8_t> filled) {
  std::vector<State> states;
  return -0.5 * count_of(y, filled) * std::log(squares_of(model, y, filled, false, states));
}

std::optional<CesModel> fit_ces(CesSeason season, std::span<const double> y, std::span<const uint8_t> filled,
                                int64_t period) {
  const double n = count_of(y, filled),
               parameters = static_cast<double>(parameters_of(season)) + 1;  // the variance
  if (n - parameters - 1 <= 0 || is_constant(y)) return std::nullopt;
  if (season != CesSeason::none && (period < 2 || static_cast<int64_t>(y.size()) < 2 * period))
    return std::nullopt;
  const std::vector<State> begin = first_states(season, y, filled, period);
  CesModel model{.season = season};
  std::vector<State> states;
  states.reserve(y.size() + 2 * begin.size());
  const auto [low, high] = std::ranges::minmax(y);
  const double least = 1e-18 * (high - low) * (high - low);  // a perfect fit is finite
  const auto badness = [&](std::span<const double> x) {
    set_parameters(model, x);
    const double squares = find_first(model, y, filled, begin, states) + n * least;
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
  model.aicc =
      -2 * model.log_likelihood + 2 * parameters + 2 * parameters * (parameters + 1) / (n - parameters - 1);
  return model;
}

std::optional<CesModel> choose_ces(std::span<const double> y, std::span<const uint8_t> filled,
                                   int64_t period) {
  constexpr double least_rows = 5;  // for the AICc of two parameters and a variance
  if (count_of(y, filled) < least_rows) return std::nullopt;
  if (is_constant(y)) return CesModel{.alpha0 = 1, .alpha1 = 1, .first = {{y.front(), 0, 0, 0}}};
  std::optional<CesModel> best;
  for (const CesSeason season : {CesSeason::none, CesSeason::simple, CesSeason::partial, CesSeason::full}) {
    const auto found = fit_ces(season, y, filled, period);
    if (found && (!best || found->aicc < best->aicc)) best = found;
  }
  return best;
}

// --- states ------------------------------------------------------------------------------------------------

CesStates::CesStates(CesModel model) : model_(std::move(model)), states_(model_.first) {}

void CesStates::add(double y) { add_row(model_, states_, &y); }

void CesStates::forecast(int64_t rows, std::span<double> to) const {
  const auto m = static_cast<std::ptrdiff_t>(model_.first.size());
  std::vector<State> states(states_.begin() + rows, states_.begin() + rows + m);
  for (double& value : to) {
    value = value_of(model_.season, states.back(), states[states.size() - model_.first.size()]);
    add_row(model_, states, nullptr);
  }
}

}  // namespace unroll

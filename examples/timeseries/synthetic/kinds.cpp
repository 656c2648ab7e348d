#include "examples/timeseries/synthetic/kinds.h"

namespace unroll::synthetic {

std::span<const SyntheticKind> synthetic_kinds() {
  using enum Nature;
  static constexpr SyntheticKind kinds[] = {
      {"yearly", 9, positive, yearly, "a business by years: walks, slopes, trends and cycles of a level"},
      {"quarterly", 10, positive, quarterly, "by quarters, three in four with a season"},
      {"monthly", 14, positive, monthly, "by months, some with months' lengths and trading days"},
      {"weekly", 3, positive, weekly, "by weeks; a year has 52.18 of them"},
      {"daily", 5, positive, daily, "by days: weeks, years, wages; some closed at weekends"},
      {"hourly", 5, positive, within_a_day,
       "by hours, halves, quarters or ten minutes: days, weekends, weather"},
      {"trend", 4, free, trend, "linear, damped, broken, exponential, S-shaped"},
      {"season", 4, free, season, "one season, whose shape may change slowly"},
      {"two-seasons", 3, free, two_seasons, "a season within a longer one"},
      {"growing-season", 5, positive, growing_season, "a season whose height grows with the level"},
      {"ets", 9, positive, state_space,
       "exponential smoothing: errors, trends, seasons that add or multiply"},
      {"arma", 4, free, arma, "stable random coefficients, up to (3, 3)"},
      {"sarima", 4, free, sarima, "with a seasonal lag; two in five integrated"},
      {"walk", 6, positive, walk, "random walks: with drift, with errors, of slopes, of logarithms"},
      {"noise", 2, free, white, "independent values"},
      {"shifts", 2, free, shifts, "a level that steps"},
      {"outliers", 1, free, outliers, "values far off"},
      {"variance", 2, free, variance, "GARCH, or a variance that grows or has a season"},
      {"intermittent", 2, counts, intermittent, "demand after geometric gaps"},
      {"counts", 2, counts, synthetic::counts,
       "Poisson and negative-binomial numbers of a changing intensity"},
      {"bounded", 1, free, bounded, "shares, and series at full capacity"},
      {"gaussian", 3, free, gaussian, "Gaussian processes: smooth, periodic, rational and linear kernels"},
      {"threshold", 0, free, threshold, "an autoregression that changes at a threshold"},
      {"logistic-map", 0, free, logistic_map, "chaos without noise"},
      {"regimes", 0, free, regimes, "Markov switching between means and deviations"},
      {"sawtooth", 0, free, sawtooth, "rises evenly, falls at once, in periods that vary"},
      {"bursts", 0, counts, bursts, "events that excite further ones"},
  };
  return kinds;
}

}  // namespace unroll::synthetic

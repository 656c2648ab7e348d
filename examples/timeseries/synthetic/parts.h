// Parts that several generators are made of: noise, trends, seasons, filters. A Range is the prior of a height.
#pragma once

#include <span>
#include <vector>

#include "examples/timeseries/synthetic/draw.h"

namespace unroll::synthetic {

using Values = std::vector<double>;

// Noise of this standard deviation: white, or in three of ten series AR(1); Gaussian, or in one of six with heavy tails.
Values noise(Draw& draw, int rows, Range sd = {});
// From 0 to ± the height, or near it: linear, damped, broken, exponential or S-shaped.
Values trend_shape(Draw& draw, int rows, Range height = {});
// One season of `points` ≥ 2 values with mean 0 and standard deviation 1: waves, a value of its own for each phase, or spikes
// and working hours.
Values season_shape(Draw& draw, int points);
// A season of `period` rows, which need not be whole. Its standard deviation is about the height. In half of the series the shape
// passes slowly into another one; in three of ten the height grows or shrinks.
Values season_path(Draw& draw, int rows, double period, Range height = {});
// A season of the common calendars, at most as long as the series (4 always may be); one of ten is any number up to 100.
int calendar_season(Draw& draw, int rows);

// The coefficients φ of x_t = φ_1 x_{t-1} + … + ε_t with these partial autocorrelations, each in (-1, 1): stable whatever they
// are (Monahan 1984). The variance of x is that of ε over ∏ (1 - partial²).
Values stable_coefficients(std::span<const double> partial);
// x_t += Σ φ_k x_{t-k·lag}, in place and in order of t; rows before the first are 0.
void autoregress(Values& x, const Values& phi, int lag = 1);
// x_t += Σ θ_k x_{t-k·lag} of the values as they were.
void moving_average(Values& x, const Values& theta, int lag = 1);

// Mean 0, standard deviation 1; a constant becomes 0.
void standardize(Values& y);
// Mean 0; shrinks the values until the largest is `most` above the smallest.
void limit_range(Values& y, double most);
void add(Values& y, const Values& x, double factor = 1);
void cumulate(Values& y);
// exp(height · y), whose largest value is at most exp(most) times the smallest.
void exponentiate(Values& y, double height = 1, double most = 1e300);
double mean_of(const Values& y);
inline double range_of(const Values& y) {
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  return *high - *low;
}

}  // namespace unroll::synthetic

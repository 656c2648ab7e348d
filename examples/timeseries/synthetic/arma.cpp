// Linear models as generators: ARMA, seasonal ARIMA, exponential smoothing.
#include "examples/timeseries/synthetic/kinds.h"
#include "examples/timeseries/synthetic/parts.h"

namespace unroll::synthetic {

namespace {

// Coefficients of a stable filter; the first partial autocorrelation is more often above 0.
Values coefficients(Draw& draw, int least, int most) {
  Values partial(draw.between(least, most));
  for (size_t k = 0; k < partial.size(); ++k)
    partial[k] = k == 0 ? draw.uniform(-0.6, 0.97) : draw.uniform(-0.8, 0.8);
  return stable_coefficients(partial);
}

}  // namespace

Path arma(Draw& draw, int rows) {
  constexpr int before = 200;  // rows until the start is forgotten: 0.97^200 = 0.002
  const Values phi = coefficients(draw, 0, 3), theta = coefficients(draw, phi.empty() ? 1 : 0, 3);
  Values y = noise(draw, rows + before);
  moving_average(y, theta);
  autoregress(y, phi);
  return {{y.end() - rows, y.end()}};
}

// (p, d, q)(P, D, Q)_m with P, Q ≤ 1; two of five are integrated, as the airline model is (Box and Jenkins 1970).
Path sarima(Draw& draw, int rows) {
  const int m = calendar_season(draw, rows), before = 60 + 6 * m;
  const bool integrated = draw.chance(0.4);
  Values y(rows + before);
  for (double& v : y) v = draw.normal();
  moving_average(y, integrated ? Values{draw.uniform(-0.95, 0)} : coefficients(draw, 0, 1));
  moving_average(y, {integrated ? draw.uniform(-0.95, 0) : draw.uniform(-0.5, 0.5)}, m);
  if (!integrated) {
    autoregress(y, coefficients(draw, 0, 2));
    autoregress(y, {draw.uniform(0.3, 0.95)}, m);
  }
  y.erase(y.begin(), y.end() - rows);
  if (integrated) {
    const double height = draw.of({1, 30});  // of the first season, beside the noise
    Values first = season_shape(draw, m);
    first.resize(rows);
    add(y, first, height);
    autoregress(y, {1}, m);  // sums over seasons
    if (draw.chance(0.5)) cumulate(y);
  }
  return {y, m};
}

// The innovations form of exponential smoothing (Hyndman, Koehler, Ord and Snyder 2008), in all its forms:
// y = level ∘ slope ∘ season ∘ error, where each ∘ is left out, adds or multiplies. If something multiplies, the level stays
// between a hundredth and a thousand times the first one, a season above a hundredth, a factor of the slope in [0.9, 1.1].
Path state_space(Draw& draw, int rows) {
  enum Part { none, added, multiplied };
  const Part error = draw.choose<Part>({{added, 1}, {multiplied, 1}});
  const Part trend = draw.choose<Part>({{none, 4}, {added, 5}, {multiplied, 1}});
  const Part season = draw.choose<Part>({{none, 4}, {added, 3}, {multiplied, 3}});
  const bool positive = error == multiplied || trend == multiplied || season == multiplied;
  // Smoothing as it is usual in fits: 0 < β < α < 1, 0 < γ < 1 - α, and 0.8 to 0.98 or 1 for the damping.
  const double phi = draw.chance(0.5) ? draw.uniform(0.8, 0.98) : 1;
  const double alpha = draw.chance(0.7) ? draw.uniform(0.01, 0.99) : draw.of({1e-3, 0.1});
  const double beta = alpha * draw.of({0.005, 0.5}), gamma = (1 - alpha) * draw.of({0.005, 0.9});
  const double sd = draw.of({0.003, 0.25}), slope_sd = draw.of({1e-4, 0.03});
  double level = 1, slope = draw.normal(slope_sd) + (trend == multiplied ? 1 : 0);
  const int m = season == none ? 1 : calendar_season(draw, rows);
  Values seasons(1), y;
  if (season != none) {
    seasons = season_shape(draw, m);
    const double height = draw.of({0.01, 0.4});
    for (double& s : seasons) s *= height;
    if (season == multiplied) exponentiate(seasons);
  }
  for (int t = 0; t < rows; ++t) {
    double& s = seasons[t % m];
    const double damped = trend == multiplied ? std::pow(slope, phi) : phi * slope, before = level;
    const double base = trend == none ? level : trend == added ? level + damped : level * damped;
    const double expected = season == multiplied ? base * s : base + s;
    const double relative = std::max(-0.9, draw.normal(sd)),
                 e = error == multiplied ? expected * relative : relative;
    y.push_back(expected + e);
    const double of_level = season == multiplied ? e / s : e;
    level = base + alpha * of_level;
    slope = trend == multiplied ? std::clamp(damped + beta * of_level / before, 0.9, 1.1)
                                : damped + beta * of_level;
    if (season == added) s += gamma * e;
    if (season == multiplied) s = std::max(0.01, s + gamma * e / std::max(0.01, base));
    if (positive) level = std::clamp(level, 0.01, 1000.0);
  }
  return {y, m};
}

}  // namespace unroll::synthetic

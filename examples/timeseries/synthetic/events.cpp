// Series in which something happens or counts: shifts, outliers, changing variance, demand, counts, bounds.
#include "examples/timeseries/synthetic/kinds.h"
#include "examples/timeseries/synthetic/parts.h"

namespace unroll::synthetic {

// White noise of standard deviation 1 around levels that stay for a while. At least one step of 3 or more is in the middle.
Path shifts(Draw& draw, int rows) {
  const double chance = draw.of({0.2, 6}) / rows, sign = draw.sign(), height = draw.of({3, 30});
  const int certain = draw.between(std::max(1, rows / 4), rows - 1 - rows / 4);
  double level = 0;
  Values y;
  for (int t = 0; t < rows; ++t) {
    if (t == certain) level += sign * height;
    if (t != certain && draw.chance(chance)) level += draw.normal(height / 2);
    y.push_back(level + draw.normal());
  }
  return {y};
}

// A season, a walk or an ARMA with at least one value far off; in some, what is off lasts for a few rows.
Path outliers(Draw& draw, int rows) {
  Generator* const base = draw.choose<Generator*>({{season, 2}, {walk, 1}, {arma, 1}});
  Path path = base(draw, rows);
  standardize(path.y);
  const double share = draw.of({0.003, 0.06}), one_sided = draw.chance(0.5) ? draw.sign() : 0;
  const int lasts = draw.chance(0.2) ? draw.between(2, 5) : 1, certain = draw.between(0, rows - 1);
  for (int t = 0; t < rows; ++t) {
    if (t != certain && !draw.chance(share)) continue;
    const double sign = one_sided != 0 ? one_sided : draw.sign(), height = sign * draw.of({4, 20});
    for (int k = t; k < std::min(rows, t + lasts); ++k) path.y[k] += height;
  }
  return path;
}

// GARCH(1, 1) (Bollerslev 1986), a variance that grows or shrinks, or one that has a season. Half are changes of a walk.
Path variance(Draw& draw, int rows) {
  enum Form { garch, grows, seasonal };
  const Form form = draw.choose<Form>({{garch, 5}, {grows, 2}, {seasonal, 3}});
  const double persistence = draw.uniform(0.7, 0.99), share = draw.uniform(0.1, 0.5),
               growth = draw.normal(1.5);
  const int m = form == seasonal ? calendar_season(draw, rows) : 1;
  const Values shape = form == seasonal ? season_path(draw, rows, m, {0.4, 1}) : Values{};
  const bool walks = draw.chance(0.5);
  Values y(rows);
  double h = 1;  // the variance, whose mean is 1
  for (int t = 0; t < rows; ++t) {
    if (form == grows) h = std::exp(2 * growth * t / rows);
    if (form == seasonal) h = std::exp(2 * std::clamp(shape[t], -3.0, 3.0));
    y[t] = std::sqrt(h) * draw.normal();
    h = std::min(1e4, 1 - persistence + persistence * (share * y[t] * y[t] + (1 - share) * h));
  }
  if (walks) cumulate(y);
  return {y, m};
}

// Demand for spare parts, as Croston (1972) thought of it: geometric gaps, sizes of 1 + a negative-binomial number.
Path intermittent(Draw& draw, int rows) {
  const double chance = draw.of({0.03, 0.6});  // of a demand in a row
  const double mean = draw.of({0.1, 30}), shape = draw.of({0.3, 10});
  Values y(rows);
  for (int t = draw.geometric(chance) - 1; t < rows; t += draw.geometric(chance)) {
    const double rate = draw.gamma(shape) * mean / shape;
    y[t] = 1 + draw.poisson(rate);
  }
  return {y};
}

// A Poisson number a row, or a negative-binomial one; its intensity may have a season, a trend and a walk.
Path counts(Draw& draw, int rows) {
  const double mean = draw.of({0.3, 200}), shape = draw.chance(0.4) ? draw.of({1, 20}) : 0;
  const int m = draw.chance(0.6) ? calendar_season(draw, rows) : 1;
  Values y(rows);
  if (m > 1) add(y, season_path(draw, rows, m, {0.1, 1}));
  if (draw.chance(0.5)) add(y, trend_shape(draw, rows, {0.1, 2}));
  if (draw.chance(0.3)) {
    Values steps = noise(draw, rows, {0.01, 0.2});
    cumulate(steps);
    add(y, steps);
  }
  limit_range(y, 5);
  for (double& v : y) {
    const double crowd = shape > 0 ? draw.gamma(shape) / shape : 1;
    v = draw.poisson(mean * std::exp(std::min(v, 4.0)) * crowd);
  }
  return {y, m};
}

// In [0, 1]: a share (a logistic function of another series), or a series that is cut off at full capacity and at nothing.
Path bounded(Draw& draw, int rows) {
  Generator* const base = draw.choose<Generator*>({{season, 4}, {walk, 2}, {arma, 2}, {trend, 2}});
  Path path = base(draw, rows);
  standardize(path.y);
  const double centre = draw.normal(1.5), height = draw.of({0.3, 4});
  const bool cut = draw.chance(0.35);
  for (double& v : path.y) {
    const double x = centre + height * v;
    v = cut ? std::clamp(0.5 + x / 4, 0.0, 1.0) : 1 / (1 + std::exp(-x));
  }
  return path;
}

}  // namespace unroll::synthetic

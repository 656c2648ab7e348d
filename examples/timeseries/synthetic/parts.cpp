#include "examples/timeseries/synthetic/parts.h"

#include <numbers>
#include <numeric>

namespace unroll::synthetic {

double mean_of(const Values& y) {
  return std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
}

void standardize(Values& y) {
  const double mean = mean_of(y);
  double squares = 0;
  for (double& v : y) v -= mean, squares += v * v;
  const double sd = std::sqrt(squares / static_cast<double>(y.size()));
  for (double& v : y) v = sd <= 1e-9 * std::abs(mean) ? 0 : v / sd;
}
void limit_range(Values& y, double most) {
  const double shrink = std::min(1.0, most / std::max(range_of(y), 1e-300)), mean = mean_of(y);
  for (double& v : y) v = (v - mean) * shrink;
}
void add(Values& y, const Values& x, double factor) {
  for (size_t t = 0; t < y.size(); ++t) y[t] += factor * x[t];
}
void cumulate(Values& y) { std::partial_sum(y.begin(), y.end(), y.begin()); }
void exponentiate(Values& y, double height, double most) {
  for (double& v : y) v *= height;
  if (most < 1e300) limit_range(y, most);
  for (double& v : y) v = std::exp(v);
}

Values noise(Draw& draw, int rows, Range sd) {
  const double height = draw.of(sd);
  const double freedom = draw.chance(0.16) ? draw.uniform(2.5, 10) : 0;
  const double phi = draw.chance(0.3) ? draw.uniform(-0.5, 0.95) : 0, fresh = std::sqrt(1 - phi * phi);
  Values e(rows);
  for (int t = 0; t < rows; ++t) {
    const double v = height * (freedom > 0 ? draw.student(freedom) : draw.normal());
    e[t] = t == 0 ? v : phi * e[t - 1] + fresh * v;  // stationary from the first row on
  }
  return e;
}

Values trend_shape(Draw& draw, int rows, Range height) {
  enum Form { linear, damped, broken, exponential, s_shaped };
  const Form form =
      draw.choose<Form>({{linear, 3}, {damped, 2}, {broken, 2.5}, {exponential, 1}, {s_shaped, 1.5}});
  const double sign = draw.sign(), size = sign * draw.of(height);
  const double bend = draw.uniform(-6, 6), middle = draw.uniform(0.1, 0.9), width = draw.uniform(0.02, 0.2);
  double slope = draw.normal(), change_at = draw.exponential() / 3, y = 0;
  Values path(rows);
  for (int t = 0; t < rows; ++t) {
    const double u = t / (rows - 1.0);
    if (form == linear) y = u;
    if (form == damped) y = 1 - std::exp(-std::abs(bend) * u);
    if (form == exponential) y = std::expm1(bend * u) / std::expm1(bend);
    if (form == s_shaped) y = 1 / (1 + std::exp((middle - u) / width));
    if (form == broken && t > 0) {  // three changes of the slope on average
      if (u > change_at) slope = draw.normal(), change_at = u + draw.exponential() / 3;
      y += slope / (rows - 1);
    }
    path[t] = size * y;
  }
  return path;
}

Values season_shape(Draw& draw, int points) {
  enum Form { waves, phases, blocks };
  // Months and weekdays often have a value each; long seasons are smoother.
  const Form form = draw.choose<Form>({{waves, 4}, {phases, points > 60 ? 0.5 : 4}, {blocks, 2.5}});
  Values y(points);
  if (form == phases)
    for (double& v : y) v = draw.normal();
  if (form == waves) {
    const double decay = draw.uniform(0.5, 2);
    for (int k = draw.between(1, std::min(6, points / 2)); k > 0; --k) {
      const double height = draw.normal(std::pow(k, -decay)), phase = draw.uniform();
      for (int i = 0; i < points; ++i)
        y[i] += height * std::cos(2 * std::numbers::pi * (1.0 * k * i / points + phase));
    }
  }
  if (form == blocks)  // from a spike of a row to two thirds of the season, with hard or soft edges
    for (int k = draw.between(1, 4); k > 0; --k) {
      const double up = draw.chance(0.8) ? 1 : -1, height = up * draw.of({0.3, 3});
      const double from = draw.uniform(0, points), length = draw.of({0.5, 0.5 + points / 1.5});
      const double edge = draw.of({0.05, 0.1 + points / 24.0});
      for (int i = 0; i < points; ++i) {
        const double inside = std::fmod(i - from + points, points);
        y[i] += height / ((1 + std::exp(-inside / edge)) * (1 + std::exp((inside - length) / edge)));
      }
    }
  standardize(y);
  return y;
}

Values season_path(Draw& draw, int rows, double period, Range height) {
  const int points = std::max(2, static_cast<int>(std::round(period)));
  const double size = draw.of(height);
  const Values shape = season_shape(draw, points);
  const double share = draw.chance(0.5) ? draw.of({0.05, 1}) : 0;  // of the later shape at the end
  const Values later = share > 0 ? season_shape(draw, points) : shape;
  const double growth = draw.chance(0.3) ? draw.normal(0.7) : 0;  // of the height's logarithm, over all rows
  const int offset = draw.between(0, points - 1);
  Values y(rows);
  for (int t = 0; t < rows; ++t) {
    // A place in the shape, between two of its points; rounding may not move a whole period off its points.
    const double at = std::fmod(t + offset, period) * points / period + 1e-9, between = at - std::floor(at);
    const int i = static_cast<int>(at) % points, next = (i + 1) % points;
    const auto value = [&](const Values& s) { return s[i] + between * (s[next] - s[i]); };
    const double u = static_cast<double>(t) / rows;
    y[t] = size * std::exp(growth * u) * (value(shape) + share * u * (value(later) - value(shape)));
  }
  return y;
}

int calendar_season(Draw& draw, int rows) {
  const int most = std::max(4, rows);
  if (draw.chance(0.1)) return draw.between(2, std::min(100, most));
  // Quarters, months, weeks, days, hours, halves and quarters of an hour, minutes, days of a year, …
  static constexpr std::pair<int, double> common[] = {{4, 15},  {12, 25}, {52, 8}, {7, 15}, {24, 15},
                                                      {168, 4}, {48, 5},  {96, 4}, {60, 3}, {5, 2},
                                                      {365, 2}, {6, 1},   {13, 1}};
  return draw.weighted(std::span(common), [&](const auto& row) { return row.first <= most ? row.second : 0; })
      .first;
}

Values stable_coefficients(std::span<const double> partial) {
  Values phi;
  for (const double last : partial) {  // Durbin and Levinson's recursion
    const Values before = phi;
    for (size_t k = 0; k < phi.size(); ++k) phi[k] -= last * before[before.size() - 1 - k];
    phi.push_back(last);
  }
  return phi;
}
void autoregress(Values& x, const Values& phi, int lag) {
  for (size_t t = 0; t < x.size(); ++t)
    for (size_t k = 0; k < phi.size() && t >= (k + 1) * lag; ++k) x[t] += phi[k] * x[t - (k + 1) * lag];
}
void moving_average(Values& x, const Values& theta, int lag) {
  for (size_t t = x.size(); t-- > 0;)  // backwards: earlier values are still as they were
    for (size_t k = 0; k < theta.size() && t >= (k + 1) * lag; ++k) x[t] += theta[k] * x[t - (k + 1) * lag];
}

}  // namespace unroll::synthetic

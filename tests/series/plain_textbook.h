// The first half of the synthetic series computed a second time (plain_synthetic.h): pieces, and kinds that a textbook has.
#pragma once

#include <numbers>
#include <span>

#include "examples/timeseries/synthetic/synthetic.h"
#include "tests/series/synthetic_draws.h"

namespace unroll::synthetic {

struct plain_textbook {  // a class: its functions hide those of the same names outside
  static constexpr double turn = 2 * std::numbers::pi;
  template <class At>
  static Values of_rows(int rows, const At& at) {
    Values y(rows);
    for (int t = 0; t < rows; ++t) y[t] = at(t);
    return y;
  }
  static Values plus(const Values& a, const Values& b, double factor = 1) {
    return of_rows(static_cast<int>(a.size()), [&](int t) { return a[t] + factor * b[t]; });
  }
  static double mean(const Values& y) {
    return std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
  }
  static double range(const Values& y) { return std::ranges::max(y) - std::ranges::min(y); }
  static Values standard(const Values& y) {
    double square = 0;
    for (const double v : y) square += v * v;
    const double m = mean(y), sd = std::sqrt(std::max(0.0, square / static_cast<double>(y.size()) - m * m));
    return of_rows(static_cast<int>(y.size()),
                   [&](int t) { return range(y) <= 1e-9 * std::abs(m) ? 0 : (y[t] - m) / sd; });
  }
  static Values sums(const Values& y) {
    return of_rows(static_cast<int>(y.size()),
                   [&](int t) { return std::accumulate(y.begin(), y.begin() + t + 1, 0.0); });
  }
  static Values within(const Values& y, double most) {
    const double r = range(y), m = mean(y);
    return of_rows(static_cast<int>(y.size()), [&](int t) { return (y[t] - m) * (r > most ? most / r : 1); });
  }
  static Values powers(Values y, double height = 1) {
    for (double& v : y) v = std::exp(height * v);
    return y;
  }
  static Values powers_within(Values y, double height, double most) {
    for (double& v : y) v *= height;
    return powers(within(y, most));
  }
  // Σ p_k x_{t-k} = Σ q_k e_{t-k}, where p_0 = q_0 = 1: of polynomials of the lag.
  static Values product_of(const Values& a, const Values& b) {
    Values c(a.size() + b.size() - 1);
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t k = 0; k < b.size(); ++k) c[i + k] += a[i] * b[k];
    return c;
  }
  static Values filtered(const Values& e, const Values& q, const Values& p = {1}) {
    Values x(e.size());
    for (std::size_t t = 0; t < e.size(); ++t) {
      for (std::size_t k = 0; k < q.size() && k <= t; ++k) x[t] += q[k] * e[t - k];
      for (std::size_t k = 1; k < p.size() && k <= t; ++k) x[t] -= p[k] * x[t - k];
    }
    return x;
  }
  static Values polynomial(const Values& coefficients, double sign,
                           int lag = 1) {  // 1 + sign Σ c_k B^(k lag)
    Values p(1 + lag * coefficients.size());
    p[0] = 1;
    for (std::size_t k = 0; k < coefficients.size(); ++k) p[(k + 1) * lag] = sign * coefficients[k];
    return p;
  }
  static Values last(const Values& y, int rows) { return {y.end() - rows, y.end()}; }

  static Values noise(Draw& draw, int rows, Range sd = {}) {
    const double height = draw.of(sd), freedom = draw.chance(0.16) ? draw.uniform(2.5, 10) : 0;
    const double phi = draw.chance(0.3) ? draw.uniform(-0.5, 0.95) : 0;
    Values v =
        of_rows(rows, [&](int) { return height * (freedom > 0 ? draw.student(freedom) : draw.normal()); });
    for (int t = 1; t < rows; ++t) v[t] *= std::sqrt(1 - phi * phi);
    return filtered(v, {1}, {1, -phi});
  }

  static Values trend_shape(Draw& draw, int rows, Range height = {}) {
    const int form = draw.choose<int>({{0, 3}, {1, 2}, {2, 2.5}, {3, 1}, {4, 1.5}});
    const double sign = draw.sign(), size = sign * draw.of(height), bend = draw.uniform(-6, 6);
    const double middle = draw.uniform(0.1, 0.9), width = draw.uniform(0.02, 0.2);
    double slope = draw.normal(), change = draw.exponential() / 3;
    Values slopes;  // from each row to the next
    for (int t = 1; t < rows && form == 2; ++t) {
      if (t > change * (rows - 1)) slope = draw.normal(), change = t / (rows - 1.0) + draw.exponential() / 3;
      slopes.push_back(slope);
    }
    return of_rows(rows, [&](int t) {
      const double u = t / (rows - 1.0);
      return size * (form == 0   ? u
                     : form == 1 ? 1 - std::pow(std::exp(-std::abs(bend)), u)
                     : form == 2 ? std::accumulate(slopes.begin(), slopes.begin() + t, 0.0) / (rows - 1)
                     : form == 3 ? (std::exp(bend * u) - 1) / (std::exp(bend) - 1)
                                 : 0.5 + 0.5 * std::tanh((u - middle) / width / 2));
    });
  }

  static Values season_shape(Draw& draw, int points) {
    const int form = draw.choose<int>({{0, 4}, {1, points > 60 ? 0.5 : 4}, {2, 2.5}});
    Values y(points);
    if (form == 1) y = of_rows(points, [&](int) { return draw.normal(); });
    if (form == 0) {
      const double decay = draw.uniform(0.5, 2);
      for (int k = draw.between(1, std::min(6, points / 2)); k > 0; --k) {
        const double height = draw.normal() / std::pow(k, decay), phase = draw.uniform();
        y = plus(y, of_rows(points,
                            [&](int i) { return height * std::cos(turn * k * i / points + turn * phase); }));
      }
    }
    const auto rises = [](double x) { return 0.5 + 0.5 * std::tanh(x / 2); };
    for (int k = form == 2 ? draw.between(1, 4) : 0; k > 0; --k) {
      const double up = draw.chance(0.8) ? 1 : -1, height = up * draw.of({0.3, 3}),
                   from = draw.uniform(0, points);
      const double length = draw.of({0.5, 0.5 + points / 1.5}), edge = draw.of({0.05, 0.1 + points / 24.0});
      y = plus(y, of_rows(points, [&](int i) {
                 const double inside = i < from ? i - from + points : i - from;
                 return height * rises(inside / edge) * rises((length - inside) / edge);
               }));
    }
    return standard(y);
  }

  static Values season_path(Draw& draw, int rows, double period, Range height = {}) {
    const int points = std::max(2, static_cast<int>(std::lround(period)));
    const double size = draw.of(height);
    const Values shape = season_shape(draw, points);
    const double share = draw.chance(0.5) ? draw.of({0.05, 1}) : 0;
    const Values later = share > 0 ? season_shape(draw, points) : shape;
    const double growth = draw.chance(0.3) ? draw.normal(0.7) : 0;
    const int offset = draw.between(0, points - 1);
    return of_rows(rows, [&](int t) {
      const double place = (t + offset) / period, at = points * (place - std::floor(place + 1e-12));
      const int i = static_cast<int>(std::floor(at + 1e-9));
      const auto value = [&](const Values& s) {
        return (1 - (at - i)) * s[i % points] + (at - i) * s[(i + 1) % points];
      };
      const double mixed = share * t / rows;
      return size * std::exp(growth * t / rows) * ((1 - mixed) * value(shape) + mixed * value(later));
    });
  }

  // --- kinds -------------------------------------------------------------------------------------------------------

  static Path trend(Draw& draw, int rows) {
    const Values y = trend_shape(draw, rows);
    return {plus(y, noise(draw, rows, {0.005, 1}))};
  }
  static Path walk(Draw& draw, int rows) {
    const double drift = draw.chance(0.5) ? draw.normal(0.3) : 0;
    Values y = sums(noise(draw, rows));
    for (int t = 0; t < rows; ++t) y[t] += (t + 1) * drift;
    if (draw.chance(0.12)) y = sums(y);
    if (draw.chance(0.3)) y = plus(y, noise(draw, rows, {0.1, 5}));
    if (draw.chance(0.3)) y = powers_within(y, draw.of({0.002, 0.1}), 4);
    return {y};
  }
  static Path white(Draw& draw, int rows) {
    const int form = draw.choose<int>({{0, 5}, {1, 2}, {2, 1.5}, {3, 1.5}});
    const double freedom = draw.uniform(2.5, 8), skew = draw.uniform(0.2, 1);
    return {of_rows(rows, [&](int) {
      return form == 0   ? draw.normal()
             : form == 1 ? draw.student(freedom)
             : form == 2 ? draw.uniform()
                         : std::pow(std::exp(skew), draw.normal());
    })};
  }
  static Values surrounded(Draw& draw, Values y) {
    const int rows = static_cast<int>(y.size());
    if (draw.chance(0.5)) y = plus(y, trend_shape(draw, rows, {0.1, 5}));
    return plus(y, noise(draw, rows, {0.02, 2}));
  }
  static Path season(Draw& draw, int rows) {
    const int m = calendar_season(draw, rows);
    return {surrounded(draw, season_path(draw, rows, m)), m};
  }
  static Path growing_season(Draw& draw, int rows) {
    const Path path = season(draw, rows);
    return {powers_within(path.y, draw.of({0.02, 0.8}), 6), path.season};
  }
  static Path two_seasons(Draw& draw, int rows) {
    const auto [shorter, longer] = draw.weighted(
        std::vector<std::pair<int, int>>{
            {4, 12}, {7, 365}, {24, 168}, {48, 336}, {96, 672}, {60, 1440}, {12, 60}, {7, 28}, {6, 24}},
        [&](const auto& pair) { return pair.first <= std::max(8, rows) / 2 ? 1 : 0; });
    const Values y = season_path(draw, rows, shorter);
    return {surrounded(draw, plus(y, season_path(draw, rows, longer, {0.1, 2}))), shorter};
  }

  static Values coefficients(Draw& draw, int least, int most) {
    Values partial(draw.between(least, most));
    for (std::size_t k = 0; k < partial.size(); ++k)
      partial[k] = k == 0 ? draw.uniform(-0.6, 0.97) : draw.uniform(-0.8, 0.8);
    return stable_coefficients(partial);
  }
  static Path arma(Draw& draw, int rows) {
    const Values phi = coefficients(draw, 0, 3), theta = coefficients(draw, phi.empty() ? 1 : 0, 3);
    return {last(filtered(noise(draw, rows + 200), polynomial(theta, 1), polynomial(phi, -1)), rows)};
  }
  static Path sarima(Draw& draw, int rows) {
    const int m = calendar_season(draw, rows);
    const bool integrated = draw.chance(0.4);
    const Values e = of_rows(rows + 60 + 6 * m, [&](int) { return draw.normal(); });
    const Values theta = integrated ? Values{draw.uniform(-0.95, 0)} : coefficients(draw, 0, 1);
    const Values seasonal = {integrated ? draw.uniform(-0.95, 0) : draw.uniform(-0.5, 0.5)};
    const Values q = product_of(polynomial(theta, 1), polynomial(seasonal, 1, m));
    if (!integrated) {
      const Values phi = coefficients(draw, 0, 2), of_season = {draw.uniform(0.3, 0.95)};
      return {last(filtered(e, q, product_of(polynomial(phi, -1), polynomial(of_season, -1, m))), rows), m};
    }
    Values y = last(filtered(e, q), rows);
    const double height = draw.of({1, 30});
    const Values first = season_shape(draw, m);
    for (int t = 0; t < std::min(m, rows); ++t) y[t] += height * first[t];
    y = of_rows(rows, [&](int t) {
      double sum = 0;
      for (int k = t; k >= 0; k -= m) sum += y[k];
      return sum;
    });
    return {draw.chance(0.5) ? sums(y) : y, m};
  }

  // Hyndman, Koehler, Ord and Snyder 2008, tables 2.2 and 2.3.
  static Path state_space(Draw& draw, int rows) {
    const char error = draw.choose<char>({{'A', 1}, {'M', 1}}),
               trend = draw.choose<char>({{'N', 4}, {'A', 5}, {'M', 1}}),
               season = draw.choose<char>({{'N', 4}, {'A', 3}, {'M', 3}});
    const double phi = draw.chance(0.5) ? draw.uniform(0.8, 0.98) : 1;
    const double alpha = draw.chance(0.7) ? draw.uniform(0.01, 0.99) : draw.of({1e-3, 0.1});
    const double beta = alpha * draw.of({0.005, 0.5}), gamma = (1 - alpha) * draw.of({0.005, 0.9});
    const double sd = draw.of({0.003, 0.25}), slope_sd = draw.of({1e-4, 0.03});
    Values l = {1}, b = {draw.normal(slope_sd) + (trend == 'M' ? 1 : 0)}, s = {season == 'M' ? 1.0 : 0.0}, y;
    const int m = season == 'N' ? 1 : calendar_season(draw, rows);
    if (season != 'N') {
      s = season_shape(draw, m);
      const double height = draw.of({0.01, 0.4});
      for (double& v : s) v = season == 'M' ? std::exp(height * v) : height * v;
    }
    for (int t = 0; t < rows; ++t) {  // l[t], b[t], s[t]: of the row before, and of a season before
      const double q = trend == 'N' ? l[t] : trend == 'A' ? l[t] + phi * b[t] : l[t] * std::pow(b[t], phi);
      const double expected = season == 'M' ? q * s[t] : q + s[t];
      const double e = std::max(-0.9, draw.normal(sd)) * (error == 'M' ? expected : 1);
      const double per_season = season == 'M' ? e / s[t] : e;
      y.push_back(expected + e);
      l.push_back(q + alpha * per_season);
      b.push_back(trend == 'M' ? std::clamp(std::pow(b[t], phi) + beta * per_season / l[t], 0.9, 1.1)
                               : phi * b[t] + beta * per_season);
      s.push_back(season == 'N'   ? s[t]
                  : season == 'A' ? s[t] + gamma * e
                                  : std::max(0.01, s[t] + gamma * e / std::max(0.01, q)));
      if (error == 'M' || trend == 'M' || season == 'M') l.back() = std::clamp(l.back(), 0.01, 1e3);
    }
    return {y, m};
  }

  static Path shifts(Draw& draw, int rows) {
    const double chance = draw.of({0.2, 6}) / rows, sign = draw.sign(), height = draw.of({3, 30});
    const int certain = draw.between(std::max(1, rows / 4), rows - 1 - rows / 4);
    Values step(rows), e(rows);
    for (int t = 0; t < rows; ++t) {
      if (t == certain)
        step[t] = sign * height;
      else if (draw.chance(chance))
        step[t] = draw.normal(height / 2);
      e[t] = draw.normal();
    }
    return {plus(sums(step), e)};
  }
  static Path outliers(Draw& draw, int rows) {
    const int base = draw.choose<int>({{0, 2}, {1, 1}, {2, 1}});
    Path path = base == 0 ? season(draw, rows) : base == 1 ? walk(draw, rows) : arma(draw, rows);
    const double share = draw.of({0.003, 0.06}), side = draw.chance(0.5) ? draw.sign() : 0;
    const int lasts = draw.chance(0.2) ? draw.between(2, 5) : 1, certain = draw.between(0, rows - 1);
    Values off(rows);
    for (int t = 0; t < rows; ++t)
      if (t == certain || draw.chance(share))
        off[t] = (side != 0 ? side : draw.sign()), off[t] *= draw.of({4, 20});
    const Values y = standard(path.y);
    path.y = of_rows(rows, [&](int t) {
      return std::accumulate(off.begin() + std::max(0, t - lasts + 1), off.begin() + t + 1, y[t]);
    });
    return path;
  }
  static Path variance(Draw& draw, int rows) {
    const int form = draw.choose<int>({{0, 5}, {1, 2}, {2, 3}});
    const double persistence = draw.uniform(0.7, 0.99), share = draw.uniform(0.1, 0.5),
                 growth = draw.normal(1.5);
    const int m = form == 2 ? calendar_season(draw, rows) : 1;
    const Values shape = form == 2 ? season_path(draw, rows, m, {0.4, 1}) : Values(rows);
    const bool walks = draw.chance(0.5);
    const double a = persistence * share, b = persistence * (1 - share);  // h' = ω + a y² + b h
    Values y(rows), h = {1};
    for (int t = 0; t < rows; ++t) {
      const double sd = form == 0   ? std::sqrt(h[t])
                        : form == 1 ? std::exp(growth * t / rows)
                                    : std::exp(std::clamp(shape[t], -3.0, 3.0));
      y[t] = sd * draw.normal();
      h.push_back(std::min(1e4, (1 - a - b) + a * y[t] * y[t] + b * h[t]));
    }
    return {walks ? sums(y) : y, m};
  }
  static Path intermittent(Draw& draw, int rows) {
    const double chance = draw.of({0.03, 0.6}), mean_size = draw.of({0.1, 30}), shape = draw.of({0.3, 10});
    Values y(rows);
    for (int t = -1; (t += draw.geometric(chance)) < rows;)
      y[t] = 1 + draw.poisson(mean_size * (draw.gamma(shape) / shape));
    return {y};
  }
  static Path counts(Draw& draw, int rows) {
    const double mean_count = draw.of({0.3, 200}), shape = draw.chance(0.4) ? draw.of({1, 20}) : 0;
    const int m = draw.chance(0.6) ? calendar_season(draw, rows) : 1;
    Values y(rows);
    if (m > 1) y = plus(y, season_path(draw, rows, m, {0.1, 1}));
    if (draw.chance(0.5)) y = plus(y, trend_shape(draw, rows, {0.1, 2}));
    if (draw.chance(0.3)) y = plus(y, sums(noise(draw, rows, {0.01, 0.2})));
    y = within(y, 5);
    return {of_rows(rows,
                    [&](int t) {
                      const double crowd = shape > 0 ? draw.gamma(shape) / shape : 1;
                      return draw.poisson(crowd * mean_count * std::min(std::exp(y[t]), std::exp(4)));
                    }),
            m};
  }
  static Path bounded(Draw& draw, int rows) {
    const int base = draw.choose<int>({{0, 4}, {1, 2}, {2, 2}, {3, 2}});
    Path path = base == 0   ? season(draw, rows)
                : base == 1 ? walk(draw, rows)
                : base == 2 ? arma(draw, rows)
                            : trend(draw, rows);
    path.y = standard(path.y);
    const double centre = draw.normal(1.5), height = draw.of({0.3, 4});
    const bool cut = draw.chance(0.35);
    for (double& v : path.y) {
      const double x = centre + height * v;  // from -2 to 2 it is not cut off
      v = !cut ? 0.5 + 0.5 * std::tanh(x / 2) : x < -2 ? 0 : x > 2 ? 1 : (x + 2) / 4;
    }
    return path;
  }
};

}  // namespace unroll::synthetic

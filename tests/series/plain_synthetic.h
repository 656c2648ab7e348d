// Synthetic series a second time, each kind by its equation with values of all rows side by side: to hold the generators against.
// Parameters are drawn as there, from the same priors and in the same order, which is what keeps a series' bits.
#pragma once

#include "tests/series/plain_textbook.h"

namespace unroll::synthetic {

struct plain : plain_textbook {
  // Σ over features of √(2/n) cos(ω t + phase): a Gaussian process as n grows.
  static Path gaussian(Draw& draw, int rows) {
    const int m = calendar_season(draw, rows);
    int told = 1;
    Values y = noise(draw, rows, {0.01, 0.7});
    for (int terms = draw.between(1, 3); terms > 0; --terms) {
      std::vector<Kernel> product(draw.chance(0.35) ? 2 : 1);
      for (Kernel& k : product) {
        k.form =
            draw.choose<Kernel::Form>({{Kernel::smooth, 4}, {Kernel::rational, 2}, {Kernel::periodic, 4}});
        if (k.form == Kernel::periodic)
          told = m, k.length = draw.of({0.3, 2});
        else
          k.length = draw.of({2, 2.0 * rows});
        k.shape = draw.of({0.3, 5}), k.period = m;
      }
      const double height = draw.of({0.2, 2});
      Values term(rows);
      for (int k = 0; k < 48; ++k) {
        double omega = 0;
        for (const Kernel& factor : product) omega += factor.frequency(draw);
        const double phase = draw.uniform(0, turn);
        for (int t = 0; t < rows; ++t) term[t] += height * std::sqrt(1 / 24.0) * std::cos(omega * t + phase);
      }
      if (draw.chance(0.25)) {
        const double zero = draw.uniform(-0.5, 1.5);
        for (int t = 0; t < rows; ++t) term[t] *= 2 * (static_cast<double>(t) / rows - zero);
      }
      y = plus(y, term);
    }
    if (draw.chance(0.2)) {
      const double rise = draw.normal(2);
      for (int t = 0; t < rows; ++t) y[t] += rise * t / rows;
    }
    return {y, told};
  }

  static Values log_level(Draw& draw, int rows, double a_year) {
    const int form =
        draw.choose<int>({{0, 3.5}, {1, 2}, {2, 3}, {3, 1.5}});  // walks, slope walks, smooth, returns
    const double drift = (0.02 + draw.normal(0.06)) / a_year, sd = draw.of({0.005, 0.4}) / std::sqrt(a_year);
    Values y = form == 2 ? trend_shape(draw, rows, {0.05, 2}) : noise(draw, rows, {sd, sd});
    if (form == 3) y = filtered(y, {1}, {1, draw.of({0.02, 0.6}) - 1});
    if (form == 1) {
      y = filtered(y, {1}, {1, draw.of({0.005, 0.3}) - 1});
      for (double& v : y) v /= a_year;
    }
    if (form < 2) y = plus(sums(y), of_rows(rows, [](int t) { return t + 1; }), drift);
    if (draw.chance(0.25)) {
      const double period = draw.uniform(3, 12) * a_year, height = draw.of({0.01, 0.15}),
                   radius = std::exp(-1 / period);
      const Values e = noise(draw, rows + static_cast<int>(2 * period));
      // Complex roots radius e^±iω of the polynomial: a damped wave of the period.
      const Values cycle = filtered(e, {1}, {1, -2 * radius * std::cos(turn / period), radius * radius});
      y = plus(y, standard(last(cycle, rows)), height);
    }
    return within(y, 4);
  }
  static Values business(Draw& draw, int rows, double a_year, const Values& season) {
    const Values level = log_level(draw, rows, a_year);
    Values around = noise(draw, rows, {0.002, 0.35});
    if (!season.empty()) around = plus(around, season, draw.of({0.01, 0.6}));
    if (draw.chance(0.1)) {
      const double off = 0.5 * draw.sign();
      around[draw.between(0, rows - 1)] += off;
    }
    if (draw.chance(0.08)) {
      const double shift = draw.normal(0.4);
      const int from = draw.between(0, rows - 1);
      around = of_rows(rows, [&](int t) { return around[t] + (t >= from ? shift : 0); });
    }
    if (draw.chance(0.65)) return powers_within(plus(level, around), 1, 6);
    // Added: as much as leaves a twentieth of the level in every row.
    const Values y = powers(level);
    double most = 1;
    for (int t = 0; t < rows; ++t)
      if (around[t] < 0) most = std::min(most, 0.95 * y[t] / -around[t]);
    return plus(y, around, most);
  }
  static Path with_season(Draw& draw, int rows, int m, double period) {
    const Values season = draw.chance(0.75) ? season_path(draw, rows, period) : Values{};
    return {business(draw, rows, period, season), m};
  }
  static Path yearly(Draw& draw, int rows) { return {business(draw, rows, 1, {})}; }
  static Path quarterly(Draw& draw, int rows) { return with_season(draw, rows, 4, 4); }
  static Path weekly(Draw& draw, int rows) { return with_season(draw, rows, 52, 365.25 / 7); }
  static Path monthly(Draw& draw, int rows) {
    Path path = with_season(draw, rows, 12, 12);
    if (!draw.chance(0.25)) return path;
    double weight[7];  // from Sunday on; their mean is 1
    const double spread = draw.of({0.05, 1});
    for (double& w : weight) w = std::exp(draw.normal(spread));
    if (draw.chance(0.3)) weight[0] = weight[6] = 0;
    const double week = std::accumulate(weight, weight + 7, 0.0) / 7;
    int year = draw.between(1950, 2020), month = draw.between(0, 11),
        day_of_week = 0;  // 1950 began on a Sunday
    const auto days = [&](int in_year, int of) {
      const bool leap = in_year % 4 == 0 && (in_year % 100 != 0 || in_year % 400 == 0);
      return of == 1 ? 28 + leap : of == 3 || of == 5 || of == 8 || of == 10 ? 30 : 31;
    };
    for (int past = 0; past < 12 * (year - 1950) + month; ++past)
      day_of_week += days(1950 + past / 12, past % 12);
    for (double& v : path.y) {
      double open = 0;
      for (int day = days(year, month); day > 0; --day) open += weight[day_of_week++ % 7] / week;
      v *= open * 4800 / 146097;  // days in 400 years
      if (++month == 12) month = 0, ++year;
    }
    return path;
  }
  static Path daily(Draw& draw, int rows) {
    Values seasons(rows);
    if (draw.chance(0.8)) seasons = plus(seasons, season_path(draw, rows, 7));
    if (draw.chance(0.6)) seasons = plus(seasons, season_path(draw, rows, 365.25, {0.2, 3}));
    if (draw.chance(0.1)) seasons = plus(seasons, season_path(draw, rows, 365.25 / 12, {0.2, 1}));
    Values y = business(draw, rows, 365.25, seasons);
    if (draw.chance(0.08)) {
      const int first = draw.between(0, 6);
      for (int t = 0; t < rows; ++t) y[t] *= (t + first) % 7 < 5;
    }
    return {y, 7};
  }
  static Path within_a_day(Draw& draw, int rows) {
    const int day = draw.choose<int>({{24, 5}, {48, 2}, {96, 2}, {144, 1}}),
              first = draw.between(0, 7 * day - 1);
    const Values working = season_path(draw, rows, day), weekend = season_path(draw, rows, day);
    const double difference = draw.chance(0.6) ? draw.uniform(0.1, 1) : 0;
    const double lower = difference > 0 ? draw.normal(0.7) : 0, day_sd = draw.of({0.01, 0.5}),
                 slow = draw.of({0.05, 2});
    const Values fresh = noise(draw, rows), e = noise(draw, rows, {0.01, 0.7});
    Values y = plus(e, standard(filtered(fresh, {1}, {1, draw.of({0.3, 10}) / day - 1})), slow);
    Values heights = {1};  // of each day
    for (int t = 0; t < rows; ++t) {
      const int of_day = (first + t) % day, number = (first + t) / day;
      if (of_day == 0) heights.push_back(std::exp(draw.normal(day_sd)));
      const bool at_weekend = number % 7 == 5 || number % 7 == 6;
      y[t] += heights.back() *
              (at_weekend ? (1 - difference) * working[t] + difference * weekend[t] - lower : working[t]);
    }
    const int form = draw.choose<int>({{0, 5}, {1, 4}, {2, 1}});
    if (form == 0) y = powers_within(standard(y), draw.of({0.05, 0.8}), 6);
    if (form == 2) {
      const double night = draw.uniform(-0.5, 0.7);
      for (double& v : y) v = v > night ? v - night : 0;
    }
    return {y, day};
  }

  static Path threshold(Draw& draw, int rows) {
    const double above = draw.uniform(-0.9, 0.9), below = draw.uniform(-0.9, 0.9),
                 jump = draw.uniform(0.3, 2);
    Values x = {0};
    for (int t = 1; t <= rows + 50; ++t)
      x.push_back((x.back() > 0 ? above : below) * x.back() + (x.back() > 0 ? -1 : 1) * jump +
                  draw.normal(0.5));
    return {last(x, rows)};
  }
  static Path logistic_map(Draw& draw, int rows) {
    const double r = draw.uniform(3.6, 4);
    Values x = {draw.uniform(0.1, 0.9)};
    for (int t = 0; t < rows; ++t) x.push_back(r * x[t] * (1 - x[t]));
    return {last(x, rows)};
  }
  static Path regimes(Draw& draw, int rows) {
    const int count = draw.between(2, 3);
    Values means, phis, sds;
    for (int k = 0; k < count; ++k)
      means.push_back(draw.normal(3)), phis.push_back(draw.uniform(-0.3, 0.9)),
          sds.push_back(draw.of({0.2, 2}));
    const double leave = draw.of({0.01, 0.15});
    int now = 0;
    Values x = {0}, y;
    for (int t = 0; t < rows; ++t) {
      if (draw.chance(leave)) now = (now + draw.between(1, count - 1)) % count;
      x.push_back(phis[now] * x[t] + sds[now] * draw.normal());
      y.push_back(means[now] + x.back());
    }
    return {y};
  }
  static Path sawtooth(Draw& draw, int rows) {
    const double period = draw.of({5, std::max(6.0, rows / 3.0)}), sd = draw.of({0.01, 0.2});
    double phase = draw.uniform(), rise = 1 / period;
    Values y;
    for (int t = 0; t < rows; ++t) {
      y.push_back(phase + draw.normal(sd));
      if ((phase += rise) >= 1) phase -= 1, rise = 1 / (period * draw.uniform(0.9, 1.1));
    }
    return {y, static_cast<int>(std::lround(period))};
  }
  // The intensity: what is there anyhow, and of each event before a share that decays. An event has so many children in all.
  static Path bursts(Draw& draw, int rows) {
    const double base = draw.of({0.05, 2}), children = draw.uniform(0.5, 0.9),
                 decay = draw.uniform(0.5, 0.97);
    Values y;
    for (int t = 0; t < rows; ++t) {
      double intensity = base;
      for (int k = 0; k < t; ++k) intensity += y[k] * children * (1 - decay) * std::pow(decay, t - 1 - k);
      y.push_back(draw.poisson(intensity));
    }
    return {y};
  }

  static Generator* plain_of(std::string_view word) {
    static const std::pair<std::string_view, Generator*> all[] = {{"yearly", yearly},
                                                                  {"quarterly", quarterly},
                                                                  {"monthly", monthly},
                                                                  {"weekly", weekly},
                                                                  {"daily", daily},
                                                                  {"hourly", within_a_day},
                                                                  {"trend", trend},
                                                                  {"season", season},
                                                                  {"two-seasons", two_seasons},
                                                                  {"growing-season", growing_season},
                                                                  {"ets", state_space},
                                                                  {"arma", arma},
                                                                  {"sarima", sarima},
                                                                  {"walk", walk},
                                                                  {"noise", white},
                                                                  {"shifts", shifts},
                                                                  {"outliers", outliers},
                                                                  {"variance", variance},
                                                                  {"intermittent", intermittent},
                                                                  {"counts", counts},
                                                                  {"bounded", bounded},
                                                                  {"gaussian", gaussian},
                                                                  {"threshold", threshold},
                                                                  {"logistic-map", logistic_map},
                                                                  {"regimes", regimes},
                                                                  {"sawtooth", sawtooth},
                                                                  {"bursts", bursts}};
    for (const auto& [name, make] : all)
      if (name == word) return make;
    FAIL("no equation of ", std::string(word));
    std::abort();
  }

  // Two of them, the transforms of the whole, where it lies, and the season that is told: as a forecaster gets the series.
  static SyntheticSeries series(Draw& draw, bool held_out, int rows) {
    const auto kind = [&](bool of_held_out) -> const SyntheticKind& {
      return draw.weighted(std::span(synthetic_kinds), [&](const SyntheticKind& k) {
        return of_held_out ? static_cast<double>(k.weight == 0) : k.weight;
      });
    };
    const auto positive = [](const Values& y) { return std::ranges::min(y) > 0; };
    const auto eight = [](Values y) {
      for (double& v : y) v = std::clamp(v, -8.0, 8.0);
      return y;
    };
    const SyntheticKind& first = kind(held_out);
    auto [y, season] = plain_of(first.word)(draw, rows);
    if (first.nature == Nature::free) y = standard(y);
    if (first.nature != Nature::counts) {
      if (!held_out && draw.chance(0.25)) {
        const Path second = plain_of(kind(false).word)(draw, rows);
        const Values other = eight(standard(second.y));
        const bool is_added = draw.chance(0.5);
        const double height = draw.of(is_added ? Range{0.05, 1} : Range{0.02, 0.5}), size = range(y) / 4;
        y = of_rows(rows, [&](int t) {
          return is_added ? y[t] + height * size * other[t] : y[t] * std::exp(height * other[t]);
        });
        if (season == 1) season = second.season;
      }
      if (draw.chance(0.05)) {
        const double height = draw.of({0.1, 0.8});
        y = powers(eight(standard(y)), height);
      }
      if (draw.chance(0.05)) {
        const double power = draw.of({0.4, 2.5});
        if (!positive(y)) y = standard(y);
        for (double& v : y) v = v < 0 ? -std::pow(-v, power) : std::pow(v, power);
      }
      if (draw.chance(0.05)) {
        const auto [low, high] = std::ranges::minmax(y);
        for (double& v : y) v = low + (high - v);
      }
      if (draw.chance(0.03)) y = Values(y.rbegin(), y.rend());
      const double scale = draw.of({1e-3, 1e6}), offset = draw.chance(0.6) ? draw.of({1, 300}) : 0;
      const double side = draw.chance(0.9) ? 1 : -1,
                   unit = draw.choose<double>({{1, 8}, {10, 1}, {100, 1}, {1000, 1}});
      const double level = positive(y) ? mean(y) : 0;
      if (level == 0) y = standard(y);
      for (double& v : y) v = level > 0 ? v / level * scale : scale * v + side * scale * offset;
      if (draw.chance(0.25) && range(y) > 5 * unit)
        for (double& v : y) v = std::round(v / unit) * unit;
    }
    const double u = draw.uniform();
    const int other = calendar_season(draw, rows);
    SyntheticSeries result{.values = {y.begin(), y.end()},
                           .season = season == 1 ? (u < 0.16 ? other : 1)
                                     : u < 0.04  ? 1
                                     : u < 0.08  ? other
                                                 : season,
                           .kind = first.word};
    if (!draw.chance(0.07)) return result;
    std::vector<int> lost;  // in turn; what is beyond the most that may be lost stays
    const int form = draw.choose<int>({{0, 2}, {1, 2}, {2, 1}});  // single values, gaps, both
    const double share = form == 1 ? 0 : draw.of({0.005, 0.3});
    for (int t = 0; t < rows; ++t)
      if (draw.chance(share)) lost.push_back(t);
    for (int count = form == 0 ? 0 : draw.between(1, 3); count > 0; --count) {
      const int begin = draw.between(0, rows - 1), length = draw.between(1, 1 + rows / 8);
      for (int t = begin; t < begin + length && t < rows; ++t)
        if (std::ranges::find(lost, t) == lost.end()) lost.push_back(t);
    }
    lost.resize(std::min<std::size_t>(lost.size(), std::min(rows / 2, rows - 3)));
    for (const int t : lost) result.values[t] = std::nanf("");
    return result;
  }
};

}  // namespace unroll::synthetic

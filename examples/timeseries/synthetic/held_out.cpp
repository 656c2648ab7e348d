// Kinds that training never draws: they show whether a forecaster learnt more than its generators.
#include "examples/timeseries/synthetic/kinds.h"

namespace unroll::synthetic {

// A threshold autoregression (Tong and Lim 1980): two AR(1), one above a level of the value before, one below.
Path threshold(Draw& draw, int rows) {
  const double above = draw.uniform(-0.9, 0.9), below = draw.uniform(-0.9, 0.9), jump = draw.uniform(0.3, 2);
  Path path;
  double x = 0;
  for (int t = -50; t < rows; ++t) {
    x = (x > 0 ? above * x - jump : below * x + jump) + draw.normal(0.5);
    if (t >= 0) path.y.push_back(x);
  }
  return path;
}

// x' = r x (1 - x), in its chaotic range (May 1976): without noise, and yet hard after a few rows.
Path logistic_map(Draw& draw, int rows) {
  const double r = draw.uniform(3.6, 4);
  Path path;
  for (double x = draw.uniform(0.1, 0.9); rows > 0; --rows) path.y.push_back(x = r * x * (1 - x));
  return path;
}

// Markov switching (Hamilton 1989): two or three regimes, each with a mean, an AR(1) and a deviation of its own.
Path regimes(Draw& draw, int rows) {
  struct Regime {
    double mean, phi, sd;
  };
  std::vector<Regime> all(draw.between(2, 3));
  for (Regime& regime : all)
    regime = {draw.normal(3), draw.uniform(-0.3, 0.9), draw.of({0.2, 2})};  // braces: in order
  const double leave = draw.of({0.01, 0.15});
  size_t now = 0;
  double x = 0;
  Path path;
  for (int t = 0; t < rows; ++t) {
    if (draw.chance(leave)) now = (now + draw.between(1, static_cast<int>(all.size()) - 1)) % all.size();
    x = all[now].phi * x + draw.normal(all[now].sd);
    path.y.push_back(all[now].mean + x);
  }
  return path;
}

// Rises evenly and falls at once; each period is drawn anew, within a tenth.
Path sawtooth(Draw& draw, int rows) {
  const double period = draw.of({5, std::max(6.0, rows / 3.0)}), sd = draw.of({0.01, 0.2});
  double phase = draw.uniform(), now = period;
  Path path{.y = {}, .season = static_cast<int>(std::round(period))};
  for (int t = 0; t < rows; ++t) {
    path.y.push_back(phase + draw.normal(sd));
    phase += 1 / now;
    if (phase >= 1) phase -= 1, now = period * draw.uniform(0.9, 1.1);
  }
  return path;
}

// Counts that excite further ones (Hawkes 1971, in steps): an event raises the intensity, which then decays.
Path bursts(Draw& draw, int rows) {
  const double base = draw.of({0.05, 2}), children = draw.uniform(0.5, 0.9), decay = draw.uniform(0.5, 0.97);
  double excited = 0;
  Path path;
  for (int t = 0; t < rows; ++t) {
    path.y.push_back(draw.poisson(base + excited));
    excited = decay * excited + children * (1 - decay) * path.y.back();
  }
  return path;
}

}  // namespace unroll::synthetic

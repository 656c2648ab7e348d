// The property that the word of each kind of synthetic series promises, over many draws, and the parts that kinds share.
#include <numbers>

#include "examples/timeseries/synthetic/kinds.h"
#include "examples/timeseries/synthetic/synthetic.h"
#include "tests/series/synthetic_draws.h"

using namespace unroll;
using namespace unroll::synthetic;

namespace {

Values differences(const Values& y) {
  Values d;
  for (std::size_t t = 1; t < y.size(); ++t) d.push_back(y[t] - y[t - 1]);
  return d;
}
double autocorrelation(const Values& y, std::size_t lag) {
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
  double squares = 0, products = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    squares += (y[t] - mean) * (y[t] - mean);
    if (t >= lag) products += (y[t] - mean) * (y[t - lag] - mean);
  }
  return squares > 0 ? products / squares : 0;
}
double share(const Values& y, double (*test)(double)) {
  double sum = 0;
  for (const double v : y) sum += test(v);
  return sum / static_cast<double>(y.size());
}
double median(Values y) {
  std::nth_element(y.begin(), y.begin() + static_cast<int64_t>(y.size() / 2), y.end());
  return y[y.size() / 2];
}
double largest_step(const Values& y) {  // in medians of the others
  Values d = differences(y);
  for (double& v : d) v = std::abs(v);
  return std::log(*std::max_element(d.begin(), d.end()) / std::max(1e-9, median(d)));
}

}  // namespace

TEST_CASE("distributions have the mean and variance of theory") {
  const auto moments = [](const char* name, double mean, double variance, auto number) {
    CHECK_MESSAGE(over_draws(name, 4000, number).is(mean), name);
    CHECK_MESSAGE(
        over_draws(name, 4000, [&](Draw& draw) { return std::pow(number(draw) - mean, 2); }).is(variance),
        name);
  };
  moments("gamma 3", 3, 3, [](Draw& draw) { return draw.gamma(3); });
  moments("gamma 0.4", 0.4, 0.4, [](Draw& draw) { return draw.gamma(0.4); });
  moments("poisson 2.5", 2.5, 2.5, [](Draw& draw) { return draw.poisson(2.5); });
  moments("poisson 90", 90, 90 + 1.0 / 12, [](Draw& draw) { return draw.poisson(90); });
  moments("geometric 0.2", 5, 20, [](Draw& draw) { return draw.geometric(0.2); });
  moments("student 12", 0, 1, [](Draw& draw) { return draw.student(12); });
  moments("exponential", 1, 1, [](Draw& draw) { return draw.exponential(); });
  moments("between", 4, 2, [](Draw& draw) { return draw.between(2, 6); });
  moments("choose", 3 * 0.25, 9 * 0.25 * 0.75, [](Draw& draw) {
    return draw.choose<int>({{0, 3}, {3, 1}, {9, 0}});
  });
  moments("of", std::log(2.0), std::pow(std::log(16.0), 2) / 12, [](Draw& draw) {
    return std::log(draw.of({0.5, 8}));
  });
}

TEST_CASE("noise has its standard deviation from the first row on, white or not") {
  for (const int t : {0, 1, 50})
    CHECK(over_draws("noise", 4000, [&](Draw& draw) {
            const double v = noise(draw, 51, {2, 2})[t];
            return std::min(v * v, 400.0);  // cuts .011 of the variance: tails beyond ten deviations
          }).is(4, 0.011));
}

TEST_CASE("trends begin near 0, and three in four rise or fall all along") {
  constexpr int count = 2000;
  int monotone = 0;
  for (int k = 0; k < count; ++k) {
    Draw draw = draw_of("trend shape", k);
    const Values y = trend_shape(draw, 50), d = differences(y);
    const bool rises = std::ranges::all_of(d, [](double v) { return v >= 0; });
    const bool falls = std::ranges::all_of(d, [](double v) { return v <= 0; });
    monotone += rises || falls;
    const double changes = *std::ranges::max_element(d) * *std::ranges::min_element(d);
    if (changes > 0) CHECK(std::abs(y.front()) < 0.4);  // the widest early S begins there: 1 / (1 + e^½)
  }
  // Beside them those broken trends whose slopes have one sign: without a change, e^-3, or with k of them, 2^-k.
  const double broken_alike = std::exp(-1.5);  // Σ e^-3 3^k / k! 2^-k
  CHECK(is_share(monotone, count, 0.75 + 0.25 * broken_alike));
}

TEST_CASE("coefficients of stable filters: by hand, and the variance that partial autocorrelations give") {
  CHECK(stable_coefficients(Values{}).empty());
  CHECK(stable_coefficients(Values{0.5}) == Values{0.5});
  CHECK(stable_coefficients(Values{0.5, -0.4}) == Values{0.5 + 0.4 * 0.5, -0.4});
  Values x = {1, 2, 0, 0}, y = x, z = x;
  autoregress(x, {0.5, 1});
  CHECK(x == Values{1, 2.5, 2.25, 3.625});
  moving_average(y, {0.5, 1});
  CHECK(y == Values{1, 2.5, 2, 2});
  autoregress(z, {1}, 2);
  CHECK(z == Values{1, 2, 1, 2});
  CHECK(over_draws("variance of AR(3)", 3000, [](Draw& draw) {
          const Values partial = {draw.uniform(-0.8, 0.8), draw.uniform(-0.8, 0.8), draw.uniform(-0.8, 0.8)};
          Values e(300);
          for (double& v : e) v = draw.normal();
          autoregress(e, stable_coefficients(partial));
          double ratio = e.back() * e.back();
          for (const double p : partial) ratio *= 1 - p * p;
          return ratio;
        }).is(1));
}

TEST_CASE("kernels: the mean cosine of random frequencies is the kernel") {
  for (const double d : {1.0, 3.0, 7.5}) {
    const auto mean = [&](Kernel::Form form, double length, double shape, double period) {
      const Kernel kernel = {form, length, shape, period};
      return over_draws("kernel", 4000, [&](Draw& draw) { return std::cos(d * kernel.frequency(draw)); });
    };
    CHECK(mean(Kernel::smooth, 4, 0, 0).is(std::exp(-d * d / 32)));
    CHECK(mean(Kernel::rational, 4, 0.7, 0).is(std::pow(1 + d * d / (2 * 0.7 * 16), -0.7)));
    const double sine = std::sin(std::numbers::pi * d / 12);
    CHECK(mean(Kernel::periodic, 0.8, 0, 12).is(std::exp(-2 * sine * sine / 0.64)));
  }
}

TEST_CASE("kinds with a season repeat after it, and not after a third more") {
  // Differences take out levels and trends; of positive kinds those of logarithms.
  const auto repeats = [](std::string_view word) {
    return over_paths(word, 120, 576, [&](Path path) {
      if (path.season < 2 || path.season > 144) return std::nan("");
      if (word == "growing-season")
        for (double& v : path.y) v = std::log(v);
      const Values d = differences(path.y);
      const int m = path.season;
      return autocorrelation(d, m) - autocorrelation(d, m + std::max(1, m / 3));
    });
  };
  for (const char* word : {"quarterly", "monthly", "daily", "hourly", "season", "two-seasons",
                           "growing-season", "sarima", "counts", "gaussian", "ets"})
    CHECK_MESSAGE(repeats(word).above(0.02), word);
  CHECK(repeats("weekly").above(0));  // 52.18 weeks
  // Two in five SARIMA sum over seasons; most of these begin with a season far above the noise, and it stays.
  CHECK(over_paths("sarima", 500, 576, [](const Path& path) {
          if (path.season > 72) return std::nan("");
          return autocorrelation(differences(path.y), path.season) > 0.9 * (1 - path.season / 576.0) ? 1.0
                                                                                                     : 0.0;
        }).above(0.2));
  // A season that does not change is the same each time.
  Draw draw = draw_of("shape", 1);
  const Values shape = season_shape(draw, 12);
  CHECK(std::abs(std::accumulate(shape.begin(), shape.end(), 0.0)) < 1e-12);
  CHECK(std::inner_product(shape.begin(), shape.end(), shape.begin(), 0.0) == doctest::Approx(12));
}

TEST_CASE("the values of each kind are finite and of moderate size, from 3 rows on") {
  for (const SyntheticKind& kind : synthetic_kinds)
    for (const int rows : {3, 4, 9, 576}) {
      const Mean fine = over_paths(kind.word, 100, rows, [&](const Path& path) {
        const auto moderate = [](double v) { return std::abs(v) < 1e6; };  // false for NaN
        return path.y.size() == static_cast<std::size_t>(rows) && std::ranges::all_of(path.y, moderate);
      });
      CHECK_MESSAGE(fine.value == 1, std::string(kind.word), rows);
    }
}

TEST_CASE("kinds of businesses are positive, and so are states where something multiplies") {
  for (const char* word : {"yearly", "quarterly", "monthly", "weekly", "growing-season"})
    CHECK_MESSAGE(over_paths(
                      word, 200, 200,
                      [](const Path& path) {
                        return *std::ranges::min_element(path.y) > 0;
                      }).value == 1,
                  word);
  CHECK(over_paths("daily", 200, 200, [](const Path& path) {
          return *std::ranges::min_element(path.y) >= 0;
        }).value == 1);
}

TEST_CASE("noise has no memory, an ARMA forgets its start, a walk's variance grows with its rows") {
  const Mean of_noise =
      over_paths("noise", 400, 200, [](const Path& path) { return autocorrelation(path.y, 1); });
  CHECK(of_noise.is(-1.0 / 200));
  CHECK(over_paths("arma", 400, 200, [](const Path& path) {
          const auto squares = [&](int from) {
            return std::inner_product(path.y.begin() + from, path.y.begin() + from + 100,
                                      path.y.begin() + from, 0.0);
          };
          return std::log(squares(0) / squares(100));
        }).is(0));
  // Ranges of the whole and of its first quarter: alike without memory, doubled by a walk without drift, more with one.
  const auto growth = [](const Path& path) {
    return std::log(range_of(path.y) / range_of({path.y.begin(), path.y.begin() + 100}));
  };
  CHECK(over_paths("walk", 400, 400, growth).above(std::log(1.5)));
  CHECK_FALSE(over_paths("noise", 400, 400, growth).above(std::log(1.5)));
}

TEST_CASE("shifts: sums of deviations stray further than those of noise ever do; outliers stand far off") {
  // The range of the standardized sums over √rows, with the noise's deviation from differences. Below 2 in 99 % of white noise (Kuiper 1960).
  const auto strays = [](const Path& path) {
    Values sums = path.y, d = differences(path.y);
    for (double& v : d) v = std::abs(v);
    const double noise = median(d) / 0.954;  // the median of |N(0, 2)|
    const double mean =
        std::accumulate(path.y.begin(), path.y.end(), 0.0) / static_cast<double>(path.y.size());
    for (double& v : sums) v = (v - mean) / noise;
    cumulate(sums);
    return range_of(sums) / std::sqrt(static_cast<double>(sums.size())) > 2 ? 1.0 : 0.0;
  };
  CHECK(over_paths("shifts", 300, 200, strays).value > 0.98);
  CHECK(over_draws("white", 300, [&](Draw& draw) {
          Path path;
          for (int t = 0; t < 200; ++t) path.y.push_back(draw.normal());
          return strays(path);
        }).value < 0.04);  // .01 and five standard errors
  const auto step = [](const Path& path) { return largest_step(path.y); };
  const Mean with = over_paths("outliers", 300, 200, step), without = over_paths("season", 300, 200, step);
  CHECK(with.above(without.value + without.five_errors));
}

TEST_CASE("variance: large changes come together") {
  const auto together = [](const Path& path) {
    Values d = differences(path.y);
    for (double& v : d) v *= v;
    return autocorrelation(d, 2);  // differences two apart share no value
  };
  CHECK(over_paths("variance", 400, 400, together).above(0.02));
  CHECK_FALSE(over_paths("noise", 400, 400, together).above(0.02));
}

TEST_CASE("intermittent demand: whole numbers, as many zeros as its prior has, gaps without memory") {
  const auto zeros = [](const Path& path) {
    return share(path.y, [](double v) { return v == 0 ? 1.0 : 0.0; });
  };
  // 1 minus the mean of a logarithmically uniform chance in [.03, .6]
  CHECK(over_paths("intermittent", 1000, 200, zeros).is(1 - 0.57 / std::log(20.0)));
  CHECK(over_paths("intermittent", 1000, 200, [](const Path& path) {
          Values occurs = path.y;
          for (double& v : occurs) v = v > 0;
          return autocorrelation(occurs, 1);
        }).is(0, 1.0 / 200));
  for (const char* word : {"intermittent", "counts", "bursts"})
    CHECK_MESSAGE(over_paths(
                      word, 300, 100,
                      [](const Path& path) {
                        return share(path.y,
                                     [](double v) { return v >= 0 && v == std::floor(v) ? 1.0 : 0.0; });
                      }).value == 1,
                  word);
  // They stay whole: nothing scales or mixes them.
  for (int k = 0; k < 3000; ++k) {
    const SyntheticSeries series = synthetic_series(9, k, 40);
    if (series.kind == "intermittent" || series.kind == "counts")
      CHECK(std::ranges::all_of(series.values,
                                [](float v) { return std::isnan(v) || (v >= 0 && v == std::floor(v)); }));
  }
}

TEST_CASE("bounded series stay in [0, 1], and some stand at a bound") {
  double at_bound = 0;
  CHECK(over_paths("bounded", 300, 200, [&](const Path& path) {
          const auto [low, high] = std::ranges::minmax(path.y);
          at_bound += low == 0 || high == 1;
          return low >= 0 && high <= 1;
        }).value == 1);
  CHECK(at_bound > 30);  // a third is cut off, and most of these reach a bound
}

TEST_CASE("held-out kinds do what their words say") {
  CHECK(over_paths("logistic-map", 100, 100, [](const Path& path) {
          const double r = path.y[1] / (path.y[0] * (1 - path.y[0]));
          for (std::size_t t = 1; t < path.y.size(); ++t)
            if (std::abs(path.y[t] - r * path.y[t - 1] * (1 - path.y[t - 1])) > 1e-12) return 0.0;
          return r >= 3.6 && r <= 4 ? 1.0 : 0.0;
        }).value == 1);
  // A sawtooth rises in all rows but one of a period, where noise is small; noise makes it half.
  CHECK(over_paths("sawtooth", 200, 200, [](const Path& path) {
          return share(differences(path.y), [](double v) { return v > 0 ? 1.0 : 0.0; });
        }).above(0.52));
  CHECK(over_paths("sawtooth", 200, 400, [](const Path& path) {
          double falls = 0;
          for (const double d : differences(path.y)) falls += d < -0.7;
          return falls * path.season / 400;  // periods lie within a tenth of the season told
        }).is(1, 0.25));
  CHECK(over_paths("bursts", 300, 400, [](const Path& path) {
          return autocorrelation(path.y, 1);
        }).above(0.05));
  CHECK(over_paths("regimes", 300, 400, [](const Path& path) {
          return autocorrelation(path.y, 1);
        }).above(0.2));
  // Above the threshold the next value is pushed down, below it up: signs change more often than a coin's.
  CHECK(over_paths("threshold", 300, 400, [](const Path& path) {
          double changes = 0;
          for (std::size_t t = 1; t < path.y.size(); ++t) changes += path.y[t] * path.y[t - 1] < 0;
          return changes / 399;
        }).above(0.5));
}

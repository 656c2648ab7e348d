// The numbers that the pretrained forecaster's network reads of a series, computed a second time from the values.
#include "examples/timeseries/pretrained/batches.h"
#include "examples/timeseries/pretrained/window.h"
#include "examples/timeseries/synthetic/synthetic.h"
#include "tests/examples/timeseries.h"

using namespace timeseries;

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// The inputs of a series a second time: each number from the values alone.
struct PlainInputs {
  std::vector<double> context, ahead, base;
  PlainInputs(const std::vector<double>& x, int64_t told, int context_segments, int ahead_segments) {
    const double none = std::nan("");
    const int64_t n = std::ssize(x), s = told < n ? told : 1;
    const auto value = [&](int64_t t) {
      return t < 0 || t >= n ? none : static_cast<double>(x[static_cast<size_t>(t)]);
    };
    const auto mean = [&](const std::vector<double>& all) {
      double sum = 0, count = 0;
      for (const double v : all)
        if (!std::isnan(v)) sum += v, ++count;
      return count > 0 ? sum / count : none;
    };
    std::vector<double> observed, squares, zeros, levels, seasonal, steps;
    for (const double v : x)
      if (!std::isnan(v)) {
        if (!observed.empty()) steps.push_back(std::abs(static_cast<double>(v) - observed.back()));
        observed.push_back(static_cast<double>(v)), zeros.push_back(v == 0);
      }
    for (const double v : observed) squares.push_back(std::pow(v - mean(observed), 2));
    for (int64_t t = 0; t < n; ++t)
      if (const double d = std::abs(value(t) - value(t - s)); !std::isnan(d)) seasonal.push_back(d);
    const double sd = std::sqrt(mean(squares)), count = static_cast<double>(observed.size()),
                 rows = static_cast<double>(n);
    const double scale = std::max(s > 1 && seasonal.size() >= 3 ? mean(seasonal) : mean(steps), sd / 20);
    const bool positive = std::ranges::min(observed) > 0;
    for (int64_t k = 0; k < 8 && (k + 1) * s <= n; ++k) {
      std::vector<double> own;
      for (int64_t j = 1; j <= s; ++j) own.push_back(value(n - k * s - j));
      levels.push_back(mean(own));
    }
    const double level = std::isnan(levels[0]) ? observed.back() : levels[0];
    double slope = 0;
    for (size_t k = 1; k < levels.size(); ++k)
      if (!std::isnan(levels[k] - levels[0])) slope = (levels[0] - levels[k]) / static_cast<double>(k);
    // A row's phase: what stands so many seasons before the one to come, and the mean of all levels' deviations.
    const auto phase = [&](int64_t t) { return (t - n + 1000 * s) % s; };
    const auto before = [&](int64_t t, int64_t seasons) {
      return s > 1 ? value(n - seasons * s + phase(t)) : none;
    };
    const auto shape = [&](int64_t t, bool shares) {
      if (s == 1) return 0.0;
      std::vector<double> found;
      for (size_t k = 0; k < levels.size(); ++k) {
        const double v = before(t, static_cast<int64_t>(k) + 1);
        found.push_back(shares ? level * (v / levels[k] - 1) : v - levels[k]);
      }
      return mean(found) - slope * ((static_cast<double>(phase(t)) + 0.5) / static_cast<double>(s) - 0.5);
    };
    const auto base_of = [&](int64_t t) {
      if (s == 1) return observed.back();
      for (const int64_t k : {1, 2, 3})
        if (!std::isnan(before(t, k))) return before(t, k);
      return std::isnan(shape(t, false)) ? level : level + shape(t, false);
    };
    const auto put = [](std::vector<double>& all, double v) { all.push_back(std::isnan(v) ? 0 : v); };
    const auto put_squashed = [&](std::vector<double>& all, double v) { put(all, 3 * std::asinh(v / 3)); };
    const auto put_turn = [&](std::vector<double>& all, int64_t t) {
      const double angle = 2 * 3.14159265358979 * static_cast<double>(t - n) / static_cast<double>(told);
      put(all, told > 1 ? std::sin(angle) : 0), put(all, told > 1 ? std::cos(angle) : 0);
    };
    const auto put_facts = [&](std::vector<double>& all, double place) {
      const auto difference = [&](size_t k) {
        return k + 1 < levels.size() ? (levels[k] - levels[k + 1]) / scale : none;
      };
      put(all, std::log(static_cast<double>(told)) / 4), put(all, s > 1), put(all, std::log(rows) / 4);
      put(all, std::log(rows / static_cast<double>(s)) / 4), put(all, count / rows),
          put(all, std::asinh(-level / scale / 3));
      put(all, positive), put(all, mean(zeros)), put(all, std::log(sd / scale) / 2);
      put_squashed(all, difference(0)), put_squashed(all, difference(1)), put_squashed(all, slope / scale);
      put(all, place), put(all, 1 / (1 + 8 * std::abs(place)));
    };
    for (int segment = -context_segments; segment < 0; ++segment) {
      for (int64_t t = n + int64_t{segment} * 8; t < n + int64_t{segment} * 8 + 8; ++t) {
        put_squashed(context, (value(t) - level) / scale), put_squashed(context, (value(t) - level) / sd);
        put_squashed(context, (value(t) - level - shape(t, false)) / scale);
        put_squashed(context, (value(t) - value(t - s)) / scale);
        put(context, !std::isnan(value(t))), put(context, !std::isnan(value(t) - value(t - s)));
        put_turn(context, t);
      }
      put_facts(context, segment / 64.0);
    }
    for (int segment = 0; segment < ahead_segments; ++segment) {
      for (int64_t t = n + segment * 8; t < n + segment * 8 + 8; ++t) {
        const double of_base = base_of(t), second = before(t, 2), third = before(t, 3),
                     step = static_cast<double>(t - n + 1);
        put(base, (of_base - level) / scale);
        put_squashed(ahead, (of_base - level) / scale), put_squashed(ahead, (of_base - level) / sd);
        put_squashed(ahead, (second - of_base) / scale), put(ahead, !std::isnan(second));
        put_squashed(ahead, (third - of_base) / scale), put(ahead, !std::isnan(third));
        put_squashed(ahead, (level + shape(t, false) - of_base) / scale);
        put_squashed(ahead, (level + shape(t, positive) - of_base) / scale);
        put_squashed(ahead,
                     slope * std::ceil(step / static_cast<double>(s)) / scale);  // of seasons that have begun
        put(ahead, step / 64), put(ahead, std::log(step) / 4);
        put_turn(ahead, t);
      }
      put_facts(ahead, segment / 8.0);
    }
  }
};

}  // namespace

TEST_CASE("a series' inputs by hand") {
  // Two seasons of four rows, levels 3 and 7 without the row before them, and one row that is missing.
  const std::vector<double> x = {9, 1, 2, 4, 5, 5, 6, nothing, 10};
  ForecastBatch batch(2, 1, 1);
  REQUIRE(batch.put(0, x, 4));
  CHECK(batch.level[0] == doctest::Approx(7));  // of 5, 6, 10
  // Differences to four rows before: 5-9, 5-1, 6-2, 10-5.
  CHECK(batch.scale[0] == doctest::Approx((4 + 4 + 4 + 5) / 4.0));
  const double scale = batch.scale[0];
  const auto squash = [](double z) { return 3 * std::asinh(z / 3); };
  // Seven rows of padding, then 9.
  const auto row = [&](int t) { return batch.context.data() + (t / 8) * context_width + t % 8 * 8; };
  for (int i = 0; i < 6; ++i) CHECK(row(0)[i] == 0);
  CHECK(row(7)[0] == doctest::Approx(squash((9 - 7) / scale)));
  CHECK(row(7)[4] == 1);
  CHECK(row(7)[5] == 0);  // nothing stands a season before
  CHECK(row(14)[4] == 0);
  CHECK(row(15)[3] == doctest::Approx(squash((10 - 5) / scale)));
  // Row 9 is ahead of the origin and has the phase of row 5; row 11 has that of 7, which is missing, so 4 stands for it.
  const std::vector<double> base = {5, 6, 4, 10, 5, 6, 4, 10};
  for (size_t i = 0; i < base.size(); ++i) CHECK(batch.base[i] == doctest::Approx((base[i] - 7) / scale));
  CHECK(batch.ahead[2] == doctest::Approx(squash((1 - 5) / scale)));  // two seasons before
  CHECK(batch.ahead[3] == 1);
  CHECK(batch.ahead[5] == 0);  // three before: none

  CHECK_FALSE(batch.put(0, std::vector<double>(9, 5.0), 4));
  CHECK(batch.level[0] == 5);
  // Levels 1, none, 4, 6 and 8 of two rows each, of which the oldest may be missing: 2.
  const auto slope = [&](const std::vector<double>& values) {
    REQUIRE(batch.put(0, values, 2));
    return 3 * std::sinh(static_cast<double>(batch.ahead[8]) / 3) * batch.scale[0];
  };
  CHECK(slope({nothing, nothing, 3, 5, 5, 7, 7, 9}) == doctest::Approx(2));
  CHECK(slope({1, 1, nothing, nothing, 4, 6, 6, 8}) == doctest::Approx(2));
}

TEST_CASE("each segment tells what the series is like, by hand") {
  // Two seasons of four rows: levels 1.5 and 4, differences 0, 4 and 2.
  const std::vector<double> x = {0, 2, 0, 4, nothing, 2, 4, 6};
  ForecastBatch batch(1, 1, 1);
  REQUIRE(batch.put(0, x, 4));
  double squares = 0;
  for (const double v : x)
    if (!std::isnan(v)) squares += std::pow(static_cast<double>(v) - 18.0 / 7, 2) / 7;
  const auto squash = [](double z) { return 3 * std::asinh(z / 3); };
  const std::vector<double> facts = {std::log(4.0) / 4,
                                     1,
                                     std::log(8.0) / 4,
                                     std::log(2.0) / 4,
                                     7.0 / 8,
                                     squash(-4.0 / 2) / 3,
                                     0,        // a value is 0
                                     2.0 / 7,  // are 0
                                     std::log(std::sqrt(squares) / 2) / 2,
                                     squash(2.5 / 2),
                                     0,  // there is no third level
                                     squash(2.5 / 2)};
  for (size_t k = 0; k < facts.size(); ++k) {
    CHECK_MESSAGE(batch.context[8 * 8 + k] == doctest::Approx(facts[k]), k);
    CHECK_MESSAGE(batch.ahead[13 * 8 + k] == doctest::Approx(facts[k]), k);
  }
  CHECK(batch.context[8 * 8 + 12] == doctest::Approx(-1.0 / 64));  // a segment before the origin, of 64
  CHECK(batch.ahead[13 * 8 + 12] == 0);
  // A season that is longer than the series has its phases, and no values of a season before.
  REQUIRE(batch.put(0, std::vector<double>{1, 2, 4, 3, 5}, 12));
  CHECK(batch.context[7 * 8 + 6] == doctest::Approx(-0.5));  // the sine of a twelfth before the origin
  CHECK(batch.context[8 * 8] == doctest::Approx(std::log(12.0) / 4));
  CHECK(batch.context[8 * 8 + 1] == 0);
  CHECK(batch.context[8 * 8 + 6] == 1);
  // For a value that is missing one and two seasons before stands that of three.
  ForecastBatch longer(2, 1, 1);
  REQUIRE(longer.put(0, std::vector<double>{1, 2, 3, 4, 5, nothing, 7, 8, 9, nothing, 11, 12}, 4));
  CHECK(longer.base[1] == doctest::Approx((2 - longer.level[0]) / longer.scale[0]));
}

TEST_CASE("the inputs of series of all lengths, with any season, gaps and signs, computed a second time") {
  RandomStream random(4, "inputs");
  for (const int rows : {4, 9, 24, 31, 100, 500})
    for (const int64_t season : {1, 2, 4, 7, 12, 30})
      for (
          const int kind :
          {0, 1, 2, 3,
           4}) {  // all there and positive; with gaps; with zeros; the last seasons missing; alike each season
        std::vector<double> x;
        for (int t = 0; t < rows; ++t)
          x.push_back(static_cast<float>(30 + (kind == 4 ? 0 : 0.1) * t +
                                         9 * std::sin(t * 6.2832 / static_cast<double>(season)) +
                                         (kind == 2   ? 20
                                          : kind == 4 ? 0.01
                                                      : 2) *
                                             random.normal()));
        for (int t = 0; t < rows; ++t) {
          if (kind == 2 && random.below(4) == 0) x[static_cast<size_t>(t)] = 0;
          if ((kind == 1 && random.below(3) == 0) || (kind == 3 && t > 3 && t >= rows - season))
            x[static_cast<size_t>(t)] = nothing;
        }
        const int context = segments_of(rows) + (kind == 0 ? 1 : 0);  // padding of a whole segment, too
        ForecastBatch batch(context, 3, 2);
        if (!batch.put(1, x, season)) continue;
        const PlainInputs plain(x, season, context, 3);
        const auto furthest = [&](const std::vector<real>& found, const std::vector<double>& own,
                                  size_t width) {
          REQUIRE(found.size() == 2 * own.size());
          double off = 0;
          for (size_t i = 0; i < own.size(); ++i)
            off = std::max(
                off, std::abs(static_cast<double>(found[(i / width * 2 + 1) * width + i % width]) - own[i]) /
                         (1 + std::abs(own[i])));
          return off;
        };
        CAPTURE(rows);
        CAPTURE(season);
        CAPTURE(kind);
        CHECK(furthest(batch.context, plain.context, context_width) < 1e-5);
        CHECK(furthest(batch.ahead, plain.ahead, ahead_width) < 1e-5);
        CHECK(furthest(batch.base, plain.base, segment_rows) < 1e-5);
      }
}

// Synthetic series as a forecaster gets them: the same bits in any order, the shares of kinds, missing values, seasons told.
#include "examples/timeseries/synthetic/synthetic.h"

#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "tests/series/plain_synthetic.h"

using namespace unroll;
using synthetic::is_share;
using synthetic::SyntheticKind;

namespace {

bool same(const SyntheticSeries& a, const SyntheticSeries& b) {
  return a.kind == b.kind && a.season == b.season && a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("a series has the same bits in any order, on any thread, and others for another seed or index") {
  constexpr int count = 200;
  for (const auto series : {synthetic_series, held_out_series}) {
    std::vector<SyntheticSeries> all(count), again(count);
    for (int k = 0; k < count; ++k) all[k] = series(3, k, 60 + k);
    const auto draw_half = [&](int half) {
      for (int k = count - 1 - half; k >= 0; k -= 2) again[k] = series(3, k, 60 + k);
    };
    std::thread other(draw_half, 0);
    draw_half(1);
    other.join();
    for (int k = 0; k < count; ++k) {
      CHECK(same(all[k], again[k]));
      CHECK(all[k].values.size() == static_cast<std::size_t>(60 + k));
      CHECK_FALSE(same(series(3, k, 60), series(4, k, 60)));
      CHECK_FALSE(same(series(3, k, 60), series(3, k + 1, 60)));
    }
  }
  CHECK(synthetic_series(1, int64_t{1} << 40, 8).values.size() == 8);
  CHECK(error_of([] { synthetic_series(1, 0, 2); }) == "synthetic series: 2 rows; 3 to 100,000 can be drawn");
}

TEST_CASE("kinds are drawn by their weights, which sum to a hundred; those held out never train") {
  double sum = 0;
  std::set<std::string_view> words;
  for (const SyntheticKind& kind : synthetic::synthetic_kinds) sum += kind.weight, words.insert(kind.word);
  CHECK(sum == 100);
  CHECK(words.size() == std::size(synthetic::synthetic_kinds));
  constexpr int count = 5000;
  std::map<std::string_view, int> trained, held_out;
  for (int k = 0; k < count; ++k)
    ++trained[synthetic_series(1, k, 8).kind], ++held_out[held_out_series(1, k, 8).kind];
  const double unseen =
      static_cast<double>(std::ranges::count(synthetic::synthetic_kinds, 0.0, &SyntheticKind::weight));
  CHECK(unseen >= 4);
  for (const SyntheticKind& kind : synthetic::synthetic_kinds) {
    const std::string word(kind.word);
    CHECK_MESSAGE(is_share(trained[kind.word], count, kind.weight / 100), word);
    CHECK_MESSAGE(is_share(held_out[kind.word], count, kind.weight == 0 ? 1 / unseen : 0), word);
  }
}

TEST_CASE(
    "values are finite or missing, of any length; up to 7 % of series lack some, and none more than half") {
  for (const int rows : {3, 4, 13, 576}) {
    constexpr int count = 1000;
    int lacking = 0;
    std::vector<double> sizes;
    for (int k = 0; k < 2 * count; ++k) {
      const SyntheticSeries series = k < count ? synthetic_series(2, k, rows) : held_out_series(2, k, rows);
      const int missing =
          static_cast<int>(std::ranges::count_if(series.values, [](float v) { return std::isnan(v); }));
      lacking += missing > 0;
      CHECK(missing <= std::min(rows / 2, rows - 3));
      CHECK(series.season >= 1);
      double size = 0;
      for (const float v : series.values)
        if (!std::isnan(v)) size = std::max(size, std::abs(static_cast<double>(v)));
      sizes.push_back(size);
    }
    // A share of .005 to .3 misses all of 576 rows in less than 1 % of series.
    if (rows == 576) CHECK(is_share(lacking, 2 * count, 0.07, 0.001));
    // They span nine orders of magnitude.
    std::ranges::sort(sizes);
    CHECK(sizes[sizes.size() / 20] < 1);
    CHECK(sizes[sizes.size() * 19 / 20] > 1e5);
    CHECK(sizes.back() < 1e12);
  }
}

TEST_CASE("the season told is 1 in 4 % of series that have one, another one in 4 %, and else right") {
  int count = 0, one = 0, right = 0;
  for (int k = 0; k < 8000; ++k) {
    const SyntheticSeries series = synthetic_series(5, k, 30);
    if (series.kind != "monthly") continue;
    ++count, one += series.season == 1, right += series.season == 12;
  }
  CHECK(is_share(one, count, 0.04));
  // Another one is drawn as calendar_season(30) draws: 12 with .9 · 25 / 74 + .1 / 29, where 74 is the sum of what fits.
  CHECK(is_share(right, count, 0.92 + 0.04 * (0.9 * 25 / 74 + 0.1 / 29)));
}

TEST_CASE("each kind is what its equation says, computed a second time") {
  for (const SyntheticKind& kind : synthetic::synthetic_kinds)
    for (const int rows : {3, 40, 150}) {
      double off = 0;
      for (int k = 0; k < (rows == 150 ? 15 : 60); ++k) {
        synthetic::Draw draw = synthetic::draw_of(kind.word, k), again = draw;
        const synthetic::Path path = kind.make(draw, rows),
                              plain = synthetic::plain::plain_of(kind.word)(again, rows);
        REQUIRE(path.y.size() == plain.y.size());
        CHECK_MESSAGE(path.season == plain.season, std::string(kind.word));
        CHECK_MESSAGE(draw.uniform() == again.uniform(), std::string(kind.word));  // nothing else was drawn
        // Chaos multiplies a rounding error by 2 a row.
        const size_t alike = kind.word == "logistic-map" ? 20 : path.y.size();
        for (size_t t = 0; t < std::min(alike, path.y.size()); ++t)
          off = std::max(off, std::abs(path.y[t] - plain.y[t]) / (1 + std::abs(plain.y[t])));
      }
      CHECK_MESSAGE(off < 1e-7, std::string(kind.word), " of ", rows, " rows is ", off, " off");
    }
}

TEST_CASE("a series is mixed, transformed, placed and thinned out as is said, computed a second time") {
  constexpr int rows = 40;
  for (const bool held_out : {false, true})
    for (int k = 0; k < 1500; ++k) {
      const char* const from = held_out ? "held_out" : "synthetic";
      synthetic::Draw draw(
          RandomStream(RandomKey{.seed = 11, .place = place_of(from, static_cast<uint64_t>(k))}));
      const SyntheticSeries plain = synthetic::plain::series(draw, held_out, rows);
      const SyntheticSeries series = (held_out ? held_out_series : synthetic_series)(11, k, rows);
      CAPTURE(k);
      CHECK(series.kind == plain.kind);
      CHECK(series.season == plain.season);
      double size = 0, off = 0;
      for (int t = 0; t < rows; ++t) {
        CHECK(std::isnan(series.values[t]) == std::isnan(plain.values[t]));
        if (std::isnan(series.values[t])) continue;
        size = std::max(size, std::abs(static_cast<double>(plain.values[t])));
        off = std::max(off, std::abs(static_cast<double>(series.values[t]) - plain.values[t]));
      }
      CHECK_MESSAGE(off <= 1e-5 * size, std::string(series.kind), ": ", off, " of ", size);
    }
}

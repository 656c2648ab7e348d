#include "examples/timeseries/synthetic/synthetic.h"

#include <limits>
#include <span>

#include "examples/timeseries/synthetic/kinds.h"
#include "examples/timeseries/synthetic/parts.h"
#include "framework/check.h"

namespace unroll {

namespace synthetic {
namespace {

const SyntheticKind& pick_kind(Draw& draw, bool held_out) {
  return draw.weighted(std::span(synthetic_kinds), [&](const SyntheticKind& kind) {
    return held_out ? (kind.weight == 0 ? 1 : 0) : kind.weight;
  });
}

bool is_positive(const Values& y) { return *std::min_element(y.begin(), y.end()) > 0; }

// Adds or multiplies a second kind, from a twentieth of the first's height to about the same.
void mix(Draw& draw, Path& path) {
  Path other = pick_kind(draw, false).make(draw, static_cast<int>(path.y.size()));
  standardize(other.y);
  for (double& v : other.y) v = std::clamp(v, -8.0, 8.0);
  if (draw.chance(0.5)) {
    add(path.y, other.y, draw.of({0.05, 1}) * range_of(path.y) / 4);
  } else {
    const double height = draw.of({0.02, 0.5});
    for (size_t t = 0; t < path.y.size(); ++t) path.y[t] *= std::exp(height * other.y[t]);
  }
  if (path.season == 1) path.season = other.season;
}

// Rare transforms of the whole: exponential, power, upside down, backwards.
void transform(Draw& draw, Values& y) {
  if (draw.chance(0.05)) {
    const double height = draw.of({0.1, 0.8});
    standardize(y);
    for (double& v : y) v = std::exp(height * std::clamp(v, -8.0, 8.0));
  }
  if (draw.chance(0.05)) {
    const double power = draw.of({0.4, 2.5});
    if (!is_positive(y)) standardize(y);
    for (double& v : y) v = std::copysign(std::pow(std::abs(v), power), v);
  }
  if (draw.chance(0.05)) {  // within the same bounds, so positive values stay so
    const auto [low, high] = std::minmax_element(y.begin(), y.end());
    for (const double sum = *low + *high; double& v : y) v = sum - v;
  }
  if (draw.chance(0.03)) std::reverse(y.begin(), y.end());
}

// Sets how large values are and where they lie. An offset is at most 300 standard deviations, so that a float has digits left
// for what changes.
void place(Draw& draw, Values& y) {
  const double scale = draw.of({1e-3, 1e6}), offset = draw.chance(0.6) ? draw.of({1, 300}) : 0;
  const double above = draw.chance(0.9) ? 1 : -1,
               unit = draw.choose<double>({{1, 8}, {10, 1}, {100, 1}, {1000, 1}});
  if (is_positive(y)) {  // the level counts
    const double mean = mean_of(y);
    for (double& v : y) v *= scale / mean;
  } else {
    standardize(y);
    for (double& v : y) v = scale * (v + above * offset);
  }
  if (draw.chance(0.25) && range_of(y) > 5 * unit)  // whole units, or tens, where that leaves some steps
    for (double& v : y) v = unit * std::round(v / unit);
}

// Single values, gaps, or both; at most half of the rows, and at least three stay.
void lose_some(Draw& draw, std::vector<float>& values) {
  const int rows = static_cast<int>(values.size());
  int left = std::min(rows / 2, rows - 3);
  const auto lose = [&](int t) {
    if (left > 0 && !std::isnan(values[t])) values[t] = std::numeric_limits<float>::quiet_NaN(), --left;
  };
  enum Form { single, gaps, both };
  const Form form = draw.choose<Form>({{single, 2}, {gaps, 2}, {both, 1}});
  const double share = form == gaps ? 0 : draw.of({0.005, 0.3});
  for (int t = 0; t < rows; ++t)
    if (draw.chance(share)) lose(t);
  for (int count = form == single ? 0 : draw.between(1, 3); count > 0; --count) {
    const int begin = draw.between(0, rows - 1), length = draw.between(1, 1 + rows / 8);
    for (int t = begin; t < std::min(rows, begin + length); ++t) lose(t);
  }
}

// Series with a season tell 1 in 4 %, and another one in 4 %; series without one tell a calendar's in 16 %.
int told_season(Draw& draw, int season, int rows) {
  const double u = draw.uniform();
  const int other = calendar_season(draw, rows);
  if (season == 1) return u < 0.16 ? other : 1;
  return u < 0.04 ? 1 : u < 0.08 ? other : season;
}

SyntheticSeries series_of(std::string_view from, uint64_t seed, int64_t index, int64_t rows) {
  require(rows >= 3 && rows <= 100'000, "synthetic series: {} rows; 3 to 100,000 can be drawn", rows);
  const bool held_out = from == "held_out";
  Draw draw(RandomStream(RandomKey{.seed = seed, .place = place_of(from, static_cast<uint64_t>(index))}));
  const SyntheticKind& kind = pick_kind(draw, held_out);
  Path path = kind.make(draw, static_cast<int>(rows));
  if (kind.nature == Nature::free) standardize(path.y);
  if (kind.nature != Nature::counts) {
    if (!held_out && draw.chance(0.25)) mix(draw, path);
    transform(draw, path.y);
    place(draw, path.y);
  }
  SyntheticSeries series{
      .values = {}, .season = told_season(draw, path.season, static_cast<int>(rows)), .kind = kind.word};
  for (const double v : path.y) series.values.push_back(static_cast<float>(v));
  if (draw.chance(0.07)) lose_some(draw, series.values);
  return series;
}

}  // namespace
}  // namespace synthetic

SyntheticSeries synthetic_series(uint64_t seed, int64_t index, int64_t rows) {
  return synthetic::series_of("synthetic", seed, index, rows);
}
SyntheticSeries held_out_series(uint64_t seed, int64_t index, int64_t rows) {
  return synthetic::series_of("held_out", seed, index, rows);
}

}  // namespace unroll

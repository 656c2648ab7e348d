// Trends, random walks, noise without any structure, and seasons.
#include "examples/timeseries/synthetic/kinds.h"
#include "examples/timeseries/synthetic/parts.h"

namespace unroll::synthetic {

Path trend(Draw& draw, int rows) {
  Values y = trend_shape(draw, rows);
  add(y, noise(draw, rows, {0.005, 1}));  // from nearly exact to hidden
  return {y};
}

Path walk(Draw& draw, int rows) {
  const double drift = draw.chance(0.5) ? draw.normal(0.3) : 0;  // a step's, in standard deviations
  Values y = noise(draw, rows);
  for (double& step : y) step += drift;
  cumulate(y);
  if (draw.chance(0.12)) cumulate(y);                               // its slope walks
  if (draw.chance(0.3)) add(y, noise(draw, rows, {0.1, 5}));        // seen with an error: a local level
  if (draw.chance(0.3)) exponentiate(y, draw.of({0.002, 0.1}), 4);  // prices walk in logarithms
  return {y};
}

Path white(Draw& draw, int rows) {
  enum Form { gaussian, heavy, even, skewed };
  const Form form = draw.choose<Form>({{gaussian, 5}, {heavy, 2}, {even, 1.5}, {skewed, 1.5}});
  const double freedom = draw.uniform(2.5, 8), skew = draw.uniform(0.2, 1);
  Values y(rows);
  for (double& v : y) {
    v = form == even ? draw.uniform() : form == heavy ? draw.student(freedom) : draw.normal();
    if (form == skewed) v = std::exp(skew * v);
  }
  return {y};
}

// --- seasons around a level that hardly moves: their shapes are what there is to learn ---------------------

// A trend, half of the time, and noise beside a season of height 1.
static void surround(Draw& draw, Values& y) {
  const int rows = static_cast<int>(y.size());
  if (draw.chance(0.5)) add(y, trend_shape(draw, rows, {0.1, 5}));
  add(y, noise(draw, rows, {0.02, 2}));
}

Path season(Draw& draw, int rows) {
  const int m = calendar_season(draw, rows);
  Values y = season_path(draw, rows, m);
  surround(draw, y);
  return {y, m};
}

Path growing_season(Draw& draw, int rows) {
  Path path = season(draw, rows);
  exponentiate(path.y, draw.of({0.02, 0.8}), 6);
  return path;
}

Path two_seasons(Draw& draw, int rows) {
  // Rows in a day and a week, in a week and a year, in an hour and a day, …
  static constexpr std::pair<int, int> pairs[] = {{4, 12},    {7, 365}, {24, 168}, {48, 336}, {96, 672},
                                                  {60, 1440}, {12, 60}, {7, 28},   {6, 24}};
  const auto [shorter, longer] = draw.weighted(
      std::span(pairs), [&](const auto& pair) { return 2 * pair.first <= std::max(8, rows) ? 1.0 : 0.0; });
  Values y = season_path(draw, rows, shorter);
  add(y, season_path(draw, rows, longer, {0.1, 2}));
  surround(draw, y);
  return {y, shorter};
}

}  // namespace unroll::synthetic

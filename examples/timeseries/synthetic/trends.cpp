// Trends, random walks, and noise without any structure.
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
  if (draw.chance(0.12)) cumulate(y);                         // its slope walks
  if (draw.chance(0.3)) add(y, noise(draw, rows, {0.1, 5}));  // seen with an error: a local level
  if (draw.chance(0.3)) {                                     // prices walk in logarithms
    const double volatility = draw.of({0.002, 0.1});
    for (double& v : y) v *= volatility;
    limit_range(y, 4);
    exponentiate(y);
  }
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

}  // namespace unroll::synthetic

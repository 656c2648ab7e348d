// Means over many draws of a generator, held against theory within five standard errors, which are estimated from the same
// draws: by chance one of a million such checks fails.
#pragma once

#include <numeric>

#include "examples/timeseries/synthetic/kinds.h"
#include "examples/timeseries/synthetic/parts.h"
#include "tests/support.h"

namespace unroll::synthetic {

struct Mean {
  double value = 0, five_errors = 0;
  bool is(double theory, double bias = 0) const { return std::abs(value - theory) <= five_errors + bias; }
  bool above(double bound) const { return value > bound + five_errors; }
};
inline Mean mean_with_error(const Values& x) {
  const double n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double squares = 0;
  for (const double v : x) squares += (v - mean) * (v - mean);
  return {mean, 5 * std::sqrt(squares / (n - 1) / n)};
}
// A Draw of its own for each index of a test.
inline Draw draw_of(std::string_view test, int index) {
  return Draw(RandomStream(RandomKey{.seed = 7, .place = place_of(test, static_cast<uint64_t>(index))}));
}
// A share of `count` series is within five standard errors of its probability, and `slack`.
inline bool is_share(int found, int count, double probability, double slack = 0) {
  const double error = std::sqrt(probability * (1 - probability) / count);
  return std::abs(static_cast<double>(found) / count - probability) <= 5 * error + slack;
}

template <class Number>
Mean over_draws(std::string_view test, int count, const Number& number) {
  Values all;
  for (int k = 0; k < count; ++k) {
    Draw draw = draw_of(test, k);
    const double x = number(draw);
    if (!std::isnan(x)) all.push_back(x);  // NaN: the draw does not have it
  }
  REQUIRE(all.size() >= static_cast<std::size_t>(count) / 4);
  return mean_with_error(all);
}
inline const SyntheticKind& kind_of(std::string_view word) {
  for (const SyntheticKind& kind : synthetic_kinds)
    if (kind.word == word) return kind;
  FAIL("no kind ", std::string(word));
  std::abort();
}
template <class Number>
Mean over_paths(std::string_view word, int count, int rows, const Number& number) {
  return over_draws(word, count, [&](Draw& draw) { return number(kind_of(word).make(draw, rows)); });
}

}  // namespace unroll::synthetic

#include "examples/timeseries/ensemble/ensemble_weights.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "framework/check.h"

namespace timeseries {

using Matrix = std::vector<std::vector<double>>;

Matrix products_of(const Matrix& errors) {
  Matrix products(errors.size(), std::vector<double>(errors.size()));
  for (size_t m = 0; m < errors.size(); ++m)
    for (size_t n = 0; n <= m; ++n)
      products[m][n] = products[n][m] =
          std::inner_product(errors[m].begin(), errors[m].end(), errors[n].begin(), 0.0);
  return products;
}

// Weights only the `members` members with the least squares; among equals the first ones.
static std::vector<double> inverse_squares(const Matrix& products, size_t members) {
  std::vector<double> weights(products.size());
  std::vector<size_t> order(products.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t m) { return products[m][m]; });
  order.resize(std::min(members, order.size()));
  const double least = products[order.front()][order.front()];
  double sum = 0;
  for (const size_t m : order)
    weights[m] = least > 0 ? least / products[m][m] : (products[m][m] == 0 ? 1.0 : 0.0), sum += weights[m];
  for (double& w : weights) w /= sum;
  return weights;
}

static size_t better_half(size_t members) { return std::max<size_t>((members + 1) / 2, 3); }

// Adding member m to a sum s of choices changes |s|² by 2 s·m + |m|².
static std::vector<double> selection(const Matrix& products) {
  constexpr int choices = 50;
  std::vector<double> weights(products.size());
  std::vector<double> with_sum(
      products.size());  // by member: its products with the sum of all the choices so far
  for (int choice = 0; choice < choices; ++choice) {
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t m = 0; m < products.size(); ++m)
      if (const double further = 2 * with_sum[m] + products[m][m]; further < least) least = further, best = m;
    for (size_t m = 0; m < products.size(); ++m) with_sum[m] += products[best][m];
    weights[best] += 1.0 / choices;
  }
  return weights;
}

std::vector<double> weights_of(Weighting rule, const Matrix& products) {
  require(!products.empty(), "ensemble: no errors to weigh members by");
  switch (rule) {
    case Weighting::better_half:
      return inverse_squares(products, better_half(products.size()));
    case Weighting::inverse_square:
      return inverse_squares(products, products.size());
    case Weighting::selection:
      return selection(products);
    case Weighting::equal:
      return std::vector<double>(products.size(), 1 / static_cast<double>(products.size()));
  }
  return {};
}

std::vector<std::vector<size_t>> weighed_together(const Recipe& recipe, size_t targets) {
  std::vector<std::vector<size_t>> groups(recipe.ensemble.pooled ? 1 : targets);
  for (size_t t = 0; t < targets; ++t) groups[t % groups.size()].push_back(t);
  return groups;
}

}  // namespace timeseries

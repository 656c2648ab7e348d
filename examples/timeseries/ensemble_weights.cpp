#include "ensemble_weights.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "framework/check.h"

namespace timeseries {

static double mean_square(const std::vector<double>& errors) {
  double sum = 0;
  for (const double e : errors) sum += e * e;
  return sum / static_cast<double>(errors.size());
}

// Of the `members` with the least mean squares; of equals the first ones.
static std::vector<double> inverse_squares(const std::vector<std::vector<double>>& errors, size_t members) {
  std::vector<double> squares, weights(errors.size());
  for (const auto& of : errors) squares.push_back(mean_square(of));
  std::vector<size_t> order(errors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t m) { return squares[m]; });
  order.resize(std::min(members, order.size()));
  const double least = squares[order.front()];
  double sum = 0;
  for (const size_t m : order)
    weights[m] = least > 0 ? least / squares[m] : (squares[m] == 0 ? 1.0 : 0.0), sum += weights[m];
  for (double& w : weights) w /= sum;
  return weights;
}

static size_t better_half(size_t members) { return std::max<size_t>((members + 1) / 2, 3); }

static std::vector<double> selection(const std::vector<std::vector<double>>& errors) {
  constexpr int choices = 50;
  std::vector<double> weights(errors.size()), sums(errors.front().size());
  for (int choice = 1; choice <= choices; ++choice) {
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t m = 0; m < errors.size(); ++m) {
      double squares = 0;
      for (size_t i = 0; i < sums.size(); ++i) squares += (sums[i] + errors[m][i]) * (sums[i] + errors[m][i]);
      if (squares < least) least = squares, best = m;
    }
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += errors[best][i];
    weights[best] += 1.0 / choices;
  }
  return weights;
}

std::vector<double> weights_of(Weighting rule, const std::vector<std::vector<double>>& errors) {
  require(!errors.empty() && !errors.front().empty(), "ensemble: no errors to weigh members by");
  switch (rule) {
    case Weighting::better_half:
      return inverse_squares(errors, better_half(errors.size()));
    case Weighting::inverse_square:
      return inverse_squares(errors, errors.size());
    case Weighting::selection:
      return selection(errors);
    case Weighting::equal:
      return std::vector<double>(errors.size(), 1 / static_cast<double>(errors.size()));
  }
  return {};
}

}  // namespace timeseries

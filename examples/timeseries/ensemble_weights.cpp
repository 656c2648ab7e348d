#include "ensemble_weights.h"

#include <algorithm>
#include <limits>

#include "framework/check.h"

namespace timeseries {

static double mean_square(const std::vector<double>& errors) {
  double sum = 0;
  for (const double e : errors) sum += e * e;
  return sum / static_cast<double>(errors.size());
}

static std::vector<double> inverse_squares(const std::vector<std::vector<double>>& errors) {
  std::vector<double> weights;
  double least = std::numeric_limits<double>::max(), sum = 0;
  for (const auto& of : errors) weights.push_back(mean_square(of)), least = std::min(least, weights.back());
  for (double& w : weights) w = least > 0 ? least / w : (w == 0 ? 1.0 : 0.0), sum += w;
  for (double& w : weights) w /= sum;
  return weights;
}

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
    case Weighting::inverse_square:
      return inverse_squares(errors);
    case Weighting::selection:
      return selection(errors);
    case Weighting::equal:
      return std::vector<double>(errors.size(), 1 / static_cast<double>(errors.size()));
  }
  return {};
}

}  // namespace timeseries

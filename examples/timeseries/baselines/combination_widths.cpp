// The widths of the mean's interval. See combination.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "examples/timeseries/baselines/combination.h"

namespace unroll {
namespace {

// The value that 80 % of all do not exceed, at least 0.1. NaN: too few.
double reach_of_most(std::vector<double> all) {
  constexpr double level = 0.8;
  const auto k = static_cast<int64_t>(std::ceil(level * (static_cast<double>(all.size()) + 1) - 1e-9));
  if (k > std::ssize(all)) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::nth_element(all, all.begin() + k - 1);
  return std::max(all[static_cast<std::size_t>(k - 1)], 0.1);
}

}  // namespace

double Combination::Widths::at(std::size_t h, std::span<const double> reach) const {
  const std::size_t known = std::min(h, of_step.size() - 1);
  const double width = of_step[known] * std::pow(reach[known], share - 1) * reach[h];
  return std::isfinite(width) ? width : of_step[known] * std::pow(reach[known], share);  // a reach of 0
}

// The widths by errors [steps][windows]. Units are the reach to the power of the share, times the mean reach of a step to that of
// the rest. A step without errors has the mean of the next one with some; the last step must have some. All errors give one factor,
// and those of the steps nearby one for each.
Combination::Widths Combination::Widths::by(const std::vector<std::vector<Error>>& errors, double share,
                                            double rows) {
  constexpr double half = 40, half_of_step = 20;  // rows, and errors, that count as much as what they change
  std::vector<std::vector<double>> ratios(errors.size());
  std::vector<double> units(errors.size()), all;
  double mean = 0;
  for (std::size_t h = errors.size(); h-- > 0;) {
    if (!errors[h].empty()) mean = 0;
    for (const Error& error : errors[h])
      mean += std::log(error.reach) / static_cast<double>(errors[h].size());
    units[h] = std::exp((1 - share) * mean);
    for (const auto& [off, reach] : errors[h]) ratios[h].push_back(off / units[h] / std::pow(reach, share));
    all.insert(all.end(), ratios[h].begin(), ratios[h].end());
  }
  const double ratio = reach_of_most(all);
  Widths found{
      .share = share, .factor = std::pow(ratio, rows / (rows + half)), .of_step = {}, .ratio = ratio};
  for (std::size_t h = 0; h < errors.size(); ++h) {
    std::vector<double> near;
    for (std::size_t k = 2 * (h + 1) / 3; k < std::min(errors.size(), 3 * (h + 1) / 2); ++k)
      near.insert(near.end(), ratios[k].begin(), ratios[k].end());
    // Windows that overlap have one error.
    const double count = std::min(static_cast<double>(near.size()), rows / static_cast<double>(h + 1));
    const double of_step = reach_of_most(near), trust = count / (count + half_of_step);
    found.of_step.push_back(units[h] * found.factor *
                            (std::isnan(of_step) ? 1 : std::pow(of_step / ratio, trust)));
    for (const auto& [off, reach] : errors[h]) {
      const double width = found.of_step[h] * std::pow(reach, share);
      found.score += width + std::max(off - width, 0.0) / 0.2;
    }
  }
  return found;
}

}  // namespace unroll

// See detection_scores.h.
#include "examples/timeseries/series/detection_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "framework/check.h"

namespace unroll {

DetectionScores score_detection(std::span<const double> probability, std::span<const int> label,
                                double threshold) {
  require(probability.size() == label.size() && !label.empty(), "detection: {} probabilities for {} labels",
          probability.size(), label.size());
  double called[2][2] = {{0, 0}, {0, 0}};  // [label][called positive]
  double loss = 0;
  for (std::size_t i = 0; i < label.size(); ++i) {
    require(probability[i] >= 0 && probability[i] <= 1, "detection: {} is no probability", probability[i]);
    require(label[i] == 0 || label[i] == 1, "detection: a label is 0 or 1, not {}", label[i]);
    ++called[label[i]][probability[i] > threshold];
    const double p = std::clamp(probability[i], 1e-7, 1 - 1e-7);
    loss -= std::log(label[i] ? p : 1 - p);
  }
  const double n = static_cast<double>(label.size());
  const double right = called[1][1], wrong = called[0][1], missed = called[1][0], rejected = called[0][0];
  const double positives = right + missed, negatives = wrong + rejected;
  std::vector<std::size_t> order(label.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return probability[a] > probability[b]; });
  double area = 0, seen = 0;  // pairs in which the positive is above the negative; positives so far
  for (std::size_t i = 0; i < order.size();) {
    const double p = probability[order[i]];
    double count[2] = {0, 0};  // of labels of equal probability
    for (; i < order.size() && probability[order[i]] == p; ++i) ++count[label[order[i]]];
    area += count[0] * (seen + count[1] / 2);
    seen += count[1];
  }
  // 0 / 0 is NaN: not defined.
  return {.count = static_cast<int64_t>(label.size()),
          .positives = static_cast<int64_t>(positives),
          .accuracy = (right + rejected) / n,
          .balanced_accuracy = (right / positives + rejected / negatives) / 2,
          .precision = right / (right + wrong),
          .recall = right / positives,
          .f1 = 2 * right / (2 * right + wrong + missed),
          .roc_auc = area / (positives * negatives),
          .log_loss = loss / n};
}

}  // namespace unroll

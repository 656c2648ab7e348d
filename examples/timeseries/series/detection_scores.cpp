// See detection_scores.h.
#include "examples/timeseries/series/detection_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "framework/check.h"

namespace unroll {
namespace {

void check(std::span<const double> probability, std::span<const int> label) {
  require(probability.size() == label.size() && !label.empty(), "detection: {} probabilities for {} labels",
          probability.size(), label.size());
  for (std::size_t i = 0; i < label.size(); ++i) {
    require(probability[i] >= 0 && probability[i] <= 1, "detection: {} is no probability", probability[i]);
    require(label[i] == 0 || label[i] == 1, "detection: a label is 0 or 1, not {}", label[i]);
  }
}

// Labels in groups of equal probability, from the highest: use(probability, negatives, positives).
template <class F>
void for_each_group(std::span<const double> probability, std::span<const int> label, F use) {
  std::vector<std::size_t> order(label.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return probability[a] > probability[b]; });
  for (std::size_t i = 0; i < order.size();) {
    const double p = probability[order[i]];
    double count[2] = {0, 0};
    for (; i < order.size() && probability[order[i]] == p; ++i) ++count[label[order[i]]];
    use(p, count[0], count[1]);
  }
}

}  // namespace

DetectionScores score_detection(std::span<const double> probability, std::span<const int> label,
                                double threshold) {
  check(probability, label);
  double called[2][2] = {{0, 0}, {0, 0}};  // [label][called positive]
  double loss = 0;
  for (std::size_t i = 0; i < label.size(); ++i) {
    ++called[label[i]][probability[i] > threshold];
    const double p = std::clamp(probability[i], 1e-7, 1 - 1e-7);
    loss -= std::log(label[i] ? p : 1 - p);
  }
  const double n = static_cast<double>(label.size());
  const double right = called[1][1], wrong = called[0][1], missed = called[1][0], rejected = called[0][0];
  const double positives = right + missed, negatives = wrong + rejected;
  double area = 0, seen = 0;  // pairs in which the positive is above the negative
  for_each_group(probability, label, [&](double, double negative, double positive) {
    area += negative * (seen + positive / 2);
    seen += positive;
  });
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

std::vector<RocPoint> roc_curve(std::span<const double> probability, std::span<const int> label) {
  check(probability, label);
  const double positives = static_cast<double>(std::count(label.begin(), label.end(), 1));
  const double negatives = static_cast<double>(label.size()) - positives;
  if (positives == 0 || negatives == 0) return {};
  std::vector<RocPoint> curve = {{std::numeric_limits<double>::infinity(), 0, 0}};
  double wrong = 0, right = 0, last_negative = 0, last_positive = 0;
  for_each_group(probability, label, [&](double p, double negative, double positive) {
    wrong += negative, right += positive;
    // A group in the direction of the previous one moves the last point instead of adding one.
    if (curve.size() > 1 && negative * last_positive == positive * last_negative) curve.pop_back();
    curve.push_back({p, wrong / negatives, right / positives});
    last_negative = negative, last_positive = positive;
  });
  return curve;
}

std::vector<ReliabilityBin> reliability(std::span<const double> probability, std::span<const int> label,
                                        int bins) {
  check(probability, label);
  require(bins >= 1, "reliability: at least one bin, not {}", bins);
  std::vector<ReliabilityBin> all(bins, {0, 0, 0});
  for (std::size_t i = 0; i < label.size(); ++i) {
    ReliabilityBin& at = all[std::min(static_cast<int>(probability[i] * bins), bins - 1)];
    ++at.count;
    at.mean_probability += probability[i];
    at.positive_share += label[i];
  }
  std::erase_if(all, [](const ReliabilityBin& bin) { return bin.count == 0; });
  for (ReliabilityBin& bin : all) {
    bin.mean_probability /= static_cast<double>(bin.count);
    bin.positive_share /= static_cast<double>(bin.count);
  }
  return all;
}

}  // namespace unroll

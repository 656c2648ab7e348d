// The detection of baselines.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/baselines/fitting.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "framework/signals.h"

namespace unroll {
namespace {

int64_t last_read(const SeriesWindows& windows, int64_t origin) { return origin - windows.options().lead; }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Threshold {
  int channel = 0;
  double value = 0;
  bool above = true;  // label 1 where the channel is above the value
  int64_t right = -1;
};

// Takes the best threshold of one channel, given its values with their labels, if that is better than those before.
void improve(Threshold& best, int channel, std::vector<std::pair<double, int>> rows) {
  std::sort(rows.begin(), rows.end());
  const int64_t n = static_cast<int64_t>(rows.size());
  const auto consider = [&](double value, int64_t right_if_above) {
    for (const bool above : {true, false}) {
      const int64_t right = above ? right_if_above : n - right_if_above;
      if (right > best.right) best = {channel, value, above, right};
    }
  };
  int64_t right = std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.second == 1; });
  consider(-std::numeric_limits<double>::infinity(), right);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    right += rows[i].second ? -1 : 1;
    if (i + 1 < rows.size() && rows[i + 1].first > rows[i].first)
      consider(rows[i].first / 2 + rows[i + 1].first / 2, right);
  }
}

// Logistic regression over rows x [n, columns], the last column all ones.
struct Logistic {
  std::vector<double> x;
  std::vector<int> label;
  std::size_t columns;

  double logit(std::size_t row, const std::vector<double>& w) const {
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += x[row * columns + c] * w[c];
    return sum;
  }
  double loss(const std::vector<double>& w) const {
    double sum = 0;
    for (std::size_t row = 0; row < label.size(); ++row) {
      const double z = label[row] ? logit(row, w) : -logit(row, w);  // -log σ(z), stable for either sign
      sum += std::max(-z, 0.0) + std::log1p(std::exp(-std::abs(z)));
    }
    for (std::size_t c = 0; c + 1 < columns; ++c) sum += w[c] * w[c] / 2;
    return sum;
  }
  // Newton's step is the least-squares solution d of  √s x d ≈ (label - p) / √s,  s = p (1 - p),  and of  d ≈
  // -w.
  std::vector<double> newton_step(const std::vector<double>& w) const {
    std::vector<double> a(x), b(label.size());
    for (std::size_t row = 0; row < label.size(); ++row) {
      const double p = sigmoid(logit(row, w)), root = std::sqrt(std::max(p * (1 - p), 1e-12));
      for (std::size_t c = 0; c < columns; ++c) a[row * columns + c] *= root;
      b[row] = (label[row] - p) / root;
    }
    for (std::size_t c = 0; c + 1 < columns; ++c) {
      a.resize(a.size() + columns, 0);
      a[a.size() - columns + c] = 1;
      b.push_back(-w[c]);
    }
    return least_squares(a, b, static_cast<int>(columns));
  }
  // The loss is convex: a step that does not lower it is halved until it does, and the search ends where none
  // does.
  std::vector<double> fit() const {
    std::vector<double> w(columns, 0);
    double now = loss(w);
    for (int iteration = 0; iteration < 100; ++iteration) {
      const std::vector<double> step = newton_step(w);
      double share = 1, next = now;
      std::vector<double> candidate(columns);
      for (; share > 1e-6; share /= 2) {
        for (std::size_t c = 0; c < columns; ++c) candidate[c] = w[c] + share * step[c];
        next = loss(candidate);
        if (next < now) break;
      }
      if (!(next < now * (1 - 1e-12))) break;
      w = candidate, now = next;
    }
    return w;
  }
};

}  // namespace

std::vector<int> window_labels(const SeriesWindows& windows) {
  const Series& series = windows.series();
  const SeriesWindowOptions& options = windows.options();
  require(options.horizon == 1 && options.targets == std::vector<int>{series.label},
          "detection: windows must predict one label");
  std::vector<int> result;
  for (const int64_t origin : windows.origins()) result.push_back(series.at(origin, series.label) != 0);
  return result;
}

DetectionBaseline majority_class(const SeriesWindows& train) {
  const std::vector<int> label = window_labels(train);
  const double share =
      static_cast<double>(std::count(label.begin(), label.end(), 1)) / static_cast<double>(label.size());
  return {"majority class", [=](const Series&, int64_t, int64_t) { return share; }};
}

DetectionBaseline threshold_baseline(const SeriesWindows& train) {
  const std::vector<int> label = window_labels(train);
  Threshold best;
  for (const int channel : train.options().inputs) {
    stop_if_signalled();
    std::vector<std::pair<double, int>> rows;
    for (std::size_t i = 0; i < label.size(); ++i)
      rows.emplace_back(train.series().at(last_read(train, train.origins()[i]), channel), label[i]);
    improve(best, channel, std::move(rows));
  }
  const std::string channel = one_line(train.series().channels[best.channel]);
  return {std::isinf(best.value)
              ? fmt::format("threshold: always {:d}", best.above)
              : fmt::format("threshold {} {} {:.6g}", channel, best.above ? '>' : '<', best.value),
          [=](const Series& series, int64_t, int64_t last) {
            return (series.at(last, best.channel) > best.value) == best.above ? 1.0 : 0.0;
          }};
}

DetectionBaseline logistic_regression(const SeriesWindows& train) {
  const std::vector<int> inputs = train.options().inputs;
  Logistic problem{{}, window_labels(train), inputs.size() + 1};
  const double n = static_cast<double>(train.count());
  std::vector<double> mean(inputs.size(), 0), deviation(inputs.size(), 0);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto each = [&](auto use) {
      for (const int64_t origin : train.origins())
        use(train.series().at(last_read(train, origin), inputs[i]));
    };
    each([&](double value) { mean[i] += value / n; });
    each([&](double value) { deviation[i] += (value - mean[i]) * (value - mean[i]) / n; });
    deviation[i] = deviation[i] > 0 ? std::sqrt(deviation[i]) : 1;
  }
  const auto standardised = [=](const Series& series, int64_t row, std::size_t i) {
    return (series.at(row, inputs[i]) - mean[i]) / deviation[i];
  };
  for (const int64_t origin : train.origins()) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      problem.x.push_back(standardised(train.series(), last_read(train, origin), i));
    problem.x.push_back(1);
  }
  const std::vector<double> w = problem.fit();
  return {"logistic regression", [=](const Series& series, int64_t, int64_t last) {
            double logit = w.back();
            for (std::size_t i = 0; i < inputs.size(); ++i) logit += w[i] * standardised(series, last, i);
            return sigmoid(logit);
          }};
}

DetectionBaseline previous_label(const SeriesWindows& train) {
  const int label = train.series().label;
  return {"label one row before", [=](const Series& series, int64_t origin, int64_t) {
            return origin > 0 ? series.at(origin - 1, label) : 0.0;
          }};
}

DetectionScores score(const DetectionBaseline& baseline, const SeriesWindows& windows) {
  const std::vector<int> label = window_labels(windows);
  std::vector<double> probability;
  for (const int64_t origin : windows.origins())
    probability.push_back(baseline.probability(windows.series(), origin, last_read(windows, origin)));
  return score_detection(probability, label);
}

}  // namespace unroll

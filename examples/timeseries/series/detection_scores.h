// Scores of the probabilities of a binary label. An undefined score is NaN: precision if nothing was called
// positive, recall and ROC-AUC if a class is absent, and so on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace unroll {

struct DetectionScores {
  int64_t count = 0, positives = 0;
  double accuracy = 0;
  double balanced_accuracy = 0;  // mean of the recalls of both classes
  double precision = 0, recall = 0, f1 = 0;
  double roc_auc = 0;   // chance that a positive has the higher probability, ties counted half
  double log_loss = 0;  // in nats; probabilities kept 1e-7 away from 0 and 1
};

// Scores `probability` in [0, 1] against `label` (0, 1) of the same rows. A row is called positive if its
// probability > threshold. Throws Error for other values, sizes that differ, or no rows.
DetectionScores score_detection(std::span<const double> probability, std::span<const int> label,
                                double threshold = 0.5);

}  // namespace unroll

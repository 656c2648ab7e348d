// Cross-entropy over many classes at the price of a few: estimates the sum over all classes from a sample (Bengio and
// Senécal 2008; Jean, Cho, Memisevic and Bengio 2015).
//
//   const ClassSampler sampler(frequencies);                             // of the classes in the training data
//   const SampledClasses drawn = sampler.draw(256, place.next_key());    // Scope place = params / "sampler"
//   Var loss = sampled_softmax_cross_entropy(out, y, target, drawn);     // in training
//   Var exact = softmax_cross_entropy(out, y, target);                   // what it estimates, for scores
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/loss.h"
#include "framework/random.h"
#include "layers/dense.h"

namespace unroll {

// Classes drawn with repetition, and for each log(number of draws · its probability).
struct SampledClasses {
  IdTensor ids;                // [draws]
  Tensor log_expected_counts;  // [draws]
};

// Draws classes by their weights, in constant time per draw (the alias method: Walker 1977, Vose 1991).
class ClassSampler {
 public:
  // A class of weight 0 is never drawn, so a model does not learn to avoid it. Throws InputError unless all weights are
  // finite and not negative, and at least one is positive.
  explicit ClassSampler(std::span<const double> weights);
  // For classes sorted by frequency, most frequent first (Zipf's law): weight log((k + 2) / (k + 1)) for class k.
  static ClassSampler log_uniform(int classes);

  int classes() const { return static_cast<int>(probability_.size()); }
  double probability(int32_t id) const;  // of one draw
  // Equal keys draw equal classes. Draws on the host, so it cannot be part of a CUDA graph. Throws Error unless `count`
  // is positive.
  SampledClasses draw(int count, const RandomKey& key) const;

 private:
  std::vector<double> probability_, keep_;
  std::vector<int32_t> alias_;
};

// The loss of a target t with logit o_t and drawn classes j:
//   loss = log(exp(o_t) + Σ_{j ≠ t} exp(o_j - log(draws · q_j))) - o_t
// In expectation, the sum inside the logarithm is Σ_k exp(o_k) over all classes, whatever the probabilities q. A drawn
// class stands for draws · q_j classes; the target is always included and stands for itself (Blanc and Rendle 2018).
// The loss itself is below the exact one on average, less so with more draws. Only the weight's rows of drawn and
// target classes are read and get a gradient.
//
// Requires: a layer without activation, as for softmax_cross_entropy. x [..., in], target [...]. Reads the options
// reduction, ignore_index and weights. Throws Error if label_smoothing or class_weights are set.
Var sampled_softmax_cross_entropy(const Dense& layer, const Var& x, const IdTensor& target,
                                  const SampledClasses& drawn, const CrossEntropyOptions& options = {});

}  // namespace unroll

// Cross-entropy over many classes at the price of a few: the sum over all classes is estimated from some that are drawn
// (Bengio and Senécal 2008; Jean, Cho, Memisevic and Bengio 2015).
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

// Classes that were drawn, with repetition, and of each log(number of draws · its probability).
struct SampledClasses {
  IdTensor ids;                // [draws]
  Tensor log_expected_counts;  // [draws]
};

// Draws classes by their weights, in constant time each (the alias method: Walker 1977, Vose 1991).
class ClassSampler {
 public:
  // A class of weight 0 is never drawn, so a model does not learn to avoid it. Throws InputError unless the weights are finite,
  // not negative and one of them positive.
  explicit ClassSampler(std::span<const double> weights);
  // Classes sorted by how often they occur, the most frequent first, as Zipf's law has it: log((k + 2) / (k + 1)) for class k.
  static ClassSampler log_uniform(int classes);

  int classes() const { return static_cast<int>(probability_.size()); }
  double probability(int32_t id) const;
  // The same key draws the same classes. They are drawn on the host: no part of a window that is a CUDA graph. Throws Error
  // unless `count` is positive.
  SampledClasses draw(int count, const RandomKey& key) const;

 private:
  std::vector<double> probability_, keep_;
  std::vector<int32_t> alias_;
};

// Of a target t with logit o_t and drawn classes j:
//   loss = log(exp(o_t) + Σ_{j ≠ t} exp(o_j - log(draws · q_j))) - o_t
// The sum within the logarithm is Σ_k exp(o_k) over all classes in expectation, whatever the probabilities q: a drawn class
// stands for draws · q_j of them, and the target, which is always there, for itself (Blanc and Rendle 2018). The loss itself is
// below the exact one on average, less so the more are drawn. Only the rows of the weight that are drawn or wanted are read, and
// only these have a gradient.
//
// The layer is as in softmax_cross_entropy: no activation; x [..., in], target [...]. Of the options, reduction, ignore_index and
// weights. Throws Error where label_smoothing or class_weights are asked for, which the estimate has not.
Var sampled_softmax_cross_entropy(const Dense& layer, const Var& x, const IdTensor& target,
                                  const SampledClasses& drawn, const CrossEntropyOptions& options = {});

}  // namespace unroll

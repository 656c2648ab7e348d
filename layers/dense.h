// A fully connected layer.
#pragma once

#include <cmath>
#include <span>

#include "framework/loss.h"
#include "framework/ops.h"
#include "framework/parameters.h"

namespace unroll {

enum class Activation : uint8_t { none, relu, tanh, sigmoid };

struct DenseConfig {
  int in = 0, out = 0;
  bool bias = true;
  Activation activation = Activation::none;
};

// y = f(x wᵀ + b), weight [out, in], bias [out].  x [..., in] -> [..., out]
struct Dense {
  Dense(Scope scope, const DenseConfig& config);
  // A layer whose weight is another's (a decoder tied to an embedding [out, in]). Throws Error, when it is
  // used, if that has another shape.
  Dense(Scope scope, const DenseConfig& config, const Var& shared_weight);
  Var operator()(const Var& x) const;
  // Computes y [..., out] into memory that is there. Nothing is recorded.
  void compute(const Tensor& x, Tensor y) const;

  DenseConfig config;
  Var weight, bias;
};

// Cross-entropy of a layer's outputs as logits, without ever holding them all. The layer must have no activation.
Var softmax_cross_entropy(const Dense& layer, const Var& x, const IdTensor& target,
                          const CrossEntropyOptions& options = {});
// The numbers that it is the mean of: one for each target, 0 for those of -1. Nothing is recorded.
Tensor softmax_cross_entropies(const Dense& layer, const Tensor& x, const IdTensor& target);
// The same of logits / temperature, for each of these temperatures [temperatures, targets]. Temperatures are positive.
Tensor softmax_cross_entropies(const Dense& layer, const Tensor& x, const IdTensor& target,
                               std::span<const double> temperatures);
// As above, of logits that are there already [targets, classes].
Tensor softmax_cross_entropies(const Tensor& logits, const IdTensor& target,
                               std::span<const double> temperatures);

}  // namespace unroll

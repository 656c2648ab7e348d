// A fully connected layer.
#pragma once

#include <cmath>
#include <span>

#include "framework/loss.h"
#include "framework/ops.h"
#include "framework/parameters.h"

namespace unroll {

enum class Activation : uint8_t { none, relu, tanh, sigmoid };  // f, applied to each element

struct DenseConfig {
  int in = 0, out = 0;
  bool bias = true;
  Activation activation = Activation::none;  // f
};

// y = f(x wᵀ + b), weight [out, in], bias [out].  x [..., in] -> [..., out]
struct Dense {
  Dense(Scope scope, const DenseConfig& config);
  // A layer that shares another's weight (a decoder tied to an embedding [out, in]). The first use throws Error if the
  // weight's shape differs.
  Dense(Scope scope, const DenseConfig& config, const Var& shared_weight);
  Var operator()(const Var& x) const;  // y
  // Computes y [..., out] into existing memory. Nothing is recorded.
  void compute(const Tensor& x, Tensor y) const;

  DenseConfig config;  // as it was made
  Var weight, bias;
};

// Cross-entropy of a layer's outputs as logits, never holding all of them. Requires: the layer has no activation.
Var softmax_cross_entropy(const Dense& layer, const Var& x, const IdTensor& target,
                          const CrossEntropyOptions& options = {});
// The losses behind that mean: one per target, 0 where the target is -1. Nothing is recorded.
Tensor softmax_cross_entropies(const Dense& layer, const Tensor& x, const IdTensor& target);
// Losses with logits / temperature, for each temperature: [temperatures, targets]. Requires: temperatures > 0.
Tensor softmax_cross_entropies(const Dense& layer, const Tensor& x, const IdTensor& target,
                               std::span<const double> temperatures);
// As above, for given logits [targets, classes].
Tensor softmax_cross_entropies(const Tensor& logits, const IdTensor& target,
                               std::span<const double> temperatures);

}  // namespace unroll

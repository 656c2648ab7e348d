// A mixture of softmaxes: several softmaxes over the classes, each of a vector of its own, and their mean by weights that
// depend on the input (Yang, Dai, Salakhutdinov and Cohen 2018, "Breaking the softmax bottleneck").
//
//   MixtureSoftmax mixture{params / "mixture", {.in = 620, .width = 280, .components = 15}};
//   Dense decoder{params / "decoder", {.in = 280, .out = vocab}};
//   Var loss = mixture.loss(decoder, y, target);                // in training
//   Var log_p = mixture.log_probabilities(decoder, y);          // [..., vocab]
#pragma once

#include "layers/dense.h"
#include "layers/dropout.h"

namespace unroll {

struct MixtureSoftmaxConfig {
  int in = 0, width = 0, components = 0;  // width: of what the decoder reads
  float dropout = 0;                      // of that, with one mask for all steps
};

// With W [classes, width] and b of a decoder:
//   π = softmax(P y)      h_k = tanh(V_k y + v_k)      p = Σ_k π_k softmax(W h_k + b)
// P [components, in], V [components·width, in], v [components·width].
struct MixtureSoftmax {
  MixtureSoftmax(Scope scope, const MixtureSoftmaxConfig& config);

  // The mean of -log p[target] over targets that are scored, in nats. The logits exist a chunk of rows at a time. A first
  // pass finds the share of each component in p[target], γ_k; then
  //   dloss/dlogits_k = γ_k (softmax(logits_k) - onehot(target))      dloss/dlog π_k = -γ_k
  // y [steps, batch, in], target [steps, batch], -1 where nothing is scored.
  Var loss(const Dense& decoder, const Var& y, const IdTensor& target) const;
  // -log p[target] of each target, 0 where that is -1, with log p / temperature in place of logits, for each temperature:
  // [temperatures, targets]. Nothing is recorded. y [..., in].
  Tensor losses(const Dense& decoder, const Tensor& y, const IdTensor& target,
                std::span<const double> temperatures) const;
  // log p [..., classes]. All components' logits exist at once.
  Var log_probabilities(const Dense& decoder, const Var& y) const;

  MixtureSoftmaxConfig config;  // as it was made
  Dense prior, latent;          // P without a bias; V and v
  Dropout latent_dropout;       // of h

 private:
  Var vectors(const Var& y) const;  // h [..., components, width]
};

}  // namespace unroll

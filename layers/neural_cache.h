// The neural cache: at evaluation, a language model's memory of the words that it met a little while ago and
// of the states that it met them in (Grave, Joulin and Usunier 2017, "Improving neural language models with a
// continuous cache").
//
//   p_cache(w) ∝ Σ exp(θ h_t·h_i), over those steps i = t-window … t-1 that were followed by the word w
//   p(w) = (1-λ) p_model(w) + λ p_cache(w)
//
// h is what the decoder is given. At the first step there is nothing to remember, and p is p_model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/tensor.h"

namespace unroll {

// The defaults are those of the AWD-LSTM's authors on the Penn Treebank.
struct NeuralCacheConfig {
  int window = 500;     // steps that it remembers
  double theta = 1;     // how much more a step counts that is like the present one; 0: all count the same
  double lambda = 0.1;  // the cache's share in the mixture, in [0, 1)
};

class NeuralCache {
 public:
  // Throws InputError naming the field that is out of its range.
  explicit NeuralCache(const NeuralCacheConfig& config);

  // The next steps of one text, any number at a time: h [steps, width], and the word after each. nats is
  // -log p_model of those words and becomes -log p. Takes memory for `window` steps and these, whatever the
  // length of the text.
  void mix(const Tensor& h, std::span<const int32_t> words, std::span<double> nats);
  // Another text begins.
  void forget() { words_.clear(); }

 private:
  void remember(const Tensor& h, std::span<const int32_t> words);

  NeuralCacheConfig config_;
  Tensor states_;               // [at least words_.size(), width]
  std::vector<int32_t> words_;  // that followed them
};

}  // namespace unroll

// The neural cache: at evaluation, a language model remembers recent words and the states that it met them in (Grave,
// Joulin and Usunier 2017, "Improving neural language models with a continuous cache").
//
//   p_cache(w) ∝ Σ exp(θ h_t·h_i), over the steps i = t-window … t-1 that were followed by the word w
//   p(w) = (1-λ) p_model(w) + λ p_cache(w)
//
// h is the decoder's input. At the first step the cache is empty, and p is p_model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/tensor.h"

namespace unroll {

// Defaults: those of the AWD-LSTM's authors for the Penn Treebank.
struct NeuralCacheConfig {
  int window = 500;     // steps to remember
  double theta = 1;     // how much more similar steps count; 0: all count equally
  double lambda = 0.1;  // the cache's share in the mixture, in [0, 1)
};

class NeuralCache {
 public:
  // Throws InputError, naming the field, if a value is out of range.
  explicit NeuralCache(const NeuralCacheConfig& config);

  // Takes the next steps of one text, any number at a time: h [steps, width], and the word after each. nats holds -log
  // p_model of these words and is replaced by -log p. Memory: `window` steps and these, for a text of any length.
  void mix(const Tensor& h, std::span<const int32_t> words, std::span<double> nats);
  // Starts another text.
  void forget() { words_.clear(); }

 private:
  void remember(const Tensor& h, std::span<const int32_t> words);

  NeuralCacheConfig config_;
  Tensor states_;               // [at least words_.size(), width]
  std::vector<int32_t> words_;  // that followed them
};

}  // namespace unroll

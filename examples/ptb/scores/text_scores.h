// The scores of a text in the ways that were asked for: by the model, with its softmax at a temperature, and mixed with a
// neural cache (layers/neural_cache.h).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/ptb/model/model.h"
#include "layers/neural_cache.h"

namespace ptb {

// "window=500,theta=1.0,lambda=0.1": any of them, the others as NeuralCacheConfig has them. Throws
// InputError.
NeuralCacheConfig read_cache_config(const std::string& text);
// What read_cache_config reads.
std::string option_text(const NeuralCacheConfig& config);

struct ScoreWays {
  double temperature = 1;                       // of the softmax: logits are divided by it; positive
  std::optional<NeuralCacheConfig> cache = {};  // needs one stream
};

struct TextScores {
  Score model;     // at temperature 1
  Score tempered;  // at that of the ways
  Score mixture;   // of the latter with the cache; no tokens if there is none
};

// Adds up a text that is scored some steps at a time.
class TextScorer {
 public:
  // Throws InputError: the cache's settings are out of their range.
  explicit TextScorer(const ScoreWays& ways);

  std::span<const double> temperatures() const& { return temperatures_; }  // at which losses are wanted
  // The next steps: h [steps, width], what the decoder was given; losses [temperatures, steps] in nats, and the words that
  // they are of. Where resets [steps] (if they are defined) are not 0 a document begins, and the cache forgets. With several
  // streams there are no resets, steps are of all of them, and targets of -1 do not count.
  void add(const Tensor& h, const Tensor& losses, const IdTensor& target, const IdTensor& resets);
  const TextScores& scores() const& { return scores_; }

 private:
  std::vector<double> temperatures_, nats_;
  std::optional<NeuralCache> cache_;
  TextScores scores_;
};

// Reads a text window by window as score() does (model.h), the state carried: f(input, target, h, resets), input and target
// [steps, batch], h [steps*batch, width] what the last layer gave. Throws Interrupted.
using ReadWindow = std::function<void(const IdTensor& input, const IdTensor& target, const Tensor& h,
                                      const IdTensor& resets)>;
void read_windows(const LanguageModel& model, std::span<const int32_t> text, int32_t eos, int batch,
                  std::span<const int64_t> documents, const ReadWindow& f);

// As score() (model.h), in these ways. Throws InputError, Interrupted.
TextScores score_in_ways(const LanguageModel& model, std::span<const int32_t> text, int32_t eos, int batch,
                         const ScoreWays& ways, std::span<const int64_t> documents = {});

}  // namespace ptb

// The scores of a text in the ways that were asked for: by the model, with its softmax at a temperature, and mixed with
// a neural cache (layers/neural_cache.h).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/ptb/model/model.h"
#include "layers/neural_cache.h"

namespace ptb {

// Reads "window=500,theta=1.0,lambda=0.1". Settings that are not given have NeuralCacheConfig's defaults. Throws
// InputError.
NeuralCacheConfig read_cache_config(const std::string& text);
// The text that read_cache_config reads as `config`.
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
  // Adds the next steps. h [steps, width]: the decoder's input. losses [temperatures, steps], in nats. target [steps]:
  // the words. resets [steps]: undefined, or not 0 where a document begins and the cache forgets. With several streams
  // `steps` counts the steps of all of them, resets must be undefined, and targets of -1 do not count.
  void add(const Tensor& h, const Tensor& losses, const IdTensor& target, const IdTensor& resets);
  const TextScores& scores() const& { return scores_; }

 private:
  std::vector<double> temperatures_, nats_;
  std::optional<NeuralCache> cache_;
  TextScores scores_;
};

// Scores as score() does (model.h), in these ways. Throws InputError, Interrupted.
TextScores score_in_ways(const LanguageModel& model, const ScoredText& text, const ScoreWays& ways);

}  // namespace ptb

// Scoring a text with a neural cache beside the model (layers/neural_cache.h).
#pragma once

#include <span>
#include <string>

#include "layers/neural_cache.h"
#include "model.h"

namespace ptb {

// "window=500,theta=1.0,lambda=0.1": any of them, the others as NeuralCacheConfig has them. Throws
// InputError.
NeuralCacheConfig read_cache_config(const std::string& text);

struct CachedScore {
  Score model, mixture;
};
// As score() in one stream, by the model alone and by its mixture with the cache, which forgets what stood before a document.
// Throws InputError, Interrupted.
CachedScore score_with_cache(const LanguageModel& model, std::span<const int32_t> text, int32_t eos,
                             const NeuralCacheConfig& config, std::span<const int64_t> documents = {});

}  // namespace ptb

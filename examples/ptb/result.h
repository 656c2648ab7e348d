// What a command found out about a language model, as one JSON object.
#pragma once

#include <optional>

#include "training/program/run/result.h"
#include "layers/neural_cache.h"
#include "model.h"
#include "recipe.h"

namespace ptb {

// What was not done is null; the source's perplexities are there for the built-in corpus only, the cache where
// one was asked for.
struct Result {
  RunResult run;
  std::optional<double> train_perplexity, valid_perplexity, test_perplexity;
  std::optional<double> source_valid_perplexity, source_test_perplexity;
  bool has_source = false;
  struct Cache {
    NeuralCacheConfig config;
    double perplexity;  // of the model's mixture with it
  };
  std::optional<Cache> cache;
  // Not in the vocabulary: of the text that `evaluate` scored, and of those that `train` did.
  std::optional<int64_t> unknown_tokens, unknown_valid_tokens, unknown_test_tokens;

  Result(const Recipe& recipe, const LanguageModel& model);
  // One line on standard output.
  void print_json() const;
};

}  // namespace ptb

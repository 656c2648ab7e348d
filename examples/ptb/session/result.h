// A command's results about a language model, as one JSON object.
#pragma once

#include <optional>

#include "examples/ptb/model/model.h"
#include "examples/ptb/model/recipe.h"
#include "examples/ptb/scores/agreement.h"
#include "examples/ptb/scores/dynamic_score.h"
#include "layers/neural_cache.h"
#include "training/program/run/result.h"

namespace ptb {

// Values that were not computed are null. The object has the source's perplexities for the built-in corpus only, and
// cache, temperature and dynamic evaluation only if they were asked for.
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
  struct Temperature {
    double temperature, perplexity;
  };
  std::optional<Temperature> temperature;
  struct Dynamic {
    DynamicSettings settings;
    double perplexity;                 // at the temperature, if one was asked for
    std::optional<double> with_cache;  // of the mixture
    double seconds;                    // of scoring and learning, without the statistics
  };
  std::optional<Dynamic> dynamic;
  std::optional<AgreementTable> agreement;
  // Tokens outside the vocabulary: of the text that `evaluate` scored, and of the texts that `train` scored.
  std::optional<int64_t> unknown_tokens, unknown_valid_tokens, unknown_test_tokens;

  Result(const Recipe& recipe, const LanguageModel& model);
  // Writes one line to standard output.
  void print_json() const;
};

}  // namespace ptb

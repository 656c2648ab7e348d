// What a command found out, as one JSON object.
#pragma once

#include <optional>
#include <string>

#include "model.h"
#include "recipe.h"

namespace ptb {

// What was not done is null; the source's perplexities are there for the built-in corpus only.
struct Result {
  std::string recipe, engine, precision;
  uint64_t seed = 0;
  int64_t parameters = 0;
  std::optional<int> epochs;
  int64_t tokens = 0;  // predicted in training, or scored
  double seconds = 0, words_per_second = 0;
  std::optional<double> seconds_saving, seconds_logging;
  std::optional<double> train_perplexity, valid_perplexity, test_perplexity;
  std::optional<double> source_valid_perplexity, source_test_perplexity;
  bool has_source = false;

  Result(const Recipe& recipe, const LanguageModel& model);
  // One line on standard output.
  void print_json() const;
};

}  // namespace ptb

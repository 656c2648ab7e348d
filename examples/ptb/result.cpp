#include "result.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/memory.h"

namespace ptb {

Result::Result(const Recipe& r, const LanguageModel& model)
    : recipe(r.name),
      engine(name_of(model.lstm.choice().engine)),
      precision(r.training.precision),
      seed(r.training.seed),
      parameters(model.params.count()),
      has_source(r.data.corpus == CorpusKind::grammar) {}

void Result::print_json() const {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  Json json{{"recipe", recipe},
            {"engine", engine},
            {"precision", precision},
            {"seed", seed},
            {"parameters", parameters},
            {"epochs", or_null(epochs)},
            {"tokens", tokens},
            {"seconds", seconds},
            {"words_per_second", words_per_second},
            {"seconds_saving", or_null(seconds_saving)},
            {"seconds_logging", or_null(seconds_logging)},
            {"peak_memory", peak_memory_of_process()},
            {"train_perplexity", or_null(train_perplexity)},
            {"valid_perplexity", or_null(valid_perplexity)},
            {"test_perplexity", or_null(test_perplexity)}};
  if (has_source) {
    json["source_valid_perplexity"] = or_null(source_valid_perplexity);
    json["source_test_perplexity"] = or_null(source_test_perplexity);
  }
  fmt::print("{}\n", json.dump());
}

}  // namespace ptb

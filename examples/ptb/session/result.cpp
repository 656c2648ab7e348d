#include "examples/ptb/session/result.h"

#include <nlohmann/json.hpp>

#include "framework/gemm.h"

namespace ptb {

Result::Result(const Recipe& r, const LanguageModel& model)
    : run{.recipe = r.name,
          .engine = model.engine(),
          .precision = name_of(unroll::precision()),
          .seed = r.training.seed,
          .parameters = model.params.count()},
      has_source(r.data.corpus == CorpusKind::grammar) {}

void Result::print_json() const {
  nlohmann::ordered_json scores{{"train_perplexity", or_null(train_perplexity)},
                                {"valid_perplexity", or_null(valid_perplexity)},
                                {"test_perplexity", or_null(test_perplexity)}};
  if (has_source) {
    scores["source_valid_perplexity"] = or_null(source_valid_perplexity);
    scores["source_test_perplexity"] = or_null(source_test_perplexity);
  }
  if (unknown_tokens) scores["unknown_tokens"] = *unknown_tokens;
  if (unknown_valid_tokens) scores["unknown_valid_tokens"] = *unknown_valid_tokens;
  if (unknown_test_tokens) scores["unknown_test_tokens"] = *unknown_test_tokens;
  if (cache)
    scores["cache"] = {{"window", cache->config.window},
                       {"theta", cache->config.theta},
                       {"lambda", cache->config.lambda},
                       {"perplexity", cache->perplexity}};
  if (temperature)
    scores["temperature"] = {{"temperature", temperature->temperature},
                             {"perplexity", temperature->perplexity}};
  if (dynamic) {
    const DynamicSettings& s = dynamic->settings;
    nlohmann::ordered_json& json = scores["dynamic"] = {
        {"rule", s.rule == DynamicSettings::Rule::sgd ? "sgd" : "rms"}, {"rate", s.rate}};
    if (s.rule == DynamicSettings::Rule::rms) json["decay"] = s.decay, json["epsilon"] = s.epsilon;
    json["segment"] = s.segment;
    json["perplexity"] = dynamic->perplexity;
    if (dynamic->with_cache) json["perplexity_with_cache"] = *dynamic->with_cache;
    json["seconds"] = dynamic->seconds;
  }
  if (agreement) scores["agreement"] = agreement_json(*agreement);
  run.print_json("tokens", "words_per_second", scores);
}

}  // namespace ptb

#include "examples/ptb/scores/text_scores.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/windows.h"
#include "examples/ptb/model/settings.h"

namespace ptb {

NeuralCacheConfig read_cache_config(const std::string& text) {
  NeuralCacheConfig config;
  const Setting settings[] = {
      {"window", "N", &config.window}, {"theta", "X", &config.theta}, {"lambda", "X", &config.lambda}};
  read_settings("cache", text, settings);
  NeuralCache{config};  // knows the ranges
  return config;
}

std::string option_text(const NeuralCacheConfig& config) {
  return fmt::format("window={},theta={},lambda={}", config.window, config.theta, config.lambda);
}

TextScorer::TextScorer(const ScoreWays& ways) : temperatures_{1} {
  if (ways.temperature != 1) temperatures_.push_back(ways.temperature);
  if (ways.cache) cache_.emplace(*ways.cache);
}

void TextScorer::add(const Tensor& h, const Tensor& losses, const IdTensor& target, const IdTensor& resets) {
  const int steps = static_cast<int>(target.size());
  const auto all = losses.on_host();
  const auto of = [&](int64_t row) {
    return std::span(all.data() + row * steps, static_cast<size_t>(steps));
  };
  const int64_t scored = steps - std::ranges::count(target.span(), ignored_target);
  const auto add_to = [&](Score& score, const auto& nats) {
    for (const double loss : nats) score.nats += loss;
    score.tokens += scored;
  };
  const auto plain = of(0), tempered = of(std::ssize(temperatures_) - 1);
  add_to(scores_.model, plain);
  add_to(scores_.tempered, tempered);
  if (!cache_) return;
  nats_.assign(tempered.begin(), tempered.end());
  for (int begin = 0, end = 0; begin < steps; begin = end) {  // documents
    const auto begins = [&](int t) { return resets.defined() && resets.data()[t] != 0; };
    if (begins(begin)) cache_->forget();
    for (end = begin + 1; end < steps && !begins(end);) ++end;
    const size_t first = static_cast<size_t>(begin), count = static_cast<size_t>(end - begin);
    cache_->mix(h.slice(begin, end), target.span().subspan(first, count),
                std::span(nats_).subspan(first, count));
  }
  add_to(scores_.mixture, nats_);
}

TextScores score_in_ways(const LanguageModel& model, const ScoredText& given, const ScoreWays& ways) {
  const ScoredText text = given.in_fitting_streams();
  require(!ways.cache || text.batch == 1, "score: a cache needs one stream, not {}", text.batch);
  TextScorer scorer(ways);
  read_windows(model, text, {0, 1},
               [&](const IdTensor&, const IdTensor& target, const Var& y, const IdTensor& resets) {
                 const int count = static_cast<int>(target.size());
                 const Tensor h = y.value().reshape({count, y.dim(2)});
                 const IdTensor words = target.reshape({count});
                 scorer.add(h, model.losses(h, words, scorer.temperatures()), words, resets);
               });
  return scorer.scores();
}

}  // namespace ptb

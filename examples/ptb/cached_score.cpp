#include "cached_score.h"

#include <set>
#include <sstream>

#include "data/windows.h"
#include "framework/nearest.h"
#include "framework/signals.h"

namespace ptb {

NeuralCacheConfig read_cache_config(const std::string& text) {
  NeuralCacheConfig config;
  std::set<std::string> given;
  const auto read = [&](const std::string& part, const std::string& value, auto& field) {
    std::istringstream stream(value);
    stream.imbue(std::locale::classic());
    const bool whole = stream >> field && stream.peek() == EOF;
    require_input(whole, "--cache {}: '{}' is not a number that can be read", part, value);
  };
  std::istringstream parts(text + ",");  // "window=500," has an empty one at its end, which is refused too
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals), meant = nearest(key, {"window", "theta", "lambda"});
    require_input(equals != part.npos && (key == "window" || key == "theta" || key == "lambda"),
                  "--cache {}: must be of window=N, theta=X and lambda=X, separated by commas{}", text,
                  did_you_mean(meant == key ? "" : meant));
    require_input(given.insert(key).second, "--cache {}: '{}' is given twice", text, key);
    const std::string value = part.substr(equals + 1);
    if (key == "window") read(part, value, config.window);
    if (key == "theta") read(part, value, config.theta);
    if (key == "lambda") read(part, value, config.lambda);
  }
  NeuralCache{config};  // knows the ranges
  return config;
}

CachedScore score_with_cache(const LanguageModel& model, std::span<const int32_t> text, int32_t eos,
                             const NeuralCacheConfig& config, std::span<const int64_t> documents) {
  const NoTape guard;
  NeuralCache cache(config);
  RecurrentState state = model.recurrent.zero_state(1);
  CachedScore result;
  std::vector<double> nats;
  BpttWindows windows = evaluation_windows(text, eos, {.batch = 1, .steps = 1000, .documents = documents});
  for (const auto& [input, target] : windows) {
    stop_if_signalled();
    const IdTensor& resets = windows.resets();
    const auto [y, next] = model.recurrent(model.embedding(input), state, {}, resets);
    const Tensor h = y.value().reshape({input.dim(0), y.dim(2)});
    const Tensor losses = softmax_cross_entropies(model.decoder, h, target.reshape({input.dim(0)}));
    const auto of_words = losses.on_host();
    nats.assign(of_words.begin(), of_words.end());
    for (const double loss : nats) result.model.nats += loss;
    const int steps = input.dim(0);
    for (int begin = 0, end = 0; begin < steps; begin = end) {  // the window's documents
      const auto begins = [&](int t) { return resets.defined() && resets.data()[t] != 0; };
      if (begins(begin)) cache.forget();
      for (end = begin + 1; end < steps && !begins(end);) ++end;
      const size_t first = static_cast<size_t>(begin), count = static_cast<size_t>(end - begin);
      cache.mix(h.slice(begin, end), target.span().subspan(first, count),
                std::span(nats).subspan(first, count));
    }
    for (const double loss : nats) result.mixture.nats += loss;
    state = next;
  }
  result.model.tokens = result.mixture.tokens = std::ssize(text);
  return result;
}

}  // namespace ptb

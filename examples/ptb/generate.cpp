// ptb generate: draws words from a trained model, one after the other.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "commands.h"
#include "framework/threads.h"
#include "options.h"
#include "saved_model.h"

namespace ptb {

namespace {

struct Sampling {
  double temperature = 1;  // of the softmax; towards 0 the likeliest word is certain
  int top_k = 0;           // only the likeliest so many words; 0: all
};

// A word drawn from softmax(logits / temperature).
class Sampler {
 public:
  Sampler(int vocab, const Sampling& sampling, uint64_t seed)
      : sampling_(sampling),
        order_(static_cast<size_t>(vocab)),
        weights_(order_.size()),
        random_(seed, "generate") {}

  int32_t draw(std::span<const real> logits) {
    std::iota(order_.begin(), order_.end(), 0);
    const auto likelier = [&](int32_t a, int32_t b) {
      return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
    };
    const size_t kept = sampling_.top_k ? std::min<size_t>(order_.size(), sampling_.top_k) : order_.size();
    std::partial_sort(order_.begin(), order_.begin() + kept, order_.end(), likelier);
    double total = 0;
    for (size_t i = 0; i < kept; ++i) {
      weights_[i] = std::exp((logits[order_[i]] - logits[order_[0]]) / sampling_.temperature);
      total += weights_[i];
    }
    double left = random_.uniform() * total;
    for (size_t i = 0; i < kept; ++i)
      if ((left -= weights_[i]) < 0) return order_[i];
    return order_[0];
  }

 private:
  Sampling sampling_;
  std::vector<int32_t> order_;
  std::vector<double> weights_;
  RandomStream random_;
};

}  // namespace

void generate(Command& command) {
  std::string prompt;
  int words = 100;
  Sampling sampling;
  uint64_t seed = 1;
  command.describe(
      "Lets a trained model write, a word at a time; each sentence is a line. The same seed writes the "
      "same.");
  add_checkpoint(command);
  command.option("prompt", prompt, "TEXT", "the text to go on from").otherwise("a sentence begins");
  command.option("words", words, "N", "words to draw, and those that end the last sentence");
  command.option("temperature", sampling.temperature, "T",
                 "below 1: likelier words become likelier still; above: rarer ones");
  command.option("top-k", sampling.top_k, "K", "draw among the likeliest K words; 0: all");
  command.option("seed", seed, "N", "of the random numbers");
  command.example("generate runs/demo-1/last.safetensors", "about a hundred words");
  command.example("generate best.safetensors --prompt \"the company\" --temperature 0.8",
                  "goes on from a text");
  if (!command.parse()) return;
  require_input(words >= 0, "generate: --words {} is negative", words);
  require_input(sampling.temperature > 0 && std::isfinite(sampling.temperature),
                "generate: --temperature must be above 0");
  require_input(sampling.top_k >= 0, "generate: --top-k {} is negative", sampling.top_k);

  set_threads(1);  // a word at a time gives a second thread nothing to do
  const SavedModel saved = load_model(command.positional());
  const Level level = saved.recipe.data.level;
  const int32_t eos = saved.vocabulary.eos();
  std::vector<int32_t> text = encode(prompt, saved.vocabulary, level, "--prompt");

  TokenStepper step(saved.model->embedding, saved.model->lstm, saved.model->decoder);
  std::span<const real> logits = step(eos);
  for (const int32_t word : text) logits = step(word);
  Sampler sampler(saved.vocabulary.size(), sampling, seed);
  const int limit = words + 100;  // of a model that does not end its sentences
  for (int drawn = 0; drawn < limit && !(drawn >= words && (text.empty() || text.back() == eos)); ++drawn) {
    text.push_back(sampler.draw(logits));
    logits = step(text.back());
  }
  std::string written = decode(text, saved.vocabulary, level);
  if (!written.ends_with('\n')) written += '\n';
  fmt::print("{}", written);
}

}  // namespace ptb

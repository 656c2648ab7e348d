// Inference in a program of one's own: reads along with a trained language model, a word at a time.
//
//   echo "the dog that chases the cats" | step_by_step runs/demo-1/last.safetensors
//
// Each word is printed with how much it surprised the model, in bits; then the words that may well come next.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <numeric>

#include "data/text/corpus.h"
#include "framework/one_line.h"
#include "unroll.h"
#include "training/files/state_dict.h"
#include "training/files/vocabulary_file.h"

using namespace unroll;

// Sizes stand in the shapes: embedding.weight [vocab, dim], lstm.weight_hh_l0 [4*hidden, hidden].
struct LanguageModel {
  explicit LanguageModel(const SafetensorsFile& file)
      : embedding(params / "embedding",
                  {.vocab = size(file, "embedding.weight", 0), .dim = size(file, "embedding.weight", 1)}),
        lstm(params / "lstm", {.input = embedding.config.dim,
                               .hidden = size(file, "lstm.weight_hh_l0", 1),
                               .layers = layers(file)}),
        decoder(params / "decoder", {.in = lstm.config().hidden, .out = embedding.config.vocab}) {
    // A model that no PyTorch module can hold has options that this one lacks.
    const auto modules = file.metadata().find("pytorch");
    if (modules != file.metadata().end() && modules->second.starts_with("none:"))
      throw InputError(fmt::format("{}: no plain LSTM, which is all that this program has: {}", file.path(),
                                   modules->second.substr(6)));
    load_state_dict(file, params);
  }
  static int size(const SafetensorsFile& file, const char* name, int i) {
    const auto& shape = file.entry(name).shape;
    require_input(shape.size() == 2, "{}: '{}' is no matrix", file.path(), name);
    return static_cast<int>(shape[static_cast<size_t>(i)]);
  }
  static int layers(const SafetensorsFile& file) {
    int count = 0;
    while (file.find(fmt::format("lstm.weight_hh_l{}", count))) ++count;
    return count;
  }

  ParameterSet params;
  Embedding embedding;
  Lstm lstm;
  Dense decoder;
};

int main(int argc, char** argv) try {
  require_input(argc == 2, "usage: step_by_step CHECKPOINT, the text on standard input");
  const SafetensorsFile file(argv[1]);
  const Vocabulary words = vocabulary_of(file);
  const LanguageModel model(file);
  require_input(words.size() == model.embedding.config.vocab, "{}: {} words for {} rows of the embedding",
                file.path(), words.size(), model.embedding.config.vocab);
  const std::string text((std::istreambuf_iterator<char>(std::cin)), {});

  TokenStepper step(model.embedding, model.lstm, model.decoder);
  std::span<const real> logits = step(words.eos());  // of the word that comes next
  double bits = 0;
  const std::vector<int32_t> ids = encode(text, words, Level::word, "standard input");
  for (const int32_t id : ids) {
    double sum = 0;
    for (const real x : logits) sum += std::exp(x - logits[id]);
    std::printf("%6.2f  %s\n", std::log2(sum), printable(words.word(id)).c_str());
    bits += std::log2(sum);
    logits = step(id);
  }
  if (!ids.empty()) std::printf("perplexity %.3f\n", std::exp2(bits / static_cast<double>(ids.size())));

  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto likeliest = order.begin() + std::min<std::ptrdiff_t>(5, std::ssize(order));
  std::partial_sort(order.begin(), likeliest, order.end(),
                    [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  std::printf("next:");
  for (auto id = order.begin(); id != likeliest; ++id) std::printf(" %s", printable(words.word(*id)).c_str());
  std::printf("\n");
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}

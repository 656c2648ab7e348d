// The trained demo (./run ptb train demo), opened: an embedding, layers of LSTM, a decoder, and its words.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "data/text/vocabulary.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/recurrent/lstm.h"
#include "training/files/state_dict.h"
#include "training/files/vocabulary_file.h"

namespace lessons {

struct Demo {
  explicit Demo(const std::string& path) : Demo(unroll::SafetensorsFile(path)) {}

  // The numbers of words, of which the first is "<eos>": the model reads a sentence after the end of another.
  std::vector<int32_t> ids(const std::string& sentence) const {
    std::vector<int32_t> result = {words.eos()};
    std::istringstream text(sentence);
    for (std::string word; text >> word;) result.push_back(words.id(word));
    return result;
  }
  // One word's row of the embedding, [1, width].
  unroll::Var row(int32_t word) const { return embedding(unroll::IdTensor::from({1}, {word})); }
  const unroll::LstmCell& layer(int k) const& { return lstm.cells()[static_cast<size_t>(k)]; }
  int units() const { return lstm.config().hidden; }

  unroll::Vocabulary words;
  unroll::ParameterSet params;
  unroll::Embedding embedding;
  unroll::Lstm lstm;
  unroll::Dense decoder;

 private:
  // Sizes stand in the shapes: embedding.weight [words, width], lstm.weight_hh_l0 [4*units, units].
  explicit Demo(const unroll::SafetensorsFile& file)
      : words(unroll::vocabulary_of(file)),
        embedding(params / "embedding", {.vocab = words.size(), .dim = width(file, "embedding.weight")}),
        lstm(params / "lstm", {.input = embedding.config.dim,
                               .hidden = width(file, "lstm.weight_hh_l0"),
                               .layers = file.find("lstm.weight_hh_l1") ? 2 : 1}),
        decoder(params / "decoder", {.in = lstm.config().hidden, .out = words.size()}) {
    unroll::load_state_dict(file, params);
  }
  static int width(const unroll::SafetensorsFile& file, const char* name) {
    return static_cast<int>(file.entry(name).shape.at(1));
  }
};

}  // namespace lessons

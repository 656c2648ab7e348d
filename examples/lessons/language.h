// A small language model for experiments: trained on some text of the demo's grammar, once through, and scored.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "data/text/grammar.h"
#include "data/windows.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/recurrent/recurrent_layer.h"
#include "optim/optimizer.h"

namespace lessons {

struct LanguageModel {
  // inputs: the width of the embedding.
  LanguageModel(uint64_t seed, unroll::CellKind cell, int words, int inputs, int units)
      : params(seed),
        embed(params / "embed", {.vocab = words, .dim = inputs}),
        layer(params / "layer", cell, {.input = inputs, .hidden = units}),
        out(params / "out", {.in = units, .out = words}) {}

  unroll::ParameterSet params;
  unroll::Embedding embed;
  unroll::RecurrentLayer layer;
  unroll::Dense out;
};

// Reads the text once, in windows of 20 words from 10 places at a time. The learning rate falls to zero: results of
// different seeds lie closer then.
inline void train(LanguageModel& model, std::span<const int32_t> text) {
  unroll::Adam adam(model.params, {.learning_rate = 1e-2});
  unroll::RecurrentState state = model.layer.zero_state(10);
  unroll::BpttWindows windows(text, {.batch = 10, .steps = 20});
  int64_t done = 0;
  for (const auto& [input, target] : windows) {
    unroll::Tape tape;
    const auto [y, next] = model.layer(model.embed(input), state);
    tape.backward(softmax_cross_entropy(model.out, y, target));
    adam.step({.max_norm = 5, .rate_factor = 1 - double(done++) / double(windows.count())});
    state = next;
  }
}

// exp of the mean loss of a text's words.
inline double perplexity(const LanguageModel& model, std::span<const int32_t> text, int32_t eos) {
  unroll::RecurrentState state = model.layer.zero_state(1);
  double sum = 0;
  for (const auto& [input, target] : unroll::evaluation_windows(text, eos, {.batch = 1, .steps = 100})) {
    const auto [y, next] = model.layer(model.embed(input), state);
    sum += double(softmax_cross_entropy(model.out, y, target).item()) * target.dim(0);
    state = next;
  }
  return std::exp(sum / double(text.size()));
}

}  // namespace lessons

// The language model: embedding, recurrent layers, softmax over the vocabulary, dropout between them
// (Zaremba, Sutskever, Vinyals 2014; with the options of Merity, Keskar, Socher 2018). Or a causal Transformer in the middle, or
// both, one behind the other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/ptb/model/recipe.h"
#include "training/shared_score.h"
#include "unroll.h"

namespace ptb {

// The layers of a recipe, under "lstm" or "gru".
RecurrentLayer make_layers(ParameterSet& params, const Recipe& recipe);

// Numbers of products of queries with keys and of weights with values, for a token: what a step of a transformer sees is full.
double attention_operations(const TransformerConfig& config);
// Of a step of training, forward and back: its products, whose weights are all but those of an embedding of its own.
double operations_of_step(const Recipe& recipe, const ParameterSet& params);

// What crosses windows: of recurrent layers, of a transformer, or of both; the other has no size.
struct ModelVars {
  RecurrentVars recurrent, transformer;
};
// The same in buffers of its own, as RecurrentState has them.
struct ModelState {
  RecurrentState recurrent, transformer;
  ModelState& operator=(const ModelVars& next);
  operator ModelVars() const;
  void reset();
  ModelVars rows(int begin, int end) const;
  void set_rows(int begin, const ModelVars& rows);
};

struct LanguageModel {
  LanguageModel(const Recipe& recipe, int vocab);

  struct Read {
    Var y;            // of the last layer [steps, batch, width]
    ModelVars state;  // after the last step
  };
  // Without the decoder and the dropout before it. input and resets [steps, batch], the latter as BpttWindows has them.
  Read read(const IdTensor& input, const ModelVars& state, const IdTensor& resets = {}) const;

  struct Output {
    Var loss;         // mean nats per scored token
    ModelVars state;  // after the last step
    Var y, dropped;   // of the last layer [steps, batch, width], before and after dropout
  };
  // target [steps, batch]; targets of -1 are not scored
  Output operator()(const IdTensor& input, const IdTensor& target, const ModelVars& state,
                    const IdTensor& resets = {}) const;
  ModelState zero_state(int batch) const;
  std::string engine() const;       // "fused"; without recurrent layers "none"
  std::string engine_text() const;  // and why

  ParameterSet params;
  Embedding embedding;
  Dropout input_dropout;
  std::optional<RecurrentLayer> recurrent;  // one of them at least, …
  std::optional<Transformer> transformer;   // … and this one last
  Dropout output_dropout;
  Dense decoder;
};

// How a text was scored: exp(nats / tokens) is the perplexity.
struct Score {
  double nats = 0;
  int64_t tokens = 0;
  double perplexity() const;
};

// Scores every token once, the first predicted from `eos`, nothing dropped. The text is cut into `batch`
// streams; with one, the state is carried through all of it, or through each of the documents that begin at these places.
// Throws Interrupted after a signal (framework/signals.h).
//
// With several shards it is cut into as many parts, each of its own streams: nats are summed over these.
Score score(const LanguageModel& model, std::span<const int32_t> text, int32_t eos, int batch,
            std::span<const int64_t> documents = {}, int shards = 1);

// The same, for processes to share: a part is a shard. What it is given must outlive it.
SharedScore score_in_shards(const LanguageModel& model, std::span<const int32_t> text, int32_t eos, int batch,
                            std::span<const int64_t> documents, int shards);

}  // namespace ptb

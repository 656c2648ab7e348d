// The language model: embedding, recurrent layers, softmax over the vocabulary, dropout between them
// (Zaremba, Sutskever, Vinyals 2014; with the options of Merity, Keskar, Socher 2018). Or a causal Transformer in the
// middle, or both, one behind the other.
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

// Operations of attention for one token, with a full memory: products of queries with keys and of weights with values.
double attention_operations(const TransformerConfig& config);
// Operations of the products in one training step, forward and backward. An embedding that is not tied takes part in no
// product.
double operations_of_step(const Recipe& recipe, const ParameterSet& params);

// The state that crosses windows: of recurrent layers, of a transformer, or of both. A part that the model lacks is
// empty.
struct ModelVars {
  RecurrentVars recurrent, transformer;
};
// Holds such a state in buffers of its own, as RecurrentState does.
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
  // Runs the model without the decoder and the dropout before it. input and resets: [steps, batch], resets as
  // BpttWindows::resets() gives them.
  Read read(const IdTensor& input, const ModelVars& state, const IdTensor& resets = {}) const;

  struct Output {
    Var loss;         // mean nats per scored token
    ModelVars state;  // after the last step
  };
  // target [steps, batch]; targets of -1 are not scored
  Output operator()(const IdTensor& input, const IdTensor& target, const ModelVars& state,
                    const IdTensor& resets = {}) const;
  // Scores of the next word. y [..., width]: the last layer's output, after dropout if there is any.
  Var logits(const Var& y) const;  // [..., vocab]; of a mixture of softmaxes log p
  // The mean over targets that are scored, in nats. target [...]. `options` are not for a mixture.
  Var loss(const Var& y, const IdTensor& target, const CrossEntropyOptions& options = {}) const;
  // Nats by temperature and target, 0 where that is -1. Nothing is recorded.
  Tensor losses(const Tensor& y, const IdTensor& target, std::span<const double> temperatures) const;
  int width() const;  // of y
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
  std::optional<MixtureSoftmax> mixture;    // around the decoder
  std::optional<PastDecoder> past_decoder;  // where training asks for it
};

// How a text was scored: exp(nats / tokens) is the perplexity.
struct Score {
  double nats = 0;
  int64_t tokens = 0;
  double perplexity() const;
};

// A text to be scored: every token once, the first predicted from `eos`. It is cut into `batch` streams. With one the state is
// carried through the whole text, or through each document. With several shards the streams are cut into as many parts.
struct ScoredText {
  std::span<const int32_t> tokens;
  int32_t eos;
  int batch = 1;
  std::span<const int64_t> documents = {};  // the places where they begin
  int shards = 1;
  ScoredText first(int64_t count) const;  // so many tokens of it, or all
  ScoredText in_fitting_streams() const;  // no more of them than documents and tokens can fill
};

// Scores without dropout. nats are summed over the shards. Throws Interrupted after a signal (framework/signals.h).
Score score(const LanguageModel& model, const ScoredText& text);

// Reads the shard's part of the streams, which fit, window by window as score() does, carrying the state. Calls
// f(input, target, y, resets) for each: input, target and resets [steps, streams], y [steps, streams, width] of the last layer.
// Nothing is recorded. Throws Interrupted.
using ReadWindow =
    std::function<void(const IdTensor& input, const IdTensor& target, const Var& y, const IdTensor& resets)>;
void read_windows(const LanguageModel& model, const ScoredText& text, const Shard& shard,
                  const ReadWindow& f);

// Like score(), for several processes that share the shards. Requires: the arguments outlive the result.
SharedScore score_in_shards(const LanguageModel& model, const ScoredText& text);

}  // namespace ptb

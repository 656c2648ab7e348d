// The language model: embedding, recurrent layers, softmax over the vocabulary, dropout between them
// (Zaremba, Sutskever, Vinyals 2014; with the options of Merity, Keskar, Socher 2018).
#pragma once

#include <span>
#include <vector>

#include "recipe.h"
#include "training/files/algorithm_cache.h"
#include "training/shared_score.h"
#include "unroll.h"

namespace ptb {

// The layers of a recipe, under "lstm" or "gru".
RecurrentLayer make_layers(ParameterSet& params, const Recipe& recipe);

// Of a step of training, forward and back: its products, whose weights are all but those of an embedding of its own.
double operations_of_step(const Recipe& recipe, const ParameterSet& params);

// The same as training calls them.
std::vector<LayerUse> recurrent_layers(const Recipe& recipe, bool profiled);

struct LanguageModel {
  LanguageModel(const Recipe& recipe, int vocab);

  struct Output {
    Var loss;             // mean nats per scored token
    RecurrentVars state;  // after the last step
    Var y, dropped;       // of the last layer [steps, batch, width], before and after dropout
  };
  // input, target and resets [steps, batch]; targets of -1 are not scored; resets as BpttWindows has them
  Output operator()(const IdTensor& input, const IdTensor& target, const RecurrentVars& state,
                    const IdTensor& resets = {}) const;

  ParameterSet params;
  Embedding embedding;
  Dropout input_dropout;
  RecurrentLayer recurrent;
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

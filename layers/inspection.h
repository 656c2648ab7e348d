// Looking inside a model while it reads: what it expects, what its cells hold, and what each of its predictions rests on.
// `ptb look` and `timeseries look` make pages of these numbers. For any kind of recurrent layer and engine; nothing is dropped.
//
//   const TokenModel net{model.params, model.embedding, model.recurrent, model.decoder};
//   const TokenText text = {.input = {eos, the, dog}, .target = {the, dog, sleeps}};
//   const TextInspection seen = inspect(net, text);          // seen.layers[1].c[2]: layer 2's cells before "sleeps"
//   const GradientReach reach = gradient_reach(net, text);   // reach.c[1][2][0]: |∂L of "sleeps" / ∂c after <eos>|
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "framework/parameters.h"
#include "framework/tape_graph.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/recurrent/recurrent_layer.h"

namespace unroll {

// A model by its parts, which must outlive it.
struct TokenModel {
  ParameterSet& params;
  const Embedding& embedding;
  const RecurrentLayer& recurrent;
  const Dense& decoder;
};

// In step t the model reads input[t] and predicts target[t]. The state before step 0 is zero, and before each step t where
// resets[t] is not 0, too.
struct TokenText {
  std::vector<int32_t> input, target;
  std::vector<int32_t> resets = {};  // empty: none
  int steps() const { return static_cast<int>(input.size()); }
};

// One layer, [steps, units] each; h is narrower with a projection, and so is all of the last layer where last_hidden says so.
struct LayerValues {
  std::vector<Tensor> gates;  // in the order of TextInspection::gate_names
  Tensor h, c;                // the state after each step; c is undefined where the cell has none
};
// Of cells that read one sequence: a batch of one row.
std::vector<LayerValues> layer_values(std::span<const CellTrace> cells);

struct TextInspection {
  Tensor log_p;  // [steps, vocab]: natural logarithm of each word's probability after the step
  std::vector<std::string>
      gate_names;  // "i", "f", "g", "o" of an LSTM; "r", "z", "n" of a GRU; none of a plain cell
  std::vector<LayerValues> layers;
};
// Throws Error where input and target differ in length, or are empty; and for bidirectional layers, which know what comes.
TextInspection inspect(const TokenModel& model, const TokenText& text);

// Euclidean norms of the gradients of L_t = -log p(target[t]), by t and step s: [steps, steps], 0 where s > t.
struct GradientReach {
  Tensor embedding;          // of what was read in step s
  std::vector<Tensor> h, c;  // of each layer's state after step s; c is empty where the cell has none
};
// An ordinary backward pass for `at_once` targets together: they are rows of a batch, so no gradient meets another's. The
// parameters collect none. Memory grows with at_once · steps.
GradientReach gradient_reach(const TokenModel& model, const TokenText& text, int at_once = 16);

// The tape of each step by itself, from the state before it as a constant to L_t, with the norms of values and gradients. The
// parameters' gradients are forgotten.
std::vector<TapeGraph> step_graphs(const TokenModel& model, const TokenText& text);

// --- numbers from numbers ---------------------------------------------------------------------------------------

// What a model makes of x [steps, batch, features].
struct SequenceOutput {
  Var y;                              // [batch, outputs]: a row of the batch knows nothing of the others
  std::vector<CellTrace> cells = {};  // of its recurrent layers, if it has any
};
using SequenceModel = std::function<SequenceOutput(const Var& x)>;

// Gradients of single outputs.
struct OutputReach {
  Tensor input;  // [outputs, steps * features]: at each number of x
  std::vector<Tensor> h,
      c;  // norms at each layer's state after each of its steps: [outputs, steps]; c may be empty
};
// Of the `outputs` of x [steps, features], by their numbers, `at_once` together as above. Throws Error where x is of another rank,
// or no output is asked for.
OutputReach output_reach(const ParameterSet& params, const SequenceModel& model, const Tensor& x,
                         std::span<const int> outputs, int at_once = 16);

}  // namespace unroll

// Looks inside a model while it reads: what it expects, what its cells hold, and what each prediction rests on. `ptb
// look` and `timeseries look` show these numbers. Works with every recurrent layer and engine; dropout is off.
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

// The parts of a model: params, embedding, recurrent, decoder. They must outlive it.
struct TokenModel {
  ParameterSet& params;
  const Embedding& embedding;
  const RecurrentLayer& recurrent;
  const Dense& decoder;
};

// In step t the model reads input[t] and predicts target[t]. The state is zero before step 0, and before each step t
// with resets[t] != 0.
struct TokenText {
  std::vector<int32_t> input, target;
  std::vector<int32_t> resets = {};                             // empty: none
  int steps() const { return static_cast<int>(input.size()); }  // as many as `input` has
};

// One layer, [steps, units] each. h is narrower with a projection; with last_hidden all of the last layer is narrower.
struct LayerValues {
  std::vector<Tensor> gates;  // in the order of TextInspection::gate_names
  Tensor h, c;                // the state after each step; c is undefined if the cell has none
};
// Values of cells that read one sequence. Requires: a batch of one row.
std::vector<LayerValues> layer_values(std::span<const CellTrace> cells);

struct TextInspection {
  Tensor log_p;  // [steps, vocab]: natural logarithm of each word's probability after the step
  std::vector<std::string>
      gate_names;  // "i", "f", "g", "o" of an LSTM; "r", "z", "n" of a GRU; none of a plain cell
  std::vector<LayerValues> layers;
};
// Throws Error if input and target are empty or differ in length, and for bidirectional layers, which see the targets.
TextInspection inspect(const TokenModel& model, const TokenText& text);

// Euclidean norms of the gradients of L_t = -log p(target[t]), by t and step s: [steps, steps], 0 where s > t.
struct GradientReach {
  Tensor embedding;          // of what was read in step s
  std::vector<Tensor> h, c;  // of each layer's state after step s; c is empty if the cell has none
};
// One ordinary backward pass handles `at_once` targets: each is a row of the batch, so their gradients stay apart.
// Parameters collect no gradient. Memory grows with at_once · steps.
GradientReach gradient_reach(const TokenModel& model, const TokenText& text, int at_once = 16);

// One tape per step, from the constant state before it to L_t, with norms of values and gradients. Clears all gradients.
std::vector<TapeGraph> step_graphs(const TokenModel& model, const TokenText& text);

// --- numbers from numbers ---------------------------------------------------------------------------------------

// A SequenceModel's result for x [steps, batch, features].
struct SequenceOutput {
  Var y;                              // [batch, outputs]: rows of the batch are independent
  std::vector<CellTrace> cells = {};  // of its recurrent layers, if it has any
};
using SequenceModel = std::function<SequenceOutput(const Var& x)>;  // from x to its output

// Gradients of single outputs: at the input, and norms at h and c.
struct OutputReach {
  Tensor input;  // [outputs, steps * features]: at each number of x
  std::vector<Tensor> h,
      c;  // norms at each layer's state after each of its steps: [outputs, steps]; c may be empty
};
// Gradients of the given `outputs` (their indices) of x [steps, features], `at_once` together as above. Throws Error if
// x is not of rank 2, or no output is given.
OutputReach output_reach(const ParameterSet& params, const SequenceModel& model, const Tensor& x,
                         std::span<const int> outputs, int at_once = 16);

// --- units that tell a property, and agreement in number ----------------------------------------------------------

// A unit of a layer as a classifier. `share` is the share of cases on the right side of the threshold, with both classes weighted
// equally, so chance is 0.5. If a number is predicted instead of a class, `share` is |correlation|.
struct UnitTells {
  int layer = 0, unit = 0;
  double share = 0;
  double threshold = 0;     // classes only
  bool above_is_1 = false;  // for a number: it rises with the unit
};

// Returns the `count` units that tell the labels best, best first; ties keep their order. values: by layer [cases,
// units]. labels: 0 or 1 by case; cases with other labels are ignored. Empty if a class is missing.
std::vector<UnitTells> units_that_tell(const std::vector<Tensor>& values, std::span<const int> labels,
                                       int count);
// As above, for a number, by Pearson's correlation. Ignores cases that are not finite. Empty if the number is constant.
std::vector<UnitTells> units_that_follow(const std::vector<Tensor>& values, std::span<const double> numbers,
                                         int count);

// A verb to choose: the words before it, and its two forms, right and wrong.
struct AgreementCase {
  std::vector<int32_t> before;  // from <eos>, which begins the sentence
  int32_t right = 0, wrong = 0;
  int attractors = 0;    // nouns of the other number between subject and verb
  bool plural = false;   // the right form's number
  bool of_main = false;  // a verb of the sentence's single main clause
};
// Probabilities of the right forms, and the states before the verbs.
struct Agreement {
  std::vector<double> p_right;  // by case: p(right) / (p(right) + p(wrong))
  // By layer, the state before the verb [cases, units]: c if the cell has it, else h.
  std::vector<Tensor> states;
};
// Reads `at_once` cases side by side. Throws Error if there are none.
Agreement measure_agreement(const TokenModel& model, std::span<const AgreementCase> cases, int at_once = 64);

// interval_of_share: Wilson's 95 % interval of a share (1927), from `low` to `high`. It contains the share, in [0, 1].
struct Interval {
  double low, high;
};
Interval interval_of_share(int64_t hits, int64_t cases);

}  // namespace unroll

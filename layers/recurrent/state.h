// Around the cells of recurrent layers: states, rows of different lengths, resets, masks, lists of weights.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/ops.h"
#include "framework/parameters.h"
#include "layers/recurrent/layer_order.h"
#include "layers/recurrent/options.h"

namespace unroll {

// Whether a layer has this weight: those of options that are not taken are undefined.
inline bool has(const Var& weight) { return weight.value().defined(); }
// Undefined: none came.
inline Tensor gradient_of(const Var& y) { return y.has_grad() ? y.grad() : Tensor(); }

// Which steps of the rows of a padded batch are real.
enum class Padding : uint8_t {
  after,  // padding stands behind the real steps
  before  // … in front of them
};
// The number of real steps of each row.
struct Lengths {
  IdTensor steps = {};               // [batch], each from 0 to the steps of x; undefined: all are real
  Padding padding = Padding::after;  // where padding stands

  Lengths backwards() const {  // of x with its steps in reverse order
    return {steps, padding == Padding::after ? Padding::before : Padding::after};
  }
};

// The real steps of a row, as steps_of_row gives them. Throws Error where the lengths fit neither the steps nor the batch.
struct StepRange {
  int begin, end;                                          // the steps begin … end-1
  bool has(int t) const { return t >= begin && t < end; }  // step t is real
};
StepRange steps_of_row(const Lengths& lengths, int steps, int batch, int row);

// 1 where a row's step is real, 0 where it is padding: [steps, batch]; undefined if all are real. Throws Error where the
// lengths fit neither.
Tensor real_steps(const Lengths& lengths, int steps, int batch);

// The rows of a window that begin anew, in the order in which a layer reads its steps: before step t the state becomes zero in
// rows where kept[t] is 0.
struct Resets {
  Tensor kept = {};  // [steps, batch]; undefined: no row begins anew
  IdTensor at = {};  // [steps]: not 0 where a row does
  bool act_at(int t) const { return kept.defined() && at.data()[t] != 0; }  // a row begins before step t
};

// Reads a caller's mask [steps, batch], not 0 where a row begins anew. Padding is ignored. Undefined if no row begins anew.
// Throws Error unless the mask is defined and of that shape. Backwards the state of step t would go on to step t-1, so there it is
// zeroed before the latter, if both are real.
Resets resets_of(const IdTensor& begins, const Lengths& lengths, int steps, int batch,
                 bool backwards = false);

struct CellWeights;
struct Mogrifier;  // layers/recurrent/mogrifier.h

// The random masks of one layer in one window, its padding and its resets, drawn once for whichever engine. An undefined mask,
// or a rate of 0, does not act. A cell's engine of its own carries all of them out.
struct RecurrentMasks {
  // A rate of dropout on a weight, and its random numbers.
  struct Drop {
    float rate = 0;      // 0: none
    RandomKey key = {};  // of its mask
  };
  Tensor h = {};        // [batch, width]: factors of h_{t-1} in the recurrent product
  Drop weight_hh = {};  // of the recurrent weights
  // [steps, batch, width of the state]: it is u·(what the step computed) + (1-u)·(the state before).
  Tensor new_h = {}, new_c = {};
  Resets resets = {};
  WavePart part = {};  // of a wavefront of layers: only a cell that computes its windows by chunks gets one
  std::shared_ptr<const Mogrifier> mogrifier = {};  // of the layer
  std::shared_ptr<const CellWeights> weights =
      {};  // all of the layer, those of a cell that derives from its own too
};

// A state on the tape: h [layers, batch, width] and c [layers, batch, c_parts*hidden], with two directions twice as many
// layers, each forwards and then backwards. c is empty where the cell has none. Passing it on keeps the gradient.
struct RecurrentVars {
  Var h = {}, c = {};
};

// y [steps, batch, output] of the last layer, and the state after the last step: of a stack [layers, batch, …], also where it
// has one layer; of one cell's window [batch, …].
struct RecurrentOutput {
  Var y;
  RecurrentVars state;
};

// A state that crosses windows of time, in buffers of its own, which it keeps (checkpoints and graphs know them). A
// copy has others; assigning copies the values, and throws Error where shapes differ. Assigning RecurrentVars drops the
// gradient, so truncated backpropagation is a matter of type.
struct RecurrentState {
  RecurrentState() = default;  // of no size yet: takes that of the first state that is assigned
  RecurrentState(Tensor first_h, Tensor first_c) : h(std::move(first_h)), c(std::move(first_c)) {}
  RecurrentState(const RecurrentState& other);
  RecurrentState(RecurrentState&&) = default;
  RecurrentState& operator=(const RecurrentState& other);
  RecurrentState& operator=(const RecurrentVars& next);

  Tensor h, c;          // as in RecurrentVars; c is undefined where the cell has none
  void reset();         // to zero
  void reset(int row);  // of the batch; throws Error if there is no such row
  // Rows begin … end-1 of the batch, as constants with memory of their own; and such rows put back, from `begin` on.
  RecurrentVars rows(int begin, int end) const;
  void set_rows(int begin, const RecurrentVars& rows);  // see rows()
  // As constants with memory of their own: what a tape holds stays when the next window's state is assigned.
  // Throws Error where it has no size yet.
  operator RecurrentVars() const;
};

// The weights of one layer in one direction, in the order in which its cell added them. The tape's inputs, cuDNN's weight
// space, the state dict and the tests of frozen weights read this list; nothing else names the weights of a cell.
struct CellWeights {
  Vars all;                                      // in the order of `names`
  std::vector<std::string> names;                // "weight_ih": without suffixes
  const Var* find(std::string_view name) const;  // nullptr: the cell has none of that name
};

using ListedWeights =
    std::vector<std::shared_ptr<const CellWeights>>;  // by layer: forwards, backwards, forwards, …

// A place to register the parameters of one layer in one direction.
struct LayerScope {
  Scope scope;             // of the layer
  std::string suffix;      // of their names: "_l0", "_l0_reverse"
  int input, hidden;       // of this layer
  RecurrentConfig config;  // of all layers
  std::shared_ptr<CellWeights> weights = std::make_shared<CellWeights>();  // filled by add()

  int width() const { return config.projection ? config.projection : hidden; }  // of this layer's h
  // Registers a weight and lists it. Uniform in ±1/√hidden, as PyTorch's recurrent layers; a vector is not decayed.
  Parameter& add(const std::string& name, const Shape& shape) const;
  Parameter& add(const std::string& name, const Shape& shape, const Init& init) const;
};

}  // namespace unroll

// Around the cells of recurrent layers: states, rows of different lengths, masks, and layers on top of each other.
#pragma once

#include <functional>
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

// Which steps of the rows of a padded batch are real.
enum class Padding : uint8_t { after, before };
struct Lengths {
  IdTensor steps = {};  // [batch], each from 0 to the steps of x; undefined: all are real
  Padding padding = Padding::after;

  Lengths backwards() const {  // of x with its steps in reverse order
    return {steps, padding == Padding::after ? Padding::before : Padding::after};
  }
};

// The real steps of a row. Throws Error where the lengths fit neither the steps nor the batch.
struct StepRange {
  int begin, end;
  bool has(int t) const { return t >= begin && t < end; }
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
  bool act_at(int t) const { return kept.defined() && at.data()[t] != 0; }
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
  struct Drop {
    float rate = 0;
    RandomKey key = {};
  };
  Tensor h = {};  // [batch, width]: factors of h_{t-1} in the recurrent product
  Drop weight_hh = {};
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

// y [steps, batch, output] of the last layer, and the state after the last step. A single layer's state has no first dimension:
// [batch, …].
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

  Tensor h, c;
  void reset();         // to zero
  void reset(int row);  // of the batch; throws Error if there is no such row
  // Rows begin … end-1 of the batch, as constants with memory of their own; and such rows put back, from `begin` on.
  RecurrentVars rows(int begin, int end) const;
  void set_rows(int begin, const RecurrentVars& rows);
  // As constants with memory of their own: what a tape holds stays when the next window's state is assigned.
  // Throws Error where it has no size yet.
  operator RecurrentVars() const;
};

// The weights of one layer in one direction, in the order in which its cell added them. The tape's inputs, cuDNN's weight
// space, the state dict and the tests of frozen weights read this list; nothing else names the weights of a cell.
struct CellWeights {
  Vars all;
  std::vector<std::string> names;                // "weight_ih": without suffixes
  const Var* find(std::string_view name) const;  // nullptr: the cell has none of that name
};

// A place to register the parameters of one layer in one direction.
struct LayerScope {
  Scope scope;
  std::string suffix;      // of their names: "_l0", "_l0_reverse"
  int input, hidden;       // of this layer
  RecurrentConfig config;  // of all layers
  std::shared_ptr<CellWeights> weights = std::make_shared<CellWeights>();

  int width() const { return config.projection ? config.projection : hidden; }  // of this layer's h
  // Registers a weight and lists it. Uniform in ±1/√hidden, as PyTorch's recurrent layers; a vector is not decayed.
  Parameter& add(const std::string& name, const Shape& shape) const;
  Parameter& add(const std::string& name, const Shape& shape, const Init& init) const;
};

// u·computed + (1-u)·before in step t; `computed` where there is no u. In elementary operations.
Var carried(const Tensor& u, int t, const Var& computed, const Var& before);

struct CellTrace;  // layers/recurrent/over_steps.h
struct RecurrentTrace;
class RecurrentStack;
using ListedWeights =
    std::vector<std::shared_ptr<const CellWeights>>;  // by layer: forwards, backwards, forwards, …
// An engine that computes all layers at once; arguments as those of RecurrentStack's operator, which has checked them.
using WholeStack =
    std::function<RecurrentOutput(const RecurrentStack& stack, const Var& x, const RecurrentVars& state,
                                  const Lengths& lengths, const IdTensor& resets)>;
WholeStack over_cudnn(const RecurrentStack& stack,
                      const ListedWeights& weights);  // layers/recurrent/engines/cudnn.h

// Layers on top of each other, whatever their cell: dropout between them, directions, lengths, resets, state in and out.
// Recurrent<Cell> has the cells.
class RecurrentStack {
 public:
  virtual ~RecurrentStack() = default;

  // x [steps, batch, input] -> y [steps, batch, config().output()] of the last layer, and the state after the last step. Steps
  // that are padding may hold anything, NaN too: there y is zero, the state stays as it was, and no gradient passes. A row's
  // results depend neither on the other rows nor on its padding.
  //
  // resets [steps, batch] is not 0 where a row begins anew: a document, an episode. Before such a step all layers' states are
  // zero in that row; nothing of the steps before reaches it, and no gradient goes back to them. Layers that read backwards
  // begin anew at the same borders: the state that would go from that step to the one before it is zero. They keep the state at
  // the window's ends, so a reset of step 0 does nothing there; nor does a reset in padding. Throws Error if the shape is
  // another; InputError with the engine cudnn: with RecurrentConfig::resets `automatic` takes another.
  RecurrentOutput operator()(const Var& x, const RecurrentVars& state, const Lengths& lengths = {},
                             const IdTensor& resets = {}) const;
  // As the operator, but step by step in elementary operations, with what each cell computed. Equals the engines' values to
  // rounding.
  RecurrentTrace trace(const Var& x, const RecurrentVars& state, const Lengths& lengths = {},
                       const IdTensor& resets = {}) const;
  RecurrentState zero_state(int batch) const;
  // One inference step of layer k if only the cell's kernel must run: x [batch, input]. Updates the layer's h and c
  // [batch, hidden]. room is [batch, plain_step_room()].
  virtual int plain_step_room() const { return 0; }  // 0: there is no such step
  virtual void plain_step(int, const Tensor&, const Tensor&, const Tensor&, const Tensor&) const {}

  const CellFacts& cell() const& { return cell_; }
  CellFacts cell() const&& { return cell_; }
  const RecurrentConfig& config() const& { return config_; }
  RecurrentConfig config() const&& { return config_; }
  const EngineChoice& choice() const& { return choice_; }
  EngineChoice choice() const&& { return choice_; }
  // All weights of a cell, in the order in which it added them, and those of its mogrifier.
  const Vars& weights(int cell) const& { return weights_[static_cast<size_t>(cell)]->all; }
  Vars weights(int cell) const&& { return weights(cell); }

  const Scope& scope() const& { return scope_; }
  Scope scope() const&& { return scope_; }
  int count() const { return config_.layers * config_.directions(); }
  LayerScope scope_of(int layer) const;
  int width_of(int layer) const {
    return is_last(layer) ? config_.last_hidden : config_.width();
  }  // of its h
  int hidden_of(int layer) const { return is_last(layer) ? config_.last_hidden : config_.hidden; }
  // What a layer reads of its rows of a state, which may be narrower than those of others; and rows of the full width again.
  Var own_part(int layer, const Var& rows) const;
  Var full_rows(const Var& rows) const;

  // Returns y of all layers over x [steps, batch, input]. run(k, x, real_steps) is y of layer k, and with two directions of k+1
  // too. Steps that are real are 1 in real_steps [steps, batch], and padding is 0; undefined: all are real. If `at_once`, run is
  // called once, for all layers, as nothing acts between them.
  template <class Run>
  Var layer_by_layer(const Var& x, const Lengths& lengths, Run run, bool at_once = false,
                     const LayerOrder& order = {}) const {
    const Tensor real_steps = unroll::real_steps(lengths, x.dim(0), x.dim(1));
    Var y = real_steps.defined() ? mask_rows(x, real_steps) : x;  // from here on padding is finite
    const auto dropped = [&](const Var& in) {
      return order.dropout(in, config_.dropout, places_.dropout.next_key(), config_.locked_dropout);
    };
    for (int k = 0; k < count(); k += config_.directions()) {
      const bool first = k == 0;
      const Var in = first ? y : dropped(y);
      const Var out = run(k, in, real_steps);
      y = config_.residual && !first ? out + y : out;
      if (at_once) break;
    }
    order.end();
    return real_steps.defined() ? mask_rows(y, real_steps) : y;
  }

 protected:
  // Throws Error where the options make no sense, InputError where the engine that is asked for cannot serve.
  RecurrentStack(const Scope& scope, const CellFacts& cell, const RecurrentConfig& config);
  // The constructor's second half: add(layer) makes the layer's cell.
  void add_cells(const std::function<void(const LayerScope& layer)>& add);
  // Cell k over all steps, by the engine; with a trace in elementary operations, and fills it.
  virtual RecurrentOutput run(int k, const Var& x, const RecurrentVars& state, const RecurrentMasks& masks,
                              CellTrace* trace) const = 0;

 private:
  RecurrentOutput over_cells(const Var& x, const RecurrentVars& state, const Lengths& lengths,
                             const IdTensor& resets, std::vector<CellTrace>* traces = nullptr) const;
  RecurrentMasks masks(int layer, int steps, int batch, const Tensor& real_steps, const Resets& resets) const;
  void require_fits(const Var& x, const RecurrentVars& state) const;
  bool is_last(int layer) const { return config_.last_hidden > 0 && layer >= count() - config_.directions(); }

  CellFacts cell_;
  RecurrentConfig config_;
  EngineChoice choice_;
  Scope scope_;
  struct {
    Scope dropout, recurrent_dropout, weight_drop, zoneout_h, zoneout_c;
  } places_;  // of the random numbers
  ListedWeights weights_;
  std::vector<std::shared_ptr<const Mogrifier>> mogrifiers_;  // by cell
  WholeStack whole_;                                          // if that is the engine
};

}  // namespace unroll

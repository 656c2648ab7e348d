// What recurrent layers share beside their cells: rows of different lengths, masks, and layers on top of each
// other.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "framework/ops.h"
#include "framework/parameters.h"

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

// 1 where a row's step is real, 0 where it is padding: [steps, batch]; undefined if all are real. Throws Error where the
// lengths fit neither.
Tensor real_steps(const Lengths& lengths, int steps, int batch);

// What acts on one layer in one window beside its weights, drawn once for whichever engine. What is
// undefined, or has rate 0, does not act.
struct RecurrentMasks {
  struct Drop {
    float rate = 0;
    RandomKey key = {};
  };
  Tensor h = {};  // [batch, width]: factors of h_{t-1} in the recurrent product
  Drop weight_hh = {};
  // [steps, batch, width of the state]: it is u·(what the step computed) + (1-u)·(the state before).
  Tensor new_h = {}, new_c = {};
};

// What comes out of recurrent layers: h [layers, batch, width] and c [layers, batch, hidden], with two
// directions twice as many layers, each forwards and then backwards. c is empty where the cell has none.
// Passing it on keeps the gradient.
struct RecurrentVars {
  Var h, c;
};

// What crosses a window of time: the same in buffers of their own, which it keeps (checkpoints and graphs know them). A
// copy has others; assigning copies the values, and throws Error where shapes differ. Assigning RecurrentVars drops the
// gradient, so truncated backpropagation is a matter of type.
struct RecurrentState {
  RecurrentState() = default;  // of no size yet: takes that of the first state that is assigned
  RecurrentState(Tensor h, Tensor c) : h(std::move(h)), c(std::move(c)) {}
  RecurrentState(const RecurrentState& other);
  RecurrentState(RecurrentState&&) = default;
  RecurrentState& operator=(const RecurrentState& other);
  RecurrentState& operator=(const RecurrentVars& next);

  Tensor h, c;
  void reset();  // to zero
  // As constants with memory of their own: what a tape holds stays when the next window's state is assigned.
  // Throws Error where it has no size yet.
  operator RecurrentVars() const;
};

// Where the parameters of one layer in one direction are registered.
struct LayerScope {
  Scope scope;
  std::string suffix;  // of their names: "_l0", "_l0_reverse"
  int input, hidden;   // input: width of the layer's x
  // All that add() made, in its order: what an engine differentiates with respect to, so that it forgets none.
  std::shared_ptr<Vars> weights = std::make_shared<Vars>();

  // Uniform in ±1/√hidden, as PyTorch's recurrent layers; a vector is not decayed.
  Parameter& add(const std::string& name, const Shape& shape) const;
  Parameter& add(const std::string& name, const Shape& shape, const Init& init) const;
};

// u·computed + (1-u)·before in step t; `computed` where there is no u. In elementary operations.
Var carried(const Tensor& u, int t, const Var& computed, const Var& before);

// Layers on top of each other, whatever their cell; the options are those of LstmConfig.
struct StackConfig {
  const char* name;  // "lstm", for messages
  int input, hidden, layers, directions;
  int width, cells;  // of h and of c; 0: there is no c
  int last = 0;      // of both in the last layer; 0: as in the others
  float dropout;
  bool locked_dropout, residual;
  float recurrent_dropout, weight_drop, zoneout_h, zoneout_c;
  const char* zoneout = "zoneout_h";  // what its option is called, for messages
};

// What every layer's configuration says of its stack. Zoneout, and the widths of a state that is not `hidden`, are to be
// added.
template <class Config>
StackConfig stack_of(const char* name, const Config& c) {
  return {.name = name,
          .input = c.input,
          .hidden = c.hidden,
          .layers = c.layers,
          .directions = c.directions(),
          .width = c.hidden,
          .cells = 0,
          .dropout = c.dropout,
          .locked_dropout = c.locked_dropout,
          .residual = c.residual,
          .recurrent_dropout = c.recurrent_dropout,
          .weight_drop = c.weight_drop,
          .zoneout_h = 0,
          .zoneout_c = 0};
}

class RecurrentStack {
 public:
  // Throws Error where the options make no sense.
  RecurrentStack(const Scope& scope, const StackConfig& config);

  const StackConfig& config() const& { return config_; }
  StackConfig config() const&& { return config_; }
  void require_input(const Var& x) const;  // throws Error unless it is [steps, batch, input]
  int count() const { return config_.layers * config_.directions; }
  // Whether a layer's input is something else than the output of the one before it.
  bool acts_between_layers() const {
    return config_.layers > 1 && (config_.dropout > 0 || config_.residual || config_.last > 0);
  }
  LayerScope scope_of(int layer) const;
  const Scope& scope() const& { return scope_; }
  Scope scope() const&& { return scope_; }
  int width_of(int layer) const { return is_last(layer) ? config_.last : config_.width; }  // of its h
  int cells_of(int layer) const { return is_last(layer) ? config_.last : config_.cells; }  // of its c

  // y of all layers over x [steps, batch, input]; run(k, x, masks) is y of layer k, steps backwards if it
  // reads backwards.
  template <class Run>
  Var operator()(const Var& x, const Lengths& lengths, Run run) const {
    const bool both = config_.directions == 2;
    Tensor backwards;
    return layer_by_layer(x, lengths, [&](int k, const Var& in, const Tensor& real_steps) {
      const int steps = x.dim(0), batch = x.dim(1);
      const Var forwards = run(k, in, masks(k, steps, batch, real_steps));
      if (!both) return forwards;
      if (!backwards.defined()) backwards = unroll::real_steps(lengths.backwards(), steps, batch);
      return concat({forwards, flip(run(k + 1, flip(in), masks(k + 1, steps, batch, backwards)))}, 2);
    });
  }

  // The same with both directions in one: run(k, x, real_steps) is y of layers k and, with two directions, k+1.
  // real_steps [steps, batch] is 1 where a row's step is real and 0 where it is padding; undefined if all are real.
  // at_once: run does all layers in its only call, as nothing acts between them.
  template <class Run>
  Var layer_by_layer(const Var& x, const Lengths& lengths, Run run, bool at_once = false) const {
    require_input(x);
    const Tensor real_steps = unroll::real_steps(lengths, x.dim(0), x.dim(1));
    Var y = real_steps.defined() ? mask_rows(x, real_steps) : x;  // from here on padding is finite
    for (int k = 0; k < count(); k += config_.directions) {
      const bool first = k == 0;
      const Var in =
          first ? y : dropout(y, config_.dropout, places_.dropout.next_key(), config_.locked_dropout);
      const Var out = run(k, in, real_steps);
      y = config_.residual && !first ? out + y : out;
      if (at_once) break;
    }
    return real_steps.defined() ? mask_rows(y, real_steps) : y;
  }

 private:
  RecurrentMasks masks(int layer, int steps, int batch, const Tensor& real_steps) const;
  bool is_last(int layer) const { return config_.last > 0 && layer >= count() - config_.directions; }

  StackConfig config_;
  Scope scope_;
  struct {
    Scope dropout, recurrent_dropout, weight_drop, zoneout_h, zoneout_c;
  } places_;  // of the random numbers
};

}  // namespace unroll

// One step of time as a layer, for loops of your own that a window does not fit: a decoder that reads its own output, a
// tree, an agent in its environment.
//
//   LstmStepLayer cell(params / "cell", {.input = 20, .hidden = 50});
//   RecurrentVars state = cell.zero_state(batch);
//   for (…) {
//     state = cell(x, state);                              // x [batch, 20]; state.h and state.c [batch, 50]
//     x = embed(argmax(out(state.h)));
//   }
//
// Parameters have the names and shapes of a Recurrent<Cell> with one layer, and many steps give the same as one window
// there. Gradients go back through all steps of a tape. For inference there is Stepper.
#pragma once

#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "layers/recurrent/rnn.h"

namespace unroll {

template <RecurrentCell Cell>
class RecurrentStep {
 public:
  // Takes options that act within a step of one layer: a cell's own, zoneout, the mogrifier, the engine. Throws Error
  // for options that act between layers, between directions or on a whole window.
  RecurrentStep(const Scope& scope, const RecurrentConfig& config) : layer_(scope, checked(config)) {}

  // x [batch, input]; state h [batch, width] and c [batch, c_parts*hidden] if the cell has one -> the state after the step.
  RecurrentVars operator()(const Var& x, const RecurrentVars& state) const {
    const RecurrentConfig& c = layer_.config();
    require(x.shape().rank() == 2 && x.dim(1) == c.input, "{}: x {} of a step must be [batch, {}]",
            Cell::name, x.shape(), c.input);
    const int batch = x.dim(0);
    const auto as_layer = [&](const Var& v, const char* which, int width) {
      require(v.shape() == Shape({batch, width}), "{}: {} {} must be [{}, {}] for x {}", Cell::name, which,
              v.shape(), batch, width, x.shape());
      return reshape(v, {1, batch, width});
    };
    RecurrentVars before{.h = as_layer(state.h, "h", c.width())};
    if (Cell::has_c) before.c = as_layer(state.c, "c", Recurrent<Cell>::facts.c_parts * c.hidden);
    const RecurrentVars after = layer_(reshape(x, {1, batch, c.input}), before).state;
    return {row(after.h, 0), Cell::has_c ? row(after.c, 0) : Var()};
  }

  // Constants.
  RecurrentVars zero_state(int batch) const {
    const RecurrentState zero = layer_.zero_state(batch);
    return {zero.h[0], Cell::has_c ? Var(zero.c[0]) : Var()};
  }
  const RecurrentConfig& config() const& { return layer_.config(); }  // as it was made
  RecurrentConfig config() const&& { return layer_.config(); }
  const EngineChoice& choice() const& { return layer_.choice(); }  // the engine, and why
  EngineChoice choice() const&& { return layer_.choice(); }
  // The layer over windows with these weights: it reads a whole sequence, and steps go on from there.
  const Recurrent<Cell>& layer() const& { return layer_; }
  const Recurrent<Cell>& layer() const&& = delete;

 private:
  static const RecurrentConfig& checked(const RecurrentConfig& c) {
    require(c.layers == 1 && !c.bidirectional,
            "{}: a step is of one layer in one direction, not of {} layers{}", Cell::name, c.layers,
            c.bidirectional ? " in two directions" : "");
    for (const auto& [name, set] : {std::pair{"dropout", c.dropout != 0},
                                    {"recurrent_dropout", c.recurrent_dropout != 0},
                                    {"weight_drop", c.weight_drop != 0},
                                    {"residual", c.residual},
                                    {"last_hidden", c.last_hidden != 0},
                                    {"resets", c.resets}})
      require(!set, "{}: {} acts between layers or on the steps of a window; a step has neither", Cell::name,
              name);
    return c;
  }

  Recurrent<Cell> layer_;
};

using LstmStepLayer = RecurrentStep<LstmCell>;  // an LSTM, a step at a time
using GruStepLayer = RecurrentStep<GruCell>;    // a GRU, a step at a time
using RnnStepLayer = RecurrentStep<RnnCell>;    // a plain cell, a step at a time

}  // namespace unroll

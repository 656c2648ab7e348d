// A recurrent layer whose cell is chosen at run time: wraps any Recurrent and is called like it.
#pragma once

#include <memory>

#include "layers/recurrent/engine_trial.h"
#include "layers/recurrent/recurrent.h"

namespace unroll {

// Shares the weights with the layer it was made of. As RecurrentStack: operator(), trace, zero_state, cell, config, choice, plain_step.
class RecurrentLayer {
 public:
  template <class Cell>
  RecurrentLayer(const Recurrent<Cell>& layer) : layer_(std::make_shared<Recurrent<Cell>>(layer)) {}
  // Makes layers of one of this library's cells.
  RecurrentLayer(const Scope& scope, CellKind cell, const RecurrentConfig& config);

  RecurrentOutput operator()(const Var& x, const RecurrentVars& state, const Lengths& lengths = {},
                             const IdTensor& resets = {}) const {  // as RecurrentStack's
    return (*layer_)(x, state, lengths, resets);
  }
  RecurrentTrace trace(const Var& x, const RecurrentVars& state, const Lengths& lengths = {},
                       const IdTensor& resets = {}) const {
    return layer_->trace(x, state, lengths, resets);
  }
  RecurrentState zero_state(int batch) const { return layer_->zero_state(batch); }
  const CellFacts& cell() const& { return layer_->cell(); }
  CellFacts cell() const&& { return layer_->cell(); }
  const RecurrentConfig& config() const& { return layer_->config(); }
  RecurrentConfig config() const&& { return layer_->config(); }
  const EngineChoice& choice() const& { return layer_->choice(); }
  const EngineChoice& choice() const&& = delete;
  // choice() with a table for known windows.
  EngineChoice choice_for(const WindowFacts& window) const {
    return choose_engine(cell(), config(), with_known_trial(engine_facts(), cell(), config()), window);
  }

  // weights, plain_step, plain_step_room: as those of RecurrentStack.
  const Vars& weights(int cell) const& { return layer_->weights(cell); }
  Vars weights(int cell) const&& { return layer_->weights(cell); }
  int plain_step_room() const { return layer_->plain_step_room(); }
  void plain_step(int k, const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& room) const {
    layer_->plain_step(k, x, h, c, room);
  }

 private:
  std::shared_ptr<const RecurrentStack> layer_;
};

}  // namespace unroll

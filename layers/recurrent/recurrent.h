// Recurrent layers over a window of time: any number of layers, dropout between them, state in and out. One class for every
// cell, the library's own and those from outside. A cell says which weights it has and computes a step in operations:
//
//   struct MinimalGatedUnit {                              // Zhou et al. 2016
//     static constexpr const char* name = "mgu";           // for messages
//     static constexpr bool has_c = false;                 // the state is h alone
//     explicit MinimalGatedUnit(const LayerScope& scope);  // weight_ih(scope.add("weight_ih", {…}).var()), …
//     RecurrentVars step(const Var& x, const Var& h_in, const RecurrentVars& before) const;
//     Var weight_ih, weight_hh, bias;
//   };
//   const Recurrent<MinimalGatedUnit> mgu(params / "mgu", {.input = 20, .hidden = 50, .layers = 2});
//   RecurrentState state = mgu.zero_state(batch);
//   auto [y, next] = mgu(x, state);
//   state = next;
//
// With has_c the state has a c: one number for each unit, or several (static constexpr int c_parts = 3). The engine `composed`
// adds layers, directions, dropout, masks, residual connections, lengths and resets. A cell may bring an engine `fused`
// besides; options.h says which cells cuDNN computes.
// tests/layers/outside_test.cpp has the cell above whole, and an option for any cell. A cell that is to show its gates has a
// list gate_names, and its step puts them where a fourth argument says (NamesGates).
#pragma once

#include <concepts>
#include <memory>
#include <vector>

#include "layers/recurrent/engines/cudnn.h"
#include "layers/recurrent/over_steps.h"
#include "layers/recurrent/stack.h"
#include "layers/recurrent/trace.h"

namespace unroll {

// A cell that has an engine of its own: x [steps, batch, input] and the state before the first step to y and the state after
// the last, with what the masks say. A cell that derives from one with such an engine, and computes another
// step, does not inherit it.
template <class Cell>
concept HasFused =
    std::same_as<decltype(&Cell::fused), RecurrentOutput (Cell::*)(const Var& x, const RecurrentVars& state,
                                                                   const RecurrentMasks& masks) const>;
// One whose own engine computes windows by chunks where RecurrentMasks::part says so: using InChunks = Cell.
template <class Cell>
concept FusedInChunks = HasFused<Cell> && std::same_as<typename Cell::InChunks, Cell>;
// A cell that steps in inference without a tape: x [batch, input]; h and c [batch, hidden] become those after the step. `room` is
// [batch, step_room(hidden)]. With no option that always acts (is_plain_step).
template <class Cell>
concept HasPlainStep = std::same_as<decltype(&Cell::plain_step),
                                    void (Cell::*)(const Tensor& x, Tensor h, Tensor c, Tensor room) const>;

template <RecurrentCell Cell>
constexpr CellFacts facts_of() {
  if constexpr (requires { Cell::kind; }) {
    CellFacts facts = facts_of(Cell::kind);
    facts.fused = HasFused<Cell>, facts.in_chunks = FusedInChunks<Cell>;
    return facts;
  } else {
    CellFacts facts{.name = Cell::name,
                    .title = Cell::name,
                    .has_c = Cell::has_c,
                    .fused = HasFused<Cell>,
                    .in_chunks = FusedInChunks<Cell>};
    if constexpr (requires { Cell::c_parts; }) facts.c_parts = Cell::c_parts;
    return facts;
  }
}

template <RecurrentCell Cell>
requires std::constructible_from<Cell, const LayerScope&>
class Recurrent {
 public:
  using Output = RecurrentOutput;
  static constexpr CellFacts facts = facts_of<Cell>();

  // Throws Error where the options make no sense, InputError where the engine that is asked for cannot serve.
  Recurrent(const Scope& scope, const RecurrentConfig& config)
      : choice_(choose(config)), stack_(scope, facts, config) {
    if constexpr (!HasRecurrentMatrix<Cell>)
      require(
          config.weight_drop == 0 && config.recurrent_dropout == 0,
          "{}: weight_drop {} and recurrent_dropout {} act in a product of h, which this cell has none of",
          Cell::name, config.weight_drop, config.recurrent_dropout);
    for (int k = 0; k < stack_.count(); ++k) {
      const LayerScope layer = stack_.scope_of(k);
      cells_.emplace_back(layer);
      mogrifiers_.emplace_back(layer);
      weights_.push_back(layer.weights);
    }
    if (choice_.engine == Engine::cudnn) cudnn_ = CudnnStack(stack_, weights_);
  }

  // The engine for a configuration, on this machine if no other is given.
  static EngineChoice choose(const RecurrentConfig& config, const EngineFacts& machine = engine_facts(),
                             const WindowFacts& window = {}) {
    return choose_engine(facts, config, machine, window);
  }

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
                             const IdTensor& resets = {}) const {
    stack_.require_state(x, state);
    if (cudnn_) return cudnn_(stack_, x, state, lengths, resets);
    return over_cells(
        x, state, lengths, resets,
        [&](size_t k, const Var& in, const RecurrentVars& before, const RecurrentMasks& masks) {
          return run(k, in, before, masks);
        },
        choice_.engine == Engine::fused);
  }

  // As the operator, but step by step in elementary operations, with what each cell computed. Equals the engines' values to
  // rounding.
  RecurrentTrace trace(const Var& x, const RecurrentVars& state, const Lengths& lengths = {},
                       const IdTensor& resets = {}) const {
    stack_.require_state(x, state);
    RecurrentTrace result;
    if constexpr (NamesGates<Cell>) result.gate_names = Cell::gate_names;
    result.cells.resize(cells_.size());
    const RecurrentOutput out = over_cells(
        x, state, lengths, resets,
        [&](size_t k, const Var& in, const RecurrentVars& before, const RecurrentMasks& masks) {
          return over_steps(cells_[k], in, before, masks, TraceSteps{result.cells[k], Cell::has_c});
        });
    result.y = out.y, result.state = out.state;
    return result;
  }

  RecurrentState zero_state(int batch) const { return stack_.zero_state(batch); }
  const RecurrentConfig& config() const& { return stack_.config(); }
  RecurrentConfig config() const&& { return stack_.config(); }
  const EngineChoice& choice() const& { return choice_; }
  EngineChoice choice() const&& { return choice_; }
  const std::vector<Cell>& cells() const& { return cells_; }  // forwards, backwards, forwards, …
  std::vector<Cell> cells() const&& { return cells_; }
  // All weights of a cell, in the order in which it added them, and those of its mogrifier.
  const Vars& weights(int cell) const& { return weights_[static_cast<size_t>(cell)]->all; }
  Vars weights(int cell) const&& { return weights(cell); }

 private:
  // run(k, x, state, masks) is cell k over all steps. by_cells: with the cells' own engine.
  template <class Run>
  RecurrentOutput over_cells(const Var& x, const RecurrentVars& state, const Lengths& lengths,
                             const IdTensor& resets, Run run, bool by_cells = false) const {
    const LayerOrder order = by_cells ? LayerOrder(facts, config(), x.dim(0), x.dim(1)) : LayerOrder();
    // Layers may be side by side: between the first and the last of them there is no other operation.
    std::vector<RecurrentVars, PoolAllocator<RecurrentVars>> states;
    for (int k = 0; k < stack_.count(); ++k) states.push_back(stack_.state_of(k, state));
    for (const auto& of_cell : weights_)
      for (const Var& weight : of_cell->all) weight.value();  // which is made at first use
    Vars h, c;
    const Var y = stack_(
        x, lengths, resets,
        [&](int k, const Var& in, RecurrentMasks masks) {
          const auto layer = static_cast<size_t>(k);
          masks.mogrifier = &mogrifiers_[layer];
          const RecurrentOutput out = run(layer, in, states[layer], masks);
          h.push_back(out.state.h);
          if (Cell::has_c) c.push_back(out.state.c);
          return out.y;
        },
        order);
    for (Vars* rows : {&h, &c})
      for (Var& row : *rows) row = stack_.full_row(row);
    return {y, {unroll::stack(h), Cell::has_c ? unroll::stack(c) : Var()}};
  }
  RecurrentOutput run(size_t k, const Var& x, const RecurrentVars& state, const RecurrentMasks& masks) const {
    if constexpr (HasFused<Cell>)
      if (choice_.engine == Engine::fused) return cells_[k].fused(x, state, masks);
    return over_steps(cells_[k], x, state, masks);
  }

  EngineChoice choice_;
  RecurrentStack stack_;
  std::vector<Cell> cells_;
  std::vector<Mogrifier> mogrifiers_;                        // by cell
  std::vector<std::shared_ptr<const CellWeights>> weights_;  // by cell
  CudnnStack cudnn_;                                         // if that is the engine
};

}  // namespace unroll

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
#include <vector>

#include "layers/recurrent/over_steps.h"

namespace unroll {

// A cell that has an engine of its own: x [steps, batch, input] and the state before the first step to y and the state after
// the last, with what the masks say. A cell that derives from one with such an engine, and computes another
// step, does not inherit it.
template <class Cell>
concept HasFused =
    std::same_as<decltype(&Cell::fused), RecurrentOutput (Cell::*)(const Var& x, const RecurrentVars& state,
                                                                   const RecurrentMasks& masks) const>;
// A cell that steps in inference without a tape: x [batch, input]; h and c [batch, hidden] become those after the step. `room` is
// [batch, step_room(hidden)]. With no option that always acts (is_plain_step).
template <class Cell>
concept HasPlainStep = std::same_as<decltype(&Cell::plain_step),
                                    void (Cell::*)(const Tensor& x, Tensor h, Tensor c, Tensor room) const>;

template <RecurrentCell Cell>
constexpr CellFacts facts_of() {
  CellFacts facts{.name = Cell::name, .title = Cell::name, .has_c = Cell::has_c};
  if constexpr (requires { Cell::kind; }) facts = facts_of(Cell::kind);
  if constexpr (requires { Cell::c_parts; }) facts.c_parts = Cell::c_parts;
  if constexpr (NamesGates<Cell>) facts.gate_names = Cell::gate_names;
  facts.fused = HasFused<Cell>;
  return facts;
}

template <RecurrentCell Cell>
requires std::constructible_from<Cell, const LayerScope&>
class Recurrent : public RecurrentStack {
 public:
  using Output = RecurrentOutput;
  static constexpr CellFacts facts = facts_of<Cell>();

  Recurrent(const Scope& scope, const RecurrentConfig& config) : RecurrentStack(scope, facts, config) {
    if constexpr (!HasRecurrentMatrix<Cell>)
      require(
          config.weight_drop == 0 && config.recurrent_dropout == 0,
          "{}: weight_drop {} and recurrent_dropout {} act in a product of h, which this cell has none of",
          Cell::name, config.weight_drop, config.recurrent_dropout);
    add_cells([&](const LayerScope& layer) { cells_.emplace_back(layer); });
  }

  // The engine for a configuration, on this machine if no other is given.
  static EngineChoice choose(const RecurrentConfig& config, const EngineFacts& machine = engine_facts(),
                             const WindowFacts& window = {}) {
    return choose_engine(facts, config, machine, window);
  }
  const std::vector<Cell>& cells() const& { return cells_; }  // forwards, backwards, forwards, …
  std::vector<Cell> cells() const&& { return cells_; }

  int plain_step_room() const override {
    if constexpr (HasPlainStep<Cell>)
      if (is_plain_step(config())) return Cell::step_room(config().hidden);
    return 0;
  }
  void plain_step(int k, const Tensor& x, const Tensor& h, const Tensor& c,
                  const Tensor& room) const override {
    if constexpr (HasPlainStep<Cell>) cells_[static_cast<size_t>(k)].plain_step(x, h, c, room);
  }

 private:
  RecurrentOutput run(int k, const Var& x, const RecurrentVars& state, const RecurrentMasks& masks,
                      CellTrace* trace) const override {
    const Cell& cell = cells_[static_cast<size_t>(k)];
    if constexpr (HasFused<Cell>)
      if (!trace && choice().engine == Engine::fused) return cell.fused(x, state, masks);
    return over_steps(cell, x, state, masks, trace);
  }

  std::vector<Cell> cells_;
};

}  // namespace unroll

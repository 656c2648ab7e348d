// A cell in operations, and the engine `composed`: its step, once for each step of time. Read lstm_composed.cpp first.
#pragma once

#include <concepts>
#include <span>
#include <vector>

#include "layers/recurrent/mogrifier.h"

namespace unroll {

// One layer's parameters and a step of time: its step takes x [batch, input] and the state before, and returns the
// state after. States are h [batch, width] and c [batch, c_parts*hidden]. h_in is h as it enters the recurrent product:
// after recurrent dropout and, like x, after the rounds of a mogrifier. Weight drop acts on weight_hh. A cell without a
// product of h (an SRU) has no weight_hh and ignores h_in.
template <class C>
concept RecurrentCell = requires(const C& cell, const Var& v, const RecurrentVars& state) {
  { C::name } -> std::convertible_to<const char*>;
  { C::has_c } -> std::convertible_to<bool>;
  { cell.step(v, v, state) } -> std::same_as<RecurrentVars>;
};

template <class C>
concept HasRecurrentMatrix = requires(C& cell) {
  { cell.weight_hh } -> std::same_as<Var&>;
};

// A cell whose gates can be inspected: its step stores them where it is told, in the order of gate_names.
template <class Cell>
concept NamesGates = requires(const Cell& cell, const Var& v, const RecurrentVars& state, Vars* gates) {
  { cell.step(v, v, state, gates) } -> std::same_as<RecurrentVars>;
  std::span<const char* const>(Cell::gate_names);
};

// One cell's values in each step, in the order in which it read the steps. One per layer and direction. After the
// backward of a tape that keeps gradients, each Var has its gradient.
struct CellTrace {
  std::vector<Vars> gates;  // by step, in the order of gate_names: [batch, hidden] each. Empty: it names none
  Vars h, c;  // the state after each step [batch, width], [batch, hidden]. c is empty where the cell has none
};
struct RecurrentTrace {
  Var y = {};                               // as RecurrentOutput
  RecurrentVars state = {};                 // after the last step
  std::span<const char* const> gate_names;  // "i", "f", "g", "o"
  std::vector<CellTrace> cells;             // by layer: forwards, backwards, forwards, …
};

// u·computed + (1-u)·before in step t; `computed` where there is no u.
inline Var carried(const Tensor& u, int t, const Var& computed, const Var& before) {
  if (!u.defined()) return computed;
  const Var share = u[t];
  return share * computed + (-share + 1) * before;
}

// The engine `composed`: one layer over all steps in elementary operations, which the tape differentiates. Fills a trace.
template <RecurrentCell Cell>
RecurrentOutput over_steps(Cell cell, const Var& x, RecurrentVars state, const RecurrentMasks& masks = {},
                           CellTrace* trace = nullptr) {
  if constexpr (HasRecurrentMatrix<Cell>)
    cell.weight_hh = dropout(cell.weight_hh, masks.weight_hh.rate, masks.weight_hh.key);
  Vars ys;
  for (int t = 0; t < x.dim(0); ++t) {
    if (masks.resets.act_at(t)) {
      const Tensor kept = masks.resets.kept[t];
      state = {mask_rows(state.h, kept), Cell::has_c ? mask_rows(state.c, kept) : Var()};
    }
    const Var h_in = masks.h.defined() ? state.h * Var(masks.h) : state.h;
    const auto [x_seen, h_seen] = mogrified(masks, row(x, t), h_in);
    RecurrentVars next;
    if constexpr (NamesGates<Cell>)
      next = cell.step(x_seen, h_seen, state, trace ? &trace->gates.emplace_back() : nullptr);
    else
      next = cell.step(x_seen, h_seen, state);
    state = {carried(masks.new_h, t, next.h, state.h), carried(masks.new_c, t, next.c, state.c)};
    ys.push_back(state.h);
    if (!trace) continue;
    trace->h.push_back(state.h);
    if (Cell::has_c) trace->c.push_back(state.c);
  }
  return {unroll::stack(ys), state};
}

}  // namespace unroll

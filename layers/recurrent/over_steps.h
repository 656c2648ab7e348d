// A cell in operations, and the engine `composed`: its step, once for each step of time. Read lstm_composed.cpp first.
#pragma once

#include <concepts>
#include <span>

#include "layers/recurrent/mogrifier.h"
#include "layers/recurrent/stack.h"

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

// Observes each step: says where its gates go (nullptr: nowhere), and receives the state after it.
struct NoObserver {
  Vars* gates() { return nullptr; }
  void after(const RecurrentVars&) {}
};

template <RecurrentCell Cell, class Observer>
RecurrentVars step_of(const Cell& cell, const Var& x, const Var& h_in, const RecurrentVars& before,
                      Observer& observer) {
  if constexpr (NamesGates<Cell>)
    if (Vars* gates = observer.gates()) return cell.step(x, h_in, before, gates);
  return cell.step(x, h_in, before);
}

// The engine `composed`: one layer over all steps in elementary operations, which the tape differentiates.
template <RecurrentCell Cell, class Observer = NoObserver>
RecurrentOutput over_steps(Cell cell, const Var& x, RecurrentVars state, const RecurrentMasks& masks = {},
                           Observer observer = {}) {
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
    const RecurrentVars next = step_of(cell, x_seen, h_seen, state, observer);
    state = {carried(masks.new_h, t, next.h, state.h), carried(masks.new_c, t, next.c, state.c)};
    ys.push_back(state.h);
    observer.after(state);
  }
  return {unroll::stack(ys), state};
}

}  // namespace unroll

// The values that recurrent layers computed, for inspection.
#pragma once

#include <span>
#include <vector>

#include "layers/recurrent/stack.h"

namespace unroll {

// One cell's values in each step, in the order in which it read the steps. One per layer and direction. After the
// backward of a tape that keeps gradients, each Var has its gradient.
struct CellTrace {
  std::vector<Vars> gates;  // by step, in the order of gate_names: [batch, hidden] each. Empty: it names none
  Vars h, c;  // the state after each step [batch, width], [batch, hidden]. c is empty where the cell has none
};
// Fills a trace while a cell goes over its steps (over_steps.h).
struct TraceSteps {
  CellTrace& trace;
  bool has_c;
  Vars* gates() { return &trace.gates.emplace_back(); }
  void after(const RecurrentVars& state) {
    trace.h.push_back(state.h);
    if (has_c) trace.c.push_back(state.c);
  }
};
struct RecurrentTrace {
  Var y;  // as RecurrentOutput
  RecurrentVars state;
  std::span<const char* const> gate_names;  // "i", "f", "g", "o"
  std::vector<CellTrace> cells;             // by layer: forwards, backwards, forwards, …
};

}  // namespace unroll

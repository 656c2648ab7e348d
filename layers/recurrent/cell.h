// Recurrent layers of a cell of one's own. The cell says what it has and what a step computes, in operations;
// what stands around it is that of Lstm and Gru: layers, directions, dropout and masks, residual connections,
// rows of different lengths. The engine `composed` runs the library's own cells in the same way.
//
//   struct MinimalGatedUnit {                              // Zhou et al. 2016
//     static constexpr const char* name = "mgu";           // for messages
//     static constexpr bool has_c = false;                 // the state is h alone
//     explicit MinimalGatedUnit(const LayerScope& scope);  // weight_ih(scope.add("weight_ih", {…}).var()), …
//     RecurrentVars step(const Var& x, const Var& h_in, const RecurrentVars& before) const;
//     Var weight_ih, weight_hh, bias;
//   };
//   Recurrent<MinimalGatedUnit> mgu(params / "mgu", {.input = 20, .hidden = 50, .layers = 2});
//   RecurrentState state = mgu.zero_state(batch);
//   auto [y, next] = mgu(x, state);
//
// tests/layers/outside_test.cpp has this one whole, and an option for any cell.
#pragma once

#include <concepts>
#include <vector>

#include "layers/recurrent/recurrent.h"

namespace unroll {

// One layer's parameters and a step of time: x [batch, input], the state before it and the one it gives h and
// c [batch, hidden]. h_in is h as it enters the recurrent product, with recurrent dropout; weight drop acts
// on weight_hh.
template <class C>
concept RecurrentCell = requires(const C& cell, C& changed, const Var& v, const RecurrentVars& state) {
  { C::name } -> std::convertible_to<const char*>;
  { C::has_c } -> std::convertible_to<bool>;
  { changed.weight_hh } -> std::same_as<Var&>;
  { cell.step(v, v, state) } -> std::same_as<RecurrentVars>;
};

// One layer over all steps: y [steps, batch, hidden] and the state after the last step, from the state before
// the first.
struct CellOutput {
  Var y;
  RecurrentVars state;
};
template <RecurrentCell Cell>
CellOutput over_steps(Cell cell, const Var& x, RecurrentVars state, const RecurrentMasks& masks = {}) {
  cell.weight_hh = dropout(cell.weight_hh, masks.weight_hh.rate, masks.weight_hh.key);
  Vars ys;
  for (int t = 0; t < x.dim(0); ++t) {
    const Var h_in = masks.h.defined() ? state.h * Var(masks.h) : state.h;
    const RecurrentVars next = cell.step(row(x, t), h_in, state);
    state = {carried(masks.new_h, t, next.h, state.h), carried(masks.new_c, t, next.c, state.c)};
    ys.push_back(state.h);
  }
  return {unroll::stack(ys), state};
}

// What stands here means what it means in LstmConfig.
struct RecurrentConfig {
  int input = 0;
  int hidden = 0;
  int layers = 1;
  float dropout = 0;
  bool locked_dropout = false;
  float recurrent_dropout = 0;
  float weight_drop = 0;
  float zoneout_h = 0, zoneout_c = 0;
  bool residual = false;
  bool bidirectional = false;

  int directions() const { return bidirectional ? 2 : 1; }
  int output() const { return directions() * hidden; }  // of y
};

template <RecurrentCell Cell>
requires std::constructible_from<Cell, const LayerScope&>
class Recurrent {
 public:
  Recurrent(const Scope& scope, const RecurrentConfig& c) : config_(c), stack_(scope, stack_config(c)) {
    for (int k = 0; k < stack_.count(); ++k) {
      const LayerScope layer = stack_.scope_of(k);
      cells_.emplace_back(layer);
      weights_.push_back(layer.weights);
    }
  }

  struct Output {
    Var y;                // [steps, batch, config.output()], of the last layer
    RecurrentVars state;  // after the last step
  };
  // x [steps, batch, input]. Padding as for an Lstm.
  Output operator()(const Var& x, const RecurrentVars& state, const Lengths& lengths = {}) const {
    Vars h, c;
    const Var y = stack_(x, lengths, [&](int k, const Var& in, const RecurrentMasks& masks) {
      const Shape expected{stack_.count(), x.dim(1), config_.hidden};
      require(state.h.shape() == expected && (!Cell::has_c || state.c.shape() == expected),
              "{}: state {} must be {} for x {}", Cell::name, state.h.shape(), expected, x.shape());
      const auto out = over_steps(cells_[static_cast<size_t>(k)], in,
                                  {row(state.h, k), Cell::has_c ? row(state.c, k) : Var()}, masks);
      h.push_back(out.state.h);
      if (Cell::has_c) c.push_back(out.state.c);
      return out.y;
    });
    return {y, {stack(h), Cell::has_c ? stack(c) : Var()}};
  }

  RecurrentState zero_state(int batch) const {
    const Tensor h = Tensor::zeros({stack_.count(), batch, config_.hidden});
    return {h, Cell::has_c ? Tensor::zeros(h.shape()) : Tensor()};
  }
  const RecurrentConfig& config() const& { return config_; }
  RecurrentConfig config() const&& { return config_; }
  const std::vector<Cell>& cells() const& { return cells_; }  // forwards, backwards, forwards, …
  std::vector<Cell> cells() const&& { return cells_; }
  // All that a cell added.
  const Vars& weights(int cell) const& { return *weights_[static_cast<size_t>(cell)]; }
  Vars weights(int cell) const&& { return weights(cell); }

 private:
  static StackConfig stack_config(const RecurrentConfig& config) {
    StackConfig stack = stack_of(Cell::name, config);
    stack.cells = Cell::has_c ? config.hidden : 0;
    stack.zoneout_h = config.zoneout_h, stack.zoneout_c = config.zoneout_c;
    return stack;
  }

  RecurrentConfig config_;
  RecurrentStack stack_;
  std::vector<Cell> cells_;
  std::vector<std::shared_ptr<const Vars>> weights_;  // by cell
};

}  // namespace unroll

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
#include <functional>
#include <memory>
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
constexpr CellFacts facts_of() {  // of a cell, from outside too
  CellFacts facts{.name = Cell::name, .title = Cell::name, .has_c = Cell::has_c};
  if constexpr (requires { Cell::kind; }) facts = facts_of(Cell::kind);
  if constexpr (requires { Cell::c_parts; }) facts.c_parts = Cell::c_parts;
  if constexpr (NamesGates<Cell>) facts.gate_names = Cell::gate_names;
  facts.fused = HasFused<Cell>;
  return facts;
}

class RecurrentStack;
// An engine that computes all layers at once; arguments as those of RecurrentStack's operator, which has checked them.
using WholeStack =
    std::function<RecurrentOutput(const RecurrentStack& stack, const Var& x, const RecurrentVars& state,
                                  const Lengths& lengths, const IdTensor& resets)>;
WholeStack over_cudnn(const RecurrentStack& stack, const ListedWeights& weights);  // engines/cudnn_stack.cpp

// Layers on top of each other, whatever their cell: dropout between them, directions, lengths, resets, state in and out.
// Recurrent<Cell> has the cells.
class RecurrentStack {
 public:
  using Make = std::unique_ptr<RecurrentStack> (*)(const Scope& scope, const RecurrentConfig& config);
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
  RecurrentState zero_state(int batch) const;  // of rows that have read nothing
  // plain_step: an inference step of layer k if only the cell's kernel must run: x [batch, input]. Updates the layer's h and c
  // [batch, hidden]. room is [batch, plain_step_room()].
  virtual int plain_step_room() const { return 0; }  // 0: there is no such step
  virtual void plain_step(int, const Tensor&, const Tensor&, const Tensor&, const Tensor&) const {}

  const CellFacts& cell() const& { return cell_; }  // the cell, as options see it
  CellFacts cell() const&& { return cell_; }
  const RecurrentConfig& config() const& { return config_; }  // as it was made
  RecurrentConfig config() const&& { return config_; }
  const EngineChoice& choice() const& { return choice_; }  // the engine, and why
  EngineChoice choice() const&& { return choice_; }
  // All weights of a cell, in the order in which it added them, and those of its mogrifier.
  const Vars& weights(int cell) const& { return weights_[static_cast<size_t>(cell)]->all; }
  Vars weights(int cell) const&& { return weights(cell); }

  const Scope& scope() const { return scope_; }                        // where its parameters are
  int count() const { return config_.layers * config_.directions(); }  // of cells
  LayerScope scope_of(int layer) const;                                // a layer's place for weights
  // width_of, hidden_of: units of a layer's h, and of its cell.
  int width_of(int layer) const { return is_last(layer) ? config_.last_hidden : config_.width(); }
  int hidden_of(int layer) const { return is_last(layer) ? config_.last_hidden : config_.hidden; }
  // own_part: what a layer reads of its rows of a state, where it is narrower than others. full_rows: of the full width again.
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
      y = config_.residual && !first ? order.residual(out, y) : out;
      if (at_once) break;
    }
    order.end();
    return real_steps.defined() ? mask_rows(y, real_steps) : y;
  }

 protected:
  // Throws Error where the options make no sense, InputError where the engine that is asked for cannot serve. make: such a layer
  // with other options, which `auto` times where it must (engine_trial.h).
  RecurrentStack(const Scope& scope, const CellFacts& cell, const RecurrentConfig& config, Make make);
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

// Layers of this cell over windows of time.
template <RecurrentCell Cell>
requires std::constructible_from<Cell, const LayerScope&>
class Recurrent : public RecurrentStack {
 public:
  using Output = RecurrentOutput;                       // y and the state
  static constexpr CellFacts facts = facts_of<Cell>();  // the cell, as options see it

  Recurrent(const Scope& scope, const RecurrentConfig& config) : RecurrentStack(scope, facts, config, make) {
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
  static std::unique_ptr<RecurrentStack> make(const Scope& scope, const RecurrentConfig& config) {
    return std::make_unique<Recurrent>(scope, config);
  }
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

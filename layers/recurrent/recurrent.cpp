#include "layers/recurrent/recurrent.h"

#include <climits>

#include "framework/kernels/kernels.h"
#include "framework/ops.h"
#include "framework/profile.h"
#include "layers/recurrent/engine_trial.h"

namespace unroll {

// Windows of 35 steps and 20 rows, as the figures on other GPUs are of, with weights and random numbers of their own.
static MakeEngineWindow window_of_trial(const RecurrentConfig& config, RecurrentStack::Make make) {
  return [=](Engine engine) -> EngineWindow {
    const auto params = std::make_shared<ParameterSet>();
    RecurrentConfig asked = config;
    asked.engine = engine;
    const std::shared_ptr<RecurrentStack> layer = make(*params / "trial", asked);
    const Tensor x = Tensor::full({35, 20, config.input}, real(0.1));
    const RecurrentState state = layer->zero_state(x.dim(1));
    return [=] {
      Tape tape;
      const RecurrentOutput out = (*layer)(tape.watch(x), state);
      tape.backward(sum(out.y));
      params->spend_gradients();
    };
  };
}

RecurrentStack::RecurrentStack(const Scope& scope, const CellFacts& cell, const RecurrentConfig& c, Make make)
    : cell_(cell),
      config_(c),
      choice_(choose_engine(cell, c, with_trial(engine_facts(), cell, c, window_of_trial(c, make)))),
      scope_(scope),
      places_{scope / "dropout", scope / "recurrent_dropout", scope / "weight_drop", scope / "zoneout_h",
              scope / "zoneout_c"} {
  require(c.input > 0 && c.hidden > 0 && c.layers > 0,
          "{}: input {}, hidden {} and layers {} must be positive", cell.name, c.input, c.hidden, c.layers);
  require(c.hidden <= INT_MAX / 4, "{}: hidden {} is too large for the rows of four gates", cell.name,
          c.hidden);
  if (const auto fault = fault_in(cell, c))
    throw Error(fmt::format("{}: {} {}", cell.name, fault->option, fault->text));
}

void RecurrentStack::add_cells(const std::function<void(const LayerScope& layer)>& add) {
  for (int k = 0; k < count(); ++k) {
    const LayerScope layer = scope_of(k);
    add(layer);
    mogrifiers_.push_back(std::make_shared<const Mogrifier>(layer));
    weights_.push_back(layer.weights);
  }
  if (choice_.engine == Engine::cudnn) whole_ = over_cudnn(*this, weights_);
}

LayerScope RecurrentStack::scope_of(int layer) const {
  const int directions = config_.directions();
  return {.scope = scope_,
          .suffix = fmt::format("_l{}{}", layer / directions, layer % directions ? "_reverse" : ""),
          .input = layer < directions ? config_.input : directions * config_.width(),
          .hidden = hidden_of(layer),
          .config = config_};
}

void RecurrentStack::require_fits(const Var& x, const RecurrentVars& state) const {
  require(x.shape().rank() == 3 && x.dim(2) == config_.input, "{}: x {} must be [steps, batch, {}]",
          cell_.name, x.shape(), config_.input);
  require(x.dim(0) > 0, "{}: x {} has no steps", cell_.name, x.shape());
  const Shape of_h{count(), x.dim(1), config_.width()}, of_c = of_h.with(2, cell_.c_parts * config_.hidden);
  require(has(state.h) && (!cell_.has_c || has(state.c)),
          "{}: the state has no {}; zero_state(batch) is the first one", cell_.name,
          has(state.h) ? "c" : "h");
  if (state.h.shape() == of_h && (!cell_.has_c || state.c.shape() == of_c)) return;  // and no text is made
  throw Error(cell_.has_c ? fmt::format("{}: state {} and {} must be {} and {} for x {}", cell_.name,
                                        state.h.shape(), state.c.shape(), of_h, of_c, x.shape())
                          : fmt::format("{}: state {} must be {} for x {}", cell_.name, state.h.shape(), of_h,
                                        x.shape()));
}

RecurrentState RecurrentStack::zero_state(int batch) const {
  return {Tensor::zeros({count(), batch, config_.width()}),
          cell_.has_c ? Tensor::zeros({count(), batch, cell_.c_parts * config_.hidden}) : Tensor()};
}

Var RecurrentStack::own_part(int layer, const Var& rows) const {
  return is_last(layer) ? slice(rows, rows.shape().rank() - 1, 0, config_.last_hidden) : rows;
}

Var RecurrentStack::full_rows(const Var& rows) const {
  const Shape& shape = rows.shape();
  if (!config_.last_hidden || shape[-1] == config_.hidden) return rows;
  return concat({rows, Var(Tensor::zeros(shape.with(-1, config_.hidden - shape[-1])))}, shape.rank() - 1);
}

RecurrentOutput RecurrentStack::operator()(const Var& x, const RecurrentVars& state, const Lengths& lengths,
                                           const IdTensor& resets) const {
  require_fits(x, state);
  return whole_ ? whole_(*this, x, state, lengths, resets) : over_cells(x, state, lengths, resets);
}

RecurrentTrace RecurrentStack::trace(const Var& x, const RecurrentVars& state, const Lengths& lengths,
                                     const IdTensor& resets) const {
  require_fits(x, state);
  RecurrentTrace result{.gate_names = cell_.gate_names, .cells = std::vector<CellTrace>(weights_.size())};
  const RecurrentOutput out = over_cells(x, state, lengths, resets, &result.cells);
  result.y = out.y, result.state = out.state;
  return result;
}

RecurrentOutput RecurrentStack::over_cells(const Var& x, const RecurrentVars& state, const Lengths& lengths,
                                           const IdTensor& resets, std::vector<CellTrace>* traces) const {
  const int steps = x.dim(0), batch = x.dim(1);
  const bool both = config_.bidirectional, own_engine = !traces && choice_.engine == Engine::fused;
  const LayerOrder order =
      own_engine ? LayerOrder(Engine::fused, cell_, config_, {.steps = steps, .batch = batch}) : LayerOrder();
  // Layers may be side by side: between the first and the last of them there is no other operation.
  std::vector<RecurrentVars, PoolAllocator<RecurrentVars>> states;
  for (int k = 0; k < count(); ++k)
    states.push_back({own_part(k, row(state.h, k)), cell_.has_c ? own_part(k, row(state.c, k)) : Var()});
  for (const auto& of_cell : weights_)
    for (const Var& weight : of_cell->all) weight.value();  // which is made at first use
  const auto begins = [&](bool backwards) {
    return resets.defined() ? resets_of(resets, lengths, steps, batch, backwards) : Resets();
  };
  const Resets forwards_resets = begins(false), backwards_resets = both ? begins(true) : Resets();
  const Tensor backwards_steps = both ? real_steps(lengths.backwards(), steps, batch) : Tensor();
  Vars h, c;
  const auto over = [&](int k, const Var& in, const Tensor& real_steps, const Resets& begin_anew) {
    const auto at = static_cast<size_t>(k);
    RecurrentMasks drawn = masks(k, steps, batch, real_steps, begin_anew);
    drawn.part = order.part(k), drawn.mogrifier = mogrifiers_[at], drawn.weights = weights_[at];
    const RecurrentOutput out = run(k, in, states[at], drawn, traces ? &(*traces)[at] : nullptr);
    h.push_back(out.state.h);
    if (cell_.has_c) c.push_back(out.state.c);
    return out.y;
  };
  const auto layer = [&](int k, const Var& in, const Tensor& real_steps) {
    const Var forwards = over(k, in, real_steps, forwards_resets);
    if (!both) return forwards;
    return concat({forwards, flip(over(k + 1, flip(in), backwards_steps, backwards_resets))}, 2);
  };
  const Var y = layer_by_layer(x, lengths, layer, false, order);
  for (Vars* rows : {&h, &c})
    for (Var& row : *rows) row = full_rows(row);
  return {y, {stack(h), cell_.has_c ? stack(c) : Var()}};
}

// The share of a step in the state: 0 where a unit keeps its value; undefined if all is new.
static Tensor new_share(const Shape& shape, float zoneout, const Scope& place, const Tensor& real_steps) {
  if (zoneout == 0 && !real_steps.defined()) return {};
  const Profile::Within measured("recurrent: zoneout and lengths");
  Tensor share;
  if (zoneout > 0 && dropout_is_on()) {
    share = dropout_mask(shape, zoneout, place.next_key());
    kernels().unary(Unary::hard_tanh, share.data(), share.data(),
                    share.size());  // 0, or 1 of a factor above it
  } else {
    share = Tensor::full(shape, 1 - real{zoneout});
  }
  if (real_steps.defined())
    kernels().keep_rows(share.data(), real_steps.data(), share.rows(), share.cols(), share.data(), false);
  return share;
}

RecurrentMasks RecurrentStack::masks(int layer, int steps, int batch, const Tensor& real_steps,
                                     const Resets& resets) const {
  RecurrentMasks result;
  result.resets = resets;
  const int width = width_of(layer);
  if (dropout_is_on() && config_.recurrent_dropout > 0) {
    const Profile::Within measured("recurrent: recurrent_dropout");
    result.h = dropout_mask({batch, width}, config_.recurrent_dropout, places_.recurrent_dropout.next_key());
  }
  if (dropout_is_on() && config_.weight_drop > 0)
    result.weight_hh = {config_.weight_drop, places_.weight_drop.next_key()};
  result.new_h = new_share({steps, batch, width}, config_.zoneout_h, places_.zoneout_h, real_steps);
  const int of_c = cell_.c_parts * hidden_of(layer);
  if (cell_.has_c)
    result.new_c = new_share({steps, batch, of_c}, config_.zoneout_c, places_.zoneout_c, real_steps);
  return result;
}

}  // namespace unroll

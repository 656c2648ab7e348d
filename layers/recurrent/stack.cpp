#include "layers/recurrent/stack.h"

#include <algorithm>
#include <climits>
#include <cmath>

#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "layers/recurrent/over_steps.h"

namespace unroll {

static Tensor copy_of(const Tensor& x) { return x.defined() ? x.clone() : Tensor(); }
static std::string shape_of_c(const Tensor& c) {
  return c.defined() ? fmt::format(" and c {}", c.shape()) : "";
}
static void assign(RecurrentState& state, const Tensor& h, const Tensor& c) {
  if (!state.h.defined()) {
    state.h = copy_of(h), state.c = copy_of(c);
  } else {
    require(state.c.defined() == c.defined(), "a state {} c cannot take one {}",
            state.c.defined() ? "with" : "without", c.defined() ? "with it" : "without");
    if (state.h.shape() != h.shape() || (c.defined() && state.c.shape() != c.shape()))
      throw Error(fmt::format("a state of h {}{} cannot take one of h {}{}", state.h.shape(),
                              shape_of_c(state.c), h.shape(), shape_of_c(c)));
    state.h.copy_from(h);
    if (c.defined()) state.c.copy_from(c);
  }
}
RecurrentState::RecurrentState(const RecurrentState& other) : h(copy_of(other.h)), c(copy_of(other.c)) {}
RecurrentState& RecurrentState::operator=(const RecurrentState& other) {
  if (this != &other) assign(*this, other.h, other.c);
  return *this;
}
RecurrentState& RecurrentState::operator=(const RecurrentVars& next) {
  assign(*this, next.h.value(), next.c.value());
  return *this;
}
void RecurrentState::reset() {
  if (h.defined()) h.fill(0);
  if (c.defined()) c.fill(0);
}
void RecurrentState::reset(int row) {
  require(h.defined() && row >= 0 && row < h.dim(1), "a state of a batch of {} has no row {}",
          h.defined() ? h.dim(1) : 0, row);
  for (int k = 0; k < h.dim(0); ++k) {
    h[k].slice(row, row + 1).fill(0);
    if (c.defined()) c[k].slice(row, row + 1).fill(0);
  }
}
RecurrentVars RecurrentState::rows(int begin, int end) const {
  require(h.defined() && 0 <= begin && begin < end && end <= h.dim(1),
          "a state of a batch of {} has no rows {} to {}", h.defined() ? h.dim(1) : 0, begin, end);
  const auto part = [&](const Tensor& all) {
    if (!all.defined()) return Var();
    const Tensor some(all.shape().with(1, end - begin));
    for (int k = 0; k < all.dim(0); ++k) some[k].copy_from(all[k].slice(begin, end));
    return Var(some);
  };
  return {part(h), part(c)};
}
void RecurrentState::set_rows(int begin, const RecurrentVars& rows) {
  require(c.defined() == rows.c.value().defined(), "a state {} c cannot take rows {}",
          c.defined() ? "with" : "without", c.defined() ? "without it" : "with it");
  const auto put = [&](const Tensor& all, const Tensor& some) {
    if (!all.defined()) return;
    require(some.rank() == 3 && some.dim(1) <= all.dim(1) - begin && begin >= 0 &&
                some.shape().with(1, all.dim(1)) == all.shape(),
            "a state of {} cannot take rows of {} from {} on", all.shape(), some.shape(), begin);
    for (int k = 0; k < all.dim(0); ++k) all[k].slice(begin, begin + some.dim(1)).copy_from(some[k]);
  };
  put(h, rows.h.value()), put(c, rows.c.value());
}
RecurrentState::operator RecurrentVars() const {
  require(h.defined(), "a state of no size yet: a layer's zero_state(batch) is the first");
  return {Var(h.clone()), c.defined() ? Var(c.clone()) : Var()};
}

const Var* CellWeights::find(std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return &all[i];
  return nullptr;
}

Parameter& LayerScope::add(const std::string& name, const Shape& shape) const {
  const float bound = 1 / std::sqrt(static_cast<float>(hidden));
  return add(name, shape, Init::uniform(-bound, bound));
}
Parameter& LayerScope::add(const std::string& name, const Shape& shape, const Init& init) const {
  Parameter& p = scope.add(name + suffix, shape, init);
  p.decay = shape.rank() > 1;
  weights->all.push_back(p.var());
  weights->names.push_back(name);
  return p;
}

Var carried(const Tensor& u, int t, const Var& computed, const Var& before) {
  if (!u.defined()) return computed;
  const Var share = u[t];
  return share * computed + (-share + 1) * before;
}

StepRange steps_of_row(const Lengths& lengths, int steps, int batch, int row) {
  if (!lengths.steps.defined()) return {0, steps};
  require(lengths.steps.shape() == Shape{batch}, "lengths {} must be [{}], one for each row of x",
          lengths.steps.shape(), batch);
  const int length = lengths.steps.data()[row];
  require(length >= 0 && length <= steps, "length {} of row {} is not in 0 … {}, the steps of x", length, row,
          steps);
  const int first = lengths.padding == Padding::before ? steps - length : 0;
  return {first, first + length};
}

Tensor real_steps(const Lengths& lengths, int steps, int batch) {
  if (!lengths.steps.defined()) return {};
  const Tensor result({steps, batch});
  const auto is_real = result.on_host(Access::overwrite);
  for (int b = 0; b < batch; ++b) {
    const StepRange real_ones = steps_of_row(lengths, steps, batch, b);
    for (int t = 0; t < steps; ++t) is_real[int64_t{t} * batch + b] = real_ones.has(t);
  }
  return result;
}

Resets resets_of(const IdTensor& begins, const Lengths& lengths, int steps, int batch, bool backwards) {
  require(begins.shape() == Shape{steps, batch},
          "resets {} must be [{}, {}], a number for each step and row of x", begins.shape(), steps, batch);
  const Tensor kept({steps, batch});
  IdTensor at({steps});
  const auto keeps = kept.on_host(Access::overwrite);
  std::ranges::fill(keeps, real{1});
  std::ranges::fill(at.span(), 0);
  bool any = false;
  for (int b = 0; b < batch; ++b) {
    const StepRange real_ones = steps_of_row(lengths, steps, batch, b);
    for (int t = real_ones.begin + backwards; t < real_ones.end; ++t) {
      if (begins.data()[int64_t{t} * batch + b] == 0) continue;
      const int read =
          backwards ? steps - t : t;  // when step t-1 is, where steps are read from the last one on
      keeps[int64_t{read} * batch + b] = 0;
      at.data()[read] = 1;
      any = true;
    }
  }
  return any ? Resets{kept, at} : Resets();
}

RecurrentStack::RecurrentStack(const Scope& scope, const CellFacts& cell, const RecurrentConfig& c)
    : cell_(cell),
      config_(c),
      choice_(choose_engine(cell, c)),
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
  const LayerOrder order = own_engine ? LayerOrder(cell_, config_, steps, batch) : LayerOrder();
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

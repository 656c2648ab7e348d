#include "layers/recurrent/state.h"

#include <algorithm>
#include <cmath>

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

}  // namespace unroll

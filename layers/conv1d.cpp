#include "layers/conv1d.h"

#include <cmath>

namespace unroll {

static const Conv1dConfig& checked(const Conv1dConfig& c) {
  require(c.in > 0 && c.out > 0 && c.kernel > 0, "conv1d: in {}, out {} and kernel {} must be positive", c.in,
          c.out, c.kernel);
  require(c.stride > 0 && c.dilation > 0, "conv1d: stride {} and dilation {} must be positive", c.stride,
          c.dilation);
  require(c.padding >= 0, "conv1d: padding {} is negative", c.padding);
  require(!c.causal || c.padding == 0,
          "conv1d: causal has (kernel - 1) · dilation zeros before the first step; padding {} beside it",
          c.padding);
  return c;
}

Conv1d::Conv1d(Scope scope, const Conv1dConfig& c) : config(checked(c)) {
  const float bound = 1 / std::sqrt(static_cast<float>(c.in) * static_cast<float>(c.kernel));
  weight = scope.add("weight", {c.out, c.in, c.kernel}, Init::uniform(-bound, bound)).var();
  if (!c.bias) return;
  Parameter& shift = scope.add("bias", {c.out}, Init::uniform(-bound, bound));
  shift.decay = 0;
  bias = shift.var();
}

// One product for all steps, of rows that hold side by side what an output reads.
Var Conv1d::operator()(const Var& x, const Lengths& lengths) const {
  const Conv1dConfig& c = config;
  require(x.shape().rank() == 3 && x.dim(2) == c.in, "conv1d: x {} must be [steps, batch, {}]", x.shape(),
          c.in);
  const int steps = x.dim(0), batch = x.dim(1), reach = (c.kernel - 1) * c.dilation;
  const int before = c.causal ? reach : c.padding, behind = c.causal ? 0 : c.padding;
  const int places = steps + before + behind - reach;  // of the first step that an output reads
  require(places > 0, "conv1d: x {} has {} steps with padding, and an output reads {}", x.shape(),
          steps + before + behind, reach + 1);
  const Tensor real_steps = unroll::real_steps(lengths, steps, batch);
  const int outputs = (places - 1) / c.stride + 1;
  require(!real_steps.defined() || outputs == steps,
          "conv1d: with lengths the {} outputs must be as many as the steps of x {}", outputs, x.shape());
  Var seen = real_steps.defined() ? mask_rows(x, real_steps) : x;
  if (before + behind > 0) seen = pad(seen, 0, before, behind);
  IdTensor chosen;
  if (c.stride > 1) {
    chosen = IdTensor({outputs});
    for (int t = 0; t < outputs; ++t) chosen.span()[static_cast<size_t>(t)] = t * c.stride;
  }
  Vars read;
  for (int k = 0; k < c.kernel; ++k) {
    const Var from = slice(seen, 0, k * c.dilation, k * c.dilation + places);
    read.push_back(c.stride > 1 ? index_select(from, 0, chosen) : from);
  }
  const Var rows = c.kernel > 1 ? concat(read, 2) : read[0];
  const Var w = reshape(permute(weight, {0, 2, 1}), {c.out, c.kernel * c.in});
  const Var y = c.bias ? linear(rows, w, bias) : linear(rows, w);
  return real_steps.defined() ? mask_rows(y, real_steps) : y;
}

}  // namespace unroll

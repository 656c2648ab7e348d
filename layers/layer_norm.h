// Layer normalisation (Ba, Kiros, Hinton 2016).
#pragma once

#include "framework/ops.h"
#include "framework/parameters.h"

namespace unroll {

struct LayerNormConfig {
  int dim = 0;  // of the last dimension
  float eps = 1e-5f;
};

// weight (gain, initially 1) and bias (initially 0) [dim].  x [..., dim] -> [..., dim]
struct LayerNorm {
  LayerNorm(Scope scope, const LayerNormConfig& c) : config(c) {
    require(c.dim > 0, "layer_norm: dim {} must be positive", c.dim);
    Parameter& gain = scope.add("weight", {c.dim}, Init::centered_at(1, c.dim));
    Parameter& shift = scope.add("bias", {c.dim}, Init::constant(0));
    gain.decay = shift.decay = 0;
    weight = gain.var();
    bias = shift.var();
  }
  Var operator()(const Var& x) const { return layer_norm(x, weight, bias, config.eps); }

  LayerNormConfig config;
  Var weight, bias;
};

}  // namespace unroll

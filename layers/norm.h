// Layers that normalise the last dimension: layer normalisation (Ba, Kiros, Hinton 2016), and that by the root mean square
// (Zhang and Sennrich 2019), which subtracts no mean and has no bias.
#pragma once

#include "framework/ops.h"
#include "framework/parameters.h"

namespace unroll {

struct LayerNormConfig {
  int dim = 0;  // of the last dimension
  float eps = 1e-5f;
};

// y = (x - mean) / √(variance + eps) · weight + bias.  weight, first 1, and bias, first 0, [dim].  x [..., dim] -> [..., dim]
struct LayerNorm {
  LayerNorm(Scope scope, const LayerNormConfig& c) : config(c) {
    require(c.dim > 0, "layer_norm: dim {} must be positive", c.dim);
    Parameter& gain = scope.add("weight", {c.dim}, Init::centered_at(1, c.dim));
    Parameter& shift = scope.add("bias", {c.dim}, Init::constant(0));
    gain.decay = shift.decay = 0;
    weight = gain.var();
    bias = shift.var();
  }
  Var operator()(const Var& x) const { return layer_norm(x, weight, bias, config.eps); }  // normalises rows

  LayerNormConfig config;  // as it was made
  Var weight, bias;
};

struct RmsNormConfig {
  int dim = 0;  // of the last dimension
  float eps = 1e-5f;
};

// y = x / √(mean(x²) + eps) · weight, with the mean over the last dimension. weight (gain, initially 1) [dim].
//   x [..., dim] -> [..., dim]
struct RmsNorm {
  RmsNorm(Scope scope, const RmsNormConfig& c) : config(c) {
    require(c.dim > 0, "rms_norm: dim {} must be positive", c.dim);
    require(c.eps >= 0, "rms_norm: eps {} is negative", c.eps);
    Parameter& gain = scope.add("weight", {c.dim}, Init::centered_at(1, c.dim));
    gain.decay = 0;
    weight = gain.var();
  }
  Var operator()(const Var& x) const {  // y
    const Shape shape = x.shape();
    require(shape.rank() > 0 && shape[-1] == config.dim,
            "rms_norm: the last dimension of x {} must be {}, that of weight [{}]", shape, config.dim,
            config.dim);
    const Var squares = reshape(mean(x * x, -1), shape.with(-1, 1));
    return x * pow(squares + real{config.eps}, real(-0.5)) * weight;
  }

  RmsNormConfig config;  // as it was made
  Var weight;
};

}  // namespace unroll

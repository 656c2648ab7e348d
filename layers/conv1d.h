// Convolution over the steps of a sequence; causal if asked for.
//
//   Conv1d conv(params / "conv", {.in = 8, .out = 16, .kernel = 3, .causal = true});
//   Var y = relu(conv(x));                                   // [steps, batch, 8] -> [steps, batch, 16]
#pragma once

#include "framework/ops.h"
#include "framework/parameters.h"
#include "layers/recurrent/state.h"

namespace unroll {

struct Conv1dConfig {
  int in = 0, out = 0;
  int kernel = 0;    // steps that an output reads
  int stride = 1;    // from one output to the next
  int dilation = 1;  // between two steps that an output reads (van den Oord et al. 2016)
  int padding = 0;   // zeros before the first step, and behind the last
  bool causal =
      false;  // (kernel - 1) · dilation zeros before the first step and none behind: an output sees no later step
  bool bias = true;
};

// y_t = Σ_k w_k x_{stride·t + dilation·k - padding} + b. weight [out, in, kernel] and bias [out], as torch.nn.Conv1d.
//   x [steps, batch, in] -> [(steps + zeros - dilation·(kernel - 1) - 1) / stride + 1, batch, out]
// First values uniform in ±1/√(in·kernel).
struct Conv1d {
  Conv1d(Scope scope, const Conv1dConfig& config);
  // Padding steps, as `lengths` say, are read as zeros, and their outputs are zero. Throws Error if lengths are given
  // and there are not as many outputs as steps.
  Var operator()(const Var& x, const Lengths& lengths = {}) const;

  Conv1dConfig config;  // as it was made
  Var weight, bias;
};

}  // namespace unroll

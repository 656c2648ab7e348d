// A linear path beside the recurrent layers of a series: forecasts weighted sums of a channel's own last values (the
// autoregressive component of LSTNet: Lai, Chang, Yang and Liu 2018). Follows levels that training never showed.
#pragma once

#include <span>

#include "layers/dense.h"

namespace unroll {

// The last `length` values of one channel.  x [window, batch, channels] -> [batch, length], oldest first
Var last_values(const Var& x, int channel, int length);

struct HighwayConfig {
  int length = 0;  // rows read, the last ones of a window
  int out = 1;     // values for each channel
};

// y = w · last values + b, with the same weights for all channels: weight [out, length], bias [out].
struct Highway {
  Highway(Scope scope, const HighwayConfig& c)
      : config(c), sums(std::move(scope), {.in = c.length, .out = c.out}) {}
  // Reads the named channels. x [window, batch, any] -> [batch, out, channels]
  Var operator()(const Var& x, std::span<const int> channels) const;

  HighwayConfig config;
  Dense sums;
};

}  // namespace unroll

// A linear path beside the recurrent layers of a series: forecasts weighted sums of a channel's own last values (the
// autoregressive component of LSTNet: Lai, Chang, Yang and Liu 2018). Follows levels that training never showed.
#pragma once

#include <span>

#include "layers/dense.h"

namespace unroll {

// The last `length` values of one channel.  x [window, batch, channels] -> [batch, length], oldest first
inline Var last_values(const Var& x, int channel, int length) {
  require(x.shape().rank() == 3 && length >= 1 && length <= x.dim(0) && channel >= 0 && channel < x.dim(2),
          "last_values: {} of channel {} are not in x {} of window, batch and channels", length, channel,
          x.shape());
  const Var rows = slice(x, 0, x.dim(0) - length, x.dim(0));
  return transpose(reshape(slice(rows, 2, channel, channel + 1), {length, x.dim(1)}));
}

struct HighwayConfig {
  int length = 0;  // rows read, the last ones of a window
  int out = 1;     // values for each channel
};

// y = w · last values + b, with the same weights for all channels: weight [out, length], bias [out].
struct Highway {
  Highway(Scope scope, const HighwayConfig& c)
      : config(c), sums(std::move(scope), {.in = c.length, .out = c.out}) {}
  // Reads the named channels. x [window, batch, any] -> [batch, out, channels]
  Var operator()(const Var& x, std::span<const int> channels) const {
    Vars parts;
    for (const int channel : channels)
      parts.push_back(reshape(sums(last_values(x, channel, config.length)), {x.dim(1), config.out, 1}));
    return concat(parts, 2);
  }

  HighwayConfig config;  // as it was made
  Dense sums;            // w and b
};

}  // namespace unroll

#include "layers/highway.h"

namespace unroll {

Var last_values(const Var& x, int channel, int length) {
  require(x.shape().rank() == 3 && length >= 1 && length <= x.dim(0) && channel >= 0 && channel < x.dim(2),
          "last_values: {} of channel {} are not in x {} of window, batch and channels", length, channel,
          x.shape());
  const Var rows = slice(x, 0, x.dim(0) - length, x.dim(0));
  return transpose(reshape(slice(rows, 2, channel, channel + 1), {length, x.dim(1)}));
}

Var Highway::operator()(const Var& x, std::span<const int> channels) const {
  Vars parts;
  for (const int channel : channels)
    parts.push_back(reshape(sums(last_values(x, channel, config.length)), {x.dim(1), config.out, 1}));
  return concat(parts, 2);
}

}  // namespace unroll

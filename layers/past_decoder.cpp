#include "layers/past_decoder.h"

#include <cmath>

namespace unroll {

static Var own_bias(const Scope& scope, int classes) {
  Parameter& bias = scope.add("bias", {classes}, Init::constant(0));
  bias.decay = 0;
  return bias.var();
}

PastDecoder::PastDecoder(Scope scope, const PastDecoderConfig& given)
    : config(given),
      hidden(scope / "hidden", {.in = given.in, .out = given.in, .activation = Activation::tanh}),
      bias(own_bias(scope, given.classes)) {
  require(config.share > 0 && config.share <= 1, "past decoder: a share {} is not in (0, 1]", config.share);
}

Var PastDecoder::operator()(const Dense& decoder, const Var& y, const IdTensor& read) const {
  Shape expected = read.shape();
  expected.append(config.in);
  require(read.rank() >= 1 && y.shape() == expected,
          "past decoder: y {} must be {}: what was read {}, with {} behind it", y.shape(), expected, read.shape(),
          config.in);
  const int steps = y.dim(0), part = static_cast<int>(std::ceil(static_cast<float>(steps) * config.share));
  const Var last = slice(y, 0, steps - part, steps);
  const IdTensor tokens = read.slice(steps - part, steps);
  const int rows = static_cast<int>(tokens.size());
  const Var p = softmax(decoder(reshape(last, {rows, config.in})));
  const Var u = hidden(matmul(p, decoder.weight));
  return softmax_cross_entropy(u, decoder.weight, bias, tokens.reshape({rows}));
}

}  // namespace unroll

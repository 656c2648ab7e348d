#include "layers/past_decoder.h"

#include <algorithm>
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

PastDecoder::Losses PastDecoder::operator()(const Dense& decoder, const Var& given, const IdTensor& read,
                                            const IdTensor& target, const std::optional<Var>& margins) const {
  Shape expected = read.shape();
  expected.append(config.in);
  require(read.rank() >= 1 && given.shape() == expected && target.shape() == read.shape(),
          "past decoder: y {} must be {}: what was read {}, with {} behind it; targets {}", given.shape(),
          expected, read.shape(), config.in, target.shape());
  const Var y = only_scored(given, target);
  const int steps = y.dim(0), part = static_cast<int>(std::ceil(static_cast<float>(steps) * config.share)),
            first = steps - part;
  const auto options = [&](int begin, int end) {
    CrossEntropyOptions of_part{.reduction = Reduction::sum};
    if (margins) of_part.margins = slice(*margins, 0, begin, end);
    return of_part;
  };
  const Var logits = decoder(slice(y, 0, first, steps));
  Var next = softmax_cross_entropy(logits, target.slice(first, steps), options(first, steps));
  if (first > 0)
    next += softmax_cross_entropy(decoder, slice(y, 0, 0, first), target.slice(0, first), options(0, first));
  const int64_t scored =
      target.size() - std::ranges::count(target.span(), CrossEntropyOptions().ignore_index);

  const IdTensor to_come = target.slice(first, steps);
  IdTensor tokens = read.slice(first, steps);
  if (std::ranges::count(to_come.span(), -1) > 0) {  // a copy is no longer what a graph's windows renew
    tokens = tokens.clone();
    for (int64_t r = 0; r < tokens.size(); ++r)
      if (to_come.data()[r] == -1) tokens.data()[r] = -1;
  }
  const int rows = static_cast<int>(tokens.size());
  const Var p = softmax(reshape(logits, {rows, config.classes}));
  const Var u = hidden(matmul(p, decoder.weight));
  return {next / static_cast<real>(std::max<int64_t>(scored, 1)),
          softmax_cross_entropy(u, decoder.weight, bias, tokens.reshape({rows}))};
}

}  // namespace unroll

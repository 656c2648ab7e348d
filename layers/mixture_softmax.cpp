#include "layers/mixture_softmax.h"

#include <algorithm>

namespace unroll {

static const MixtureSoftmaxConfig& checked(const MixtureSoftmaxConfig& c) {
  require(c.in > 0 && c.width > 0 && c.components > 0,
          "mixture of softmaxes: in {}, width {} and components {} must be positive", c.in, c.width,
          c.components);
  return c;
}

MixtureSoftmax::MixtureSoftmax(Scope scope, const MixtureSoftmaxConfig& c)
    : config(checked(c)),
      prior(scope / "prior", {.in = c.in, .out = c.components, .bias = false}),
      latent(scope / "latent", {.in = c.in, .out = c.components * c.width, .activation = Activation::tanh}),
      latent_dropout(scope / "dropout", {.rate = c.dropout, .locked = true}) {}

Var MixtureSoftmax::vectors(const Var& y) const {
  const Var h = latent_dropout(latent(y));
  Shape shape = h.shape().with(-1, config.components);
  shape.append(config.width);
  return reshape(h, shape);
}

// Each target once for each component.
static IdTensor repeated(const IdTensor& target, int components) {
  IdTensor result({static_cast<int>(target.size()), components});
  for (int64_t r = 0; r < target.size(); ++r)
    std::fill_n(result.data() + r * components, components, target.data()[r]);
  return result;
}

Var MixtureSoftmax::loss(const Dense& decoder, const Var& given, const IdTensor& target) const {
  const Var y = only_scored(given, target);
  const int rows = static_cast<int>(target.size());
  const Var h = reshape(vectors(y), {rows, config.components, config.width});
  const Var log_prior = reshape(log_softmax(prior(y)), {rows, config.components});
  const IdTensor targets = repeated(target, config.components);
  const auto scored = rows - std::ranges::count(target.span(), -1);
  const real share = scored > 0 ? 1 / static_cast<real>(scored) : 0;
  Tensor weights({rows, 1});  // of a row in the mean
  {
    const auto each = weights.on_host(Access::overwrite);
    for (int r = 0; r < rows; ++r) each[r] = target.data()[r] >= 0 ? share : 0;
  }
  Tensor gamma, value;
  {
    const NoTape constants;
    const Var joint = log_prior.value() - Var(softmax_cross_entropies(decoder, h.value(), targets));
    gamma = mul(softmax(joint), weights).value();
    value = (-sum(logsumexp(joint, -1) * weights.reshape({rows}))).value();
  }
  const Var of_vectors =
      softmax_cross_entropy(decoder, h, targets, {.reduction = Reduction::sum, .weights = gamma});
  // Its gradients are those of the loss, its value is not.
  const Var bound = of_vectors - sum(log_prior * gamma);
  return bound + sub(value, bound.value());
}

Tensor MixtureSoftmax::losses(const Dense& decoder, const Tensor& y, const IdTensor& target,
                              std::span<const double> temperatures) const {
  const NoTape guard;
  const int rows = static_cast<int>(target.size());
  const Tensor y_rows = y.reshape({rows, config.in});
  Tensor result({static_cast<int>(temperatures.size()), rows});
  constexpr int chunk = 64;  // rows whose logits of all components are in memory at a time
  for (int begin = 0; begin < rows; begin += chunk) {
    const int end = std::min(rows, begin + chunk);
    const Tensor log_p = log_probabilities(decoder, y_rows.slice(begin, end)).value();
    const Tensor found =
        softmax_cross_entropies(log_p, target.reshape({rows}).slice(begin, end), temperatures);
    for (int k = 0; k < result.dim(0); ++k) result[k].slice(begin, end).copy_from(found[k]);
  }
  return result;
}

Var MixtureSoftmax::log_probabilities(const Dense& decoder, const Var& y) const {
  Shape shape = y.shape().with(-1, config.components);
  shape.append(1);
  return logsumexp(log_softmax(decoder(vectors(y))) + reshape(log_softmax(prior(y)), shape), -2);
}

}  // namespace unroll

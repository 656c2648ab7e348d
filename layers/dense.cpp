#include "layers/dense.h"

#include <algorithm>

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"

namespace unroll {

static Init fan_in(int in) {  // uniform in ±1/√in, as PyTorch's nn.Linear
  const float bound = 1 / std::sqrt(static_cast<float>(in));
  return Init::uniform(-bound, bound);
}

static const DenseConfig& checked(const DenseConfig& c) {
  require(c.in > 0 && c.out > 0, "dense: in {} and out {} must be positive", c.in, c.out);
  return c;
}

static Var bias_of(const Scope& scope, const DenseConfig& config) {
  if (!config.bias) return Var();
  Parameter& bias = scope.add("bias", {config.out}, fan_in(config.in));
  bias.decay = 0;
  return bias.var();
}

Dense::Dense(Scope scope, const DenseConfig& c)
    : config(checked(c)),
      weight(scope.add("weight", {c.out, c.in}, fan_in(c.in)).var()),
      bias(bias_of(scope, c)) {}

Dense::Dense(Scope scope, const DenseConfig& c, const Var& shared_weight)
    : config(checked(c)), weight(shared_weight), bias(bias_of(scope, c)) {}

// When it is used: before, the weight may have no memory yet.
static const Var& weight_of(const Dense& layer) {
  const DenseConfig& c = layer.config;
  require(layer.weight.shape() == Shape({c.out, c.in}), "dense: the shared weight {} must be [{}, {}]",
          layer.weight.shape(), c.out, c.in);
  return layer.weight;
}

static Unary function_of(Activation activation) {
  return activation == Activation::relu   ? Unary::relu
         : activation == Activation::tanh ? Unary::tanh
                                          : Unary::sigmoid;
}

Var Dense::operator()(const Var& x) const {
  const Var& w = weight_of(*this);
  const Var y = config.bias ? linear(x, w, bias) : linear(x, w);
  return config.activation == Activation::none ? y : unary(function_of(config.activation), y);
}

void Dense::compute(const Tensor& x, Tensor y) const {
  const Matrix w = transposed(weight_of(*this).value());
  config.bias ? gemm(x, w, bias.value(), y) : gemm(x, w, overwrite(y));
  if (config.activation == Activation::none) return;
  kernels().unary(function_of(config.activation), y.data(), y.data(), y.size());
}

Var softmax_cross_entropy(const Dense& layer, const Var& x, const IdTensor& target,
                          const CrossEntropyOptions& options) {
  require(layer.config.activation == Activation::none,
          "softmax_cross_entropy: the layer of the logits has an activation");
  const Var bias = layer.config.bias ? layer.bias : Var(Tensor::zeros({layer.config.out}));
  return softmax_cross_entropy(x, weight_of(layer), bias, target, options);
}

static void require_fits(const IdTensor& target, int classes, std::span<const double> temperatures) {
  require(target.defined(), "softmax_cross_entropies: the targets are empty: nothing was assigned to them");
  for (const int32_t id : target.span())
    require(id >= -1 && id < classes, "softmax_cross_entropies: target {} is not in 0 … {}, nor -1 for none",
            id, classes - 1);
  for (const double t : temperatures)
    require(t > 0 && std::isfinite(t), "softmax_cross_entropies: temperature {} is not a number above 0", t);
}

// Rows begin … of losses [temperatures, targets], whose logits are these. `scaled` has room for as many.
static void put_losses(const Tensor& logits, const KernelIds& targets, std::span<const double> temperatures,
                       int begin, Tensor scaled, Tensor losses) {
  for (size_t k = 0; k < temperatures.size(); ++k) {
    real* x = const_cast<real*>(logits.data());  // only read, since no gradient replaces it
    if (temperatures[k] != 1) {
      kernels().affine(x, static_cast<real>(1 / temperatures[k]), 0, scaled.data(), logits.size(), false);
      x = scaled.data();
    }
    kernels().cross_entropy(x, targets.data() + begin, nullptr, -1, logits.rows(), logits.cols(),
                            losses[static_cast<int>(k)].data() + begin, false, 1, 0, nullptr, {});
  }
}

static bool are_scaled(std::span<const double> temperatures) {
  return std::ranges::any_of(temperatures, [](double t) { return t != 1; });
}

Tensor softmax_cross_entropies(const Dense& layer, const Tensor& x, const IdTensor& target,
                               std::span<const double> temperatures) {
  const int classes = layer.config.out;
  require_fits(target, classes, temperatures);
  const int rows = static_cast<int>(target.size());
  require(layer.config.activation == Activation::none,
          "softmax_cross_entropies: the layer of the logits has an activation");
  require(x.cols() == layer.config.in && x.rows() == rows,
          "softmax_cross_entropies: x {} must have a row of {} for each of the targets {}", x.shape(),
          layer.config.in, target.shape());
  const int chunk = std::clamp((1 << 20) / classes, 1, std::max(rows, 1));  // logits that stay in a cache
  const Tensor x_rows = x.reshape({rows, layer.config.in});
  Tensor losses({static_cast<int>(temperatures.size()), rows}), logits({chunk, classes});
  const Tensor scaled = are_scaled(temperatures) ? Tensor({chunk, classes}) : Tensor();
  const KernelIds targets(target);
  for (int begin = 0; begin < rows; begin += chunk) {
    const int end = std::min(rows, begin + chunk);
    Tensor part = logits.slice(0, end - begin);
    layer.compute(x_rows.slice(begin, end), part);
    put_losses(std::as_const(part), targets, temperatures, begin, scaled, losses);
  }
  return losses;
}

Tensor softmax_cross_entropies(const Tensor& logits, const IdTensor& target,
                               std::span<const double> temperatures) {
  const int classes = static_cast<int>(logits.cols());
  require_fits(target, classes, temperatures);
  const int rows = static_cast<int>(target.size());
  require(logits.rows() == rows,
          "softmax_cross_entropies: logits {} must have a row for each of the targets {}", logits.shape(),
          target.shape());
  Tensor losses({static_cast<int>(temperatures.size()), rows});
  const Tensor part = logits.reshape({rows, classes});
  put_losses(part, KernelIds(target), temperatures, 0,
             are_scaled(temperatures) ? Tensor(part.shape()) : Tensor(), losses);
  return losses;
}

Tensor softmax_cross_entropies(const Dense& layer, const Tensor& x, const IdTensor& target) {
  constexpr double plain[] = {1};
  return softmax_cross_entropies(layer, x, target, plain).reshape(target.shape());
}

}  // namespace unroll

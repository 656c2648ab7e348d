#include "framework/loss.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "framework/ops.h"

namespace unroll::inline UNROLL_REAL {

namespace {

// factor Σ losses, where the losses are
Tensor total(const Tensor& losses, double factor) {
  const Tensor result(Shape{});
  kernels().sum_middle(losses.data(), 1, losses.size(), 1, static_cast<real>(factor), result.data());
  return result;
}

// What x's gradient gains but for a factor, which is not known before the backward pass. Its memory is x's gradient where
// that is free: of a decoder's weights the largest tensor of a step, which is neither there twice nor copied.
class EarlyGradient {
 public:
  EarlyGradient() = default;  // where x wants none
  explicit EarlyGradient(const Var& x) : tensor_(x.node()->gradient.lend(x.shape())) {}

  explicit operator bool() const { return tensor_ != nullptr; }
  const Tensor& operator*() const { return *tensor_; }
  // Into the gradient of the same x, times factor: a tensor of one number, which need not be known to the host.
  void contribute(const Var& x, const Tensor& factor) const {
    if (!tensor_) return;
    const Tensor& d = *tensor_;
    if (!x.node()->gradient.accept(tensor_)) {
      const Into dx = x.gradient();
      kernels().binary_gradient(Binary::mul, false, d.data(), d.size(), factor.data(), 1, d.data(),
                                dx.tensor.data(), d.size(), dx.add);
    } else if (on_gpu() || factor.item() != 1) {
      kernels().binary(Binary::mul, d.data(), d.size(), factor.data(), 1, d.data(), d.size());
    }
  }

 private:
  std::shared_ptr<Tensor> tensor_;
};

void require_targets(const Shape& logits, int classes, const IdTensor& target,
                     const CrossEntropyOptions& options) {
  require(classes > 0, "softmax_cross_entropy: logits {} have no classes", logits);
  require(target.defined(), "softmax_cross_entropy: the targets are empty: nothing was assigned to them");
  Shape expected;
  for (int i = 0; i + 1 < logits.rank(); ++i) expected.append(logits[i]);
  require(target.shape() == expected,
          "softmax_cross_entropy: targets {} must have the shape of {} without its last dimension",
          target.shape(), logits);
  require(!options.weights.defined() || options.weights.shape() == target.shape(),
          "softmax_cross_entropy: weights {} must have the shape of the targets {}", options.weights.shape(),
          target.shape());
  for (int32_t id : target.span())
    require(id == options.ignore_index || (id >= 0 && id < classes),
            "softmax_cross_entropy: target {} is not in 0 … {} of logits {}", id, classes - 1, logits);
}

// What the sum of losses is multiplied with: 1, or one over the weight of all scored targets (0 if that is 0).
double normalizer(const IdTensor& target, const CrossEntropyOptions& options) {
  if (options.reduction == Reduction::sum) return 1;
  double total = 0;
  const auto count = [&](auto weight) {
    for (int64_t r = 0; r < target.size(); ++r)
      if (target.data()[r] != options.ignore_index) total += weight(r);
  };
  if (options.weights.defined()) {
    const auto weights = options.weights.on_host();
    count([&](int64_t r) { return static_cast<double>(weights[r]); });
  } else {
    count([](int64_t) { return 1.0; });
  }
  return total != 0 ? 1 / total : 0;  // advantages may be weights too, with a negative sum
}

}  // namespace

// loss = Σ_r w_r (log Σ_k exp x[r,k] - x[r,t_r]) / Σ w        dx = w_r (softmax(x) - onehot(t)) / Σ w
Var softmax_cross_entropy(const Var& logits, const IdTensor& target, const CrossEntropyOptions& options) {
  require(logits.shape().rank() >= 1, "softmax_cross_entropy: logits {} have no dimension of classes",
          logits.shape());
  require_targets(logits.shape(), logits.dim(-1), target, options);
  const double norm = normalizer(target, options);
  const bool gradient = recorded("softmax_cross_entropy", inputs(logits));
  const EarlyGradient dx = gradient ? EarlyGradient(logits) : EarlyGradient();
  const Tensor d = gradient ? *dx : Tensor(logits.shape());  // the logits, then their gradient
  d.copy_from(logits.value());
  const Tensor losses(target.shape());
  kernels().cross_entropy(d.data(), KernelIds(target).data(), options.weights.data(), options.ignore_index,
                          d.rows(), d.cols(), losses.data(), gradient, static_cast<real>(norm));
  const Tensor loss = total(losses, norm);
  return record("softmax_cross_entropy", loss, inputs(logits),
                [=](const Var& y) { dx.contribute(logits, y.grad()); });
}

// What the gradients of the losses are multiplied with before they meet a matrix: `norm`, which belongs there. But in fp16
// what is as small as that would be lost, and the scale that keeps gradients of half precision in its range
// (training/loss_scale.h) is not known yet. They are at most as large as their weights: this takes these to 2^14.
static double scale_of_products(double norm, const CrossEntropyOptions& options) {
  if (precision() != Precision::fp16) return norm;
  double largest = 1;
  if (options.weights.defined()) {
    largest = 0;
    for (const real w : options.weights.on_host())
      largest = std::max(largest, std::abs(static_cast<double>(w)));
  }
  return largest > 0 && std::isfinite(largest) ? std::ldexp(1.0, 14 - std::ilogb(largest)) : 1;
}

// The same with logits = x wᵀ + b, in chunks of rows; with d = dlogits of a chunk:
//   dx = d w      dw += dᵀ x      db += Σ_rows d
// The gradients form while a chunk is in cache: what they are multiplied with is not known yet.
Var softmax_cross_entropy(const Var& x, const Var& w, const Var& b, const IdTensor& target,
                          const CrossEntropyOptions& options) {
  require(
      w.shape().rank() == 2 && x.shape().rank() >= 1 && x.dim(-1) == w.dim(1) && b.shape() == Shape{w.dim(0)},
      "softmax_cross_entropy: x {} does not fit weights {} and bias {}", x.shape(), w.shape(), b.shape());
  const int in = w.dim(1), classes = w.dim(0), rows = static_cast<int>(target.size());
  require_targets(x.shape().with(-1, classes), classes, target, options);
  const bool gradient = recorded("softmax_cross_entropy", inputs(x, w, b));
  const double norm = normalizer(target, options), scaled = scale_of_products(norm, options);
  const KernelIds targets(target);

  // 16 MiB of logits stay in the last-level cache between their product, softmax and gradients. Less would pass by the
  // weights and their gradient, which are as large, once more.
  const int fitting =
      std::max(1, static_cast<int>((16 << 20) / (sizeof(real) * static_cast<size_t>(classes))));
  const int even =
      rows == 0 ? 1 : (rows + (rows + fitting - 1) / fitting - 1) / ((rows + fitting - 1) / fitting);
  const int chunk = std::clamp(options.chunk_rows > 0 ? options.chunk_rows : even, 1, std::max(rows, 1));
  const Tensor logits({chunk, classes}), losses({rows}), x_rows = x.value().reshape({rows, in});
  const auto early = [&](const Var& v) {
    return gradient && v.wants_grad() ? EarlyGradient(v) : EarlyGradient();
  };
  const EarlyGradient dx = early(x), dw = early(w), db = early(b);
  if (dw && rows == 0) (*dw).fill(0);
  if (db && rows == 0) (*db).fill(0);
  for (int begin = 0; begin < rows; begin += chunk) {
    const int end = std::min(rows, begin + chunk);
    const Tensor part = x_rows.slice(begin, end), d = logits.slice(0, end - begin);
    gemm(part, transposed(w.value()), b.value(), d);
    const real* weights = options.weights.defined() ? options.weights.data() + begin : nullptr;
    kernels().cross_entropy(d.data(), targets.data() + begin, weights, options.ignore_index, d.rows(),
                            d.cols(), losses.data() + begin, gradient, static_cast<real>(scaled));
    if (dx) gemm(d, w.value(), overwrite((*dx).reshape({rows, in}).slice(begin, end)));
    if (dw) gemm(transposed(d), part, {*dw, begin > 0});
    if (db) kernels().sum_rows(d.data(), d.rows(), d.cols(), (*db).data(), begin > 0);
  }
  const Tensor loss = total(losses, norm);
  return record("softmax_cross_entropy", loss, inputs(x, w, b), [=](const Var& y) {
    Tensor factor = y.grad();
    if (scaled != norm) {
      factor = Tensor(factor.shape());
      kernels().affine(y.grad().data(), static_cast<real>(norm / scaled), 0, factor.data(), 1, false);
    }
    dx.contribute(x, factor);
    dw.contribute(w, factor);
    db.contribute(b, factor);
  });
}

// loss = mean of p t softplus(-x) + (1-t) softplus(x)        dx = (1-t) σ(x) - p t σ(-x), over n for the mean
Var binary_cross_entropy(const Var& logits, const Tensor& target, const BinaryCrossEntropyOptions& options) {
  require(target.defined(), "binary_cross_entropy: the targets are empty: nothing was assigned to them");
  require(logits.shape() == target.shape(), "binary_cross_entropy: logits {} and targets {} differ in shape",
          logits.shape(), target.shape());
  Tensor y(logits.shape());
  const real p = options.pos_weight;
  kernels().binary_cross_entropy(logits.value().data(), target.data(), p, y.data(), y.size());
  const Var each = record("binary_cross_entropy", y, inputs(logits), [=](const Var& y) {
    const Into dx = logits.gradient();
    kernels().binary_cross_entropy_gradient(logits.value().data(), target.data(), p, y.grad().data(),
                                            dx.tensor.data(), target.size(), dx.add);
  });
  return options.reduction == Reduction::mean ? mean(each) : sum(each);
}

// loss = mean of q d + relu(-d), d = t - x        dx = 1 - q where x is above t, else -q; over n for the mean
Var quantile_loss(const Vars& predictions, const Tensor& target, std::span<const double> quantiles,
                  Reduction reduction) {
  require(!predictions.empty() && predictions.size() == quantiles.size(),
          "quantile_loss: {} predictions for {} quantiles", predictions.size(), quantiles.size());
  require(target.size() > 0 || reduction == Reduction::sum, "quantile_loss: the mean over no targets, {}",
          target.shape());
  Vars losses;
  for (size_t k = 0; k < predictions.size(); ++k) {
    require(predictions[k].shape() == target.shape(),
            "quantile_loss: prediction {} and target {} differ in shape", predictions[k].shape(),
            target.shape());
    require(quantiles[k] > 0 && quantiles[k] < 1, "quantile_loss: quantile {} is not in (0, 1)",
            quantiles[k]);
    const Var d = sub(target, predictions[k]);
    losses.push_back(sum(scale(d, static_cast<real>(quantiles[k])) + relu(-d)));
  }
  const Var total = losses.size() == 1 ? losses[0] : sum(stack(losses));
  const auto count = static_cast<double>(target.size()) * static_cast<double>(losses.size());
  return reduction == Reduction::sum ? total : scale(total, static_cast<real>(1 / count));
}

// loss = mean of (x - t)²        dx = 2 (x - t), over n for the mean
Var mean_squared_error(const Var& prediction, const Tensor& target, Reduction reduction) {
  require(prediction.shape() == target.shape(),
          "mean_squared_error: prediction {} and target {} differ in shape", prediction.shape(),
          target.shape());
  const Var difference = sub(prediction, target);
  const Var square = mul(difference, difference);
  return reduction == Reduction::mean ? mean(square) : sum(square);
}

}  // namespace unroll::inline UNROLL_REAL

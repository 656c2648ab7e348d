#include "framework/loss.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "framework/ops.h"

namespace unroll {

namespace {

// factor Σ losses, where the losses are
Tensor total(const Tensor& losses, double factor) {
  Tensor result(Shape{});
  kernels().sum_middle(losses.data(), 1, losses.size(), 1, static_cast<real>(factor), result.data());
  return result;
}

// x's gradient but for a factor, which is not known before the backward pass. Its memory is that of x's gradient if
// that is free. For a decoder's weights this is the largest tensor of a step, which is neither there twice nor
// copied.
class EarlyGradient {
 public:
  EarlyGradient() = default;  // where x wants none
  explicit EarlyGradient(const Var& x) : tensor_(x.node()->gradient.reserve(x.shape())) {}
  EarlyGradient(const Var& x, bool wanted)
      : EarlyGradient(wanted && x.wants_grad() ? EarlyGradient(x) : EarlyGradient()) {}

  explicit operator bool() const { return tensor_ != nullptr; }
  Tensor& operator*() const { return *tensor_; }
  // Into the gradient of the same x, times factor: a tensor of one number, which need not be known to the host.
  void contribute(const Var& x, const Tensor& factor) const {
    if (!tensor_) return;
    Tensor& d = *tensor_;
    if (!x.node()->gradient.commit(tensor_)) {
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
  require(!options.class_weights.defined() || options.class_weights.shape() == Shape{classes},
          "softmax_cross_entropy: class weights {} must be [{}] for logits {}", options.class_weights.shape(),
          classes, logits);
  require(options.label_smoothing >= 0 && options.label_smoothing < 1,
          "softmax_cross_entropy: label_smoothing {} is not in [0, 1); logits are {}",
          options.label_smoothing, logits);
  require(
      options.label_smoothing == 0 || !options.class_weights.defined(),
      "softmax_cross_entropy: label_smoothing {} spreads a target over classes, beside class weights {}: weigh the "
      "targets instead (weights)",
      options.label_smoothing, options.class_weights.shape());
  for (int32_t id : target.span())
    require(id == options.ignore_index || (id >= 0 && id < classes),
            "softmax_cross_entropy: target {} is not in 0 … {} of logits {}", id, classes - 1, logits);
}

// Weights of targets alone: those of their classes are in them.
CrossEntropyOptions with_weights_of_targets(const IdTensor& target, CrossEntropyOptions options) {
  if (!options.class_weights.defined()) return options;
  const Tensor weights(target.shape());
  {
    const auto of_class = options.class_weights.on_host();
    const auto result = weights.on_host(Access::overwrite);
    for (int64_t r = 0; r < target.size(); ++r)
      result[r] = target.data()[r] == options.ignore_index ? 0 : of_class[target.data()[r]];
  }
  options.weights = options.weights.defined() ? mul(weights, options.weights).value() : weights;
  options.class_weights = {};
  return options;
}

// The factor of the sum of losses: 1 for Reduction::sum, else one over the weight of all scored targets (0 if that is
// 0).
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

// The weight of each target, 0 where it is not scored. The rows of those that have none may hold anything.
Tensor share_of_each(const IdTensor& target, const CrossEntropyOptions& options) {
  const Tensor result = options.weights.defined() ? options.weights.clone() : Tensor::full(target.shape(), 1);
  const auto shares = result.on_host(Access::change);
  for (int64_t r = 0; r < target.size(); ++r)
    if (target.data()[r] == options.ignore_index) shares[r] = 0;
  return result;
}

// Each target's loss, w_r (log Σ_k exp x[r,k] - Σ_k t_k x[r,k]), in operations whose gradients are known.
Var each_cross_entropy(const Var& logits, const IdTensor& target, const Tensor& shares, real smoothing) {
  IdTensor classes = target.clone();
  {
    const auto share = shares.on_host();
    for (int64_t r = 0; r < target.size(); ++r)
      if (share[r] == 0) classes.data()[r] = 0;
  }
  const Var log_p = log_softmax(mask_rows(logits, shares));
  const Var chosen = gather(log_p, classes);
  if (smoothing == 0) return -chosen * shares;
  return ((smoothing - 1) * chosen - smoothing * mean(log_p, -1)) * shares;
}

}  // namespace

// loss = Σ_r w_r (log Σ_k exp x[r,k] - Σ_k t_k x[r,k]) / Σ w        dx = w_r (softmax(x) - t) / Σ w
Var softmax_cross_entropy(const Var& logits, const IdTensor& target, const CrossEntropyOptions& given) {
  require(logits.shape().rank() >= 1, "softmax_cross_entropy: logits {} have no dimension of classes",
          logits.shape());
  require_targets(logits.shape(), logits.dim(-1), target, given);
  const CrossEntropyOptions options = with_weights_of_targets(target, given);
  if (options.reduction == Reduction::none)
    return each_cross_entropy(logits, target, share_of_each(target, options), options.label_smoothing);
  const double norm = normalizer(target, options);
  const bool gradient = recorded("softmax_cross_entropy", inputs(logits));
  const EarlyGradient dx = gradient ? EarlyGradient(logits) : EarlyGradient();
  Tensor d = gradient ? *dx : Tensor(logits.shape());  // the logits, then their gradient
  d.copy_from(logits.value());
  Tensor losses(target.shape());
  kernels().cross_entropy(d.data(), KernelIds(target).data(), options.weights.data(), options.ignore_index,
                          d.rows(), d.cols(), losses.data(), gradient, static_cast<real>(norm),
                          options.label_smoothing, nullptr, {});
  const Tensor loss = total(losses, norm);
  return record("softmax_cross_entropy", loss, inputs(logits),
                [=](const Var& y) { dx.contribute(logits, y.grad()); });
}

// The factor of the losses' gradients before they meet a matrix: `norm`, except in fp16. There numbers as small as
// that would be lost, and the scale that keeps gradients of half precision in its range (training/loss_scale.h) is
// not known yet. The gradients are at most as large as their weights, and this takes the weights to 2^14.
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

// Rows of a chunk: as many as stay in cache, in even parts, unless a number is asked for.
static int rows_of_chunk(int rows, int classes, int asked) {
  const int fitting = std::max(1, static_cast<int>(logits_at_once / (classes * int64_t{sizeof(real)})));
  const int chunks = std::max(1, (rows + fitting - 1) / fitting);
  return std::clamp(asked > 0 ? asked : (rows + chunks - 1) / chunks, 1, std::max(rows, 1));
}

// As above with logits = x wᵀ + b, in chunks of rows; with d = dlogits of a chunk:
//   dx = d w      dw += dᵀ x      db += Σ_rows d
// The gradients form while a chunk is in cache, before their factor is known.
Var softmax_cross_entropy(const Var& x, const Var& w, const Var& b, const IdTensor& target,
                          const CrossEntropyOptions& given) {
  require(
      w.shape().rank() == 2 && x.shape().rank() >= 1 && x.dim(-1) == w.dim(1) && b.shape() == Shape{w.dim(0)},
      "softmax_cross_entropy: x {} does not fit weights {} and bias {}", x.shape(), w.shape(), b.shape());
  const int in = w.dim(1), classes = w.dim(0), rows = static_cast<int>(target.size());
  require_targets(x.shape().with(-1, classes), classes, target, given);
  const CrossEntropyOptions options = with_weights_of_targets(target, given);
  if (options.reduction == Reduction::none) {
    const Tensor shares = share_of_each(target, options);
    return each_cross_entropy(linear(mask_rows(x, shares), w, b), target, shares, options.label_smoothing);
  }
  const bool gradient = recorded("softmax_cross_entropy", inputs(x, w, b));
  const double norm = normalizer(target, options), scaled = scale_of_products(norm, options);
  const KernelIds targets(target);
  const int chunk = rows_of_chunk(rows, classes, options.chunk_rows);
  const Tensor x_rows = x.value().reshape({rows, in});
  Tensor logits({chunk, classes}), losses({rows});
  const RoundedTensor rounded_w = rounded(w), rounded_x(x_rows),
                      rounded_d = gradient ? RoundedTensor(logits.shape()) : RoundedTensor();
  const auto early = [=](const Var& v) { return EarlyGradient(v, gradient); };
  const EarlyGradient dx = early(x), dw = early(w), db = early(b);
  // A row of x that is not scored may hold anything, and would reach dw: 0 · NaN is NaN.
  const bool all_scored =
      !options.weights.defined() && std::ranges::count(target.span(), options.ignore_index) == 0;
  Tensor scored = dw && !all_scored ? Tensor({chunk}) : Tensor();
  Tensor scored_rows = scored.defined() ? Tensor({chunk, in}) : Tensor();
  if (dw && rows == 0) (*dw).fill(0);
  if (db && rows == 0) (*db).fill(0);
  for (int begin = 0; begin < rows; begin += chunk) {
    const int end = std::min(rows, begin + chunk);
    Tensor d = logits.slice(0, end - begin), part = x_rows.slice(begin, end);
    const Matrix of_x(part, false, rounded_x.copy(begin).data), of_w = rounded_w.operand(w.value());
    // A GPU's kernel adds the bias itself, which saves a pass each way.
    on_gpu() ? gemm(of_x, transposed(of_w), overwrite(d)) : gemm(of_x, transposed(of_w), b.value(), d);
    const real* weights = options.weights.defined() ? options.weights.data() + begin : nullptr;
    kernels().cross_entropy(d.data(), targets.data() + begin, weights, options.ignore_index, d.rows(),
                            d.cols(), losses.data() + begin, gradient, static_cast<real>(scaled),
                            options.label_smoothing, scored.data(),
                            {.bias = on_gpu() ? b.value().data() : nullptr, .rounded = rounded_d.copy()});
    const Matrix of_d = rounded_d.operand(d);
    if (dx) gemm(of_d, of_w, overwrite((*dx).reshape({rows, in}).slice(begin, end)));
    if (scored.defined()) {
      Tensor kept = scored_rows.slice(0, end - begin);
      kernels().keep_rows(std::as_const(part).data(), scored.data(), kept.rows(), in, kept.data(), false);
      if (dw) gemm(transposed(of_d), kept, {*dw, begin > 0});
    } else if (dw) {
      gemm(transposed(of_d), of_x, {*dw, begin > 0});
    }
    if (db) kernels().sum_rows(d.data(), d.rows(), d.cols(), (*db).data(), begin > 0);
  }
  const Tensor loss = total(losses, norm);
  return record("softmax_cross_entropy", loss, inputs(x, w, b), [=](const Var& y) {
    const Tensor factor = scaled == norm ? y.grad() : total(y.grad(), norm / scaled);
    dx.contribute(x, factor);
    dw.contribute(w, factor);
    db.contribute(b, factor);
  });
}

// The divisor of the mean: the weight of all targets, or without weights their number.
static double weight_of(const char* name, const Shape& targets, const Tensor& weights) {
  require(weights.defined() || targets.size() > 0, "{}: the mean over no targets, {}", name, targets);
  double total = 0;
  if (weights.defined())
    for (const real w : weights.on_host()) total += static_cast<double>(w);
  return weights.defined() ? total : static_cast<double>(targets.size());
}

namespace {
// x where a target has a weight, 0 where it has none: what x holds there must reach neither the loss nor its gradients, and
// 0 · NaN is NaN. All of x where there are no weights.
//   y[i] = x[i] or 0        dx[i] = dy[i] or 0
Tensor counted(const Tensor& x, const Tensor& weights) {
  if (!weights.defined()) return x;
  Tensor y(x.shape());
  kernels().keep_rows(x.data(), weights.data(), y.size(), 1, y.data(), false);
  return y;
}
Var counted(const Var& x, const Tensor& weights) {
  if (!weights.defined()) return x;
  return record("counted", counted(x.value(), weights), inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    kernels().keep_rows(y.grad().data(), weights.data(), dx.tensor.size(), 1, dx.tensor.data(), dx.add);
  });
}
}  // namespace

// The sum of losses, or their mean: Σ w loss / Σ w, 0 where all weights are. Or all of them.
static Var reduced(const char* name, const Var& losses, const ElementLossOptions& options) {
  const Tensor& weights = options.weights;
  if (options.reduction != Reduction::mean) {
    const Var weighted = weights.defined() ? losses * weights : losses;
    return options.reduction == Reduction::sum ? sum(weighted) : weighted;
  }
  const double weight = weight_of(name, losses.shape(), weights);
  return weights.defined() ? scale(sum(losses * weights), static_cast<real>(weight != 0 ? 1 / weight : 0))
                           : mean(losses);
}

static void require_target(const char* name, const char* what, const Var& x, const Tensor& target,
                           const Tensor& weights) {
  require(target.defined(), "{}: the targets are empty: nothing was assigned to them", name);
  require(x.shape() == target.shape(), "{}: {} {} and target {} differ in shape", name, what, x.shape(),
          target.shape());
  require(!weights.defined() || weights.shape() == target.shape(),
          "{}: weights {} must have the shape of the targets {}", name, weights.shape(), target.shape());
}

// loss = mean of p t softplus(-x) + (1-t) softplus(x)        dx = (1-t) σ(x) - p t σ(-x), over n for the mean
Var binary_cross_entropy(const Var& all_logits, const Tensor& all_targets,
                         const BinaryCrossEntropyOptions& options) {
  require_target("binary_cross_entropy", "logits", all_logits, all_targets, options.weights);
  const Var logits = counted(all_logits, options.weights);
  const Tensor target = counted(all_targets, options.weights);
  const real p = options.pos_weight;
  require(p > 0 && std::isfinite(p), "binary_cross_entropy: pos_weight {} is not a positive number", p);
  Tensor y(logits.shape());
  kernels().binary_cross_entropy(logits.value().data(), target.data(), p, y.data(), y.size());
  const Var each = record("binary_cross_entropy", y, inputs(logits), [=](const Var& y) {
    const Into dx = logits.gradient();
    kernels().binary_cross_entropy_gradient(logits.value().data(), target.data(), p, y.grad().data(),
                                            dx.tensor.data(), target.size(), dx.add);
  });
  return reduced("binary_cross_entropy", each, {options.reduction, options.weights});
}

// loss = mean of q d + relu(-d), d = t - x        dx = 1 - q where x is above t, else -q; over n for the mean
Var quantile_loss(const Vars& predictions, const Tensor& all_targets, std::span<const double> quantiles,
                  const ElementLossOptions& options) {
  require(!predictions.empty() && predictions.size() == quantiles.size(),
          "quantile_loss: {} predictions for {} quantiles", predictions.size(), quantiles.size());
  for (const Var& prediction : predictions)
    require_target("quantile_loss", "prediction", prediction, all_targets, options.weights);
  const Tensor target = counted(all_targets, options.weights);
  Vars losses;
  for (size_t k = 0; k < predictions.size(); ++k) {
    require(quantiles[k] > 0 && quantiles[k] < 1, "quantile_loss: quantile {} is not in (0, 1)",
            quantiles[k]);
    const Var d = sub(target, counted(predictions[k], options.weights));
    const Var too_high = relu(-d), share = scale(d, static_cast<real>(quantiles[k]));
    const Var each = share + too_high;
    const Reduction first = options.reduction == Reduction::none ? Reduction::none : Reduction::sum;
    losses.push_back(reduced("quantile_loss", each, {first, options.weights}));
  }
  const Var total = losses.size() == 1 ? losses[0] : sum(stack(losses), 0);
  if (options.reduction != Reduction::mean) return total;
  const double weight =
      weight_of("quantile_loss", target.shape(), options.weights) * static_cast<double>(losses.size());
  return scale(total, static_cast<real>(weight != 0 ? 1 / weight : 0));
}

// loss = mean of (x - t)²        dx = 2 (x - t), over n for the mean
Var mean_squared_error(const Var& prediction, const Tensor& target, const ElementLossOptions& options) {
  require_target("mean_squared_error", "prediction", prediction, target, options.weights);
  const Var difference = sub(counted(prediction, options.weights), counted(target, options.weights));
  return reduced("mean_squared_error", mul(difference, difference), options);
}

// loss = mean of c (d - c / 2), d = x - t, c = d between -delta and delta        dx = c, over n for the mean
Var huber_loss(const Var& prediction, const Tensor& target, real delta, const ElementLossOptions& options) {
  require_target("huber_loss", "prediction", prediction, target, options.weights);
  require(delta > 0 && std::isfinite(delta), "huber_loss: delta {} is not a positive number", delta);
  const Var d = sub(counted(prediction, options.weights), counted(target, options.weights));
  const Var c = clamp(d, -delta, delta);
  return reduced("huber_loss", c * (d - c * real(0.5)), options);
}

// loss = mean over rows of Σ_k t_k (log t_k - log p_k)        dlog p = -t, over rows for the mean
Var kl_divergence(const Var& all_log_p, const Tensor& all_targets, const ElementLossOptions& options) {
  require(all_targets.defined(), "kl_divergence: the targets are empty: nothing was assigned to them");
  require(all_log_p.shape() == all_targets.shape() && all_targets.rank() >= 1,
          "kl_divergence: log_p {} and target {} must be [..., classes], and alike", all_log_p.shape(),
          all_targets.shape());
  for (const real t : all_targets.on_host())
    require(!(t < 0), "kl_divergence: a target {} of {} is negative", t, all_targets.shape());
  const Tensor& weights = options.weights;
  Shape rows;
  for (int i = 0; i + 1 < all_targets.rank(); ++i) rows.append(all_targets.dim(i));
  require(!weights.defined() || weights.shape() == rows,
          "kl_divergence: weights {} must have the shape of the target {} without its last dimension",
          weights.shape(), all_targets.shape());
  const auto scored = [&](const Var& x) { return weights.defined() ? mask_rows(x, weights) : x; };
  const Var t = scored(all_targets);
  const Tensor some = t > 0;
  const Var terms = t * (log(where(some, t, 1)) - where(some, scored(all_log_p), 0));  // 0 · -∞ is 0
  return reduced("kl_divergence", sum(terms, -1), options);
}

// loss = mean of z² / 2 + log s + log(2π) / 2, z = (t - m) / s        dm = -z / s      ds = (1 - z²) / s
Var gaussian_loss(const Var& mean, const Var& all_deviations, const Tensor& target,
                  const ElementLossOptions& options) {
  const Tensor& weights = options.weights;
  require_target("gaussian_loss", "mean", mean, target, weights);
  require_target("gaussian_loss", "deviation", all_deviations, target, weights);
  Var deviation = counted(all_deviations, weights);
  if (weights.defined())  // and 1, of which there is a logarithm, where there is no weight
    deviation = deviation + (1 - Var(counted(Tensor::full(target.shape(), 1), weights)));
  const Var z = sub(counted(target, weights), counted(mean, weights)) / deviation;
  const real half_log_two_pi = real(0.91893853320467274);
  return reduced("gaussian_loss", z * z * real(0.5) + log(deviation) + half_log_two_pi, options);
}

}  // namespace unroll

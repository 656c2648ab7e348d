#include "framework/loss.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

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

// x's gradient but for a factor, which is not known before the backward pass. Its memory is that of x's gradient if that is
// free. For a decoder's weights this is the largest tensor of a step, which is neither there twice nor copied.
class EarlyGradient {
 public:
  EarlyGradient() = default;
  EarlyGradient(const Var& x, bool recorded) {  // empty where x wants none
    if (recorded && x.wants_grad()) tensor_ = x.node()->gradient.reserve(x.shape());
  }

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

// Margins over logits that exist a chunk of rows at a time. z_r is the logit of row r's target:
//   z_r -= margin_r        dmargin_r = -dz_r
class TargetMargins {
 public:
  // target: one a row. An ignored one counts as class 0: its row has no loss, and no gradient.
  TargetMargins(const CrossEntropyOptions& options, const IdTensor& target, bool gradient) {
    if (!options.margins) return;
    margins_ = *options.margins;
    d_ = EarlyGradient(margins_, gradient);
    IdTensor classes = target;
    if (std::ranges::count(target.span(), options.ignore_index) > 0) {
      classes = target.clone();
      std::ranges::replace(classes.span(), options.ignore_index, 0);
    }
    ids_.emplace(classes);
    negative_ = Tensor(Shape{static_cast<int>(target.size())});
    kernels().affine(margins_.value().data(), -1, 0, negative_.data(), negative_.size(), false);
  }
  // logits [rows, classes] of the targets from `first` on
  void take_from(Tensor& logits, int first) const {
    if (ids_)
      kernels().add_to_middle(negative_.data() + first, ids_->data() + first, false, logits.dim(0),
                              logits.dim(1), 1, 1, logits.data());
  }
  // dlogits as above
  void keep_gradient(const Tensor& dlogits, int first) const {
    if (!d_) return;
    real* const d = (*d_).data() + first;
    kernels().take_middle(dlogits.data(), ids_->data() + first, false, dlogits.dim(0), dlogits.dim(1), 1, 1,
                          d);
    kernels().affine(d, -1, 0, d, dlogits.dim(0), false);
  }
  void contribute(const Tensor& factor) const { d_.contribute(margins_, factor); }

 private:
  Var margins_;
  EarlyGradient d_;
  std::optional<KernelIds> ids_;
  Tensor negative_;
};

Vars with_margins(Vars vars, const CrossEntropyOptions& options) {
  if (options.margins) vars.push_back(*options.margins);
  return vars;
}

// The targets, after checks. One of weight 0 may be anything, and is ignored where it is no class.
IdTensor checked_targets(const Shape& logits, int classes, const IdTensor& target,
                         const CrossEntropyOptions& options) {
  require(classes > 0, "softmax_cross_entropy: logits {} have no classes", logits);
  require(target.defined(), "softmax_cross_entropy: the targets are empty: nothing was assigned to them");
  require(target.shape() == logits.without(-1),
          "softmax_cross_entropy: targets {} must have the shape of {} without its last dimension",
          target.shape(), logits);
  require(!options.weights.defined() || options.weights.shape() == target.shape(),
          "softmax_cross_entropy: weights {} must have the shape of the targets {}", options.weights.shape(),
          target.shape());
  require(!options.class_weights.defined() || options.class_weights.shape() == Shape{classes},
          "softmax_cross_entropy: class weights {} must be [{}] for logits {}", options.class_weights.shape(),
          classes, logits);
  require(
      !options.margins ||
          (options.margins->shape() == target.shape() && options.reduction != Reduction::none),
      "softmax_cross_entropy: margins {} must have the shape of the targets {}, and are not for Reduction::none",
      options.margins ? options.margins->shape() : Shape{}, target.shape());
  require(options.label_smoothing >= 0 && options.label_smoothing < 1,
          "softmax_cross_entropy: label_smoothing {} is not in [0, 1); logits are {}",
          options.label_smoothing, logits);
  require(
      options.label_smoothing == 0 || !options.class_weights.defined(),
      "softmax_cross_entropy: label_smoothing {} spreads a target over classes, beside class weights {}: weigh the "
      "targets instead (weights)",
      options.label_smoothing, options.class_weights.shape());
  IdTensor result = target;
  std::vector<real> weights;  // on the host, once they are asked for
  for (int64_t r = 0; r < target.size(); ++r) {
    const int32_t id = target.data()[r];
    if (id == options.ignore_index || (id >= 0 && id < classes)) continue;
    if (weights.empty() && options.weights.defined()) weights = options.weights.to_host();
    require(!weights.empty() && weights[static_cast<size_t>(r)] == 0,
            "softmax_cross_entropy: target {} is not in 0 … {} of logits {}", id, classes - 1, logits);
    if (result.data() == target.data()) result = target.clone();
    result.data()[r] = options.ignore_index;
  }
  return result;
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

// The factor of the sum of losses: 1 for Reduction::sum, else one over the weight of all scored targets (0 if that is 0).
double normalizer(const IdTensor& target, const CrossEntropyOptions& options) {
  if (options.reduction == Reduction::sum) return 1;
  auto total = static_cast<double>(target.size() - std::ranges::count(target.span(), options.ignore_index));
  if (options.weights.defined()) {
    total = 0;
    const auto weights = options.weights.on_host();
    for (int64_t r = 0; r < target.size(); ++r)
      if (target.data()[r] != options.ignore_index) total += static_cast<double>(weights[r]);
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

// A row of x that is not scored may hold anything, and would reach dw: 0 · NaN is NaN.
static bool leaves_out_rows(const CrossEntropyOptions& options, const IdTensor& target) {
  return options.weights.defined() || std::ranges::count(target.span(), options.ignore_index) > 0;
}

Var only_scored(const Var& x, const IdTensor& target, const CrossEntropyOptions& options) {
  if (!leaves_out_rows(options, target)) return x;
  const Tensor shares = share_of_each(target, options);
  return std::ranges::count(shares.on_host(), real{0}) == 0 ? x : mask_rows(x, shares);
}

// loss = Σ_r w_r (log Σ_k exp x[r,k] - Σ_k t_k x[r,k]) / Σ w        dx = w_r (softmax(x) - t) / Σ w
// Margins first: TargetMargins.
Var softmax_cross_entropy(const Var& logits, const IdTensor& all_targets, const CrossEntropyOptions& given) {
  require(logits.shape().rank() >= 1, "softmax_cross_entropy: logits {} have no dimension of classes",
          logits.shape());
  const IdTensor target = checked_targets(logits.shape(), logits.dim(-1), all_targets, given);
  const CrossEntropyOptions options = with_weights_of_targets(target, given);
  if (options.reduction == Reduction::none)
    return each_cross_entropy(logits, target, share_of_each(target, options), options.label_smoothing);
  const double norm = normalizer(target, options);
  const Vars read = with_margins({logits}, options);
  const bool gradient = recorded("softmax_cross_entropy", inputs(read));
  const EarlyGradient dx(logits, gradient);
  Tensor d = dx ? *dx : Tensor(logits.shape());  // the logits, then their gradient
  d.copy_from(logits.value());
  Tensor rows = d.reshape({static_cast<int>(target.size()), logits.dim(-1)});
  const TargetMargins margins(options, target, gradient);
  margins.take_from(rows, 0);
  Tensor losses(target.shape());
  kernels().cross_entropy(d.data(), KernelIds(target).data(), options.weights.data(), options.ignore_index,
                          d.rows(), d.cols(), losses.data(), gradient, static_cast<real>(norm),
                          options.label_smoothing, nullptr, {});
  margins.keep_gradient(rows, 0);
  const Tensor loss = total(losses, norm);
  return record("softmax_cross_entropy", loss, inputs(read), [=](const Var& y) {
    dx.contribute(logits, y.grad());
    margins.contribute(y.grad());
  });
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

// Whether dw waits for its factor, by which x is multiplied then. On a GPU that moves less than to multiply dw, if w is much larger than
// x. d of all rows waits with it. In fp16 small numbers of x would be lost.
static bool waits_for_factor(const Var& w, const Tensor& x, int chunk) {
  return on_gpu() && precision() != Precision::fp16 && w.wants_grad() && x.rows() == chunk &&
         w.value().size() > 2 * x.size();
}

// As above with logits = x wᵀ + b, in chunks of rows; with d = dlogits of a chunk:
//   dx = d w      dw += dᵀ x      db += Σ_rows d
// The gradients form while a chunk is in cache, before their factor is known. On a GPU dw may wait for it: dw = dᵀ (factor x).
Var softmax_cross_entropy(const Var& x, const Var& w, const Var& b, const IdTensor& all_targets,
                          const CrossEntropyOptions& given) {
  require(
      w.shape().rank() == 2 && x.shape().rank() >= 1 && x.dim(-1) == w.dim(1) && b.shape() == Shape{w.dim(0)},
      "softmax_cross_entropy: x {} does not fit weights {} and bias {}", x.shape(), w.shape(), b.shape());
  const int in = w.dim(1), classes = w.dim(0), rows = static_cast<int>(all_targets.size());
  const IdTensor target = checked_targets(x.shape().with(-1, classes), classes, all_targets, given);
  const CrossEntropyOptions options = with_weights_of_targets(target, given);
  if (options.reduction == Reduction::none) {
    const Tensor shares = share_of_each(target, options);
    return each_cross_entropy(linear(mask_rows(x, shares), w, b), target, shares, options.label_smoothing);
  }
  const Vars read = with_margins({x, w, b}, options);
  const bool gradient = recorded("softmax_cross_entropy", inputs(read));
  const double norm = normalizer(target, options), scaled = scale_of_products(norm, options);
  const KernelIds targets(target);
  const int chunk = rows_of_chunk(rows, classes, options.chunk_rows);
  const Tensor x_rows = x.value().reshape({rows, in});
  Tensor logits({chunk, classes}), losses({rows});
  const RoundedTensor rounded_w = rounded(w), rounded_x(x_rows),
                      rounded_d = gradient ? RoundedTensor(logits.shape()) : RoundedTensor();
  const bool late = gradient && !leaves_out_rows(options, target) && waits_for_factor(w, x_rows, chunk);
  const EarlyGradient dx(x, gradient), dw(w, gradient && !late), db(b, gradient);
  const TargetMargins margins(options, target, gradient);
  Tensor scored = dw && leaves_out_rows(options, target) ? Tensor({chunk}) : Tensor();
  Tensor scored_rows = scored.defined() ? Tensor({chunk, in}) : Tensor();
  if (dw && rows == 0) (*dw).fill(0);
  if (db && rows == 0) (*db).fill(0);
  for (int begin = 0; begin < rows; begin += chunk) {
    const int end = std::min(rows, begin + chunk);
    Tensor d = logits.slice(0, end - begin), part = x_rows.slice(begin, end);
    const Matrix of_x(part, false, rounded_x.copy(begin).data), of_w = rounded_w.operand(w.value());
    // A GPU's kernel adds the bias itself, which saves a pass each way.
    on_gpu() ? gemm(of_x, transposed(of_w), overwrite(d)) : gemm(of_x, transposed(of_w), b.value(), d);
    margins.take_from(d, begin);
    const real* weights = options.weights.defined() ? options.weights.data() + begin : nullptr;
    kernels().cross_entropy(d.data(), targets.data() + begin, weights, options.ignore_index, d.rows(),
                            d.cols(), losses.data() + begin, gradient, static_cast<real>(scaled),
                            options.label_smoothing, scored.data(),
                            {.bias = on_gpu() ? b.value().data() : nullptr, .rounded = rounded_d.copy()});
    margins.keep_gradient(d, begin);
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
  const Tensor loss = total(losses, norm), d = late ? logits : Tensor();
  const RoundedTensor late_d = late ? rounded_d : RoundedTensor();
  return record("softmax_cross_entropy", loss, inputs(read), [=](const Var& y) {
    const Tensor factor = scaled == norm ? y.grad() : total(y.grad(), norm / scaled);
    dx.contribute(x, factor);
    dw.contribute(w, factor);
    if (d.defined()) {
      Tensor seen(x_rows.shape());
      kernels().binary(Binary::mul, x_rows.data(), seen.size(), factor.data(), 1, seen.data(), seen.size());
      gemm(transposed(late_d.operand(d)), seen, w.gradient());
    }
    db.contribute(b, factor);
    margins.contribute(factor);
  });
}

}  // namespace unroll

// The losses of single numbers (loss.h).
#include <cmath>

#include "framework/kernels/kernels.h"
#include "framework/loss.h"
#include "framework/ops.h"

namespace unroll {

// The divisor of the mean: the weight of all targets, or without weights their number.
static double weight_of(const char* name, const Shape& targets, const Tensor& weights) {
  require(weights.defined() || targets.size() > 0, "{}: the mean over no targets, {}", name, targets);
  double total = 0;
  if (weights.defined())
    for (const real w : weights.on_host()) total += static_cast<double>(w);
  return weights.defined() ? total : static_cast<double>(targets.size());
}

// x where a target has a weight, 0 where it has none: what x holds there must reach neither the loss nor its gradients, and
// 0 · NaN is NaN. All of x where there are no weights.
static Var counted(const Var& x, const Tensor& weights) {
  return weights.defined() ? where(weights, x, 0) : x;
}

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
  const Tensor target = counted(all_targets, options.weights).value();
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
  const Tensor target = counted(all_targets, options.weights).value();
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
  const Tensor& weights = options.weights;
  require(!weights.defined() || weights.shape() == all_targets.shape().without(-1),
          "kl_divergence: weights {} must have the shape of the target {} without its last dimension",
          weights.shape(), all_targets.shape());
  const auto scored = [&](const Var& x) { return weights.defined() ? mask_rows(x, weights) : x; };
  const Var t = scored(all_targets);
  for (const real p : t.value().on_host())
    require(!(p < 0), "kl_divergence: a target {} of {} is negative", p, all_targets.shape());
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
    deviation = deviation + (1 - counted(Tensor::full(target.shape(), 1), weights));
  const Var z = sub(counted(target, weights), counted(mean, weights)) / deviation;
  const real half_log_two_pi = real(0.91893853320467274);
  return reduced("gaussian_loss", z * z * real(0.5) + log(deviation) + half_log_two_pi, options);
}

}  // namespace unroll

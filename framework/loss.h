// The losses: single numbers to minimise, or each target's own; stable for extreme logits. A target that is not
// scored, or whose weight is 0, takes no part: it and its prediction may hold anything, NaN too. With a weight below
// 0, as an advantage may be, a smaller sum means a larger loss of that target. The mean divides by the sum of the
// weights, whatever its sign, and is 0 if that is 0: for advantages use Reduction::sum.
#pragma once

#include <optional>
#include <span>

#include "framework/tape.h"

namespace unroll {

// The way from the losses of targets to one number.
enum class Reduction : uint8_t {
  mean,  // over targets that are scored; with weights: Σ weight·loss / Σ weight
  sum,
  none  // no number but the loss of each target, times its weight, 0 where it is not scored: of the targets' shape
};

// Options of softmax_cross_entropy.
struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;  // one number, or each target's
  int32_t ignore_index = -1;              // targets that are not scored
  Tensor weights = {};                    // one per target, shape of the targets; empty: all 1
  Tensor class_weights = {};  // [classes], that of each target's class beside its own; empty: all 1
  // In [0, 1): so much of each target is spread evenly over all classes (Szegedy et al. 2016).
  real label_smoothing = 0;
  // One per target, shape of the targets: taken from the target's logit, so that it must lead by so much (Wang, Cheng,
  // Liu and Liu 2018, "Additive margin softmax"). They get gradients. None: all 0. Not with Reduction::none.
  std::optional<Var> margins = {};
  int chunk_rows = 0;  // rows of logits in memory at a time; 0: as many as logits_at_once allows
};

// In bytes. Fewer logits would stay in the last-level cache of more processors between their product, their softmax
// and their gradients. But the weights and their gradient, which are as large, would pass by once more.
constexpr int64_t logits_at_once = int64_t{32} << 20;

// -log softmax(logits)[target] in nats. With label smoothing s: the cross-entropy with (1 - s)·onehot(target) + s / classes.
// The mean over the targets, unless options.reduction says otherwise. Throws Error if a target is neither a class nor ignored.
// logits [..., classes], target [...]
Var softmax_cross_entropy(const Var& logits, const IdTensor& target, const CrossEntropyOptions& options = {});

// As above for logits = x wᵀ + b, which exist a chunk of rows at a time; with Reduction::none all at once.
// x [..., in], w [classes, in], b [classes], target [...]
Var softmax_cross_entropy(const Var& x, const Var& w, const Var& b, const IdTensor& target,
                          const CrossEntropyOptions& options = {});

// x with zeros where a target is not scored, or has the weight 0: what stands there reaches no loss and no gradient, also
// where 0 times it would be NaN. x [..., in], target [...] -> [..., in]
Var only_scored(const Var& x, const IdTensor& target, const CrossEntropyOptions& options = {});

// Options of binary_cross_entropy.
struct BinaryCrossEntropyOptions {
  Reduction reduction = Reduction::mean;  // one number, or each target's
  real pos_weight = 1;                    // factor of the loss where target is 1; positive
  Tensor weights = {};  // of the logits' shape, 0 where there is nothing to score; empty: all 1
};
// -[pos_weight·t·log σ(x) + (1-t)·log(1-σ(x))] in nats; target of the logits' shape, in [0, 1]
Var binary_cross_entropy(const Var& logits, const Tensor& target,
                         const BinaryCrossEntropyOptions& options = {});

// Options of losses whose targets are numbers.
struct ElementLossOptions {
  Reduction reduction = Reduction::mean;  // one number, or each target's
  Tensor weights = {};  // of the target's shape, 0 where there is nothing to score; empty: all 1
};

// max(q·d, (q-1)·d) of d = target - prediction. It is least where the share q of targets lies below the prediction
// (Koenker and Bassett 1978). predictions: one of the target's shape for each q of `quantiles`, in (0, 1). The mean
// is also over quantiles; with Reduction::none a target's losses are added.
Var quantile_loss(const Vars& predictions, const Tensor& target, std::span<const double> quantiles,
                  const ElementLossOptions& options = {});

// (prediction - target)²
Var mean_squared_error(const Var& prediction, const Tensor& target, const ElementLossOptions& options = {});

// d² / 2 of d = prediction - target where |d| ≤ delta, and delta·(|d| - delta / 2) beyond it (Huber 1964). delta is positive.
Var huber_loss(const Var& prediction, const Tensor& target, real delta = 1,
               const ElementLossOptions& options = {});

// Each row's divergence Σ_k t_k (log t_k - log p_k) of a learned distribution p from the target's (Kullback and
// Leibler 1951). log_p [..., classes], as log_softmax gives it. target [..., classes], not negative: 0 adds nothing.
// Weights and losses are one per row, [...]; the mean is over rows: PyTorch's "batchmean".
Var kl_divergence(const Var& log_p, const Tensor& target, const ElementLossOptions& options = {});

// -log of the normal density of each target, in nats:
//   ((target - mean) / deviation)² / 2 + log deviation + log(2π) / 2
// mean and deviation have the target's shape; deviation is to be positive.
Var gaussian_loss(const Var& mean, const Var& deviation, const Tensor& target,
                  const ElementLossOptions& options = {});

}  // namespace unroll

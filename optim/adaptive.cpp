// Optimizers that adapt their steps to each weight's past gradients: Adam and AdamW, RMSprop, Lion.
#include <cmath>

#include "framework/kernels/updates.h"
#include "optim/optimizer.h"

namespace unroll {

// --- Adam ----------------------------------------------------------------------------------------

Adam::Adam(ParameterSet& params, const AdamConfig& c, bool decoupled)
    : MomentOptimizer(params, c.learning_rate, c.weight_decay,
                      {.what = "beta1", .momentum = c.beta1, .slabs = {"exp_avg", "exp_avg_sq"}}),
      beta2_(c.beta2),
      eps_(c.eps),
      decoupled_(decoupled) {
  check_fraction("beta2", c.beta2);
  require(static_cast<real>(c.eps) > 0, "optimizer: eps {} is not positive", c.eps);
}

void Adam::order(StepOrders& orders) {
  MomentOptimizer::order(orders);
  count_missed();
  const auto& all = params_.all();
  std::vector<std::array<double, 2>> corrections;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i]->frozen) {
      ++missed_[i];
    } else if (missed_[i] > 0) {
      corrections.resize(all.size());
      corrections[i] = corrections_after(steps_ - missed_[i]);
    }
  }
  if (!corrections.empty()) {
    const size_t bytes = corrections.size() * sizeof corrections[0];
    if (!corrections_.data()) corrections_ = Memory(bytes);
    copy_to_device(corrections_.data(), corrections.data(), bytes);
  }
  const auto [first, second] = corrections_after(steps_);
  orders.correction1 = first, orders.correction2 = second;
}

// The betas in the kernel's precision: 0.999 in float is off by 5e-5 of its distance to 1.
std::array<double, 2> Adam::corrections_after(int64_t steps) const {
  const auto correction = [steps](double beta) {
    return 1 - std::pow(static_cast<double>(static_cast<real>(beta)), static_cast<double>(steps));
  };
  return {correction(momentum_), correction(beta2_)};
}

void Adam::count_missed() {
  const auto& all = params_.all();
  for (size_t i = missed_names_.size(); i < all.size(); ++i)
    missed_names_.push_back("missed." + all[i]->name);
  missed_.resize(all.size());
}

uint64_t Adam::step_signature() const {
  uint64_t signature = Optimizer::step_signature();
  int64_t before = 0;
  for (const int64_t missed : missed_) {  // neighbours that have missed as many are one range
    signature = signature * 5 + (missed == 0 ? 0 : missed == before ? 1 : 2);
    before = missed;
  }
  return signature;
}

WeightUpdate Adam::rule(const Range& range) const {
  const auto* const corrections = static_cast<const double*>(corrections_.data());
  return {.rule = UpdateRule::adam,
          .decoupled = decoupled_,
          .beta2 = static_cast<real>(beta2_),
          .eps = static_cast<real>(eps_),
          .corrections = range.group > 0 ? corrections + 2 * range.first : nullptr};
}

OptimizerState Adam::state() {
  OptimizerState state = MomentOptimizer::state();
  count_missed();
  for (size_t i = 0; i < missed_.size(); ++i) state.counters.push_back({missed_names_[i], &missed_[i], true});
  return state;
}

// --- RMSprop -------------------------------------------------------------------------------------

Rmsprop::Rmsprop(ParameterSet& params, const RmspropConfig& c)
    : MomentOptimizer(
          params, c.learning_rate, c.weight_decay,
          {.what = "momentum", .momentum = c.momentum, .slabs = {"square_avg"}, .buffered = true}),
      alpha_(c.alpha),
      eps_(c.eps) {
  check_fraction("alpha", c.alpha);
  require(static_cast<real>(c.eps) > 0, "optimizer: eps {} is not positive", c.eps);
}

WeightUpdate Rmsprop::rule(const Range&) const {
  return {.rule = UpdateRule::rmsprop, .alpha = static_cast<real>(alpha_), .eps = static_cast<real>(eps_)};
}

// --- Lion ----------------------------------------------------------------------------------------

Lion::Lion(ParameterSet& params, const LionConfig& c)
    : MomentOptimizer(params, c.learning_rate, c.weight_decay,
                      {.what = "beta1", .momentum = c.beta1, .slabs = {"exp_avg"}}),
      beta2_(c.beta2) {
  check_fraction("beta2", c.beta2);
}

WeightUpdate Lion::rule(const Range&) const {
  return {.rule = UpdateRule::lion, .beta2 = static_cast<real>(beta2_)};
}

}  // namespace unroll

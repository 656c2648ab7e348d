// Optimizers that adapt their steps to each weight's past gradients: Adam and AdamW, RMSprop, Lion.
#include <bit>
#include <cmath>

#include "framework/hash.h"
#include "framework/kernels/kernels.h"
#include "optim/check_fraction.h"
#include "optim/optimizer.h"

namespace unroll {

// --- Adam ----------------------------------------------------------------------------------------

Adam::Adam(ParameterSet& params, const AdamConfig& c, bool decoupled)
    : Optimizer(params, c.learning_rate, c.weight_decay),
      beta1_(c.beta1),
      beta2_(c.beta2),
      eps_(c.eps),
      decoupled_(decoupled) {
  check_fraction("beta1", c.beta1);
  check_fraction("beta2", c.beta2);
  require(static_cast<real>(c.eps) > 0, "optimizer: eps {} is not positive", c.eps);
}

void Adam::set_momentum(double beta1) {
  check_fraction("beta1", beta1);
  beta1_ = beta1;
}

void Adam::order(StepOrders& orders) {
  count_missed();
  if (steps_ == 0) slab(m_).fill(0), slab(v_).fill(0);  // it may have been set back to its beginning
  ++steps_;
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
  orders.momentum = beta1_;
  orders.correction1 = first, orders.correction2 = second;
}

// The betas in the kernel's precision: 0.999 in float is off by 5e-5 of its distance to 1.
std::array<double, 2> Adam::corrections_after(int64_t steps) const {
  const auto correction = [steps](double beta) {
    return 1 - std::pow(static_cast<double>(static_cast<real>(beta)), static_cast<double>(steps));
  };
  return {correction(beta1_), correction(beta2_)};
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

void Adam::update() {
  AdamUpdate u{.beta2 = static_cast<real>(beta2_),
               .eps = static_cast<real>(eps_),
               .weight_decay = 0,
               .decoupled = decoupled_};
  RoundedCopy rounded;
  real* const p = params_.changed_values(&rounded).data();
  const real* const g = params_.contributed_gradients().data();
  real* const m = slab(m_).data();
  real* const v = slab(v_).data();
  for (const Range& range : complete_ranges()) {
    const int64_t begin = range.begin;
    u.weight_decay = static_cast<real>(range.decay);
    u.rate = range.rate, u.rounded = rounded.from(range.begin);
    u.corrections =
        range.group > 0 ? static_cast<const double*>(corrections_.data()) + 2 * range.first : nullptr;
    kernels().adam(u, step_values(), p + begin, g + begin, m + begin, v + begin, range.size);
  }
}

OptimizerState Adam::state() {
  OptimizerState state{.counters = {{"steps", &steps_}}, .slabs = {}, .learning_rate = &learning_rate_};
  count_missed();
  for (size_t i = 0; i < missed_.size(); ++i) state.counters.push_back({missed_names_[i], &missed_[i], true});
  if (steps_ > 0) state.slabs = {{"exp_avg", slab(m_)}, {"exp_avg_sq", slab(v_)}};
  return state;
}

// --- RMSprop -------------------------------------------------------------------------------------

Rmsprop::Rmsprop(ParameterSet& params, const RmspropConfig& c)
    : Optimizer(params, c.learning_rate, c.weight_decay),
      alpha_(c.alpha),
      eps_(c.eps),
      momentum_(c.momentum),
      has_buffer_(c.momentum > 0) {
  check_fraction("alpha", c.alpha);
  check_fraction("momentum", c.momentum);
  require(static_cast<real>(c.eps) > 0, "optimizer: eps {} is not positive", c.eps);
}

void Rmsprop::set_momentum(double momentum) { momentum_ = checked_momentum(momentum, has_buffer_); }

void Rmsprop::order(StepOrders& orders) {
  if (steps_ == 0) {  // it may have been set back to its beginning
    slab(v_).fill(0);
    if (has_buffer_) slab(buffer_).fill(0);
  }
  orders.momentum = momentum_;
  ++steps_;
}

void Rmsprop::update() {
  RmspropUpdate u{.alpha = static_cast<real>(alpha_), .eps = static_cast<real>(eps_)};
  RoundedCopy rounded;
  real* const p = params_.changed_values(&rounded).data();
  const real* const g = params_.contributed_gradients().data();
  real *const v = slab(v_).data(), *const buffer = has_buffer_ ? slab(buffer_).data() : nullptr;
  for (const Range& range : complete_ranges()) {
    u.weight_decay = static_cast<real>(range.decay);
    u.rate = range.rate, u.rounded = rounded.from(range.begin);
    kernels().rmsprop(u, step_values(), p + range.begin, g + range.begin, v + range.begin,
                      buffer ? buffer + range.begin : nullptr, range.size);
  }
}

OptimizerState Rmsprop::state() {
  OptimizerState state{.counters = {{"steps", &steps_}}, .slabs = {}, .learning_rate = &learning_rate_};
  if (steps_ > 0) state.slabs.push_back({"square_avg", slab(v_)});
  if (steps_ > 0 && has_buffer_) state.slabs.push_back({"momentum_buffer", slab(buffer_)});
  return state;
}

// --- Lion ----------------------------------------------------------------------------------------

Lion::Lion(ParameterSet& params, const LionConfig& c)
    : Optimizer(params, c.learning_rate, c.weight_decay), beta1_(c.beta1), beta2_(c.beta2) {
  check_fraction("beta1", c.beta1);
  check_fraction("beta2", c.beta2);
}

void Lion::set_momentum(double beta1) {
  check_fraction("beta1", beta1);
  beta1_ = beta1;
}

void Lion::order(StepOrders& orders) {
  if (steps_ == 0) slab(m_).fill(0);  // it may have been set back to its beginning
  orders.momentum = beta1_;
  ++steps_;
}

void Lion::update() {
  LionUpdate u{.beta2 = static_cast<real>(beta2_)};
  RoundedCopy rounded;
  real* const p = params_.changed_values(&rounded).data();
  const real* const g = params_.contributed_gradients().data();
  real* const m = slab(m_).data();
  for (const Range& range : complete_ranges()) {
    u.weight_decay = static_cast<real>(range.decay);
    u.rate = range.rate, u.rounded = rounded.from(range.begin);
    kernels().lion(u, step_values(), p + range.begin, g + range.begin, m + range.begin, range.size);
  }
}

OptimizerState Lion::state() {
  OptimizerState state{.counters = {{"steps", &steps_}}, .slabs = {}, .learning_rate = &learning_rate_};
  if (steps_ > 0) state.slabs.push_back({"exp_avg", slab(m_)});
  return state;
}

}  // namespace unroll

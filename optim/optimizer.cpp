// The base of all optimizers, and gradient descent, averaged and not.
#include "optim/optimizer.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "framework/hash.h"
#include "framework/kernels/updates.h"

namespace unroll {

namespace {

double checked(float factor, const char* what, const Parameter& p) {
  require(factor >= 0 && std::isfinite(factor), "step: the {} {} of '{}' is not a number from 0 up", what,
          factor, p.name);
  return double{factor};
}
double rate_of(const Parameter& p) { return checked(p.rate, "rate", p); }

// Gradients that were contributed and count.
struct Contribution {
  int64_t begin;       // of the weights, in the slab
  const real* values;  // where they are
  int64_t size;        // so many
  double rate;         // Parameter::rate
  // They are the sums of rows of this parameter, beside its memory; null: they are the slab's, from `begin` on.
  const Parameter* table = nullptr;
};

// Calls use(contribution) in a fixed order. Neighbours make one, with the padding between them, which is zero; with `by_rate` only
// those of one rate.
template <class F>
void for_each_contribution(const ParameterSet& params, bool by_rate, F use) {
  const real* const g = params.gradients_beside_sums().data();
  int64_t begin = 0, end = 0;
  double rate = 1;
  const auto flush = [&] {
    if (end > begin) use(Contribution{begin, g + begin, end - begin, rate});
    begin = end = 0;
  };
  for (const auto& p : params.all()) {
    const Gradient& gradient = p->node.gradient;
    if (by_rate && rate != rate_of(*p)) flush(), rate = rate_of(*p);
    if (p->frozen || !gradient.written() || p->size() == 0) {
      flush();
    } else if (const Gradient::RowSums* const rows = gradient.row_sums()) {
      flush();
      use(Contribution{p->offset, rows->sums.data(), rows->sums.size(), rate, p});
    } else if (gradient.only_some_rows() && 2 * std::ssize(gradient.rows()) < p->shape[0]) {
      // A few rows of an embedding. (The others are zero, so if most are there, all of them together are simpler.)
      flush();
      const int64_t cols = p->size() / p->shape[0];
      for (int32_t row : gradient.rows()) {
        const int64_t at = p->offset + row * cols;
        use(Contribution{at, g + at, cols, rate});
      }
    } else {
      if (end == 0) begin = p->offset;
      end = p->offset + p->size();
    }
  }
  flush();
}

void check_finite(const ParameterSet& params, double norm) {
  if (std::isfinite(norm)) return;
  for (const auto& p : params.all()) {
    if (p->frozen || !p->node.gradient.written()) continue;
    if (!std::isfinite(
            kernels().sum_of_squares(params.contributed_gradients().data() + p->offset, p->size())))
      throw Diverged(fmt::format("step {}: the gradient of '{}' is not finite", params.step(), p->name));
  }
  throw Diverged(fmt::format("step {}: the gradient's norm is not finite", params.step()));
}

}  // namespace

double grad_norm(const ParameterSet& params) {
  double sum = 0;
  for_each_contribution(params, false,
                        [&](const Contribution& c) { sum += kernels().sum_of_squares(c.values, c.size); });
  return std::sqrt(sum);
}

double clip_factor(double norm, double max_norm) { return std::min(1.0, max_norm / (norm + 1e-6)); }

double clip_grad_norm(ParameterSet& params, double max_norm) {
  require(max_norm > 0, "clip_grad_norm: max_norm must be positive, not {}", max_norm);
  const double norm = grad_norm(params);
  check_finite(params, norm);
  const double factor = clip_factor(norm, max_norm);
  if (factor < 1) {
    Tensor slab = params.contributed_gradients();  // the whole: no sums are beside it
    real* const g = slab.data();
    for_each_contribution(params, false, [&](const Contribution& c) {
      kernels().affine(c.values, static_cast<real>(factor), 0, g + c.begin, c.size, false);
    });
  }
  return norm;
}

// --- what all have in common ---------------------------------------------------------------------

Optimizer::Optimizer(ParameterSet& params, double learning_rate, double weight_decay)
    : params_(params.shared()), weight_decay_(weight_decay), step_values_(sizeof(StepValues)) {
  const StepValues none;
  copy_to_device(step_values_.data(), &none, sizeof none);
  set_learning_rate(learning_rate);
  require(weight_decay >= 0 && std::isfinite(weight_decay),
          "optimizer: weight_decay {} is not a number from 0 up", weight_decay);
}

void Optimizer::set_learning_rate(double rate) {
  require(rate >= 0 && std::isfinite(rate), "optimizer: learning_rate {} is not a number from 0 up", rate);
  learning_rate_ = rate;
}

void Optimizer::set_momentum(double momentum) {
  throw Error(fmt::format("optimizer: {} has no momentum that could be {}", name(), momentum));
}

WeightAverage& Optimizer::set_average(WeightAverage average) {
  if (!average_) return average_.emplace(std::move(average));
  require(average_->slab == average.slab, "optimizer: {} keeps the {}; it has no {} beside it", name(),
          average_->what, average.what);
  return *average_;
}

void Optimizer::keep_average(double decay) {
  check_fraction("the average's decay", decay);
  WeightAverage& average = set_average({.what = fmt::format("average of decay {}", decay),
                                        .counter = "averaged_steps",
                                        .slab = "moving_average"});
  average.share = [decay](int64_t n) { return n == 0 ? 1 : 1 - decay; };
  if (decay == 0) average_.reset();
}

OptimizerState Optimizer::whole_state() {
  OptimizerState whole = state();
  if (!average_) return whole;
  whole.counters.push_back({average_->counter, &average_->count, average_->may_lack});
  if (average_->count > 0) whole.slabs.push_back({average_->slab, average_->memory_for(weights())});
  return whole;
}

void Optimizer::update_weights() {
  update();
  if (average_) average_->end_step(step_values(), weights());
}

void Optimizer::check(const StepOptions& options) const {
  params_.require_alive(name());
  require(!averaged_in_,
          "step: the model's weights are the averaged ones as long as an AveragedWeights lives");
  require(options.max_norm >= 0, "step: max_norm {} is negative", options.max_norm);
  require(std::isfinite(options.factor), "step: factor {} is not a finite number", options.factor);
  require(options.rate_factor >= 0 && std::isfinite(options.rate_factor),
          "step: rate_factor {} is not a number from 0 up", options.rate_factor);
}

double Optimizer::step(const StepOptions& options) {
  check(options);
  require(
      std::ranges::any_of(params_.all(), [](const auto& p) { return p->node.gradient.written(); }),
      "step: nothing was contributed to a gradient since the last step; tape.backward(loss) does that, and a set of "
      "parameters has one optimizer");
  double norm = 0;
  StepValues values;
  if (options.max_norm > 0) {
    norm = std::abs(options.factor) * grad_norm(params_);
    check_finite(params_, norm);
  }
  values.orders = orders_for(options);
  values.outcome.norm = norm;
  values.outcome.scale = options.factor * (options.max_norm > 0 ? clip_factor(norm, options.max_norm) : 1);
  copy_to_device(step_values(), &values, sizeof values);
  update_weights();
  finish_step();
  return norm;
}

StepOrders Optimizer::orders_for(const StepOptions& options) {
  StepOrders orders{.factor = options.factor,
                    .max_norm = options.max_norm,
                    .learning_rate = learning_rate_ * options.rate_factor,
                    .step = params_.step()};
  if (average_) orders.average_weight = average_->begin_step(weights());
  order(orders);
  return orders;
}

void Optimizer::order_step(const StepOptions& options) {
  check(options);
  const StepOrders orders = orders_for(options);
  params_.renew_rounded();
  copy_to_device(&step_values()->orders, &orders, sizeof orders);
}

void Optimizer::order_window() {
  const uint32_t step = parameters().step();
  params_.renew_rounded();
  copy_to_device(&step_values()->orders.step, &step, sizeof step);
}

void Optimizer::enqueue_step() {
  for_each_contribution(parameters(), false, [&](const Contribution& c) {
    kernels().add_squares(c.values, c.size, step_values());
  });
  kernels().decide_step(step_values());
  update_weights();
}

// Which parameters are frozen, their decay and rates, and whether the weights go into an average.
uint64_t Optimizer::step_signature() const {
  uint64_t hash = hash_with(hash_of_nothing, average_ && average_->next_share() > 0 ? 1 : 2);
  for (const auto& p : parameters().all()) {
    hash = hash_with(hash_with(hash, p->frozen ? 1 : 2), std::bit_cast<uint32_t>(p->decay));
    hash = hash_with(hash, std::bit_cast<uint32_t>(p->rate));
  }
  return hash;
}

void Optimizer::finish_step() {
  parameters().spend_gradients();
  params_.set_step(params_.step() + 1);
}

const std::vector<Optimizer::Range>& Optimizer::complete_ranges() {
  params_.complete_gradients();
  ranges_.clear();
  const auto& all = params_.all();
  for (size_t i = 0; i < all.size(); ++i) {
    const Parameter& p = *all[i];
    if (p.frozen) continue;
    const int64_t end = i + 1 < all.size() ? all[i + 1]->offset : params_.values().size();
    const double decay = checked(p.decay, "decay", p) * weight_decay_;
    const double rate = rate_of(p);
    const int64_t group = group_of(i);
    Range* last = ranges_.empty() ? nullptr : &ranges_.back();
    if (last && last->decay == decay && last->rate == rate && last->group == group &&
        last->begin + last->size == p.offset)
      last->size = end - last->begin;
    else
      ranges_.push_back({p.offset, end - p.offset, decay, rate, group, i});
  }
  return ranges_;
}

Optimizer::StepFacts Optimizer::step_facts() const {
  StepValues values;
  copy_to_host(&values, step_values(), sizeof values);
  return {values.outcome.go != 0, values.outcome.scale, values.orders.learning_rate};
}

Tensor& Optimizer::slab(Tensor& tensor) const {
  if (!tensor.defined()) tensor = Tensor::zeros(parameters().values().shape());
  return tensor;
}

// --- moments -------------------------------------------------------------------------------------

void check_fraction(const char* name, double value) {
  require(value >= 0 && static_cast<real>(value) < 1, "optimizer: {} {} is not in [0, 1){}", name, value,
          value < 1 ? ": it rounds to 1" : "");
}

MomentOptimizer::MomentOptimizer(ParameterSet& params, double learning_rate, double weight_decay,
                                 const Moments& moments)
    : Optimizer(params, learning_rate, weight_decay), momentum_(moments.momentum), made_with_(moments) {
  check_fraction(moments.what, momentum_);
  for (const std::string_view name : moments.slabs) slabs_.push_back({name, {}});
  if (moments.has_buffer()) slabs_.push_back({"momentum_buffer", {}});
}

void MomentOptimizer::set_momentum(double momentum) {
  check_fraction(made_with_.what, momentum);
  require(!made_with_.buffered || made_with_.has_buffer() || momentum == 0,
          "optimizer: this {} was made without momentum: it cannot be {}", name(), momentum);
  momentum_ = momentum;
}

void MomentOptimizer::order(StepOrders& orders) {
  orders.first = steps_ == 0;
  orders.momentum = momentum_;
  if (steps_++ > 0) return;
  for (OptimizerState::Slab& moment : slabs_) slab(moment.values).fill(0);  // it may have been set back
}

real* MomentOptimizer::moment(size_t k) {
  return k < slabs_.size() ? slab(slabs_[k].values).data() : nullptr;
}

void MomentOptimizer::update() {
  real *const first = moment(0), *const second = moment(1);
  RoundedCopy rounded;
  real* const p = params_.changed_values(&rounded).data();
  const real* const g = params_.contributed_gradients().data();
  for (const Range& range : complete_ranges()) {
    WeightUpdate u = rule(range);
    const auto of_range = [&](real* slab) { return slab ? slab + range.begin : nullptr; };
    u.weight_decay = static_cast<real>(range.decay), u.rate = range.rate;
    u.rounded = rounded.from(range.begin);
    kernels().update_weights(u, step_values(), p + range.begin, g + range.begin, of_range(first),
                             of_range(second), range.size);
  }
}

OptimizerState MomentOptimizer::state() {
  OptimizerState state{.counters = {{"steps", &steps_}}, .slabs = {}, .learning_rate = &learning_rate_};
  if (steps_ == 0) return state;
  for (OptimizerState::Slab& moment : slabs_) slab(moment.values);
  state.slabs = slabs_;
  return state;
}

// --- gradient descent ----------------------------------------------------------------------------

Sgd::Sgd(ParameterSet& params, const SgdConfig& c)
    : MomentOptimizer(params, c.learning_rate, c.weight_decay,
                      {.what = "momentum", .momentum = c.momentum, .slabs = {}, .buffered = true}),
      nesterov_(c.nesterov) {
  require(!c.nesterov || c.momentum > 0, "optimizer: nesterov needs momentum");
}

WeightUpdate Sgd::rule(const Range&) const { return {.nesterov = nesterov_}; }

void Sgd::update() {
  if (moment(0) || weight_decay_ > 0) return MomentOptimizer::update();
  RoundedCopy rounded;
  real* const p = params_.changed_values(&rounded).data();
  for_each_contribution(params_, true, [&](const Contribution& c) {
    WeightUpdate u{.rate = c.rate, .rounded = rounded.from(c.begin), .nesterov = nesterov_};
    if (c.table)
      u.rows = c.table->node.gradient.row_sums()->ids(), u.cols = c.table->size() / c.table->shape[0];
    kernels().update_weights(u, step_values(), p + c.begin, c.values, nullptr, nullptr, c.size);
  });
}

}  // namespace unroll

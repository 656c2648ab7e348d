// The optimizers: each update is a few fused passes over the slabs of weights, gradients and moments.
//
//   Adam adam(model.params, {.learning_rate = 1e-3});
//   ...
//   tape.backward(loss);
//   adam.step({.max_norm = 5});            // clips, updates, forgets the gradients, counts the step
//
// Frozen parameters have no gradient and are not updated; `Parameter::decay` multiplies the weight decay, 0 where none applies, and
// `Parameter::rate` the learning rate. All may be changed between steps:
//   for (Parameter* p : model.params.under("encoder")) p->rate = 0.1f, p->decay = 0.5f;
// Gradients add up until a step uses them, so several windows may
// contribute to one step: `step({.factor = 1.0 / windows})` takes their mean. Each window's tape says which part of the
// step it is (`TapeOptions::part`), or all have the same masks of dropout.
//
// A step forgets the gradients of all parameters and counts one step of the set, so a set has one optimizer. A second
// would find no gradient. That is an error, like a step before any backward.
//
// A parameter that nothing contributed to has the gradient 0, and momentum, moments and decay go on acting on
// it, as in PyTorch with a gradient of zeros. (PyTorch leaves out a parameter whose gradient is None, so
// there the result depends on whether someone called zero_grad(set_to_none=False); here it depends on the
// numbers alone, and an update stays one pass over the slab.)
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/parameters.h"
#include "framework/rounded_copy.h"
#include "optim/weight_average.h"

namespace unroll {

struct StepOrders;  // framework/kernels/updates.h
struct StepValues;
struct WeightUpdate;

// A gradient is not finite: training has diverged. Nothing was changed.
struct Diverged : Error {
  using Error::Error;
};

// The Euclidean norm of all gradients but those of frozen parameters; summed in double, in a fixed order.
double grad_norm(const ParameterSet& params);

// The factor of clipping (Pascanu et al. 2013, as in PyTorch): min(1, max_norm / (norm + 1e-6)). A max_norm of 0 makes it 0.
double clip_factor(double norm, double max_norm);

// Scales the gradients so that their norm is at most max_norm, and returns the norm that they had. Throws Diverged
// naming a parameter if it is not finite. `Optimizer::step({.max_norm = …})` does the same without a pass of its own.
double clip_grad_norm(ParameterSet& params, double max_norm);

// Clipping, and factors of gradients and rate.
struct StepOptions {
  // The global norm that gradients are clipped to; infinity: it is measured, and nothing is clipped. 0: it is not even
  // measured, and a gradient of NaN makes the weights NaN.
  double max_norm = std::numeric_limits<double>::infinity();
  double factor = 1;       // multiplies the gradients before anything else (1 / windows that were added up)
  double rate_factor = 1;  // multiplies the learning rate, in this step
};

// All that must be kept to go on with the same bits: names, and where the numbers are. Which slabs there are
// depends on the counters: to restore, set the counters, ask for the state again, and fill the slabs.
struct OptimizerState {
  // Numbers for each weight.
  struct Slab {
    std::string_view name;
    Tensor values;  // the optimizer's own memory, laid out as ParameterSet::values()
  };
  // A whole number that it keeps.
  struct Counter {
    std::string_view name;
    int64_t* value;         // the optimizer's own
    bool may_lack = false;  // 0 where it was not kept
  };
  std::vector<Counter> counters;
  std::vector<Slab> slabs;
  double* learning_rate;  // the optimizer's own
};

// The base of all optimizers. It follows the parameters where their model is moved. Throws Error naming itself and a parameter
// where they are gone: their model was replaced, or has ended.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update with the gradients that were contributed since the last; forgets them and advances
  // params.step(). Returns the global norm after `factor` and before clipping; 0 with max_norm = 0.
  // Throws Error if nothing was contributed. Throws Diverged, naming a parameter, if a gradient is not finite: weights,
  // gradients and counters stay as they were. Only max_norm = 0 does without that.
  double step(const StepOptions& options = {});

  // A step in halves, for a device that computes while the host goes on: what there is to decide, it decides itself.
  // order_step: what the host knows goes to the device, and counters advance.
  // enqueue_step: the device is to measure the norm and, if that and all losses are finite, to change the weights.
  // finish_step: gradients are forgotten, params.step() advances.
  // If the second was recorded as a graph (framework/graph.h), a step is the first, the graph, and the third.
  void order_step(const StepOptions& options);
  void enqueue_step();
  void finish_step();
  // Before a window that is not the last of its step: masks need to know its number.
  void order_window();
  // Which operations the next enqueue_step() asks for: what was recorded under another number is of no use.
  virtual uint64_t step_signature() const;
  // In the device's memory.
  StepValues* step_values() const { return static_cast<StepValues*>(step_values_.data()); }

  double learning_rate() const { return learning_rate_; }  // of the next step
  void set_learning_rate(double rate);                     // for the next steps
  // For the next steps: the momentum of an Sgd that was made with one, beta1 of Adam. Throws Error unless it is in [0, 1), and
  // where the optimizer has none.
  virtual void set_momentum(double momentum);

  ParameterSet& parameters() const {
    params_.require_alive(name());
    return params_;
  }
  virtual std::string_view name() const = 0;  // as in recipes: "sgd"
  virtual OptimizerState state() = 0;         // without the average
  // With the average: all that a checkpoint keeps.
  OptimizerState whole_state();
  // Averaged weights, laid out as ParameterSet::values(); nullptr if there are none (yet).
  const Tensor* averages() const { return average_ ? average_->values() : nullptr; }
  // From the next step on an average of the weights is kept: those after that step at first, then
  // average = decay·average + (1 - decay)·weights after each. decay in [0, 1); 0: none is kept. Throws Error as set_average().
  void keep_average(double decay);
  // Returns the optimizer's own: this one, or the one of the same slab that it has. Throws Error if it has another.
  WeightAverage& set_average(WeightAverage average);

 protected:
  // A piece of the slabs whose parameters are treated alike, padding between them included.
  struct Range {
    int64_t begin, size;
    double decay;  // weight decay of these: the optimizer's, times Parameter::decay
    double rate;   // Parameter::rate
    int64_t group;
    size_t first;  // of the parameters in it
  };

  Optimizer(ParameterSet& params, double learning_rate, double weight_decay);
  // Counts a step, and fills in what the host has to say about it.
  virtual void order(StepOrders& orders) = 0;
  // Changes the weights as the orders and the outcome say.
  virtual void update() = 0;
  // The ranges of what is not frozen, once every gradient of the slab can be read. Parameters of different groups and rates
  // are told apart; those of different decay only if there is weight decay.
  const std::vector<Range>& complete_ranges();
  virtual int64_t group_of(size_t) const { return 0; }  // of a parameter, by its place
  // A slab for moments: `tensor`, which gets its memory now if it has none, zero at first.
  Tensor& slab(Tensor& tensor) const;
  // For an update() of one's own that computes on the host: the present step, once it is decided. On a GPU this waits.
  //   const StepFacts step = step_facts();
  //   if (!step.go) return;
  //   const auto ranges = complete_ranges();
  //   const auto w = params_.changed_values().on_host(Access::change);
  //   const auto g = params_.contributed_gradients().on_host();      // each times step.scale
  struct StepFacts {
    bool go;               // the weights are to change
    double scale;          // of the gradients: the factor, and clipping
    double learning_rate;  // with the step's rate_factor; a Range has one more
  };
  StepFacts step_facts() const;

  mutable ParameterSet params_;  // shared with the model's
  double learning_rate_, weight_decay_;

 private:
  friend class AveragedWeights;
  void check(const StepOptions& options) const;
  StepOrders orders_for(const StepOptions& options);
  void update_weights();
  const Tensor& weights() const { return std::as_const(params_).values(); }
  std::vector<Range> ranges_;
  bool averaged_in_ = false;  // the model's weights are the averages for the moment
  Memory step_values_;        // StepValues
  std::optional<WeightAverage> average_;
};

// Throws Error unless `value`, a share of the past, is in [0, 1), also after rounding to real.
void check_fraction(const char* name, double value);

// Optimizers with moments: slabs that are zero before the first step, and a momentum, or beta1.
class MomentOptimizer : public Optimizer {
 public:
  void set_momentum(double momentum) override;
  OptimizerState state() override;          // "steps"; the slabs, from the first step on
  int64_t steps() const { return steps_; }  // that this optimizer has taken

 protected:
  struct Moments {
    const char* what;  // the momentum in messages
    double momentum;
    std::vector<std::string_view> slabs;
    // The momentum has a slab, "momentum_buffer". Made with momentum 0 there is none, and it stays 0.
    bool buffered = false;
    bool has_buffer() const { return buffered && momentum > 0; }
  };
  MomentOptimizer(ParameterSet& params, double learning_rate, double weight_decay, const Moments& moments);
  void order(StepOrders& orders) override;
  void update() override;  // a pass over each of complete_ranges()
  // The rule of such a pass, without the range's decay and rate.
  virtual WeightUpdate rule(const Range& range) const = 0;
  real* moment(size_t k);  // the k-th slab's memory; nullptr: there is none

  double momentum_;
  int64_t steps_ = 0;

 private:
  const Moments made_with_;
  std::vector<OptimizerState::Slab> slabs_;
};

struct SgdConfig {
  double learning_rate = 1;
  double momentum = 0;      // in [0, 1)
  bool nesterov = false;    // needs momentum
  double weight_decay = 0;  // added to the gradient, times the weight
};

// Stochastic gradient descent:  g += weight_decay·p,  v = momentum·v + g,  p -= learning_rate·v, with
// Nesterov ·(g + momentum·v); v starts as the first g (Sutskever et al. 2013, in PyTorch's form). Without
// momentum and decay a step touches nothing but parameters that have a gradient, of an embedding its rows. The momentum of a
// step is that of the moment (set_momentum), as in PyTorch.
class Sgd : public MomentOptimizer {
 public:
  Sgd(ParameterSet& params, const SgdConfig& config);
  // Its slab: "momentum_buffer", if it was made with momentum.
  std::string_view name() const override { return "sgd"; }

 protected:
  void update() override;
  WeightUpdate rule(const Range& range) const override;

 private:
  bool nesterov_;
};

struct AdamConfig {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;  // in [0, 1)
  double eps = 1e-8;                  // positive; outside the root
  double weight_decay = 0;            // added to the gradient, times the weight
};

// Adam (Kingma and Ba 2015):  m = β₁m + (1-β₁)g,  v = β₂v + (1-β₂)g²,
// p -= learning_rate · m/(1-β₁ᵗ) / (√(v/(1-β₂ᵗ)) + eps), where t counts the steps that the parameter took part in: one that
// thaws begins as others began, as in PyTorch. If β₁ changes from step to step (set_momentum), β₁ᵗ is a power of the present
// one, as in PyTorch.
class Adam : public MomentOptimizer {
 public:
  Adam(ParameterSet& params, const AdamConfig& config) : Adam(params, config, false) {}
  std::string_view name() const override { return "adam"; }
  // "steps", "missed.<parameter>" (while it was frozen); "exp_avg" (m), "exp_avg_sq" (v)
  OptimizerState state() override;
  uint64_t step_signature() const override;

 protected:
  Adam(ParameterSet& params, const AdamConfig& config, bool decoupled);
  void order(StepOrders& orders) override;
  WeightUpdate rule(const Range& range) const override;
  int64_t group_of(size_t i) const override { return missed_[i]; }

 private:
  std::array<double, 2> corrections_after(int64_t steps) const;
  void count_missed();

  double beta2_, eps_;
  bool decoupled_;
  std::vector<int64_t> missed_;            // by parameter
  std::vector<std::string> missed_names_;  // "missed.<parameter>"
  Memory corrections_;                     // [parameters, 2] doubles, of those that missed steps
};

struct AdamWConfig {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // weights shrink by 1 - learning_rate·weight_decay in a step
};

// Adam (learning_rate, beta1, beta2, eps) whose weight decay acts on the weights, not through the moments (Loshchilov and Hutter 2019).
class AdamW : public Adam {
 public:
  AdamW(ParameterSet& params, const AdamWConfig& c)
      : Adam(params, {c.learning_rate, c.beta1, c.beta2, c.eps, c.weight_decay}, true) {}
  std::string_view name() const override { return "adamw"; }
};

struct RmspropConfig {
  double learning_rate = 1e-2;
  double alpha = 0.99;      // in [0, 1): of the mean square
  double eps = 1e-8;        // positive; outside the root
  double momentum = 0;      // in [0, 1)
  double weight_decay = 0;  // added to the gradient, times the weight
};

// RMSprop (Tieleman and Hinton 2012, in PyTorch's form):  v = αv + (1-α)g²,  d = g / (√v + eps),  p -= learning_rate·d, or with
// momentum  b = momentum·b + d,  p -= learning_rate·b.
class Rmsprop : public MomentOptimizer {
 public:
  Rmsprop(ParameterSet& params, const RmspropConfig& config);
  // Its slabs: "square_avg" (v), and "momentum_buffer" (b) if it was made with momentum.
  std::string_view name() const override { return "rmsprop"; }

 protected:
  WeightUpdate rule(const Range& range) const override;

 private:
  double alpha_, eps_;
};

struct LionConfig {
  double learning_rate = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;  // in [0, 1)
  double weight_decay = 0;           // weights shrink by 1 - learning_rate·weight_decay in a step
};

// Lion (Chen et al. 2023):  p -= learning_rate·sign(β₁m + (1-β₁)g),  m = β₂m + (1-β₂)g.
class Lion : public MomentOptimizer {
 public:
  Lion(ParameterSet& params, const LionConfig& config);
  std::string_view name() const override { return "lion"; }  // its slab: "exp_avg" (m)

 protected:
  WeightUpdate rule(const Range& range) const override;

 private:
  double beta2_;
};

struct AsgdConfig {
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();  // for average_after
  double learning_rate = 1;
  double weight_decay = 0;
  int64_t average_after = 0;  // steps of its own without averaging; never: until start_averaging()
};

// Gradient descent (learning_rate, weight_decay) that keeps the mean of the weights after each step from some on (Polyak and
// Juditsky 1992). Training goes on with the weights themselves; AveragedWeights puts the mean in their place.
// (torch.optim.ASGD, with lambd = 0, leaves out the weights after step t0 + 1: average_after is t0 + 1.)
class Asgd : public Sgd {
 public:
  Asgd(ParameterSet& params, const AsgdConfig& config);
  std::string_view name() const override { return "asgd"; }
  OptimizerState state() override;  // "steps", "average_after"
  // The mean begins with the weights after the next step, unless it has begun.
  void start_averaging();
  int64_t averaged() const { return mean_.count; }  // weights that the mean is of

 private:
  int64_t average_after_;
  WeightAverage& mean_;
};

// While it lives, the model's weights are the averaged ones, for an evaluation or a file; then the others are
// back, in the same bits. Does nothing for an optimizer without averages. A step meanwhile is an error.
class AveragedWeights {
 public:
  explicit AveragedWeights(Optimizer& optimizer);
  ~AveragedWeights();
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  void swap();
  Optimizer& optimizer_;
  Tensor between_;   // a part of them, on its way
  Tensor averages_;  // those there were at the beginning, if any
};

}  // namespace unroll

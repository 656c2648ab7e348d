// Optimizers, their averages and schedules.
#include "docs/reference/examples/examples.h"

namespace {

// A model of one weight; returns the gradient's norm before clipping.
double one_step(ParameterSet& params, Optimizer& optimizer, const StepOptions& options = {}) {
  Tape tape;
  const Var w = params.at("w").var();
  tape.backward(sum(w * w));
  return optimizer.step(options);
}

void each() {
  //! [Adam]
  ParameterSet params;
  const Var w = params.add("w", {1}, Init::constant(3)).var();
  Adam adam(params, AdamConfig{.learning_rate = 0.1, .beta1 = 0.9, .beta2 = 0.999});
  {
    Tape tape;
    tape.backward(sum(w * w));
  }
  const double norm = adam.step(StepOptions{.max_norm = 5});  // clips, updates, forgets the gradients
  check(near(norm, 6) && near(w.item(), 2.9));
  //! [Adam]
}

void all() {
  //! [Optimizer]
  ParameterSet params;
  params.add("w", {1}, Init::constant(1));
  const auto try_one = [&](std::unique_ptr<Optimizer> optimizer) {  // one at a time for a set
    one_step(params, *optimizer);
    return std::string(optimizer->name());
  };
  check(try_one(std::make_unique<Sgd>(params, SgdConfig{.learning_rate = 0.1, .momentum = 0.9})) == "sgd");
  check(try_one(std::make_unique<AdamW>(params, AdamWConfig{.weight_decay = 0.01})) == "adamw");
  check(try_one(std::make_unique<Rmsprop>(params, RmspropConfig{.alpha = 0.99})) == "rmsprop");
  check(try_one(std::make_unique<Lion>(params, LionConfig{.learning_rate = 1e-4})) == "lion");
  //! [Optimizer]
}

void averages() {
  //! [AveragedWeights]
  ParameterSet params;
  const Var w = params.add("w", {1}, Init::constant(1)).var();
  Asgd asgd(params, AsgdConfig{.learning_rate = 0.25, .average_after = 0});
  one_step(params, asgd), one_step(params, asgd);  // 0.5, 0.25
  {
    const AveragedWeights averaged(asgd);  // while it lives
    check(near(w.item(), 0.375));
  }
  check(near(w.item(), 0.25));
  //! [AveragedWeights]

  //! [OptimizerState]
  const OptimizerState state = asgd.whole_state();  // what a checkpoint keeps
  check(state.counters[0].name == "steps" && *state.counters[0].value == 2);
  //! [OptimizerState]

  //! [MomentOptimizer]
  MomentOptimizer& moments = asgd;  // the base of all of them: counts its steps, and has a momentum
  check(moments.steps() == 2);
  //! [MomentOptimizer]
}

void diverges() {
  //! [Diverged]
  ParameterSet params;
  const Var w = params.add("w", {1}, Init::constant(0)).var();
  Sgd sgd(params, {.learning_rate = 0.1});
  try {
    Tape tape;
    tape.backward(sum(log(w)));  // an infinite slope
    sgd.step();
    check(false);
  } catch (const Diverged& error) {  // names the parameter; weights and counters are as before
    check(std::string(error.what()).find("'w'") != std::string::npos);
  }
  params.spend_gradients();
  //! [Diverged]
}

void schedules() {
  //! [Schedule]
  const Schedule cosine{.kind = Schedule::Kind::cosine, .learning_rate = 1, .warmup = 10, .total = 110};
  check(near(cosine.rate(0, 60), 0.5) && near(cosine.rate(0, 110), 0));  // by optimizer step
  //! [Schedule]

  //! [NonMonotoneTrigger]
  NonMonotoneTrigger trigger{.patience = 1};
  check(!trigger(5.0) && !trigger(4.0) &&
        trigger(6.0));  // worse than the best of those before the last: average now
  //! [NonMonotoneTrigger]
}

}  // namespace

void optimizers() { each(), all(), averages(), diverges(), schedules(); }

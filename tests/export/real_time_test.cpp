// Steps in real time: the layers' values over hundreds of steps, and no memory asked for.
#include "export/real_time_step.h"
#include "tests/export/step_models.h"
#include "tests/layers/counted_memory.h"

using namespace unroll;

TEST_CASE("a step gives the layers' values, whatever the options") {
  constexpr int steps = 300;
  for (const StepModel& model : step_models()) {
    CAPTURE(model.name);
    const StepInputs inputs = step_inputs(model, steps);
    const Tensor expected = model.whole(inputs.x, inputs.tokens);
    RealTimeStep step(model.plan);
    const Tensor y = by_steps(model, step, inputs, steps);
    CHECK(distance(y, expected) <= tolerance(model, expected));
    CHECK(largest(expected) > 0.01);
    step.reset();
    CHECK(same_bits(by_steps(model, step, inputs, steps), y));
  }
}

TEST_CASE("after construction no step asks for memory") {
  for (const StepModel& model : step_models()) {
    CAPTURE(model.name);
    RealTimeStep step(model.plan);
    const StepInputs inputs = step_inputs(model, 1);
    if (model.inputs > 0) std::ranges::copy(inputs.x.to_host(), step["x"].begin());
    const int token = model.vocab > 0 ? inputs.tokens.data()[0] : 0;
    Count count;
    for (int t = 0; t < 10000; ++t) step(token);
    step.reset();
    CHECK(count.result() == "");
  }
}

TEST_CASE("a state is kept and put back; names and kernels that do not exist are refused") {
  const StepModel model = recurrent_model(CellKind::lstm, {.input = 2, .hidden = 3, .layers = 2});
  RealTimeStep step(model.plan), other(model.plan);
  CHECK(step.state().size() == 2 * 2 * 3);
  for (int t = 0; t < 3; ++t) step();
  std::ranges::copy(step.state(), other.state().begin());
  step(), other();
  CHECK(std::ranges::equal(step["y"], other["y"]));
  CHECK(lacks(error_of([&] { step["z"]; }), {"z"}) == "");
  StepPlan plan = model.plan;
  plan.calls[0].kernel = "cosine";
  CHECK(lacks(error_of([&] { RealTimeStep{plan}; }), {"cosine"}) == "");
}

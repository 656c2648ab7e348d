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
    // Both round each sum and function, and the recurrence does not let errors grow: weights are below 1/2.
    CHECK(distance(y, expected) <= 1e-6 * std::max(1.0, largest(expected)));
    CHECK(largest(expected) > 0.01);
    step.reset();
    CHECK(same_bits(by_steps(model, step, inputs, steps), y));
  }
}

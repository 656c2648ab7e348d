// Errors of a task's own functions: the step that one ends is taken again from its beginning, ahead of a device and with graphs, too.
#include <doctest/doctest.h>

#include "tests/support.h"
#include "tests/training/run_ahead.h"

using namespace unroll;
using namespace running_ahead;

TEST_CASE("a step that an error ends is taken again from its beginning, in the same bits") {
  for (const Rule rule : {Rule::adam, Rule::averaged})
    for (const int accumulate : {1, 3})
      for (const bool graph : {false, true})
        for (const bool at_loss : {true, false}) {
          CAPTURE(static_cast<int>(rule));
          CAPTURE(accumulate);
          CAPTURE(graph);
          CAPTURE(at_loss);
          TinyTraining whole({.rule = rule});
          TrainerOptions options = quietly({.accumulate = accumulate});
          const Outcome expected = ahead(whole, options, whole.task());
          options.graph = graph;
          TinyTraining t({.rule = rule});
          TrainingTask task = t.task();
          int calls = 0;
          // In the first step, in one that is recorded, in the middle of another.
          const auto fails = [&] {
            if (++calls == 2 || calls == 5 || calls == 12) throw Error("of the caller");
          };
          if (at_loss)
            task.loss = [&, loss = task.loss](int64_t k) {
              fails();
              return loss(k);
            };
          else
            task.reduce_gradients = fails;
          Trainer trainer(*t.optimizer, options);
          int thrown = 0;
          for (bool done = false; !done;) try {
              trainer.run(task);
              done = true;
            } catch (const Error& error) {
              REQUIRE(std::string(error.what()) == "of the caller");
              ++thrown;
            }
          CHECK(thrown > 0);
          CHECK(outcome_of(t, trainer.state()) == expected);
        }
}

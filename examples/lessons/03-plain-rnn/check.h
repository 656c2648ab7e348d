// The check of lesson 3.
#pragma once

#include "examples/lessons/lesson.h"
#include "examples/lessons/tasks.h"
#include "layers/dense.h"
#include "optim/optimizer.h"

using namespace unroll;

namespace lessons {

inline constexpr int units = 16;

template <class Step, class Net>
void check_step(Step step, const Net& net) {
  RandomStream random(3, "lesson 3");
  const Tensor x = drawn({2, 1}, random), h = drawn({2, units}, random);
  const Var wanted = tanh(net.from_x(x) + net.from_h(h)), theirs = step(net, x, h);
  if (theirs.shape() != wanted.shape())
    wrong("the new state should be of shape {}; yours is {}.", wanted.shape(), theirs.shape());
  const auto is = [&](const Var& other) { return distance(theirs.value(), other.value()) < 1e-5; };
  const double off = distance(theirs.value(), wanted.value());
  if (is(tanh(net.from_x(x))))
    wrong(
        "the new state depends on x alone: a net that forgets everything at each step cannot count. The old state h "
        "comes in as from_h(h). On random numbers the state is off by {:.2f}.",
        off);
  if (is(net.from_x(x) + net.from_h(h)))
    wrong(
        "the sum is right, but it goes through no tanh. Such a net is linear, and its state grows without bound. It "
        "is off by {:.2f}.",
        off);
  if (is(tanh(net.from_x(x)) + tanh(net.from_h(h))))
    wrong("there is one tanh, around the sum of both parts; yours has one around each. It is off by {:.2f}.",
          off);
  if (is(tanh(net.from_x(x)) + h) || is(tanh(net.from_x(x) + h)))
    wrong(
        "the old state is added as it is. It comes in through its own weights, from_h(h). It is off by {:.2f}.",
        off);
  if (is(tanh(net.from_x(x)) + net.from_h(h)) || is(net.from_x(x) + tanh(net.from_h(h))))
    wrong("the tanh goes around the whole sum; yours goes around one part. It is off by {:.2f}.", off);
  if (is(tanh(net.from_h(h)))) wrong("x is missing: the net reads nothing. It is off by {:.2f}.", off);
  if (is(sigmoid(net.from_x(x) + net.from_h(h))))
    wrong("the function is tanh, between -1 and 1; yours is between 0 and 1. It is off by {:.2f}.", off);
  if (is(tanh(net.from_x(x) * net.from_h(h))) || is(net.from_x(x) * net.from_h(h)))
    wrong("the two parts are added; yours multiplies them. It is off by {:.2f}.", off);
  if (!(off < 1e-5)) wrong("on random numbers the new state is off by {:.2g}.", off);
}

inline void check_net(double of_count, double of_remember, const std::vector<double>& before,
                      const std::vector<double>& after) {
  fmt::print("{:45} {:>7} {:>8}\n", "mean squared error", "the net", "a guess");
  fmt::print("{:45} {:7.3f} {:8.3f}\n", "how many of 8 bits were 1?", of_count, 2.0);
  fmt::print("{:45} {:7.3f} {:8.3f}\n", "what was the first of 30 bits?", of_remember, 0.25);
  fmt::print("\n|dL/dh|, going back from the loss:\n\nsteps back    before training     after\n");
  Chart chart{.title = "The gradient of a plain recurrent net, going back",
              .description = "It falls by a constant factor with each step",
              .x_name = "steps back from the loss",
              .y_name = "norm of dL/dh: 10 to the power of",
              .from_zero = false,
              .series = {{.name = "before training"}, {.name = "after"}}};
  for (size_t k = 0; k < before.size(); ++k) {
    if (k % 5 == 0) fmt::print("{:10}    {:15.2g} {:9.2g}\n", k, before[k], after[k]);
    for (auto& series : chart.series) series.x.push_back(static_cast<double>(k));
    chart.series[0].y.push_back(std::log10(before[k])), chart.series[1].y.push_back(std::log10(after[k]));
  }
  draw(chart);
  const double left = before[20] / before[0];
  if (!(of_count < 0.2))
    wrong("the net does not learn to count: its error is {:.3f}, a guess has 2.", of_count);
  if (!(left < 1e-3))
    wrong("over 20 steps the gradient keeps {:.2g} of its size; it should fall below 0.001.", left);
  right(
      "it counts (error {:.3f}, a guess has 2). It cannot remember 30 steps ({:.2f}, a guess has 0.25): over 20 steps "
      "its gradient keeps {:.1g} of its size.",
      of_count, of_remember, left);
}

}  // namespace lessons

using namespace lessons;

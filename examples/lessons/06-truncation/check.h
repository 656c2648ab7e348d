// The check of lesson 6.
#pragma once

#include <map>

#include "examples/lessons/lesson.h"
#include "examples/lessons/tasks.h"
#include "layers/dense.h"
#include "layers/recurrent/lstm.h"
#include "optim/optimizer.h"

using namespace unroll;

namespace lessons {

inline constexpr int batches = 1000;

template <class Read>
void check_state(Read read) {
  ParameterSet params(5);
  const Lstm lstm(params / "lstm", {.input = 2, .hidden = 8});
  params.initialize(Init::uniform(-1, 1));
  const Tensor x = AddingTask{.steps = 12, .quiet = 2, .batch = 3}.draw(0).x;
  const auto [whole, end] = lstm(x, lstm.zero_state(3));

  RecurrentState state = lstm.zero_state(3);
  Tensor last;
  for (int begin = 0; begin < 12; begin += 4) {
    Tape tape;
    last = read(lstm, x.slice(begin, begin + 4), state).value().slice(3, 4).clone();
  }
  const double off = distance(last, whole.value().slice(11, 12));
  if (off < 1e-5) return;

  // Windows that begin with nothing, or with half of the state, for comparison.
  const auto if_kept = [&](bool h, bool c) {
    RecurrentState kept = lstm.zero_state(3);
    Tensor y;
    for (int begin = 0; begin < 12; begin += 4) {
      const auto [of_window, next] = lstm(x.slice(begin, begin + 4), kept);
      y = of_window.value().slice(3, 4).clone();
      if (h) kept.h.copy_from(next.h.value());
      if (c) kept.c.copy_from(next.c.value());
    }
    return distance(last, y) < 1e-5;
  };
  if (if_kept(false, false))
    wrong(
        "each window begins with nothing: what the windows before have read is lost. Three windows in turn should "
        "end as one reading of all 12 steps does; they are off by {:.2f}.",
        off);
  if (if_kept(true, false))
    wrong(
        "the output h is handed on, the memory c is not: it begins at zero in each window. Three windows in turn end "
        "{:.2f} off one reading of all steps.",
        off);
  if (if_kept(false, true))
    wrong(
        "the memory c is handed on, the output h is not: it begins at zero in each window. Three windows in turn end "
        "{:.2f} off one reading of all steps.",
        off);
  wrong("three windows in turn should end as one reading of all 12 steps does; they are off by {:.2f}.", off);
}

inline void check_errors(double (*train)(int)) {
  fmt::print("windows of    mean squared error of the sum (always to say 1: {:.3f})\n",
             AddingTask{50}.guess());
  std::map<int, double> errors;
  Chart chart{.title = "Two numbers out of 50, added: by the length of windows",
              .description = "Windows of 5 steps do not learn to add, those of 20 and 50 do",
              .x_name = "steps in a window",
              .y_name = "mean squared error",
              .series = {{.name = "after 1,000 batches", .points = true}},
              .levels = {{.name = "always to say 1", .y = AddingTask{50}.guess()}}};
  for (const int bptt : {5, 20, 50}) {
    errors[bptt] = train(bptt);
    fmt::print("{:10}    {:.4f}\n", bptt, errors[bptt]);
    chart.series[0].x.push_back(bptt), chart.series[0].y.push_back(errors[bptt]);
  }
  draw(chart);
  const double guess = AddingTask{50}.guess();
  if (!(errors[5] > 0.8 * guess))
    wrong(
        "windows of 5 never have a marked number in reach, so their error should be that of a guess, {:.3f}; it is {:.3f}.",
        guess, errors[5]);
  if (!(errors[20] < 0.5 * guess))
    wrong("with windows of 20 the net should learn to add; its error is {:.3f}, a guess has {:.3f}.",
          errors[20], guess);
  right(
      "windows in turn end where one reading ends. In windows of 5 no marked number is in the gradient's reach, and "
      "nothing is learned ({:.3f}, a guess has {:.3f}). In windows of 20 some are, and that is enough ({:.4f}).",
      errors[5], guess, errors[20]);
}

}  // namespace lessons

using namespace lessons;

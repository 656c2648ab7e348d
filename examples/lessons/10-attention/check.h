// The rows of lesson 10, and its check. The example that it starts from is examples/attention.cpp.
#pragma once

#include <algorithm>
#include <vector>

#include "examples/lessons/lesson.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/recurrent/lstm.h"
#include "optim/optimizer.h"

using namespace unroll;

namespace lessons {

inline constexpr int digits = 10, begin_of_row = digits, longest = 10, batch = 32, width = 32;

enum class Order { copy, reverse };

struct Look {
  Var weights, context;
};
struct Written {
  Var logits, weights;  // [longest, batch, digits], [batch, longest, longest]
};

// Rows of different lengths, one below the other in time: [longest, batch], with begin_of_row where there is nothing.
struct Rows {
  Rows(RandomStream& random, Order order)
      : input({longest, batch}), said({longest, batch}), target({longest, batch}) {
    input.fill(begin_of_row), said.fill(begin_of_row), target.fill(-1);  // -1 is not scored
    lengths.steps = IdTensor({batch});
    for (int i = 0; i < batch; ++i) {
      const int length = i == 0 ? longest : 4 + static_cast<int>(random.below(longest - 3));
      lengths.steps.data()[i] = length;
      for (int t = 0; t < length; ++t) {
        const auto digit = static_cast<int32_t>(random.below(digits));
        const int at = order == Order::copy ? t : length - 1 - t;
        input[t].data()[i] = digit;
        target[at].data()[i] = digit;
        if (at + 1 < length) said[at + 1].data()[i] = digit;  // by the writer, a step before
      }
    }
  }
  Var sight() const {  // [batch, 1, longest]
    return reshape(transpose((Var(real_steps(lengths, longest, batch)) - 1) * real(1e9)),
                   {batch, 1, longest});
  }
  IdTensor input, said, target;
  Lengths lengths;
};

// The reader's step at which the writer looks most, at each of its steps, for the first row. That row has the greatest
// length.
inline std::vector<int> looks_of_longest(const Var& weights, const Rows&) {
  const std::vector<real> of_row = weights.value()[0].to_host();
  std::vector<int> result;
  for (int t = 0; t < longest; ++t) {
    const auto first = of_row.begin() + t * longest;
    result.push_back(static_cast<int>(std::max_element(first, first + longest) - first));
  }
  return result;
}

struct Trial {
  double right;            // share of the digits of new rows
  std::vector<int> looks;  // step of the reader, by step of the writer
};
struct Trials {
  Trial copy, copy_without, reverse, reverse_without;
};

inline double share_right(const Var& logits, const IdTensor& target) {
  const std::vector<real> scores = logits.value().to_host();
  double right = 0, scored = 0;
  for (int64_t k = 0; k < target.size(); ++k) {
    if (target.data()[k] < 0) continue;
    const auto first = scores.begin() + k * digits;
    right += std::max_element(first, first + digits) - first == target.data()[k], ++scored;
  }
  return right / scored;
}

inline void check_look(Look (*look)(const Var&, const Var&, const Var&)) {
  constexpr int rows = 2, steps = 4;
  RandomStream random(2, "lesson 10");
  const Tensor queries = drawn({rows, steps, 3}, random, -2, 2),
               keys = drawn({rows, steps, 3}, random, -2, 2), sight = Tensor::zeros({rows, 1, steps});
  {
    const auto s = sight.on_host(Access::change);
    s[steps + 2] = s[steps + 3] = real(-1e9);  // the second row has two steps
  }
  const Var scores = matmul(Var(queries), transpose(Var(keys), 1, 2)), wanted = softmax(scores + sight);
  const Var theirs = look(queries, keys, sight).weights;
  if (theirs.shape() != wanted.shape())
    wrong("the weights should be of shape {}; yours are {}.", wanted.shape(), theirs.shape());
  const auto is = [&](const Var& other) { return distance(theirs.value(), other.value()) < 1e-5; };
  const double off = distance(theirs.value(), wanted.value());
  if (is(softmax(0 * scores)) || is(softmax(0 * scores + sight)))
    wrong(
        "the writer looks at all steps alike, whatever it asks for: the weights are all {:.2f}. They should depend on "
        "the products of queries and keys.",
        1.0 / steps);
  if (is(softmax(scores)))
    wrong(
        "the writer also looks at steps that are not there: where a row has ended the weights are up to {:.2f}. Add "
        "`sight` to the products before softmax.",
        distance(theirs.value()[1], wanted.value()[1]));
  if (is(softmax(scores + sight, 1)))
    wrong(
        "softmax goes along the writer's steps. For each of them the weights over the reader's steps should add up to "
        "1, and that is the last dimension. The weights are off by up to {:.2f}.",
        off);
  if (is(scores) || is(scores + sight))
    wrong(
        "these are the bare products. Softmax makes weights of them, which are positive and add up to 1 by row.");
  if (!(off < 1e-5)) wrong("on random numbers the weights are off by up to {:.2g}.", off);
}

inline void check_trials(const Trials& trials) {
  fmt::print("share of the digits of new rows that are right:\n\n{:10} {:>15} {:>10}\n", "", "with attention",
             "without");
  fmt::print("{:10} {:13.1f} % {:8.1f} %\n", "copy", 100 * trials.copy.right,
             100 * trials.copy_without.right);
  fmt::print("{:10} {:13.1f} % {:8.1f} %\n", "reverse", 100 * trials.reverse.right,
             100 * trials.reverse_without.right);
  Chart chart{.title = "Where the writer looks",
              .description = "Copying, it looks ever later; reversing, ever earlier",
              .x_name = "step of the writer",
              .y_name = "step of the reader",
              .series = {{.name = "copy", .points = true}, {.name = "reverse", .points = true}}};
  int rising = 0, falling = 0;
  for (int t = 0; t < longest; ++t) {
    const int of_copy = trials.copy.looks[static_cast<size_t>(t)],
              of_reverse = trials.reverse.looks[static_cast<size_t>(t)];
    chart.series[0].x.push_back(t), chart.series[0].y.push_back(of_copy);
    chart.series[1].x.push_back(t), chart.series[1].y.push_back(of_reverse);
    rising += std::abs(of_copy - t) <= 1, falling += std::abs(of_reverse - (longest - 1 - t)) <= 1;
  }
  draw(chart);
  if (!(trials.copy.right > 0.9 && trials.reverse.right > 0.9))
    wrong("with attention more than 90 % should be right; {:.1f} % and {:.1f} % are.",
          100 * trials.copy.right, 100 * trials.reverse.right);
  if (!(trials.copy.right > trials.copy_without.right && trials.reverse.right > trials.reverse_without.right))
    wrong("with attention more digits should be right than without.");
  right(
      "with attention {:.1f} % of copied and {:.1f} % of reversed digits are right, without {:.1f} % and {:.1f} %. In {} "
      "and {} of {} steps the writer looks where the digit stands, or beside it.",
      100 * trials.copy.right, 100 * trials.reverse.right, 100 * trials.copy_without.right,
      100 * trials.reverse_without.right, rising, falling, longest);
}

}  // namespace lessons

using namespace lessons;

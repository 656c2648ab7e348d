// The check of lesson 4: the cell against the library's on random numbers, and what the gradient does in the trained
// demo.
#pragma once

#include "examples/lessons/demo.h"
#include "examples/lessons/lesson.h"

using namespace unroll;

namespace lessons {

inline constexpr const char* sentence = "the keys near the old cars that the strange woman loses are";

// A state that remembers nothing.
inline RecurrentVars nothing(const Demo& demo) {
  return {Tensor::zeros({1, demo.units()}), Tensor::zeros({1, demo.units()})};
}

template <class Step>
void check_step(Step step) {
  constexpr int units = 5;
  ParameterSet params(7);
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = units});
  params.initialize(Init::uniform(-2, 2));
  const LstmCell& layer = lstm.cells()[0];
  RandomStream random(1, "lesson 4");
  const Tensor x = drawn({1, 3}, random), h = drawn({1, units}, random), c = drawn({1, units}, random);
  const RecurrentVars ours = layer.step(x, h, {h, c}), theirs = step(layer, x, {h, c});
  if (!theirs.c.value().defined()) wrong("the new memory c is empty: nothing was assigned to it.");
  if (theirs.c.shape() != ours.c.shape())
    wrong("the new memory c should be 1 × {}; yours is {}.", units, theirs.c.shape());

  // Wrong ways to combine the four parts.
  const Var sums = linear(Var(x), layer.weight_ih, layer.bias) + linear(Var(h), layer.weight_hh);
  const auto part = [&](int k) { return slice(sums, 1, k * units, (k + 1) * units); };
  const Var i = sigmoid(part(0)), f = sigmoid(part(1)), g = tanh(part(2)), last(c);
  const auto is = [&](const Var& other) { return distance(theirs.c.value(), other.value()) < 1e-5; };
  const double off = distance(theirs.c.value(), ours.c.value());
  if (is(g) || is(i * g))
    wrong(
        "nothing of the old memory last.c is in the new one: this cell forgets everything at each step. On random "
        "numbers c is off by {:.2f}.",
        off);
  if (is(f * last))
    wrong("nothing new is ever written: i and g are not in c. On random numbers it is off by {:.2f}.", off);
  if (is(f * last + g))
    wrong(
        "g is written whole. The input gate i says how much of it is to be written: i * g. c is off by {:.2f}.",
        off);
  if (is(last + i * g))
    wrong(
        "the old memory is kept whole (the LSTM of 1997 did that). The forget gate f says how much of it is to be "
        "kept: f * last.c. c is off by {:.2f}.",
        off);
  if (is(i * last + f * g))
    wrong(
        "the gates are exchanged: i keeps and f writes. It should be the other way round. c is off by {:.2f}.",
        off);
  if (is(f * last + (1 - f) * g))
    wrong(
        "writing is tied to forgetting, 1 - f in the place of i. Such cells exist (coupled gates), but this demo "
        "was trained with an input gate of its own. c is off by {:.2f}.",
        off);
  if (is(f * Var(h) + i * g))
    wrong("f keeps the output last.h instead of the memory last.c. c is off by {:.2f}.", off);
  if (is(tanh(f * last + i * g)))
    wrong("c goes through a tanh; only what is shown does, in the line after yours. c is off by {:.2f}.",
          off);
  if (is(f * last * i * g))
    wrong("what is kept and what is written are added; yours multiplies them. c is off by {:.2f}.", off);
  if (!(off < 1e-5))
    wrong("c is not what the library's cell has: on random numbers it is off by {:.2g}.", off);
  if (!(distance(theirs.h.value(), ours.h.value()) < 1e-5))
    wrong("c is right, but h is not: it should be o * tanh(c), as the lesson had it.");
  fmt::print("Your cell computes what the library's does: on random numbers c is off by {:.1g}.\n\n", off);
}

inline void show(const Demo& demo, const std::vector<int32_t>& words, const std::vector<double>& of_c,
                 const std::vector<double>& of_h) {
  fmt::print("How far back does the loss of \"{}\" reach? Second layer:\n\n", demo.words.word(words.back()));
  fmt::print("words back   word read    |dL/dc|    |dL/dh|\n");
  Chart chart{.title = "How far back the gradient reaches",
              .description = "|dL/dc| stays level, |dL/dh| falls by more than a factor of ten",
              .x_name = "words back from the loss",
              .y_name = "norm of the gradient",
              .logarithmic = true,
              .series = {{.name = "|dL/dc|", .points = true}, {.name = "|dL/dh|", .points = true}}};
  for (size_t k = 0; k < of_c.size(); ++k) {
    fmt::print("{:10}   {:9} {:10.4f} {:10.4f}\n", k, demo.words.word(words[words.size() - 2 - k]), of_c[k],
               of_h[k]);
    for (auto& series : chart.series) series.x.push_back(static_cast<double>(k));
    chart.series[0].y.push_back(of_c[k]), chart.series[1].y.push_back(of_h[k]);
  }
  draw(chart);
}

// The words' loss is that of the library's own layers, and the gradient runs on along c.
inline void check_carousel(const Demo& demo, const std::vector<int32_t>& words, double loss,
                           const std::vector<double>& of_c, const std::vector<double>& of_h) {
  const int steps = static_cast<int>(words.size()) - 1;
  const auto input = IdTensor::from({steps, 1}, std::span(words).first(words.size() - 1));
  const Var y = demo.lstm(demo.embedding(input), demo.lstm.zero_state(1)).y;
  const Var last = demo.decoder(unroll::row(y, steps - 1));
  const double theirs = softmax_cross_entropy(last, IdTensor::from({1}, {words.back()})).item();
  const std::vector<float> p = softmax(last).value().to_host();
  const auto of = [&](const char* word) { return 100 * p[static_cast<size_t>(demo.ids(word).back())]; };
  if (!(std::abs(loss - theirs) < 1e-3))
    wrong("with your cell the loss of the last word is {:.4f}; with the library's it is {:.4f}.", loss,
          theirs);
  constexpr size_t back = 7;
  const double kept = of_c[back] / of_c[0], left = of_h[back] / of_h[0];
  if (!(kept > 0.5))
    wrong("over {} words |dL/dc| keeps {:.2f} of its size; it should keep more than half.", back, kept);
  if (!(left < 0.05))
    wrong("over {} words |dL/dh| keeps {:.3f} of its size; it should fall below a twentieth.", back, left);
  right(
      "the loss is the library's ({:.4f}): the demo gives \"are\" {:.1f} %, and \"is\" {:.2g} %. Over {} words |dL/dc| keeps "
      "{:.2f} of its size, and |dL/dh| {:.1g}: along c the gradient is only multiplied by f.",
      theirs, of("are"), of("is"), back, kept, left);
}

}  // namespace lessons

using namespace lessons;

// The measurements of lesson 12, and its check.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "examples/lessons/lesson.h"
#include "framework/profile.h"
#include "layers/recurrent/lstm.h"

using namespace unroll;

namespace lessons {

inline constexpr int steps = 35, batch = 20, width = 64, units = 64, rounds = 5;

inline RecurrentVars nothing(const Var& x) {
  return {Tensor::zeros({x.dim(1), units}), Tensor::zeros({x.dim(1), units})};
}

inline Tensor random_input() {
  RandomStream random(1, "lesson 12");
  return drawn({steps, batch, width}, random);
}

// A way to compute the layer: its results, and what the profiler says of it.
struct Stage {
  std::string name;
  Tensor y, slope;                               // [steps, batch, units], and the gradient of weight_ih
  int64_t records = 0, products = 0, flops = 0;  // of one pass; flops: arithmetic of all products
  std::vector<Profile::Row> rows = {};
  double milliseconds = 0;  // of one pass, forward and backward
};

template <class Layer>
Stage measure(const char* name, ParameterSet& params, const Tensor& x, Layer layer) {
  Stage stage{.name = name, .y = {}, .slope = {}};
  Profile profile;
  for (int round = 0; round < rounds; ++round) {
    Tape tape;
    const Var y = layer(x);
    const Var loss = mean(y * y);
    stage.y = y.value().clone();
    stage.records = tape.size() - 2;  // but for the loss
    stage.products = 0;
    for (const Tape::Entry& entry : tape.entries()) stage.products += entry.text.starts_with("linear");
    tape.backward(loss);
    stage.slope = params.at("lstm.weight_ih_l0").var().grad().clone();
    params.spend_gradients();
  }
  stage.rows = profile.rows();
  for (const Profile::Row& row : stage.rows) {
    if (row.name == "everything else") continue;
    stage.milliseconds += 1e3 * row.seconds() / rounds;
    stage.flops += row.flops / rounds;
  }
  return stage;
}

inline void show(const Stage& stage) {
  fmt::print("{}: {} records, {:.2f} ms, of which\n", stage.name, stage.records, stage.milliseconds);
  for (size_t k = 0; k < std::min<size_t>(4, stage.rows.size()); ++k) {
    const Profile::Row& row = stage.rows[k];
    if (row.name == "everything else") continue;
    fmt::print("    {:<14} {:5} calls   {:6.2f} ms forward {:6.2f} ms backward {:7} KiB held\n", row.name,
               row.calls / rounds, 1e3 * row.forward / rounds, 1e3 * row.backward / rounds,
               row.held / rounds / 1024);
  }
}

inline void check_stages(const Stage& first, const Stage& yours, const Stage& fused) {
  for (const Stage* stage : {&first, &yours, &fused}) show(*stage);
  Chart chart{.title = "Records on the tape, for 35 steps of one layer",
              .description = "Several hundred, then fewer, then a handful",
              .x_name = "how it is computed",
              .y_name = "records",
              .logarithmic = true,
              .x_texts = {"textbook", "fewer pieces", "library"},
              .series = {{.name = "records", .points = true}}};
  for (const Stage* stage : {&first, &yours, &fused})
    chart.series[0].x.push_back(static_cast<double>(chart.series[0].x.size())),
        chart.series[0].y.push_back(static_cast<double>(stage->records));
  draw(chart);

  if (!(distance(first.y, fused.y) < 1e-4))
    wrong("the textbook's cell has changed: it is off by {:.2g}.", distance(first.y, fused.y));
  // After one step nothing has gone round yet, so an error there is in the product itself.
  const double off_first = distance(yours.y[0], first.y[0]), off = distance(yours.y, first.y);
  if (!(off_first < 1e-4))
    wrong(
        "already after the first step the result is off by {:.2g}. Has the product its bias, once, and the right weight?",
        off_first);
  if (!(off < 1e-4))
    wrong(
        "after the first step the result is right, after all it is off by {:.2g}. Does step t get row t of the product?",
        off);
  if (yours.flops > 2 * first.flops)
    wrong(
        "the result is right, but the products take {:.0f} times the arithmetic: the product of all steps is made anew "
        "in each step. Make it once, before the loop.",
        double(yours.flops) / double(first.flops));
  if (yours.products == 2 * steps)
    wrong(
        "the result is right, but there are still {} products: {} of them are of x. One is enough, before the loop.",
        yours.products, steps);
  if (yours.products != steps + 1) wrong("there are {} products; {} + 1 are enough.", yours.products, steps);
  if (!(distance(yours.slope, fused.slope) < 1e-5))
    wrong("the gradient of weight_ih is off by {:.2g}.", distance(yours.slope, fused.slope));
  right(
      "the same result and the same gradients from {} records instead of {}, with {} products instead of {}. The library "
      "needs {}.",
      yours.records, first.records, yours.products, first.products, fused.records);
}

}  // namespace lessons

using namespace lessons;

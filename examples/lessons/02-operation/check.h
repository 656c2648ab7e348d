// The check of lesson 2: slopes that a first try may have, then the library's gradient checker.
#pragma once

#include <sstream>
#include <vector>

#include "examples/lessons/lesson.h"
#include "framework/gradcheck.h"
#include "framework/ops.h"

using namespace unroll;

namespace lessons {

using Function = double (*)(double);

inline double central_difference(Function value, double x) {
  constexpr double h = 1e-5;
  return (value(x + h) - value(x - h)) / (2 * h);
}

inline void show(Function value, Function slope) {
  Chart chart{
      .title = "y = x·σ(x) and its slope",
      .description = "A curve that dips below zero left of zero, and its slope",
      .x_name = "x",
      .y_name = "y, dy/dx",
      .series = {
          {.name = "y"}, {.name = "dy/dx, your line"}, {.name = "central differences", .points = true}}};
  for (int k = 0; k <= 80; ++k) {  // charts begin at 0: the places have names of their own
    const double x = (k - 50) / 10.0;
    chart.x_texts.push_back(k % 10 ? "" : fmt::format("{}", x));
    for (auto& series : {&chart.series[0], &chart.series[1]}) series->x.push_back(k);
    chart.series[0].y.push_back(value(x)), chart.series[1].y.push_back(slope(x));
  }
  fmt::print("     x        y    dy/dx    by central difference\n");
  for (int x = -5; x <= 3; ++x) {
    const double numeric = central_difference(value, x);
    fmt::print("{:6} {:8.4f} {:8.4f} {:12.4f}\n", x, value(x), slope(x), numeric);
    chart.series[2].x.push_back(10 * (x + 5)), chart.series[2].y.push_back(numeric);
  }
  draw(chart);
}

inline void check_slope(Function value, Function slope) {
  const std::vector<double> places = {-3, -1.2, -0.4, 0.3, 1.1, 2.5};
  double off = 0;
  for (const double x : places) off = std::max(off, std::abs(slope(x) - central_difference(value, x)));
  const auto sigma = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto is = [&](auto other) {
    for (const double x : places)
      if (!(std::abs(slope(x) - other(x)) < 1e-7)) return false;
    return true;
  };
  if (is([](double) { return 1.0; }))
    wrong(
        "the slope is 1 everywhere: that is the slope of y = x. At x = -3 a central difference gives {:.4f}. Does an "
        "old `return 1;` stand above yours?",
        central_difference(value, -3));
  if (is(sigma))
    wrong(
        "that is σ(x), which is half of it. y is a product, x times σ(x), and both factors depend on x: the product "
        "rule has a second term. The slope is off by up to {:.2f}.",
        off);
  if (is([&](double x) { return x * sigma(x) * (1 - sigma(x)); }))
    wrong(
        "that is x·σ'(x), which is half of it. The other factor, x itself, has a slope too: the product rule has "
        "a second term. The slope is off by up to {:.2f}.",
        off);
  if (is([&](double x) { return sigma(x) * (1 - sigma(x)); }))
    wrong(
        "that is the slope of σ(x) alone, but y is x·σ(x): use the product rule. It is off by up to {:.2f}.",
        off);
  if (is([&](double x) { return sigma(x) + sigma(x) * (1 - sigma(x)); }))
    wrong(
        "the second term of the product rule is x times the slope of σ; yours lacks the x. It is off by up to {:.2f}.",
        off);
  if (is([&](double x) { return x * sigma(x); }))
    wrong(
        "that is y itself, x·σ(x). Has 1 - σ(x) its brackets? Without them σ(x) is subtracted at the end. The slope is off by "
        "up to {:.2f}.",
        off);
  if (is([&](double x) { return sigma(x) - x * sigma(x) * (1 - sigma(x)); }))
    wrong(
        "the second term has the wrong sign: the product rule adds, and the slope of σ is σ(x)·(1 - σ(x)). The slope is off "
        "by up to {:.2f}.",
        off);
  if (!(off < 1e-7)) wrong("compared with central differences the slope is off by up to {:.2g}.", off);
}

inline void check_operation(const GradcheckResult& result) {
  std::ostringstream words;
  words << result;
  if (!result) wrong("the slope is right, but the operation's gradient is not: {}", words.str());
  right("gradcheck compared 36 gradients of the operation with central differences: the {}.", words.str());
}

}  // namespace lessons

using namespace lessons;

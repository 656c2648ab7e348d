// The check of lesson 1: small products, each of which shows one mistake, then the lesson's own expression.
#pragma once

#include "examples/lessons/lesson.h"
#include "framework/ops.h"

namespace lessons {

// A function's value and its slope.
struct Slope {
  double value, slope;
};

// (L(w+h) - L(w-h)) / 2h
inline double central_difference(Slope (*loss)(double), double w) {
  constexpr double h = 1e-5;
  return (loss(w + h).value - loss(w - h).value) / (2 * h);
}

// L as a curve, and at three places the tangent that the tape's slope makes.
inline void draw_tangents(Slope (*loss)(double)) {
  unroll::Chart chart{.title = "L = (1.5·w - 1)²: a tangent for each gradient",
                      .description = "A parabola, and its tangents at w = 0.5, 1 and 2",
                      .x_name = "w",
                      .y_name = "L"};
  unroll::ChartSeries curve{.name = "L"};
  for (double w = 0; w <= 2.5; w += 0.05) curve.x.push_back(w), curve.y.push_back(loss(w).value);
  chart.series.push_back(curve);
  for (const double w : {0.5, 1.0, 2.0}) {
    const auto [value, slope] = loss(w);
    unroll::ChartSeries line{.name = fmt::format("at w = {}", w), .points = true};
    for (const double d : {-0.3, 0.0, 0.3}) line.x.push_back(w + d), line.y.push_back(value + d * slope);
    chart.series.push_back(line);
  }
  draw(chart);
}

template <class Tape>
void check_tape() {
  const auto differs = [](double a, double b) { return !(std::abs(a - b) < 1e-9); };
  {  // y = a·b alone
    Tape tape;
    const auto a = tape.number(3), b = tape.number(5);
    tape.backward(tape.mul(a, b));
    const double da = tape.gradient[a.at], db = tape.gradient[b.at];
    if (da == 0 && db == 0)
      wrong(
          "of y = 3·5 neither factor gets a gradient: both are still 0. Nudge the 3 by a little: by how much "
          "does y change? That is what the first factor gains. (Another factor's gradient is 0 here, too: it is its value that "
          "counts.)");
    if (da == 75 && db == 45)
      wrong(
          "of y = 3·5 the gradients are 75 and 45: that is the other factor times y's value, 15. What is handed on is y's "
          "gradient.");
    if (da == 0 || db == 0) wrong("of y = 3·5 one factor gets nothing: the gradients are {} and {}.", da, db);
    if (da == 3 && db == 5)
      wrong(
          "of y = 3·5 the factor 3 gets the gradient 3 and the factor 5 gets 5: they are the wrong way round. "
          "Nudging the 3 by 0.01 changes y by 0.05, so its gradient is 5, the other factor.");
    if (differs(da, 5) || differs(db, 3))
      wrong("of y = 3·5 the gradients are {} and {}; they should be 5 and 3.", da, db);
  }
  {  // a product in a product
    Tape tape;
    const auto a = tape.number(3), b = tape.number(5), c = tape.number(7);
    tape.backward(tape.mul(tape.mul(a, b), c));
    const double da = tape.gradient[a.at];
    if (da == 5)
      wrong(
          "of y = (3·5)·7 the 3 gets 5, it should be 35. The product 3·5 has the gradient 7 itself, and this "
          "must be multiplied in: that is the chain rule.");
    if (differs(da, 35)) wrong("of y = (3·5)·7 the 3 gets {}; it should be 35.", da);
  }
  {  // a number that is used twice
    Tape tape;
    const auto a = tape.number(3);
    tape.backward(tape.mul(a, a));
    const double da = tape.gradient[a.at];
    if (da == 3)
      wrong(
          "of y = 3·3, one number used twice, the gradient is 3; it should be 6. The second contribution "
          "overwrites the first: contributions add up, so += instead of =.");
    if (differs(da, 6)) wrong("of y = 3·3, one number used twice, the gradient is {}; it should be 6.", da);
    Tape other;
    const auto x = other.number(3), one = other.number(1);
    other.backward(other.add(other.mul(x, one), other.mul(x, one)));
    if (differs(other.gradient[x.at], 2))
      wrong(
          "of y = 3·1 + 3·1 the gradient of 3 is {}; it should be 2. A number that two products use gets both "
          "contributions: += instead of =.",
          other.gradient[x.at]);
  }
}

// Against central differences, and against the library's own tape.
inline void check_slope(Slope (*loss)(double)) {
  double worst = 0;
  for (const double w : {0.5, 1.0, 2.0})
    worst = std::max(worst, std::abs(loss(w).slope - central_difference(loss, w)));
  unroll::Tape tape;
  const unroll::Var w = tape.watch(unroll::Tensor::full({}, 2));
  const unroll::Var sum = w * 1.5 - 1, product = sum * sum;
  const std::string recorded = tape.text();
  tape.backward(product);
  fmt::print("\nThe library's tape has the same for w = 2: dL/dw = {:.4f}. What it recorded:\n{}",
             w.grad().item(), recorded);
  if (!(worst < 1e-6) || std::abs(loss(2).slope - w.grad().item()) > 1e-9)
    wrong("dL/dw of L = (1.5·w - 1)² is off by {:.2g}. Have other parts of the tape changed?", worst);
  right("dL/dw agrees with central differences to {:.1g}, and with the library's tape.", worst);
}

}  // namespace lessons

using namespace lessons;

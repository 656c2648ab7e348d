// Shared by the lessons: how a check ends a lesson, the picture that a lesson draws, the trained demo, and some
// arithmetic.
//
// A lesson is a program whose main() is in lesson.cpp: it calls lesson(), and prints what the check finds.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "framework/random.h"
#include "framework/tape.h"
#include "training/report/chart.h"

void lesson();  // each lesson defines it

namespace lessons {

// Ends a lesson with one sentence on what is wrong and the number that shows it.
struct Wrong {
  std::string text;
};
// Thrown if a lesson needs the trained demo and there is none yet.
struct NeedsDemo {};

// "wrong: …", and the program ends with 1.
template <class... A>
[[noreturn]] void wrong(fmt::format_string<A...> format, A&&... arguments) {
  throw Wrong{fmt::format(format, std::forward<A>(arguments)...)};
}
void say_right(const std::string& text);
// "right: …": to be called last, once.
template <class... A>
void right(fmt::format_string<A...> format, A&&... arguments) {
  say_right(fmt::format(format, std::forward<A>(arguments)...));
}

// Draws into the file that ./run lesson names; does nothing in a lesson that is started by hand.
void draw(const unroll::Chart& chart);

// The file of the model that `./run ptb train demo` trains. Throws NeedsDemo.
std::string trained_demo();

// Numbers drawn uniformly between low and high.
inline unroll::Tensor drawn(const unroll::Shape& shape, unroll::RandomStream& random, double low = -1,
                            double high = 1) {
  unroll::Tensor x(shape);
  for (unroll::real& v : x.on_host(unroll::Access::overwrite))
    v = static_cast<unroll::real>(low + (high - low) * random.uniform());
  return x;
}
inline double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}
// The Euclidean norm.
inline double norm(const unroll::Tensor& x) {
  double sum = 0;
  for (const double v : x.to_host()) sum += v * v;
  return std::sqrt(sum);
}
// The largest |a - b| of two elements; not a number if one of them is none.
inline double distance(const unroll::Tensor& a, const unroll::Tensor& b) {
  double largest = 0;
  const auto of_a = a.to_host(), of_b = b.to_host();
  for (size_t i = 0; i < of_a.size(); ++i) {
    const double d = std::abs(double(of_a[i]) - double(of_b[i]));
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

}  // namespace lessons

// How a parameter's first values are drawn.
//
//   Dense out(params / "out", {.in = 64, .out = 10});
//   params.at("out.weight").init = Init::orthogonal();      // before the parameters' first use
//   params.initialize(Init::normal(0, 0.02f));              // all of them, at any time
#pragma once

#include <functional>
#include <span>

#include "framework/random.h"
#include "framework/tensor.h"

namespace unroll {

// A distribution of a kind: constant, uniform, normal, xavier, orthogonal, one's own; and an amount that is added to elements
// begin … end-1. Numbers depend on the seed and the parameter's path alone.
struct Init {
  // Has every element of the shape written.
  using Own = std::function<void(const Shape& shape, std::span<real> values, RandomStream& random)>;
  enum class Kind : uint8_t { constant, uniform, normal, xavier, orthogonal, own } kind = Kind::constant;
  float a = 0, b = 0;  // the numbers that its function takes
  // Added to elements begin … end-1 whatever the distribution (a bias of the forget gate).
  struct {
    float amount = 0;
    int begin = 0, end = 0;
  } offset = {};
  Own draw = {};  // of the kind `own`

  static Init constant(float value) { return {.kind = Kind::constant, .a = value}; }  // all are this number
  // `value`, to which ParameterSet::initialize() adds what it draws (a gain stays near 1).
  static Init centered_at(float value, int size) { return {.offset = {value, 0, size}}; }
  static Init uniform(float low, float high) { return {.kind = Kind::uniform, .a = low, .b = high}; }
  static Init normal(float mean, float deviation) {
    return {.kind = Kind::normal, .a = mean, .b = deviation};
  }
  // Uniform in ±gain·√(6 / (in + out)) of a matrix [out, in]. With more dimensions, [out, in, …], both count times
  // what is behind them (Glorot and Bengio 2010). A tensor of one dimension, a bias, is 0; so below.
  static Init xavier(float gain = 1) { return {.kind = Kind::xavier, .a = gain}; }
  // Rows, or if they are more than columns these, of length `gain` at right angles to each other, in a random direction (Saxe,
  // McClelland and Ganguli 2014). Dimensions behind the first count as one.
  static Init orthogonal(float gain = 1) { return {.kind = Kind::orthogonal, .a = gain}; }
  static Init own(Own draw) { return {.kind = Kind::own, .draw = std::move(draw)}; }

  void fill(const Tensor& values, RandomKey key) const;  // draws all elements
};

}  // namespace unroll

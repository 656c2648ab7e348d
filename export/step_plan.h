// A step of a model as a list of calls to kernels (export/step_kernels.h) on named arrays of float. StepBuilder makes one of
// layers (export/step_builder.h), RealTimeStep runs it, c_header() prints it. Knows neither tensors nor a tape.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/check.h"

namespace unroll {

// A place in an array: `at`, and by_turn further in each turn of the outer and of the inner loop.
struct StepPlace {
  int array = -1;
  int at = 0;
  int by_turn[2] = {0, 0};
};

// `size` numbers from a place on.
struct StepVector {
  StepPlace place;
  int size = 0;

  StepVector part(int begin, int end) const;  // numbers begin … end-1
};

// An array of a kind (Kind), by its name, and its size.
struct StepArray {
  enum class Kind : uint8_t {
    state,     // kept from step to step, zero at first
    work,      // within a step
    input,     // of the caller
    output,    // of the caller
    constant,  // biases and gains
    matrix,    // [in][out], perhaps in 8 bits
    // In 64 bits, for values in the unit of a file, whose differences float may lose.
    input64,
    output64,
    constant64
  };
  std::string name;  // "lstm.h_l0"
  Kind kind = Kind::work;
  int64_t size = 0;
  std::vector<float> values = {};     // of a constant or a matrix
  int out = 0;                        // of a matrix
  std::vector<double> values64 = {};  // of a constant64

  bool is_64() const { return kind >= Kind::input64; }  // its numbers are double
};

// A matrix in whole numbers of 8 or 16 bits, from -most to most, times a scale for each output.
template <class Number>
struct WholeNumbers {
  std::vector<Number> numbers;  // [in][out]
  std::vector<float> scale;     // [out]
};
// Rounded to nearest. Number: int8_t, int16_t.
template <class Number>
WholeNumbers<Number> in_whole_numbers(const StepArray& matrix);

// A call of a kernel: its sizes, its numbers, the places that it reads and writes.
struct StepCall {
  std::string_view
      kernel;  // "product"; "loop" and "end" are none, but repeat the calls between them sizes[0] times
  std::vector<int> sizes = {};
  std::vector<float> numbers = {};
  std::vector<StepPlace> places = {};
};
// The size that stands for the whole number that a step reads beside its inputs: a token, say.
inline constexpr int token_size = -1;

// The arrays and calls of a step, and the tokens from first_token on that it may read.
struct StepPlan {
  std::vector<StepArray> arrays;
  std::vector<StepCall> calls;
  int token_end = 0;  // the token is in first_token … token_end-1; 0: a step reads none
  int first_token = 0;
  std::string token = "token";  // its name

  int64_t numbers(StepArray::Kind kind) const;  // in all arrays of a kind
};

}  // namespace unroll

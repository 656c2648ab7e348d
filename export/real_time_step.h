// Runs a step's plan in real time: after construction it takes no memory and no lock, and makes no system call. A Transformer's
// step takes longer until its memory is full.
//
//   RealTimeStep step(step_of(model.params, 1, model.lstm, model.out));   // export/step_of.h
//   step["x"][0] = sample;
//   step();
//   float next = step["y"][0];
#pragma once

#include <array>
#include <cstddef>

#include "export/step_plan.h"

namespace unroll {

// The numbers of matrices.
enum class StepWeightsIn : uint8_t { float32, eight_bits };

class RealTimeStep {
 public:
  // Takes all memory. Throws Error if the plan calls a kernel that does not exist.
  explicit RealTimeStep(const StepPlan& plan, StepWeightsIn weights = StepWeightsIn::float32);
  RealTimeStep(RealTimeStep&&) = default;  // no copies: calls hold addresses

  // The memory of an input or an output, to be filled before a step or read after it. Throws Error if there is none of this name.
  std::span<float> operator[](std::string_view name) const { return find(given_, name); }
  // As above, for one in 64 bits: a window and a forecast of series.
  std::span<double> in_64(std::string_view name) const { return find(given64_, name); }
  // One step. Requires: a token in [first_token, token_end) if the plan reads one; nothing is checked here.
  void operator()(int token = 0) noexcept;
  // Makes the state zero, as it is at first.
  void reset() noexcept;
  // All arrays of the state, one after the other, to be kept or put back.
  std::span<float> state() { return {memory_.data(), state_size_}; }

 private:
  struct Bound;
  struct Call {
    void (*run)(const int* sizes, const float* numbers,
                void* const* places) = nullptr;  // nullptr: a loop's begin, or end
    std::vector<int> sizes;
    std::vector<float> numbers;
    std::vector<void*> places = {};
    // In loops: the places in the first turn, and how many bytes further each turn is. Else empty.
    std::vector<char*> begins = {};
    std::vector<std::array<std::ptrdiff_t, 2>> by_turn = {};
    int token_at = -1;  // the size that is the token
  };
  template <class Number>
  struct Named {
    std::string name;
    std::span<Number> numbers;
  };
  template <class Number>
  static std::span<Number> find(const std::vector<Named<Number>>& given, std::string_view name);
  static Call bind(const StepCall& call, std::span<const Bound> arrays, bool in_loop);

  std::vector<float> memory_;  // states, then all other arrays of float
  std::vector<double> memory64_;
  std::vector<int8_t> eight_bits_;
  std::vector<Named<float>> given_;
  std::vector<Named<double>> given64_;
  std::vector<Call> calls_;
  size_t state_size_ = 0;
};

}  // namespace unroll

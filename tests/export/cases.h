// Cases for a runtime of ONNX: a model's file, inputs of several calls, and what the layers themselves give for them.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "export/real_time_step.h"
#include "framework/random.h"
#include "framework/tensor.h"
#include "training/files/safetensors.h"

namespace unroll {

// FOLDER/NAME.onnx, and FOLDER/NAME.safetensors with "CALL.in.INPUT" and "CALL.out.OUTPUT". A state that a call lacks is that
// after the call before it.
struct Case {
  Case(std::filesystem::path folder, std::string case_name)
      : path(folder / case_name), name(std::move(case_name)) {}
  std::filesystem::path onnx() const { return path.string() + ".onnx"; }
  void begin_call() { ++call; }
  void input(const std::string& of, const Tensor& values) { add("in", of, values); }
  void output(const std::string& of, const Tensor& values) { add("out", of, values); }
  void write() const { write_safetensors(path.string() + ".safetensors", tensors); }

  std::filesystem::path path;
  std::string name;
  int call = -1;
  std::vector<NamedTensor> tensors = {};

 private:
  void add(const char* side, const std::string& of, const Tensor& values) {
    tensors.push_back({fmt::format("{}.{}.{}", call, side, of), values.clone()});
  }
};

// Throws Error unless a step's output is the layers' to rounding. Weights and inputs are below 1/2 or scaled, so errors stay those of a
// few sums and functions.
inline void require_step(const std::string& name, std::span<const float> found,
                         std::span<const real> expected) {
  double most = 1, error = 0;
  for (size_t k = 0; k < expected.size(); ++k) {
    most = std::max(most, std::abs(static_cast<double>(expected[k])));
    error = std::max(error, std::abs(static_cast<double>(found[k]) - static_cast<double>(expected[k])));
  }
  require(found.size() == expected.size() && error <= 1e-6 * most,
          "{}: a step's {} numbers lie {} from the {} of its layers, which reach {}", name, found.size(),
          error, expected.size(), most);
}

inline Tensor drawn(const Shape& shape, RandomStream& random, double size = 1) {
  Tensor result(shape);
  for (real& v : result.on_host(Access::overwrite)) v = static_cast<real>(size * (2 * random.uniform() - 1));
  return result;
}

// Steps of the calls with one state: 200 in all.
inline constexpr int steps_of_calls[] = {1, 1, 7, 64, 127};

void write_layer_cases(const std::filesystem::path& folder);
void write_language_cases(const std::filesystem::path& folder);
void write_series_cases(const std::filesystem::path& folder);

}  // namespace unroll

// Cases for a runtime of ONNX: a model's file, inputs of several calls, and what the layers themselves give for them.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
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
// Values of `level` and its neighbourhood count from there.
inline void require_step(const std::string& name, const auto& found, const auto& expected, double level = 0) {
  double most = 1, error = 0;
  for (size_t k = 0; k < expected.size(); ++k) {
    most = std::max(most, std::abs(static_cast<double>(expected[k]) - level));
    error = std::max(error, std::abs(static_cast<double>(found[k]) - static_cast<double>(expected[k])));
  }
  require(found.size() == expected.size() && error <= 1e-6 * most,
          "{}: a step's {} numbers lie {} from the {} of its layers, which reach {}", name, found.size(),
          error, expected.size(), most);
}

// The steps of a case for C: FOLDER/NAME.c takes them by the header NAME.h, FOLDER/NAME_8bit.c those with 8 bits a weight, and
// NAME_error() is how far one lies from RealTimeStep's at most, in shares of 1, or of the largest distance from `level` above it. The
// headers are the model's own.
class StepsInC {
 public:
  StepsInC(std::filesystem::path folder, std::string name, const StepPlan& plan, double level = 0)
      : path_(folder / name), plan_(plan), small_(plan, StepWeightsIn::eight_bits), level_(level) {}
  std::filesystem::path header(bool small) const { return path_.string() + (small ? "_8bit.h" : ".h"); }
  // A step that RealTimeStep has made; a state goes on from the step before.
  void add(const RealTimeStep& made, int token) {
    ++steps_;
    tokens_ += fmt::format("{}, ", token);
    each(StepArray::Kind::input, [&](const StepArray& array) {
      std::ranges::copy(made[array.name], small_[array.name].begin());
      append(given_, made[array.name]);
    });
    each(StepArray::Kind::input64, [&](const StepArray& array) {
      std::ranges::copy(made.in_64(array.name), small_.in_64(array.name).begin());
      append(given_, made.in_64(array.name));
    });
    small_(token);
    each(StepArray::Kind::output, [&](const StepArray& array) {
      append(right_[0], made[array.name]), append(right_[1], small_[array.name]);
    });
    each(StepArray::Kind::output64, [&](const StepArray& array) {
      append(right_[0], made.in_64(array.name)), append(right_[1], small_.in_64(array.name));
    });
  }
  void write(std::initializer_list<bool> of_8_bits = {false, true}) const {
    for (const bool small : of_8_bits) {
      const std::string name = header(small).stem().string();
      using Kind = StepArray::Kind;
      const int64_t in64 = plan_.numbers(Kind::input64), out64 = plan_.numbers(Kind::output64),
                    in = plan_.numbers(Kind::input) + in64, out = plan_.numbers(Kind::output) + out64;
      const bool state = plan_.numbers(StepArray::Kind::state) > 0;
      std::string words = state ? "&state, " : "";
      if (plan_.token_end > 0) words += "tokens[t], ";
      int64_t at = 0;
      each(in64 > 0 ? Kind::input64 : Kind::input, [&](const StepArray& array) {
        words += fmt::format("given + {} * t + {}, ", in, at), at += array.size;
      });
      std::ofstream(path_.parent_path() / (name + ".c")) << fmt::format(
          "#include \"{0}.h\"\nstatic double {0}_error(void) {{\n  static const int tokens[] = {{{1}}};\n"
          "  static const {8} given[] = {{{2}0}};\n  static const double right[] = {{{3}}};\n{4}  static {9} y[{6}];\n"
          "  double most = 1, error = 0;\n  for (int t = 0; t < {5}; ++t) {{\n    {0}_step({7}y);\n"
          "    for (int k = 0; k < {6}; ++k) {{\n      most = fmax(most, fabs(right[t * {6} + k] - {10}));\n"
          "      const double e = fabs((double)y[k] - right[t * {6} + k]);\n      if (!(e <= error)) error = e;\n"
          "    }}\n  }}\n  (void)tokens, (void)given;\n  return error / most;\n}}\n",
          name, tokens_, given_, right_[small ? 1 : 0],
          state ? fmt::format(
                      "  static {0}_state state;\n  memset(&state, 255, sizeof state), {0}_reset(&state);\n",
                      name)
                : "",
          steps_, out, words, in64 > 0 ? "double" : "float", out64 > 0 ? "double" : "float", level_);
    }
  }

 private:
  void each(StepArray::Kind kind, auto use) const {
    for (const StepArray& array : plan_.arrays)
      if (array.kind == kind) use(array);
  }
  static void append(std::string& text, const auto& numbers) {
    for (const auto number : numbers) text += fmt::format("{}, ", number);
  }

  std::filesystem::path path_;
  StepPlan plan_;
  RealTimeStep small_;
  double level_;
  int steps_ = 0;
  std::string tokens_, given_, right_[2];
};

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

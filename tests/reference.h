// Numbers that PyTorch computed (tests/reference/make_reference.py), and how far ours are from them.
#pragma once

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/ops.h"
#include "framework/parameters.h"
#include "tests/support.h"

using Json = nlohmann::json;

namespace unroll {

// --- reading -------------------------------------------------------------------------------------

// A file of the reference folder: in UNROLL_TEST_DATA, else above the working directory.
inline const Json& reference(const std::string& name) {
  static std::map<std::string, Json> files;
  const auto found = files.find(name);
  if (found != files.end()) return found->second;
  std::filesystem::path folder;
  if (const char* given = std::getenv("UNROLL_TEST_DATA")) folder = given;
  for (std::filesystem::path at = std::filesystem::current_path(); folder.empty() && at != at.root_path();
       at = at.parent_path())
    if (std::filesystem::exists(at / "tests/reference" / name)) folder = at / "tests/reference";
  std::ifstream file(folder / name);
  REQUIRE_MESSAGE(file, "no ", name, " in tests/reference; UNROLL_TEST_DATA may name the folder");
  return files[name] = Json::parse(file);
}

inline Shape shape_of(const Json& json) {
  Shape shape;
  for (int extent : json.at("shape")) shape.append(extent);
  return shape;
}
inline Tensor tensor_of(const Json& json) {
  std::vector<real> values;
  for (double v : json.at("data")) values.push_back(static_cast<real>(v));
  return Tensor::from(shape_of(json), values);
}
inline IdTensor ids_of(const Json& json) {
  return IdTensor::from(shape_of(json), json.at("data").get<std::vector<int32_t>>());
}

inline void load(ParameterSet& params, const Json& json) {
  REQUIRE(params.all().size() == json.size());
  for (const auto& p : params.all()) {
    REQUIRE(shape_of(json.at(p->name)) == p->shape);
    p->leaf_value().copy_from(tensor_of(json.at(p->name)));
  }
}

// --- comparing -----------------------------------------------------------------------------------

inline double relative(double value, double expected, double floor = 0) {
  const double distance = std::abs(value - expected);
  if (distance < 1e-40) return 0;  // some versions of PyTorch round losses of that size to zero
  return distance / std::max(std::abs(expected), floor);  // NaN stays NaN, which is below no bound
}
// The largest relative error of an element; for elements below `floor`, relative to that.
inline double relative(const Tensor& values, const Json& expected, double floor = 0) {
  REQUIRE(values.shape() == shape_of(expected));
  double worst = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double error = relative(values.on_host()[i], expected.at("data").at(i).get<double>(), floor);
    if (!(error <= worst) && !std::isnan(worst)) worst = error;
  }
  return worst;
}

// The largest error of a test, with what had it.
struct Worst {
  double error = 0;
  std::string where = "nothing";
  void operator()(double e, const std::string& what) {
    if (!(e <= error) && !std::isnan(error)) error = e, where = what;
  }
  void operator()(const Worst& other) { (*this)(other.error, other.where); }
  std::string text() const { return fmt::format("worst relative error {:.2g}, {}", error, where); }
};

// --- functions whose values and gradients are recorded -------------------------------------------------

using RecordedInputs = std::map<std::string, Var>;
using RecordedFunction = std::function<Var(const Json& c, const RecordedInputs& in)>;

// Compares y and, of every input that has a gradient recorded ("dx" of "x"), that of sum(y · dy).
inline void compare(const Json& c, const std::string& name, const RecordedFunction& f, Worst& worst) {
  INFO(name);
  Tape tape;
  RecordedInputs in;
  for (const auto& [key, value] : c.items())
    if (value.is_object() && value.contains("shape") && key != "y" && c.contains("d" + key))
      in[key] = tape.watch(tensor_of(value));
  const Var y = f(c, in);
  worst(relative(y.value(), c.at("y"), 1e-3), name);
  tape.backward(sum(y * tensor_of(c.at("dy"))));
  for (const auto& [key, x] : in) worst(relative(x.grad(), c.at("d" + key), 1e-3), "d" + key + " of " + name);
}

}  // namespace unroll

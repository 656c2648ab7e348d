// Small helpers that several suites share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/ops.h"
#include "framework/threads.h"

namespace unroll {

inline Tensor tensor(const Shape& shape, const std::vector<real>& values) {
  return Tensor::from(shape, values);
}
inline IdTensor ids(const Shape& shape, const std::vector<int32_t>& values) {
  return IdTensor::from(shape, values);
}
inline std::vector<real> values(const Var& x) { return x.value().to_host(); }

inline Tensor random_tensor(const Shape& shape, RandomStream& random, double low = -1, double high = 1) {
  Tensor result(shape);
  for (real& v : result.on_host(Access::change)) v = static_cast<real>(low + (high - low) * random.uniform());
  return result;
}
inline IdTensor random_ids(const Shape& shape, RandomStream& random, uint32_t bound) {
  IdTensor result(shape);
  for (int32_t& id : result.span()) id = static_cast<int32_t>(random.below(bound));
  return result;
}

// max |x|
inline double largest(const Tensor& x) {
  double result = 0;
  for (const real v : x.on_host()) result = std::max(result, std::abs(static_cast<double>(v)));
  return result;
}

// The largest |a - b| of two elements; NaN if there is one.
inline double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  double result = 0;
  const auto of_a = a.on_host(), of_b = b.on_host();
  for (int64_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(static_cast<double>(of_a[i]) - static_cast<double>(of_b[i]));
    if (!(d <= result) && !std::isnan(result)) result = d;  // a NaN stays
  }
  return result;
}
inline bool same_bits(const Tensor& a, const Tensor& b) {
  const auto of_a = a.on_host(), of_b = b.on_host();
  return a.shape() == b.shape() &&
         std::memcmp(of_a.data(), of_b.data(), static_cast<size_t>(a.size()) * sizeof(real)) == 0;
}

// Another number of threads while it lives.
struct Threads {
  explicit Threads(int count) : before(threads()) { set_threads(count); }
  ~Threads() { set_threads(before); }
  int before;
};

// The message of the Error that `f` throws; "" if it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) { return error.what(); }
  return "";
}

// The message of the InputError that `f` throws; "" if it throws none.
template <class F>
std::string input_error_of(F&& f) {
  try {
    f();
  } catch (const InputError& error) { return error.what(); }
  return "";
}

// "" if `text` is one line and has all the parts; else a sentence that says what is missing.
inline std::string lacks(const std::string& text, const std::vector<std::string>& parts) {
  if (text.find('\n') != std::string::npos) return "'" + text + "' is more than one line";
  for (const std::string& part : parts)
    if (text.find(part) == std::string::npos) return "'" + text + "' lacks '" + part + "'";
  return "";
}

}  // namespace unroll

template <>
struct doctest::StringMaker<unroll::Shape> {
  static String convert(const unroll::Shape& shape) { return shape.text().c_str(); }
};
template <class T>
struct doctest::StringMaker<std::vector<T>> {
  static String convert(const std::vector<T>& values) {
    std::string text = "{";
    for (const T& v : values) text += (text.size() > 1 ? ", " : "") + fmt::format("{}", v);
    return (text + "}").c_str();
  }
};

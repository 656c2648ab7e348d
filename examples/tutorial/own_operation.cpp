// An operation of one's own, with its gradient under it, and the check that the two belong together.
//
// The log-cosh loss is quadratic near its target and linear far from it, so an outlier pulls with a force of 1 at most:
//   y = log cosh d, d = prediction - target        dprediction = dy tanh(d)
// Built with the core in double (pkg-config's unroll-double), which has the check; a program that trains takes the same
// function in float.
#include <cmath>
#include <cstdio>
#include <iostream>

#include "framework/gradcheck.h"
#include "framework/unroll.h"

using namespace unroll;

// slope(d) is passed in for this lesson's sake: so that a wrong one can be tried.
Var log_cosh(const Var& prediction, const Tensor& target, real (*slope)(real)) {
  require(prediction.shape() == target.shape(), "log_cosh: prediction {} and target {} differ in shape",
          prediction.shape(), target.shape());
  // Values. |d| + log1p(e^-2|d|) - log 2 is log cosh d without cosh, which overflows.
  const Tensor y(prediction.shape()), d(prediction.shape());
  const auto x = prediction.value().on_host(), t = target.on_host();
  const auto ys = y.on_host(Access::overwrite), ds = d.on_host(Access::overwrite);
  for (int64_t i = 0; i < y.size(); ++i) {
    ds[i] = x[i] - t[i];
    const real size = std::abs(ds[i]);
    ys[i] = size + std::log1p(std::exp(-2 * size)) - std::log(real(2));
  }
  // The gradient: called by the backward pass if prediction collects one. What it needs is captured.
  return record("log_cosh", y, inputs(prediction), [=](const Var& y) {
    const Tensor dx(d.shape());
    const auto dy = y.grad().on_host(), from = d.on_host();
    const auto to = dx.on_host(Access::overwrite);
    for (int64_t i = 0; i < dx.size(); ++i) to[i] = dy[i] * slope(from[i]);
    contribute(dx, prediction);
  });
}

int main() {
  const Tensor target = Tensor::full({3, 4}, real(0.25));
  const auto check = [&](const char* name, real (*slope)(real)) {
    return gradcheck(name, {{3, 4}}, [&](auto& v) { return log_cosh(v[0], target, slope); });
  };
  const GradcheckResult right = check("log_cosh", [](real d) { return std::tanh(d); });
  const GradcheckResult wrong = check("log_cosh", [](real d) { return d; });  // right near 0 alone
  std::cout << "tanh(d):  " << right << "\nd:        " << wrong << '\n';
  return right && !wrong ? 0 : 1;
}

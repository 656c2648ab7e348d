// An operation of one's own, with its gradient under it, and the check that the two belong together.
//
// The log-cosh loss is quadratic near its target and linear far from it, so an outlier pulls with a force of 1 at most:
//   y = log cosh d, d = prediction - target        dprediction = dy tanh(d)
// Built with the core in double (pkg-config's unroll-double), which has the check; a program that trains takes the same
// function in float.
#include <cmath>
#include <cstdio>
#include <iostream>
#include <vector>

#include "framework/gradcheck.h"
#include "unroll.h"

using namespace unroll;

// slope(d) is an argument only so that this lesson can try a wrong one.
Var log_cosh(const Var& prediction, const Tensor& target, real (*slope)(real)) {
  require(prediction.shape() == target.shape(), "log_cosh: prediction {} and target {} differ in shape",
          prediction.shape(), target.shape());
  // Values. |d| + log1p(e^-2|d|) - log 2 is log cosh d without cosh, which overflows. to_host() and from(): a GPU's
  // numbers are in memory of its own.
  std::vector<real> d = prediction.value().to_host(), y = target.to_host();
  for (size_t i = 0; i < d.size(); ++i) {
    d[i] -= y[i];
    const real size = std::abs(d[i]);
    y[i] = size + std::log1p(std::exp(-2 * size)) - std::log(real(2));
  }
  // The gradient: the backward pass calls it if prediction collects one. The lambda captures what it needs.
  return record("log_cosh", Tensor::from(target.shape(), y), inputs(prediction), [=](const Var& y) {
    std::vector<real> dx = y.grad().to_host();
    for (size_t i = 0; i < dx.size(); ++i) dx[i] *= slope(d[i]);
    contribute(Tensor::from(prediction.shape(), dx), prediction);
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

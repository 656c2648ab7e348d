// Lesson 2: an operation and its gradient. The page to read: examples/lessons/02-operation/README.md
#include "examples/lessons/02-operation/check.h"

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

// y = x · σ(x), for one number.
double value(double x) { return x * sigma(x); }

// Its slope dy/dx.
double slope(double x) {
  // ---- your part: dy/dx. The slope of σ is σ(x)·(1 - σ(x)).
  return 1;
  // ---- end of your part
}

// The operation for tensors: the values, and under them the gradient.
Var swish(const Var& x) {
  std::vector<double> values = x.value().to_host();
  for (double& number : values) number = value(number);
  return record("swish", Tensor::from(x.shape(), values), inputs(x), [=](const Var& y) {
    const std::vector<double> dy = y.grad().to_host(), at = x.value().to_host();
    std::vector<double> dx(at.size());
    for (size_t k = 0; k < dx.size(); ++k) dx[k] = dy[k] * slope(at[k]);
    contribute(Tensor::from(x.shape(), dx), x);
  });
}

void lesson() {
  show(value, slope);
  check_slope(value, slope);
  check_operation(gradcheck("swish", {{3, 4}}, [](auto& v) { return swish(v[0]); }, {.low = -3, .high = 3}));
}

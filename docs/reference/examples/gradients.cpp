// A gradient check: a program in double precision (-DUNROLL_DOUBLE, pkg-config unroll-double).
#include <iostream>

#include "framework/gradcheck.h"
#include "framework/ops.h"

using namespace unroll;

int main() {
  //! [GradcheckResult]
  const GradcheckOptions options{.low = 0.5, .high = 2, .seeds = 2};  // inputs are drawn from [0.5, 2]
  const GradcheckResult result = gradcheck(
      "log of a product", {{3, 4}, {4, 2}},
      [](const std::vector<Var>& v) -> Outputs { return log(matmul(v[0], v[1])); }, options);
  if (!result) std::cerr << result << '\n';  // names the input and the element
  //! [GradcheckResult]
  return result ? 0 : 1;
}

// The one oracle for gradients: central differences in double precision. In the core in double only (-DUNROLL_DOUBLE).
//
//   const GradcheckResult result =
//       gradcheck("linear", {{3, 4}, {5, 4}, {5}}, [](auto& v) { return linear(v[0], v[1], v[2]); });
//   if (!result) std::cerr << result << '\n';
//
// The outputs y are contracted with fixed random numbers into one, L = Σ r·y, so every output is tested. For every element x
// of every input the tape's gradient g is compared with D(h) = (L(x+h) - L(x-h)) / 2h, h = eps^(1/3).
//
// The tolerance is derived, element by element:
//   truncation  D(h) = L' + h²/6·L''' + O(h⁴), hence D(2h) - D(h) = 3·h²/6·L''': three times the error of
//               D(h), measured;
//   rounding    every y carries `roundings` errors of eps·max(|y|, magnitude), so L is off by
//               N = roundings·eps·Σ|r|·max(|y|, magnitude), and D(h) by 2N / 2h.
// |g - D(h)| must stay below their sum. If that sum exceeds 1e-4 of the numbers at hand, nothing would be
// checked, and this is a failure too: the function has a kink nearby, or is too steep for h.
//
// On a GPU, where each value costs launches, twelve elements of a larger input are compared, the first and the last
// among them. So is one derivative along a direction through all elements: Σ ±g with signs that are drawn.
//
// Four more properties are checked. The values are those of a run that records nothing. An input's gradient is the same when
// the other inputs are constants. Calling the function twice on the same inputs adds up: the first contribution to a gradient
// overwrites, the second adds. A backward contributes to nothing that its operation's inputs(…) leave out.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "framework/parameters.h"

namespace unroll {

// A CheckedFunction returns one variable or several.
struct Outputs : Vars {
  Outputs(const Var& y) : Vars{y} {}
  Outputs(const std::vector<Var>& ys) : Vars(ys.begin(), ys.end()) {}
};
using CheckedFunction = std::function<Outputs(const std::vector<Var>& inputs)>;  // of inputs of given shapes

// The inputs of the trial, and the errors that the function may have.
struct GradcheckOptions {
  double low = -1, high = 1;  // inputs are uniform in this range
  // Gives input number `input` its values, where the range does not do.
  std::function<void(int input, const Tensor& values, RandomStream& random)> fill = {};
  std::vector<int> skip = {};  // inputs that are constants to the function
  int seeds = 3;               // how often, with other inputs and weights r
  int elements = 0;  // of each input, besides the direction through all; 0: all of them, on a GPU twelve
  bool dropout = false;   // on; the function must use fixed keys, or count its calls on the tape
  bool twice = true;      // two calls on one tape give equal values (not with dropout that counts its calls)
  double roundings = 64;  // longest chain of roundings on the way to an output
  double magnitude = 0;   // of intermediate results, where larger than the outputs
};

struct GradcheckResult {
  double worst = 0;     // largest |analytic - numeric| relative to the largest gradient of the same input
  std::string failure;  // "" or what is wrong, naming the function, the input and its element
  explicit operator bool() const { return failure.empty(); }  // nothing was wrong
};
std::ostream& operator<<(std::ostream& out, const GradcheckResult& result);  // the failure, or the worst

GradcheckResult gradcheck(const std::string& name, const std::vector<Shape>& shapes,
                          const CheckedFunction& function, const GradcheckOptions& options = {});
// Also checks every parameter of a set, from the values it holds.
GradcheckResult gradcheck(const std::string& name, ParameterSet& parameters, const std::vector<Shape>& shapes,
                          const CheckedFunction& function, const GradcheckOptions& options = {});

// Fills for functions with kinks.
// Away from zero: ±[0.1, 1.1].
void fill_away_from_zero(int input, const Tensor& values, RandomStream& random);
// No two alike: a shuffle of numbers 0.05 apart, around zero.
void fill_apart(int input, const Tensor& values, RandomStream& random);

}  // namespace unroll

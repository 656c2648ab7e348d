#include "layers/adversarial_softmax.h"

#include <algorithm>

namespace unroll {

Var adversarial_margins(const Dense& decoder, const Var& given, const IdTensor& target, real alpha) {
  require(alpha >= 0, "adversarial_margins: alpha {} is below 0", alpha);
  const Var y = only_scored(given, target);
  IdTensor classes = target;
  if (std::ranges::count(target.span(), -1) > 0) {
    classes = target.clone();
    std::ranges::replace(classes.span(), -1, 0);
  }
  Tensor reach;  // alpha ‖w_t‖, 0 where w_t and y point apart
  {
    const NoTape constant;
    const Var rows = embedding(decoder.weight, classes);
    const Var ahead = sum(rows * y.value(), -1).value() > 0;
    reach = (alpha * sqrt(sum(rows * rows, -1)) * ahead).value();
  }
  // The least square keeps the slope at y = 0 finite.
  return sqrt(sum(y * y, -1) + real(1e-12)) * reach;
}

}  // namespace unroll

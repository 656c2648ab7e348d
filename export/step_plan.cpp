#include "export/step_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace unroll {

StepVector StepVector::part(int begin, int end) const {
  require(begin >= 0 && begin <= end && end <= size, "step: numbers {} to {} of {}", begin, end, size);
  StepVector result{place, end - begin};
  result.place.at += begin;
  return result;
}

template <class Number>
WholeNumbers<Number> in_whole_numbers(const StepArray& matrix) {
  const size_t out = static_cast<size_t>(matrix.out);
  WholeNumbers<Number> result{std::vector<Number>(matrix.values.size()), std::vector<float>(out)};
  for (size_t k = 0; k < out; ++k) {
    float most = 0;
    for (size_t i = k; i < matrix.values.size(); i += out) most = std::max(most, std::abs(matrix.values[i]));
    const float scale = most / std::numeric_limits<Number>::max();
    result.scale[k] = scale;
    for (size_t i = k; i < matrix.values.size(); i += out)
      result.numbers[i] = static_cast<Number>(scale > 0 ? std::lround(matrix.values[i] / scale) : 0);
  }
  return result;
}
template WholeNumbers<int8_t> in_whole_numbers(const StepArray& matrix);
template WholeNumbers<int16_t> in_whole_numbers(const StepArray& matrix);

int64_t StepPlan::numbers(StepArray::Kind kind) const {
  int64_t sum = 0;
  for (const StepArray& array : arrays) sum += array.kind == kind ? array.size : 0;
  return sum;
}

}  // namespace unroll

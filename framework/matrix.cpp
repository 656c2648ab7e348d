#include "framework/matrix.h"

#include "framework/kernels/kernels.h"
#include "framework/precision.h"

namespace unroll {

bool RoundedTensor::is_of_use() { return products_in().round; }
RoundedTensor::RoundedTensor(const Shape& shape) {
  if (!is_of_use()) return;
  memory_ = Memory(static_cast<std::size_t>(2 * shape.size()));
  row_ = shape.rank() > 0 ? 2 * shape.row().size() : 0;
  half_ = precision() == Precision::fp16;
}
RoundedTensor::RoundedTensor(const Tensor& x) : RoundedTensor(x.shape()) { overwrite(x); }
bool RoundedTensor::is_current() const {
  return memory_.data() && is_of_use() && half_ == (precision() == Precision::fp16);
}
RoundedTensor RoundedTensor::part(int64_t first, const Shape& shape) const {
  RoundedTensor result = *this;
  result.first_ += 2 * first;
  result.row_ = shape.rank() > 0 ? 2 * shape.row().size() : 0;
  return result;
}
void RoundedTensor::overwrite(const Tensor& x) const {
  if (memory_.data()) products_in().round(x.data(), copy().data, x.size());
}
RoundedCopy RoundedTensor::copy(int i) const {
  auto* first = static_cast<char*>(memory_.data());
  return {first ? first + first_ + i * row_ : nullptr, half_};
}
Matrix RoundedTensor::operand(const Tensor& floats) const { return {floats, false, copy(0).data}; }
Matrix RoundedTensor::operand(const Tensor& floats, int i) const { return {floats[i], false, copy(i).data}; }

}  // namespace unroll

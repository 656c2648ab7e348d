// A dense, row-major block of numbers. Copying a tensor shares its memory; a view of a row is a tensor too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/memory.h"
#include "framework/real.h"
#include "framework/shape.h"

namespace unroll::inline UNROLL_REAL {

template <class T>
class BasicTensor {
 public:
  BasicTensor() = default;  // no memory; defined() is false
  // Memory from the pool, contents undefined.
  explicit BasicTensor(const Shape& shape)
      : memory_(static_cast<std::size_t>(shape.size()) * sizeof(T)), data_(static_cast<T*>(memory_.data())), shape_(shape) {}

  static BasicTensor full(const Shape& shape, T value) {
    BasicTensor result(shape);
    result.fill(value);
    return result;
  }
  static BasicTensor zeros(const Shape& shape) { return full(shape, T{0}); }
  static BasicTensor from(const Shape& shape, std::span<const T> values) {
    require(static_cast<int64_t>(values.size()) == shape.size(), "tensor: {} values for shape {}", values.size(), shape);
    BasicTensor result(shape);
    std::copy(values.begin(), values.end(), result.data_);
    return result;
  }

  bool defined() const { return data_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int dim(int i) const { return shape_[i]; }  // dim(-1) is the last
  int64_t size() const { return shape_.size(); }
  // The tensor as a matrix [rows, cols]: the last dimension, and all before it. A single number is [1, 1].
  int64_t cols() const { return shape_.rank() ? shape_[-1] : 1; }
  int64_t rows() const {
    int64_t product = 1;
    for (int i = 0; i + 1 < shape_.rank(); ++i) product *= shape_[i];
    return product;
  }

  T* data() const { return data_; }
  std::span<T> span() const { return {data_, static_cast<std::size_t>(size())}; }

  // View of row i of the first dimension.
  BasicTensor operator[](int i) const {
    require(i >= 0 && i < dim(0), "tensor: no row {} in shape {}", i, shape_);
    const Shape row = shape_.row();
    return BasicTensor(memory_, data_ + i * row.size(), row);
  }
  // View of rows begin … end-1 of the first dimension.
  BasicTensor slice(int begin, int end) const {
    require(0 <= begin && begin <= end && end <= dim(0), "tensor: no rows {} to {} in shape {}", begin, end, shape_);
    return BasicTensor(memory_, data_ + begin * shape_.row().size(), shape_.with(0, end - begin));
  }
  // The same elements in the same memory under another shape.
  BasicTensor reshape(const Shape& shape) const {
    require(shape.size() == size(), "reshape: {} has {} elements, {} has {}", shape_, size(), shape, shape.size());
    return BasicTensor(memory_, data_, shape);
  }

  void fill(T value) const { std::fill_n(data_, size(), value); }
  void copy_from(const BasicTensor& source) const {
    require(source.shape() == shape_, "copy: shape {} into shape {}", source.shape(), shape_);
    if (data_ != source.data_) std::copy_n(source.data_, size(), data_);
  }
  BasicTensor clone() const {
    BasicTensor result(shape_);
    result.copy_from(*this);
    return result;
  }
  std::vector<T> to_host() const { return std::vector<T>(data_, data_ + size()); }
  T item() const {  // the only element
    require(size() == 1, "item: shape {} has {} elements, not one", shape_, size());
    return *data_;
  }

 private:
  BasicTensor(Memory memory, T* data, const Shape& shape) : memory_(std::move(memory)), data_(data), shape_(shape) {}
  Memory memory_;
  T* data_ = nullptr;
  Shape shape_;
};

using Tensor = BasicTensor<real>;
using IdTensor = BasicTensor<int32_t>;  // tokens, class numbers

// Where a kernel puts its result: over what is there, or added to it.
struct Into {
  Tensor tensor;
  bool add = false;
};
inline Into overwrite(const Tensor& tensor) { return {tensor, false}; }
inline Into add_to(const Tensor& tensor) { return {tensor, true}; }

}  // namespace unroll::inline UNROLL_REAL

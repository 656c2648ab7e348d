// Operands of matrix products: a tensor or its transpose, and a tensor's numbers in the 16 bits of a GPU's products.
#pragma once

#include "framework/tensor.h"

namespace unroll {

struct RoundedCopy;

// An operand: a tensor taken as [rows, cols], or its transpose.
struct Matrix {
  Matrix(const Tensor& t) : tensor(t) {}
  Matrix(const Tensor& t, bool transpose, const void* as_rounded = nullptr)
      : tensor(t), transposed(transpose), rounded(as_rounded) {}
  int64_t rows() const { return transposed ? tensor.cols() : tensor.rows(); }
  int64_t cols() const { return transposed ? tensor.rows() : tensor.cols(); }
  const Tensor tensor;
  bool transposed = false;        // the tensor's transpose is meant
  const void* rounded = nullptr;  // the numbers, of a tensor that gives but the shape then: see RoundedTensor
};
inline Matrix transposed(const Matrix& m) { return {m.tensor, !m.transposed, m.rounded}; }  // the same memory

// An operand in the 16 bits in which a GPU's products take it in the process's precision. Products round floats in a
// pass of its own; so a kernel that writes numbers may write them here, too (RoundedCopy). The tensor is empty if
// products round nothing, or round on their way, as a CPU's do. Then the operand is the floats.
class RoundedTensor {
 public:
  static bool is_of_use();  // the process's products round on a GPU
  RoundedTensor() = default;
  explicit RoundedTensor(const Shape& shape);  // contents undefined
  explicit RoundedTensor(const Tensor& x);     // its numbers
  // Whether it has numbers, of the process's precision.
  bool is_current() const;
  // From number `first` on, as a tensor of that shape.
  RoundedTensor part(int64_t first, const Shape& shape) const;
  void overwrite(const Tensor& x) const;  // its numbers from now on
  // For a kernel that writes all of it, or from row i of its first dimension on.
  RoundedCopy copy(int i = 0) const;
  // `floats`, or its row i, as an operand whose numbers are here, if there are any. Its shape is the one that this
  // was made with.
  Matrix operand(const Tensor& floats) const;
  Matrix operand(const Tensor& floats, int i) const;

 private:
  Memory memory_;
  int64_t first_ = 0, row_ = 0;  // bytes
  bool half_ = false;
};

}  // namespace unroll

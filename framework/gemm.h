// Matrix products, on tensors and on operands that were packed beforehand.
#pragma once

#include "framework/tensor.h"

namespace unroll::inline UNROLL_REAL {

// An operand: a tensor taken as [rows, cols], or its transpose.
struct Matrix {
  Matrix(const Tensor& t) : tensor(t) {}
  Matrix(const Tensor& t, bool transpose) : tensor(t), transposed(transpose) {}
  int64_t rows() const { return transposed ? tensor.cols() : tensor.rows(); }
  int64_t cols() const { return transposed ? tensor.rows() : tensor.cols(); }
  const Tensor& tensor;
  bool transposed = false;
};
inline Matrix transposed(const Tensor& t) { return {t, true}; }

// A copy of a matrix in the order in which the kernels read a right operand. Packing pays from the second
// product on where few rows meet large weights: in a recurrence, once for all steps. Later changes of the
// tensor do not reach it.
class PackedMatrix {
 public:
  explicit PackedMatrix(const Matrix& b);
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  const real* data() const { return static_cast<const real*>(memory_.data()); }  // as Kernels::pack writes it

 private:
  int64_t rows_, cols_;
  Memory memory_;
};

// c = a b, or c += a b.   a [m, k], b [k, n], c [m, n]. Throws if the sizes do not fit. An element's bits
// depend on its row of a and its column of b alone: not on threads, on m and n, or on b being packed.
void gemm(const Matrix& a, const Matrix& b, const Into& c);
void gemm(const Matrix& a, const PackedMatrix& b, const Into& c);

}  // namespace unroll::inline UNROLL_REAL

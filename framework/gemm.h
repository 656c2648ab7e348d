// Matrix products: oneDNN in float, plain loops in double (the reference).
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

// c = a b, or c += a b.   a [m, k], b [k, n], c [m, n]. Throws if the sizes do not fit.
void gemm(const Matrix& a, const Matrix& b, const Into& c);

}  // namespace unroll::inline UNROLL_REAL

// Matrix products, on tensors and on operands that were packed beforehand.
#pragma once

#include "framework/matrix.h"
#include "framework/precision.h"

namespace unroll {

struct Operand;

// A copy of a matrix in the order in which the kernels read a right operand. Packing pays from the second product on where
// few rows meet large weights: in a recurrence, once for all steps. Later changes of the tensor do not reach it.
class PackedMatrix {
 public:
  explicit PackedMatrix(const Matrix& b);
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }               // as of the matrix that was packed
  Precision precision() const { return precision_; }   // that of the process when it was packed
  const void* data() const { return memory_.data(); }  // as Products::pack writes it

 private:
  int64_t rows_, cols_;
  Precision precision_;
  Memory memory_;
};
// The memory that it takes for so many rows and columns, in the process's precision.
int64_t packed_bytes(int64_t rows, int64_t cols);

// c = a b, or c += a b.   a [m, k], b [k, n], c [m, n]. Throws if the sizes do not fit.
//
// On a CPU an element's bits depend on its row of a and its column of b alone: not on threads, on m and n, or on b
// being packed. Exceptions are three kinds of products with an unpacked b, which sum in an order of their own.
// * k is 4096 or more: the bits depend on m and n, too.
// * In fp32 one or two rows meet a transposed b.
// * In fp32 with AMX there are at least 64 rows, 32 columns and a k of 32. Each number is the sum of three in
//   bfloat16 (gemm_amx.cpp), which is as exact, but a sum with an infinite number is NaN.
// On a GPU bits depend on the sizes too, by which cuBLAS chooses among its kernels. Equal products have equal bits.
void gemm(const Matrix& a, const Matrix& b, const Into& c);
void gemm(const Matrix& a, const PackedMatrix& b, const Into& c);
// c = a b + bias, the same in every row.   bias [n]
void gemm(const Matrix& a, const Matrix& b, const Tensor& bias, Tensor c);
void gemm(const Matrix& a, const PackedMatrix& b, const Tensor& bias, Tensor c);

// As above for parts of tensors, which lie at strides (framework/kernels/kernels.h): c [m, n] = a [m, k] b [k, n], or
// c += a b. Rows of c are c_row apart. Does nothing unless m, n and k are positive.
void gemm(const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
          bool add);

}  // namespace unroll

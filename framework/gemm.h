// Matrix products, on tensors and on operands that were packed beforehand.
#pragma once

#include <string>

#include "framework/tensor.h"

namespace unroll {

struct Operand;
struct RoundedCopy;

// The numbers of products' operands (all_precisions). tf32 and bf16 have float's range, with 11 and 8 bits instead of 24.
// fp16 has 11 bits and a range of its own, 6e-8 to 65504, so gradients need a scale to fit in
// (training/loss_scale.h). Sums, and all tensors, stay float.
enum class Precision : uint8_t { fp32, tf32, bf16, fp16 };
inline constexpr Precision all_precisions[] = {Precision::fp32, Precision::tf32, Precision::bf16,
                                               Precision::fp16};
const char* name_of(Precision precision);
// fp32, tf32, bf16, fp16, or auto: bf16 where the device multiplies such numbers. Throws InputError.
Precision precision_named(const std::string& name);

// Sets the precision of all products from now on; at first it is fp32. For a GPU call it after set_device() and
// before layers are made: a cuDNN layer stays in the precision that it was made in, and throws Error when it is used
// in another. Throws InputError, and says what is missing, if the device cannot.
void set_precision(Precision precision);
Precision precision();

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

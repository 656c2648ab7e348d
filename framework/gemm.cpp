#include "framework/gemm.h"

#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "framework/threads.h"

namespace unroll::inline UNROLL_REAL {

static Memory memory_for(int64_t count) { return Memory(static_cast<std::size_t>(count) * sizeof(real)); }

static Operand operand(const Matrix& matrix) {
  const int64_t row = matrix.tensor.cols();
  return {matrix.tensor.data(), matrix.transposed ? 1 : row, matrix.transposed ? row : 1};
}

// Kept by each thread that multiplies: a step of inference takes nothing even from the pool.
static real* scratch_for(int threads) {
  thread_local Memory memory;
  thread_local int enough_for = 0;
  if (threads > enough_for) {
    memory = memory_for(kernels().gemm_scratch * threads);
    enough_for = threads;
  }
  return static_cast<real*>(memory.data());
}

// Checks the sizes, and calls product(scratch, threads) unless c is all there is to look after.
template <class B, class Product>
static void checked(const Matrix& a, const B& b, const Into& c, Product product) {
  const int64_t m = a.rows(), k = a.cols(), n = b.cols();
  require(b.rows() == k && c.tensor.rows() == m && c.tensor.cols() == n,
          "gemm: [{}, {}] times [{}, {}] does not give [{}, {}]", m, k, b.rows(), n, c.tensor.rows(),
          c.tensor.cols());
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (!c.add) c.tensor.fill(0);
    return;
  }
  product_flops += 2 * m * n * k;
  product(scratch_for(threads()), threads());
}

void gemm(const Matrix& a, const Matrix& b, const Into& c) {
  checked(a, b, c, [&](real* scratch, int threads) {
    kernels().gemm(operand(a), operand(b), a.rows(), b.cols(), a.cols(), c.tensor.data(), c.tensor.cols(),
                   c.add, scratch, threads);
  });
}

void gemm(const Matrix& a, const PackedMatrix& b, const Into& c) {
  checked(a, b, c, [&](real* scratch, int threads) {
    kernels().gemm_packed(operand(a), b.data(), a.rows(), b.cols(), a.cols(), c.tensor.data(),
                          c.tensor.cols(), c.add, scratch, threads);
  });
}

PackedMatrix::PackedMatrix(const Matrix& b)
    : rows_(b.rows()), cols_(b.cols()), memory_(memory_for(kernels().packed_size(rows_, cols_))) {
  kernels().pack(operand(b), rows_, cols_, static_cast<real*>(memory_.data()));
}

}  // namespace unroll::inline UNROLL_REAL

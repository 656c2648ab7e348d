// Matrix products as plain loops: the reference, in double, that gradient checks and parity tests compute
// with.
#include "framework/kernels/cpu/fill.h"

namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA {
namespace {

// c[i, j] = Σ_l a[i, l] b[l, j], l in order
void gemm(const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
          bool add, real*, int) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      real sum = add ? c[i * c_row + j] : 0;
      for (int64_t l = 0; l < k; ++l) sum += a.data[i * a.row + l * a.col] * b.data[l * b.row + j * b.col];
      c[i * c_row + j] = sum;
    }
}

// Packed here means by columns.
void gemm_packed(const Operand& a, const real* b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
                 bool add, real* scratch, int threads) {
  gemm(a, {b, 1, k}, m, n, k, c, c_row, add, scratch, threads);
}
void pack(const Operand& b, int64_t k, int64_t n, real* packed) {
  for (int64_t j = 0; j < n; ++j)
    for (int64_t l = 0; l < k; ++l) packed[j * k + l] = b.data[l * b.row + j * b.col];
}
int64_t packed_size(int64_t k, int64_t n) { return k * n; }

}  // namespace

void fill_gemm(Kernels& k) noexcept {
  k.gemm = gemm;
  k.gemm_packed = gemm_packed;
  k.gemm_scratch = 0;
  k.pack = pack;
  k.packed_size = packed_size;
}

}  // namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA

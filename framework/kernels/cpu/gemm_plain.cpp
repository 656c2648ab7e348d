// Matrix products as plain loops: the reference, in double, that gradient checks and parity tests compute with.
#include "framework/kernels/kernels.h"

namespace unroll::cpu::inline UNROLL_ISA {
namespace {

// c[j] = addend[j] + Σ_l a[l · a_step] b[l, j], l in order, for so many columns side by side
template <int columns>
void elements(const real* a, int64_t a_step, const real* b, const Operand& steps, int64_t k,
              const real* addend, real* c) {
  real sums[columns];
  for (int j = 0; j < columns; ++j) sums[j] = addend ? addend[j] : 0;
  for (int64_t l = 0; l < k; ++l)
    for (int j = 0; j < columns; ++j) sums[j] += a[l * a_step] * b[l * steps.row + j * steps.col];
  for (int j = 0; j < columns; ++j) c[j] = sums[j];
}

void gemm(const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
          const Addend& addend, void*, int) {
  for (int64_t i = 0; i < m; ++i) {
    const auto columns = [&]<int count>(int64_t j) {
      elements<count>(a.data + i * a.row, a.col, b.data + j * b.col, b, k, addend.at(i, j).data,
                      c + i * c_row + j);
    };
    int64_t j = 0;
    for (; j + 8 <= n; j += 8) columns.operator()<8>(j);
    for (; j < n; ++j) columns.operator()<1>(j);
  }
}

// Packed here means by columns.
void gemm_packed(const Operand& a, const void* b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
                 const Addend& addend, void* scratch, int threads) {
  gemm(a, {static_cast<const real*>(b), 1, k}, m, n, k, c, c_row, addend, scratch, threads);
}
void pack(const Operand& b, int64_t k, int64_t n, void* packed) {
  real* out = static_cast<real*>(packed);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t l = 0; l < k; ++l) out[j * k + l] = b.data[l * b.row + j * b.col];
}
int64_t packed_bytes(int64_t k, int64_t n) { return k * n * static_cast<int64_t>(sizeof(real)); }

}  // namespace

void fill_gemm(Kernels& k) noexcept { k.fp32 = {gemm, gemm_packed, pack, packed_bytes, 0}; }

}  // namespace unroll::cpu::inline UNROLL_ISA

// Matrix products as plain loops: the reference, in double, that gradient checks and parity tests compute with.
#include "framework/kernels/kernels.h"

namespace unroll::cpu::inline UNROLL_ISA {
namespace {

// c[i, j] = Σ_l a[i, l] b[l, j], l in order, eight columns side by side. Packed here means by columns.
void gemm(const Operand& a, const Operand& given, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
          const Addend& addend, void*, int) {
  const Operand b = given.packed ? Operand{static_cast<const real*>(given.packed), 1, k} : given;
  for (int64_t i = 0; i < m; ++i) {
    const auto columns = [&, row = a.data + i * a.row]<int count>(int64_t j) {
      real sums[count];
      for (int q = 0; q < count; ++q) sums[q] = addend.data ? addend.at(i, j).data[q] : 0;
      for (int64_t l = 0; l < k; ++l)
        for (int q = 0; q < count; ++q) sums[q] += row[l * a.col] * b.data[l * b.row + (j + q) * b.col];
      for (int q = 0; q < count; ++q) c[i * c_row + j + q] = sums[q];
    };
    int64_t j = 0;
    for (; j + 8 <= n; j += 8) columns.operator()<8>(j);
    for (; j < n; ++j) columns.operator()<1>(j);
  }
}

void pack(const Operand& b, int64_t k, int64_t n, void* packed) {
  real* out = static_cast<real*>(packed);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t l = 0; l < k; ++l) out[j * k + l] = b.data[l * b.row + j * b.col];
}
int64_t packed_bytes(int64_t k, int64_t n) { return k * n * static_cast<int64_t>(sizeof(real)); }

}  // namespace

void fill_gemm(Kernels& k) noexcept { k.fp32 = {gemm, pack, packed_bytes, 0}; }

}  // namespace unroll::cpu::inline UNROLL_ISA

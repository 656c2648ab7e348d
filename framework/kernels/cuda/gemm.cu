// Matrix products, by cuBLAS. Sums are in float whatever the operands are rounded to, and TF32 is taken only by name.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "framework/device.h"
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"
#include "framework/kernels/cuda/libraries.h"

namespace unroll::cuda {
namespace {

// A factor [rows, cols] as cuBLAS sees it: lines of `length` elements, one behind the other at `distance`. The lines of a
// transposed operand are its columns.
struct Factor {
  const void* data;
  bool transposed;
  int64_t count, length, distance;
  bool rounded = false;  // beforehand
};
Factor factor_of(const Operand& x, int64_t rows, int64_t cols) {
  const bool transposed = x.col != 1;
  const int64_t count = transposed ? cols : rows, length = transposed ? rows : cols;
  const int64_t distance = transposed ? x.col : x.row;
  const int64_t n = (count - 1) * distance + length;
  if (x.rounded)
    given(static_cast<const uint16_t*>(x.rounded), n, 0);  // what the product reads, it counts
  else
    given(x.data, n, 0);
  return {x.rounded ? x.rounded : x.data,
          transposed,
          count,
          length,
          distance > length ? distance : length,  // a single line has none
          x.rounded != nullptr};
}

}  // namespace

// The numbers to which operands are rounded before they are multiplied, and cuBLAS's names for them. (With real as
// double only the first is used, and in an unnamed namespace nvcc would report the others.)
struct Full {
  using Element = real;
  static constexpr cudaDataType type = sizeof(real) == 4 ? CUDA_R_32F : CUDA_R_64F;
  static constexpr cublasComputeType_t compute = sizeof(real) == 4 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F;
};
struct Tf32 : Full {
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F_FAST_TF32;
};
struct Bf16 {
  using Element = __nv_bfloat16;
  static constexpr cudaDataType type = CUDA_R_16BF;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  UNROLL_KERNEL static Element rounded(real x) { return __float2bfloat16(static_cast<float>(x)); }
  UNROLL_KERNEL static real widened(Element x) { return __bfloat162float(x); }
};
struct Fp16 {
  using Element = __half;
  static constexpr cudaDataType type = CUDA_R_16F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  UNROLL_KERNEL static Element rounded(real x) { return __float2half(static_cast<float>(x)); }
  UNROLL_KERNEL static real widened(Element x) { return __half2float(x); }
};

namespace {

template <class P>
struct Round {
  UNROLL_KERNEL void operator()(real x, typename P::Element& y) const { y = P::rounded(x); }
};
template <class P>
constexpr bool rounds = sizeof(typename P::Element) < sizeof(real);

// The lines rounded, close together.
template <class P>
Factor rounded(const Factor& x, void* into) {
  if (x.rounded) return x;
  const int64_t n = x.count * x.length;
  auto* y = static_cast<typename P::Element*>(into);
  each(n, Round<P>{}, read_lines(static_cast<const real*>(x.data), x.distance, x.count, x.length),
       write(y, n));
  return {into, x.transposed, x.count, x.length, x.length};
}
template <class P>
std::size_t bytes_of(const Factor& x) {  // apart by whole lines of the cache
  if (x.rounded) return 0;
  return (static_cast<std::size_t>(x.count * x.length) * sizeof(typename P::Element) + 255) / 256 * 256;
}

int as_int(int64_t size) {
  if (size > INT32_MAX) gpu::fail("gemm: a matrix has more rows or columns than cuBLAS can count");
  return static_cast<int>(size);
}

// One row for all of c's, which cuBLAS then adds to.
struct BroadcastRow {
  UNROLL_KERNEL void operator()(real row, real& c) const { c = row; }
};

// cuBLAS sees columns where rows lie: c = a b, row by row, is cᵀ = bᵀ aᵀ.
template <class P>
void multiply(const Factor& a, const Factor& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
              const Addend& addend) {
  const real alpha = 1, beta = addend.data ? 1 : 0;
  given(c, (m - 1) * c_row + n, 0);
  if (addend.data && addend.data != c)
    each(m * n, BroadcastRow{}, read_repeated(addend.data, n, m * n), write_lines(c, c_row, m, n, false));
  const auto operation = [](const Factor& x) { return x.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  gpu::check(
      gpu::cublas().gemm(gpu::cublas_handle(), operation(b), operation(a), as_int(n), as_int(m), as_int(k),
                         &alpha, b.data, P::type, as_int(b.distance), a.data, P::type, as_int(a.distance),
                         &beta, c, Full::type, as_int(c_row), P::compute, CUBLAS_GEMM_DEFAULT),
      "cublasGemmEx");
}

template <class P>
void gemm(const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
          const Addend& addend, void*, int) {
  Factor left = factor_of(a, m, k);
  Factor right = b.packed ? Factor{b.packed, false, k, n, n, true} : factor_of(b, k, n);
  if constexpr (rounds<P>) {
    auto* scratch = static_cast<char*>(gpu::workspace(bytes_of<P>(left) + bytes_of<P>(right)));
    right = rounded<P>(right, scratch + bytes_of<P>(left));
    left = rounded<P>(left, scratch);
  }
  multiply<P>(left, right, m, n, k, c, c_row, addend);
}

// A packed matrix is [k, n], rounded.
template <class P>
struct Pack {
  UNROLL_KERNEL void operator()(real x, typename P::Element& y) const {
    if constexpr (rounds<P>)
      y = P::rounded(x);
    else
      y = x;
  }
};
template <class P>
void pack(const Operand& b, int64_t k, int64_t n, void* packed) {
  given(b.data, (k - 1) * b.row + (n - 1) * b.col + 1, k * n);
  each(k * n, Pack<P>{}, Strided{{}, b.data, b.row, b.col, Divisor(n)},
       write(static_cast<typename P::Element*>(packed), k * n));
}
template <class P>
int64_t packed_bytes(int64_t k, int64_t n) {
  return k * n * static_cast<int64_t>(sizeof(typename P::Element));
}
template <class P>
struct Widen {
  bool add;
  UNROLL_KERNEL void operator()(typename P::Element x, real& y) const { put(add, y, P::widened(x)); }
};
template <class P>
void round(const real* x, void* y, int64_t n) {
  each(n, Round<P>{}, read(x, n), write(static_cast<typename P::Element*>(y), n));
}
template <class P>
void widen(const void* x, real* y, int64_t n, bool add) {
  each(n, Widen<P>{add}, read(static_cast<const typename P::Element*>(x), n), write(y, n, add));
}

template <class P>
Products products_of() {
  Products result{.gemm = gemm<P>, .pack = pack<P>, .packed_bytes = packed_bytes<P>, .scratch_bytes = 0};
  if constexpr (rounds<P>) result.round = round<P>, result.widen = widen<P>;
  return result;
}

}  // namespace

void fill_gemm(Kernels& k) {
  k.fp32 = products_of<Full>();
  if constexpr (sizeof(real) == 4) {
    const int capability = device_facts().capability;
    if (capability < 70) return;  // where tensor cores begin, and take half precision only
    k.fp16 = products_of<Fp16>();
    if (capability < 80) return;
    k.tf32 = products_of<Tf32>();
    k.bf16 = products_of<Bf16>();
  }
}

}  // namespace unroll::cuda

// Kernels that treat every element alike.
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"

namespace unroll::cuda {
namespace {

struct Fill {
  real* y;
  real value;
  UNROLL_KERNEL void operator()(int64_t i) const { y[i] = value; }
};
void fill(real* y, real value, int64_t n) { each(n, Fill{given(y, n), value}); }

template <class F>
struct UnaryValue {
  const real* x;
  real* y;
  UNROLL_KERNEL void operator()(int64_t i) const { y[i] = F::value(x[i]); }
};
void unary(Unary f, const real* x, real* y, int64_t n) {
  with_functor(f, [=]<class F>(F) { each(n, UnaryValue<F>{given(x, n), given(y, n)}); });
}

template <class F>
struct UnarySlope {
  const real *x, *y, *dy;
  real* dx;
  bool add;
  UNROLL_KERNEL void operator()(int64_t i) const { put(add, dx[i], dy[i] * F::slope(x[i], y[i])); }
};
void unary_gradient(Unary f, const real* x, const real* y, const real* dy, real* dx, int64_t n, bool add) {
  with_functor(f, [=]<class F>(F) {
    each(n, UnarySlope<F>{given(x, n), given(y, n), given(dy, n), given(dx, n), add});
  });
}

// The operands of a function of two elements: one is repeated.
struct Pair {
  const real* a;
  int64_t na;
  const real* b;
  int64_t nb, n;
  UNROLL_KERNEL real a_at(int64_t i) const { return a[na == n ? i : rest_of(i, na)]; }
  UNROLL_KERNEL real b_at(int64_t i) const { return b[nb == n ? i : rest_of(i, nb)]; }
};

template <class F>
struct BinaryValue {
  Pair x;
  real* y;
  UNROLL_KERNEL void operator()(int64_t i) const { y[i] = F::value(x.a_at(i), x.b_at(i)); }
};
void binary(Binary f, const real* a, int64_t na, const real* b, int64_t nb, real* y, int64_t n) {
  const Pair x{given(a, na), na, given(b, nb), nb, n};
  with_functor(f, [=]<class F>(F) { each(n, BinaryValue<F>{x, given(y, n)}); });
}

template <class F>
struct BinarySlope {
  Pair x;
  const real* dy;
  real* d;
  bool of_b, add;
  UNROLL_KERNEL void operator()(int64_t i) const {
    const real a = x.a_at(i), b = x.b_at(i);
    put(add, d[i], dy[i] * (of_b ? F::slope_b(a, b) : F::slope_a(a, b)));
  }
};
void binary_gradient(Binary f, bool of_b, const real* a, int64_t na, const real* b, int64_t nb,
                     const real* dy, real* d, int64_t n, bool add) {
  const Pair x{given(a, na), na, given(b, nb), nb, n};
  with_functor(f, [=]<class F>(F) { each(n, BinarySlope<F>{x, given(dy, n), given(d, n), of_b, add}); });
}

struct Affine {
  const real* x;
  real scale, shift;
  real* y;
  bool add;
  UNROLL_KERNEL void operator()(int64_t i) const { put(add, y[i], scale * x[i] + shift); }
};
void affine(const real* x, real scale, real shift, real* y, int64_t n, bool add) {
  each(n, Affine{given(x, n), scale, shift, given(y, n), add});
}

struct Select {
  const real *c, *a;
  real a0;
  const real* b;
  real b0;
  real* y;
  bool add;
  UNROLL_KERNEL void operator()(int64_t i) const {
    put(add, y[i], c[i] != 0 ? (a ? a[i] : a0) : (b ? b[i] : b0));
  }
};
void select(const real* c, const real* a, real a0, const real* b, real b0, real* y, int64_t n, bool add) {
  each(n, Select{given(c, n), given(a, n), a0, given(b, n), b0, given(y, n), add});
}

struct GateValue {
  real* a;
  const real* x;
  real* y;
  UNROLL_KERNEL void operator()(int64_t i) const { y[i] = gated(a[i], x[i]); }
};
void gate(real* a, const real* x, real* y, int64_t n) {
  each(n, GateValue{given(a, n), given(x, n), given(y, n)});
}

struct GateSlope {
  real* s;
  const real* x;
  real* d;
  UNROLL_KERNEL void operator()(int64_t i) const { gated_gradient(s[i], x[i], d[i]); }
};
void gate_gradient(real* s, const real* x, real* d, int64_t n) {
  each(n, GateSlope{given(s, n), given(x, n), given(d, n)});
}

struct CopyBlocks {
  const real* src;
  int64_t src_stride;
  real* dst;
  int64_t dst_stride, length;
  bool add;
  UNROLL_KERNEL void operator()(int64_t i) const {
    const int64_t block = quotient(i, length), at = i - block * length;
    put(add, dst[block * dst_stride + at], src[block * src_stride + at]);
  }
};
// The block that is first in memory may be the last: a stride may be negative.
const real* given_blocks(const real* x, int64_t stride, int64_t blocks, int64_t length) {
  const int64_t reach = (blocks - 1) * stride;
  given(reach < 0 ? x + reach : x, (reach < 0 ? -reach : reach) + length);
  return x;
}
void copy_blocks(const real* src, int64_t src_stride, real* dst, int64_t dst_stride, int64_t blocks,
                 int64_t length, bool add) {
  if (blocks * length == 0) return;
  given_blocks(src, src_stride, blocks, length), given_blocks(dst, dst_stride, blocks, length);
  each(blocks * length, CopyBlocks{src, src_stride, dst, dst_stride, length, add});
}

struct Transpose {
  const real* x;
  int64_t rows, cols, inner;
  real* y;
  bool add;
  UNROLL_KERNEL void operator()(int64_t k) const {
    const int64_t i = k % inner, r = k / inner % rows, c = k / (inner * rows) % cols,
                  o = k / (inner * rows * cols);
    put(add, y[k], x[((o * rows + r) * cols + c) * inner + i]);
  }
};
void transpose(const real* x, int64_t outer, int64_t rows, int64_t cols, int64_t inner, real* y, bool add) {
  const int64_t n = outer * rows * cols * inner;
  each(n, Transpose{given(x, n), rows, cols, inner, given(y, n), add});
}

}  // namespace

void fill_elements(Kernels& k) {
  k.fill = fill;
  k.unary = unary;
  k.unary_gradient = unary_gradient;
  k.binary = binary;
  k.binary_gradient = binary_gradient;
  k.affine = affine;
  k.select = select;
  k.gate = gate;
  k.gate_gradient = gate_gradient;
  k.copy_blocks = copy_blocks;
  k.transpose = transpose;
}

}  // namespace unroll::cuda

// Kernels that treat every element alike.
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"

namespace unroll::cuda {
namespace {

struct Fill {
  real value;
  UNROLL_KERNEL void operator()(real& y) const { y = value; }
};
void fill(real* y, real value, int64_t n) { each(n, Fill{value}, write(y, n)); }

template <class F>
struct UnaryValue {
  UNROLL_KERNEL void operator()(real x, real& y) const { y = F::value(x); }
};
void unary(Unary f, const real* x, real* y, int64_t n) {
  with_functor(f, [=]<class F>(F) { each(n, UnaryValue<F>{}, read(x, n), write(y, n)); });
}

template <class F>
struct UnarySlope {
  bool add;
  UNROLL_KERNEL void operator()(real x, real y, real dy, real& dx) const {
    put(add, dx, dy * F::slope(x, y));
  }
};
void unary_gradient(Unary f, const real* x, const real* y, const real* dy, real* dx, int64_t n, bool add) {
  with_functor(f, [=]<class F>(F) {
    each(n, UnarySlope<F>{add}, read(x, n), read(y, n), read(dy, n), write(dx, n, add));
  });
}

// Of the operands of a function of two elements one is repeated.
template <class F>
struct BinaryValue {
  UNROLL_KERNEL void operator()(real a, real b, real& y) const { y = F::value(a, b); }
};
void binary(Binary f, const real* a, int64_t na, const real* b, int64_t nb, real* y, int64_t n) {
  with_functor(f, [=]<class F>(F) {
    each(n, BinaryValue<F>{}, read_repeated(a, na, n), read_repeated(b, nb, n), write(y, n));
  });
}

template <class F>
struct BinarySlope {
  bool of_b, add;
  UNROLL_KERNEL void operator()(real a, real b, real dy, real& d) const {
    put(add, d, dy * (of_b ? F::slope_b(a, b) : F::slope_a(a, b)));
  }
};
void binary_gradient(Binary f, bool of_b, const real* a, int64_t na, const real* b, int64_t nb,
                     const real* dy, real* d, int64_t n, bool add) {
  with_functor(f, [=]<class F>(F) {
    each(n, BinarySlope<F>{of_b, add}, read_repeated(a, na, n), read_repeated(b, nb, n), read(dy, n),
         write(d, n, add));
  });
}

struct Affine {
  real scale, shift;
  bool add;
  UNROLL_KERNEL void operator()(real x, real& y) const { put(add, y, scale * x + shift); }
};
void affine(const real* x, real scale, real shift, real* y, int64_t n, bool add) {
  each(n, Affine{scale, shift, add}, read(x, n), write(y, n, add));
}

struct Select {
  bool has_a, has_b;
  real a0, b0;
  bool add;
  UNROLL_KERNEL void operator()(real c, real a, real b, real& y) const {
    put(add, y, c != 0 ? (has_a ? a : a0) : (has_b ? b : b0));
  }
};
void select(const real* c, const real* a, real a0, const real* b, real b0, real* y, int64_t n, bool add) {
  each(n, Select{a != nullptr, b != nullptr, a0, b0, add}, read(c, n), read_if(a, n), read_if(b, n),
       write(y, n, add));
}

struct GateValue {
  UNROLL_KERNEL void operator()(real& a, real x, real& y) const { y = gated(a, x); }
};
void gate(real* a, const real* x, real* y, int64_t n) {
  each(n, GateValue{}, change(a, n), read(x, n), write(y, n));
}

struct GateSlope {
  UNROLL_KERNEL void operator()(real& s, real x, real& d) const { gated_gradient(s, x, d); }
};
void gate_gradient(real* s, const real* x, real* d, int64_t n) {
  each(n, GateSlope{}, change(s, n), read(x, n), change(d, n));
}

struct Copy {
  bool add;
  UNROLL_KERNEL void operator()(real x, real& y) const { put(add, y, x); }
};
void copy_blocks(const real* src, int64_t src_stride, real* dst, int64_t dst_stride, int64_t blocks,
                 int64_t length, bool add) {
  if (blocks * length == 0) return;
  each(blocks * length, Copy{add}, read_lines(src, src_stride, blocks, length),
       write_lines(dst, dst_stride, blocks, length, add));
}

// Where element k of [outer, cols, rows, inner] lies in [outer, rows, cols, inner].
struct Transposed {
  Divisor inner, rows, cols;
  UNROLL_KERNEL int64_t operator()(int64_t k) const {
    const int64_t line = inner.quotient(k), i = k - line * inner.by();
    const int64_t column = rows.quotient(line), r = line - column * rows.by();
    const int64_t o = cols.quotient(column), c = column - o * cols.by();
    return ((o * rows.by() + r) * cols.by() + c) * inner.by() + i;
  }
};
void transpose(const real* x, int64_t outer, int64_t rows, int64_t cols, int64_t inner, real* y, bool add) {
  const int64_t n = outer * rows * cols * inner;
  if (n == 0) return;
  each(n, Copy{add}, read_chosen(x, n, n, Transposed{Divisor(inner), Divisor(rows), Divisor(cols)}),
       write(y, n, add));
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

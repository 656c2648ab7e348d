// Kernels that treat every element alike.
#include "framework/kernels/cpu/launch.h"

namespace unroll::cpu::inline UNROLL_ISA {

void fill(real* y, real value, int64_t n) {
  each(n, 1, [=](int64_t i) { y[i] = value; });
}

constexpr int64_t cost_of(Unary f) { return f < Unary::relu ? 4 : 1; }

void unary(Unary f, const real* x, real* y, int64_t n) {
  with_functor(f, [=]<class F>(F) { each(n, cost_of(f), [=](int64_t i) { y[i] = F::value(x[i]); }); });
}

void unary_gradient(Unary f, const real* x, const real* y, const real* dy, real* dx, int64_t n, bool add) {
  with_flag(add, [=](auto adds) {
    with_functor(f, [=]<class F>(F) {
      each(n, 1, [=](int64_t i) { put(adds, dx[i], dy[i] * F::slope(x[i], y[i])); });
    });
  });
}

// use(a, b, at, count) for runs of elements at … at+count-1 along which both operands are contiguous; operand
// x is repeated every nx elements.
template <class Use>
static void each_run(const real* a, int64_t na, const real* b, int64_t nb, int64_t n, Use use) {
  constexpr int64_t block = 4096, width = 512;
  real tile[width];  // a short operand, many times
  const auto widen = [&](const real*& x, int64_t& period) {
    if (period == n || period > width / 2) return;
    const int64_t longer = smaller(n, width / period * period);
    for (int64_t i = 0; i < period; ++i) tile[i] = x[i];
    for (int64_t full = period; full < longer; full *= 2)
      for (int64_t i = full; i < smaller(2 * full, longer); ++i) tile[i] = tile[i - full];
    x = tile, period = longer;
  };
  widen(a, na);
  widen(b, nb);
  spread((n + block - 1) / block, n, [=](int64_t k) {
    const int64_t end = smaller((k + 1) * block, n);
    for (int64_t at = k * block; at < end;) {
      const int64_t ia = at % na, ib = at % nb;
      const int64_t count = smaller(end - at, smaller(na - ia, nb - ib));
      use(a + ia, b + ib, at, count);
      at += count;
    }
  });
}

void binary(Binary f, const real* a, int64_t na, const real* b, int64_t nb, real* y, int64_t n) {
  with_functor(f, [=]<class F>(F) {
    each_run(a, na, b, nb, n, [=](const real* p, const real* q, int64_t at, int64_t count) {
      simd(count, [&](int64_t i) { y[at + i] = F::value(p[i], q[i]); });
    });
  });
}

void binary_gradient(Binary f, bool of_b, const real* a, int64_t na, const real* b, int64_t nb,
                     const real* dy, real* d, int64_t n, bool add) {
  with_flag(add, [=](auto adds) {
    with_flag(of_b, [=](auto for_b) {
      with_functor(f, [=]<class F>(F) {
        each_run(a, na, b, nb, n, [=](const real* p, const real* q, int64_t at, int64_t count) {
          simd(count, [&](int64_t i) {
            put(adds, d[at + i], dy[at + i] * (for_b ? F::slope_b(p[i], q[i]) : F::slope_a(p[i], q[i])));
          });
        });
      });
    });
  });
}

void affine(const real* x, real scale, real shift, real* y, int64_t n, bool add) {
  with_flag(add, [=](auto adds) { each(n, 1, [=](int64_t i) { put(adds, y[i], scale * x[i] + shift); }); });
}

void select(const real* c, const real* a, real a0, const real* b, real b0, real* y, int64_t n, bool add) {
  with_flag(add, [=](auto adds) {
    with_flag(a, [=](auto has_a) {
      with_flag(b, [=](auto has_b) {
        each(n, 1, [=](int64_t i) {
          const real one = has_a ? a[i] : a0, other = has_b ? b[i] : b0;
          put(adds, y[i], c[i] != 0 ? one : other);
        });
      });
    });
  });
}

void gate(real* a, const real* x, real* y, int64_t n) {
  each(n, 5, [=](int64_t i) { y[i] = gated(a[i], x[i]); });
}

void gate_gradient(real* s, const real* x, real* d, int64_t n) {
  each(n, 2, [=](int64_t i) { gated_gradient(s[i], x[i], d[i]); });
}

void copy_blocks(const real* src, int64_t src_stride, real* dst, int64_t dst_stride, int64_t blocks,
                 int64_t length, bool add) {
  with_flag(add, [=](auto adds) {
    if (blocks == 1 || (src_stride == length && dst_stride == length))
      return each(blocks * length, 1, [=](int64_t i) { put(adds, dst[i], src[i]); });
    each_row(blocks, length, 1, [=](int64_t b) {
      const real* from = src + b * src_stride;
      real* to = dst + b * dst_stride;
      simd(length, [&](int64_t i) { put(adds, to[i], from[i]); });
    });
  });
}

// Transposes single elements, [outer, rows, cols].
static void transpose_elements(const real* whole, int64_t outer, int64_t rows, int64_t cols, real* result,
                               bool add) {
  constexpr int64_t side = 32;  // squares small enough to stay in the first cache, both ways
  const int64_t strips = (cols + side - 1) / side;
  with_flag(add, [=](auto adds) {
    spread(outer * strips, outer * rows * cols, [=](int64_t k) {
      const real* x = whole + k / strips * rows * cols;
      real* y = result + k / strips * rows * cols;
      const int64_t c0 = k % strips * side, c1 = smaller(c0 + side, cols);
      real square[side][side];
      for (int64_t r0 = 0; r0 < rows; r0 += side) {
        const int64_t r1 = smaller(r0 + side, rows);
        for (int64_t r = r0; r < r1; ++r)
          for (int64_t c = c0; c < c1; ++c) square[c - c0][r - r0] = x[r * cols + c];
        for (int64_t c = c0; c < c1; ++c)
          for (int64_t r = r0; r < r1; ++r) put(adds, y[c * rows + r], square[c - c0][r - r0]);
      }
    });
  });
}

void transpose(const real* x, int64_t outer, int64_t rows, int64_t cols, int64_t inner, real* y, bool add) {
  if (inner == 1) return transpose_elements(x, outer, rows, cols, y, add);
  with_flag(add, [=](auto adds) {
    each_row(outer * cols * rows, inner, 1, [=](int64_t k) {  // in the order of y
      const int64_t o = k / (cols * rows), c = k / rows % cols, r = k % rows;
      const real* from = x + ((o * rows + r) * cols + c) * inner;
      real* to = y + k * inner;
      simd(inner, [&](int64_t i) { put(adds, to[i], from[i]); });
    });
  });
}

}  // namespace unroll::cpu::inline UNROLL_ISA

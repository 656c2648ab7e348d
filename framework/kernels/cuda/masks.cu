// Kernels that let elements or rows through and keep others out.
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"
#include "framework/random.h"

namespace unroll::cuda {
namespace {

// Element i's random number: of four neighbours' draw, wherever they are repeated.
struct Uniform : NotWritten {
  RandomKey key;
  gpu::RecordedStep recorded;  // of a graph: the key's step moves on with that of the graph
  Divisor period;
  bool pieces;  // neighbours in a piece share a draw
  bool in_pieces() const { return pieces; }
  template <int width>
  UNROLL_KERNEL Piece<real, width> load(int64_t i) const {
    RandomKey now = key;
    if (recorded.step) now.step += *recorded.step - recorded.now;
    const int64_t at = period.rest(i);
    const auto bits = now.block(static_cast<uint32_t>(at / 4));
    Piece<real, width> result;
    UNROLL_ALL
    for (int k = 0; k < width; ++k) {
      const int64_t of_draw = width == 4 ? k : at % 4;
      const uint32_t word = of_draw < 2 ? (of_draw < 1 ? bits[0] : bits[1]) : of_draw < 3 ? bits[2] : bits[3];
      result.at[k] = static_cast<real>(static_cast<int32_t>(word >> 8)) * real(0x1p-24);
    }
    return result;
  }
};
struct Dropout {
  real rate, kept;
  bool add;
  UNROLL_KERNEL void operator()(real x, real uniform, real& y) const {
    const real factor = uniform >= rate ? kept : 0;
    put(add, y, x * factor);
  }
};
void dropout(const real* x, real rate, const RandomKey& key, int64_t period, real* y, int64_t n, bool add) {
  if (n == 0) return;
  const Uniform uniform{{}, key, gpu::recorded_step(), Divisor(period), period >= n || period % 4 == 0};
  each(n, Dropout{rate, 1 / (1 - rate), add}, read(x, n), uniform, write(y, n, add));
}

struct KeepRows {
  bool add;
  UNROLL_KERNEL void operator()(real x, real kept, real& y) const {
    if (kept != 0)
      put(add, y, x);
    else if (!add)
      y = 0;
  }
};
void keep_rows(const real* x, const real* kept, int64_t rows, int64_t cols, real* y, bool add) {
  const int64_t n = rows * cols;
  each(n, KeepRows{add}, read(x, n), read_of_row(kept, rows, cols), write(y, n, add));
}

}  // namespace

void fill_masks(Kernels& k) {
  k.dropout = dropout;
  k.keep_rows = keep_rows;
}
cudaError_t find_kernels() { return find_code<KeepRows, Read<real>, OfRow, Written<real>>(); }

}  // namespace unroll::cuda

// Kernels that let elements or rows through and keep others out.
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"
#include "framework/random.h"

namespace unroll::cuda {
namespace {

// Four neighbours at a time, which share one draw, wherever they are repeated.
struct Dropout {
  const real* x;
  real rate, kept;
  RandomKey key;
  gpu::RecordedStep recorded;  // of a graph: the key's step moves on with that of the graph
  int64_t period;
  real* y;
  int64_t n;
  bool add;
  UNROLL_KERNEL void operator()(int64_t block) const {
    RandomKey now = key;
    if (recorded.step) now.step += *recorded.step - recorded.now;
    const auto bits = now.block(static_cast<uint32_t>(block));
    for (int64_t begin = 4 * block; begin < n; begin += period) {
      for (int k = 0; k < 4 && 4 * block + k < period && begin + k < n; ++k) {
        const real uniform = static_cast<real>(static_cast<int32_t>(bits[k] >> 8)) * real(0x1p-24);
        const real factor = uniform >= rate ? kept : 0;
        put(add, y[begin + k], x[begin + k] * factor);
      }
    }
  }
};
void dropout(const real* x, real rate, const RandomKey& key, int64_t period, real* y, int64_t n, bool add) {
  if (n == 0) return;
  each((period + 3) / 4,
       Dropout{given(x, n), rate, 1 / (1 - rate), key, gpu::recorded_step(), period, given(y, n), n, add});
}

struct KeepRows {
  const real *x, *kept;
  int64_t cols;
  real* y;
  bool add;
  UNROLL_KERNEL void operator()(int64_t i) const {
    if (kept[quotient(i, cols)] != 0)
      put(add, y[i], x[i]);
    else if (!add)
      y[i] = 0;
  }
};
void keep_rows(const real* x, const real* kept, int64_t rows, int64_t cols, real* y, bool add) {
  const int64_t n = rows * cols;
  each(n, KeepRows{given(x, n), given(kept, rows), cols, given(y, n), add});
}

}  // namespace

void fill_masks(Kernels& k) {
  k.dropout = dropout;
  k.keep_rows = keep_rows;
}
cudaError_t find_kernels() { return find_code<KeepRows>(); }

}  // namespace unroll::cuda

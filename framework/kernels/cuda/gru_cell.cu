// One step of a GRU: everything but the products, unit by unit.
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/gru_cell.h"

namespace unroll::cuda {
namespace {

void gru_cell(const GruStep& s) {
  const int64_t n = s.batch * s.hidden;
  check_step(s), given(s.bias_hn, s.hidden), given(s.h, n);
  each_index(n, GruValue{s});
}

void gru_cell_gradient(const GruStep& s, const real* dh, real* kept) {
  const int64_t n = s.batch * s.hidden;
  check_step(s), given(dh, n), given(kept, n), check_rounded(s.rounded_sums, 3 * n);
  each_index(n, GruSlope{s, dh, kept});
}

}  // namespace

void fill_gru_cell(Kernels& k) {
  k.gru_cell = gru_cell;
  k.gru_cell_gradient = gru_cell_gradient;
}

}  // namespace unroll::cuda

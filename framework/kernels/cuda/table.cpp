// CUDA's table of kernels.
#include "framework/kernels/backend.h"
#include "framework/kernels/cuda/fill.h"

namespace unroll::cuda {

const Kernels& table() {
  static const Kernels kernels = [] {
    Kernels k{};
    k.name = "cuda";
    fill_elements(k);
    fill_rows(k);
    fill_middle(k);
    fill_lstm_cell(k);
    fill_gru_cell(k);
    fill_rnn_cell(k);
    fill_masks(k);
    fill_losses(k);
    fill_gemm(k);
    fill_updates(k);
    return k;
  }();
  return kernels;
}

}  // namespace unroll::cuda

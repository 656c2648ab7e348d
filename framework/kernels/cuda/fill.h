// Each file of kernels puts its own into the table.
#pragma once

#include <cuda_runtime_api.h>

#include "framework/kernels/kernels.h"

namespace unroll::cuda {

void fill_elements(Kernels& k);
void fill_rows(Kernels& k);
void fill_middle(Kernels& k);
void fill_lstm_cell(Kernels& k);
void fill_gru_cell(Kernels& k);
void fill_rnn_cell(Kernels& k);
void fill_masks(Kernels& k);
void fill_losses(Kernels& k);
void fill_gemm(Kernels& k);
void fill_updates(Kernels& k);

// CUDA's answer when this thread's GPU is asked for one of the kernels: all have code for the same GPUs.
cudaError_t find_kernels();

}  // namespace unroll::cuda

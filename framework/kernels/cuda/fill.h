// Each file of kernels puts its own into the table.
#pragma once

#include "framework/kernels/kernels.h"

namespace unroll::inline UNROLL_REAL::cuda {

void fill_elements(Kernels& k);
void fill_rows(Kernels& k);
void fill_lstm_cell(Kernels& k);
void fill_gru_cell(Kernels& k);
void fill_masks(Kernels& k);
void fill_losses(Kernels& k);
void fill_gemm(Kernels& k);
void fill_updates(Kernels& k);

}  // namespace unroll::inline UNROLL_REAL::cuda

// Each file of kernels puts its own into the table.
#pragma once

#include "framework/kernels/kernels.h"

namespace unroll::cpu::inline UNROLL_ISA {

void fill_elements(Kernels& k) noexcept;
void fill_rows(Kernels& k) noexcept;
void fill_middle(Kernels& k) noexcept;
void fill_lstm_cell(Kernels& k) noexcept;
void fill_gru_cell(Kernels& k) noexcept;
void fill_rnn_cell(Kernels& k) noexcept;
void fill_masks(Kernels& k) noexcept;
void fill_losses(Kernels& k) noexcept;
void fill_gemm(Kernels& k) noexcept;
void fill_updates(Kernels& k) noexcept;

}  // namespace unroll::cpu::inline UNROLL_ISA

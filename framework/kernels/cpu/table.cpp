// The table of one instruction set.
#include "framework/kernels/cpu/fill.h"

namespace unroll::cpu::inline UNROLL_ISA {

#define UNROLL_TEXT(name) #name
#define UNROLL_NAME(name) UNROLL_TEXT(name)

const Kernels& table() {
  static const Kernels kernels = []() noexcept {
    Kernels k{};
    k.name = UNROLL_NAME(UNROLL_ISA);
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

}  // namespace unroll::cpu::inline UNROLL_ISA

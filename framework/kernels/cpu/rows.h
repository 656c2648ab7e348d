// Kernels on rows that other kernels use too; the signatures stand in kernels.h.
#pragma once

#include "framework/kernels/kernels.h"

namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA {

void layer_norm(const real* x, const real* gain, const real* bias, real eps, int64_t rows, int64_t cols,
                real* y, bool add, real* mean, real* rstd);
void layer_norm_gradient(const real* x, const real* gain, const real* mean, const real* rstd, const real* dy,
                         int64_t rows, int64_t cols, real* dx, bool add_dx, real* dgain, real* dbias);

}  // namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA

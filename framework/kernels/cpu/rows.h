// The work on one row, for kernels that have it in a cache already.
#pragma once

#include "framework/kernels/kernels.h"

namespace unroll::cpu::inline UNROLL_ISA {

// As kernels.h says of layer_norm; bias may be null.
void layer_norm_row(const real* x, const real* gain, const real* bias, real eps, int64_t n, real* y, bool add,
                    real& mean, real& rstd);
// dx may be x. dgain and dbias are added to what they hold, or null.
void layer_norm_row_gradient(const real* x, const real* gain, real mean, real rstd, const real* dy, int64_t n,
                             real* dx, bool add_dx, real* dgain, real* dbias);

}  // namespace unroll::cpu::inline UNROLL_ISA

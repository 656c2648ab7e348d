// Builds without CUDA: there is no device but the CPU.
#include "framework/check.h"
#include "framework/kernels/backend.h"
#include "framework/kernels/few_rows.h"
#include "framework/kernels/lstm_window.h"

namespace unroll {

const Backend* cuda_backend() { return nullptr; }

const PersistentKernels* persistent_kernels() { return nullptr; }
int persistent_code() { return 0; }

const FewRowsProducts* few_rows_products() { return nullptr; }

const Kernels& cuda::table() { throw Error("this build has no CUDA"); }

}  // namespace unroll

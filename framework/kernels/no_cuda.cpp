// Builds without CUDA: there is no device but the CPU.
#include "framework/check.h"
#include "framework/kernels/backend.h"

namespace unroll {

const Backend* cuda_backend() { return nullptr; }

const Kernels& cuda::table() { throw Error("this build has no CUDA"); }

}  // namespace unroll

// Where cuDNN is not: the core in double, and builds without CUDA.
#include "layers/engine.h"

namespace unroll::inline UNROLL_REAL {

EngineFacts engine_facts() { return {.no_gpu = "this build has no CUDA", .precision = precision()}; }

}  // namespace unroll::inline UNROLL_REAL

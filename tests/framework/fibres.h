// Shared by the suites of the stand-in's threads: `fibres`, of blocks one after the other, and `fibres_together`.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/kernels/cuda/language.h"
#include "tests/framework/in_child.h"
#include "tests/support.h"
#include "unroll.h"

#ifdef __SANITIZE_THREAD__
constexpr bool races_are_watched = true;
#else
constexpr bool races_are_watched = false;
#endif

namespace unroll::cuda {
namespace {

enum class Fault { none, no_barrier, never_written };

// Counts, for each thread of the grid, how often it ran.
__global__ void count_threads(real* count) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  ++count[block * (blockDim.x * blockDim.y * blockDim.z) + thread];
}

__global__ void leave_early(unsigned how_many) {
  if (threadIdx.x < how_many) return;
  __syncthreads();
}
__global__ void go_separate_ways(unsigned how_many) {
  if (threadIdx.x < how_many)
    __syncthreads();
  else
    __syncthreads();
}
// A launch that ends the process, and what it says.
template <class... Parameters>
std::string refusal(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                    const std::type_identity_t<Parameters>&... arguments) {
  return on_gpu_in_child([&] { return launch(kernel, grid, block, arguments...), std::string("launched"); });
}

}  // namespace
}  // namespace unroll::cuda

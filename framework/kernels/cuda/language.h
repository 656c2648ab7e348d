// What CUDA adds to C++ for kernels. nvcc knows it all; a plain compiler gets it here, for the stand-in of tests/standin, which
// runs a kernel's text with threads, barriers and shared memory of its own.
#pragma once

#include <cstdint>
#include <type_traits>

#include "framework/kernels/cuda/context.h"

#ifdef __CUDACC__

#define UNROLL_KERNEL __device__
// A block's shared memory: UNROLL_SHARED(sums, double[256]);
#define UNROLL_SHARED(name, ...) __shared__ std::type_identity_t<__VA_ARGS__> name

namespace unroll::cuda {

inline constexpr int team_size = 256;  // threads that work on a row together

// kernel<<<grid, block>>>(arguments…) on our stream
template <class... Parameters>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block,
            const std::type_identity_t<Parameters>&... arguments) {
  kernel<<<grid, block, 0, gpu::stream()>>>(arguments...);
  gpu::check(cudaGetLastError(), "a kernel");
}

// For what kernels are given: nothing to check here.
template <class T>
T* given(T* memory, int64_t) {
  return memory;
}

}  // namespace unroll::cuda

#else

#include <typeinfo>

#define UNROLL_KERNEL
#define UNROLL_SHARED(name, ...)             \
  static constexpr char place_of_##name = 0; \
  auto& name =                               \
      *static_cast<std::type_identity_t<__VA_ARGS__>*>(shared_memory(&place_of_##name, sizeof(__VA_ARGS__)))

namespace unroll::cuda {

inline constexpr int team_size = 64;  // less than nvcc's, since a barrier costs the host a switch for each

// Defined by the stand-in. A barrier knows where it stands, so that it can tell it from another.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE());
int __syncthreads_or(int mine, const char* file = __builtin_FILE(), int line = __builtin_LINE());
// The block's memory for this place of a kernel's text.
void* shared_memory(const void* place, std::size_t bytes);
// Runs thread(arguments) for every thread of the grid, on a copy of the arguments' bytes if that is later. `type` names the kernel.
struct Launch {
  const std::type_info* type;
  dim3 grid, block;
  void (*thread)(const void* arguments);
};
void launch(const Launch& what, const void* arguments, std::size_t bytes, cudaStream_t stream);
// Fails the test if these bytes are not of one block of device memory.
void check_device_memory(const void* memory, std::size_t bytes);

template <class... Parameters>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block,
            const std::type_identity_t<Parameters>&... arguments) {
  const auto thread = [=] { kernel(arguments...); };
  using Thread = decltype(thread);
  static_assert(std::is_trivially_copyable_v<Thread>);  // a graph copies it byte by byte, as CUDA does
  const auto run = [](const void* context) { (*static_cast<Thread*>(context))(); };
  launch({&typeid(void(Parameters...)), grid, block, run}, &thread, sizeof thread, gpu::stream());
  gpu::check(cudaGetLastError(), "a kernel");
}

template <class T>
T* given(T* memory, int64_t n) {
  if (memory && n > 0) check_device_memory(memory, static_cast<std::size_t>(n) * sizeof(T));
  return memory;
}

}  // namespace unroll::cuda

#endif

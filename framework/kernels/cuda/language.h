// CUDA's additions to C++ for kernels. nvcc knows them all; a plain compiler gets them here, for the stand-in of
// tests/standin. This runs a kernel's text with threads, barriers and shared memory of its own.
#pragma once

#include <cstdint>
#include <type_traits>

#include "framework/kernels/cuda/context.h"

#ifdef __CUDACC__

#define UNROLL_KERNEL __device__
#define UNROLL_INLINED __device__ __forceinline__        // so that what its object holds stays in registers
#define UNROLL_THREADS(most) __launch_bounds__(most, 1)  // of a block: so many registers are left for each
#define UNROLL_PARAMETERS \
  const __grid_constant__             // of a kernel, which reads them where they were put, and makes no copy
#define UNROLL_ALL _Pragma("unroll")  // the loop's turns, and
#define UNROLL_NOT _Pragma("unroll 1")  // none of them
// A block's shared memory: UNROLL_SHARED(sums, double[256]);
#define UNROLL_SHARED(name, ...) __shared__ std::type_identity_t<__VA_ARGS__> name
// The shared memory that launch_together() gives each block, in pieces of 16 bytes.
#define UNROLL_DYNAMIC_SHARED(name) extern __shared__ uint4 name[]

namespace unroll::cuda {

inline constexpr int team_size = 256;  // threads that work on a row together
inline constexpr int wide_team = 512;  // where there are fewer rows than multiprocessors

// kernel<<<grid, block>>>(arguments…) on our stream
template <class... Parameters>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block,
            const std::type_identity_t<Parameters>&... arguments) {
  kernel<<<grid, block, 0, gpu::stream()>>>(arguments...);
  gpu::check(cudaGetLastError(), "a kernel");
}

// As launch(), with all blocks on the GPU at once, so that they may wait for each other (barrier.h). Each block has
// shared_bytes of dynamic shared memory. Returns false, and launches nothing, if the GPU does not take so many blocks at once.
template <class... Parameters>
bool launch_together(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
                     const std::type_identity_t<Parameters>&... arguments) {
  const void* const code = reinterpret_cast<const void*>(kernel);
  gpu::check(
      cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
      "a kernel's shared memory");
  const void* given[] = {&arguments...};
  return gpu::was_taken(
      cudaLaunchCooperativeKernel(code, grid, block, const_cast<void**>(given), shared_bytes, gpu::stream()));
}

// A number that all threads of the GPU see. add_release() adds n, and store_release() puts it, after all that this thread has done
// or seen done.
// load_acquire() reads it, before all that this thread does from then on.
UNROLL_KERNEL inline void add_release(unsigned* number, unsigned n) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(number), "r"(n) : "memory");
}
UNROLL_KERNEL inline void store_release(unsigned* number, unsigned n) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(number), "r"(n) : "memory");
}
UNROLL_KERNEL inline unsigned load_acquire(const unsigned* number) {
  unsigned result;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(result) : "l"(number) : "memory");
  return result;
}
// 16 aligned bytes that another block has written: past the processor's own cache.
UNROLL_KERNEL inline uint4 load_16_bytes(const void* from) { return __ldcg(static_cast<const uint4*>(from)); }
// Ends the kernel: the next call reports cudaErrorLaunchFailure.
UNROLL_KERNEL inline void end_with_error() { asm volatile("trap;"); }

// For what a kernel is given: n elements, all of which or `moved` are read, or written if they are not const; and both
// by changed(). Nothing to check here, and nothing is counted.
template <class T>
T* given(T* memory, int64_t, int64_t = 0) {
  return memory;
}
template <class T>
T* changed(T* memory, int64_t, int64_t = 0) {
  return memory;
}

}  // namespace unroll::cuda

#else

#include <typeinfo>

#define UNROLL_KERNEL
#define UNROLL_INLINED
#define UNROLL_THREADS(most)
#define UNROLL_PARAMETERS const
#define UNROLL_ALL
#define UNROLL_NOT
#define UNROLL_SHARED(name, ...)             \
  static constexpr char place_of_##name = 0; \
  auto& name =                               \
      *static_cast<std::type_identity_t<__VA_ARGS__>*>(shared_memory(&place_of_##name, sizeof(__VA_ARGS__)))

#define UNROLL_DYNAMIC_SHARED(name) uint4* const name = static_cast<uint4*>(dynamic_shared_memory())

namespace unroll::cuda {

inline constexpr int team_size = 64;  // less than nvcc's, since a barrier costs the host a switch for each
inline constexpr int wide_team = 32;

// Defined by the stand-in. A barrier knows where it stands, so that it can tell it from another.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE());
int __syncthreads_or(int mine, const char* file = __builtin_FILE(), int line = __builtin_LINE());
// The block's memory for this place of a kernel's text.
void* shared_memory(const void* place, std::size_t bytes);
void* dynamic_shared_memory();
// Only for kernels that are launched together: all lanes of the warp give `bytes`, and each gets those of all 32.
// Orders nothing.
const void* exchange_in_warp(const void* mine, std::size_t bytes, const char* file = __builtin_FILE(),
                             int line = __builtin_LINE());
void __syncwarp(const char* file = __builtin_FILE(), int line = __builtin_LINE());
// Lets other threads run, of all blocks; and says that this one has done what they may wait for.
void let_others_run();
void has_changed();
inline void add_release(unsigned* number, unsigned n) {
  __atomic_fetch_add(number, n, __ATOMIC_RELEASE);
  has_changed();
}
inline void store_release(unsigned* number, unsigned n) {
  __atomic_store_n(number, n, __ATOMIC_RELEASE);
  has_changed();
}
inline unsigned load_acquire(const unsigned* number) {
  let_others_run();
  return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}
inline uint4 load_16_bytes(const void* from) { return *static_cast<const uint4*>(from); }
void end_with_error();

// Runs thread(arguments) for every thread of the grid, on a copy of the arguments' bytes if that is later. `type` names the kernel.
struct Launch {
  const std::type_info* type = nullptr;
  dim3 grid, block;
  void (*thread)(const void* arguments) = nullptr;
  bool together = false;         // all blocks at once
  std::size_t shared_bytes = 0;  // dynamic, for each
};
void launch(const Launch& what, const void* arguments, std::size_t bytes, cudaStream_t stream);
// Fails the test if these bytes are not of one block of device memory.
void check_device_memory(const void* memory, std::size_t bytes);
// The next launch, or the next call of a library, reads and writes so many bytes more.
void count_bytes(std::size_t read, std::size_t written);

template <class... Parameters>
cudaError_t try_to_launch(Launch what, void (*kernel)(Parameters...),
                          const std::type_identity_t<Parameters>&... arguments) {
  const auto thread = [=] { kernel(arguments...); };
  using Thread = decltype(thread);
  static_assert(std::is_trivially_copyable_v<Thread>);  // a graph copies it byte by byte, as CUDA does
  what.type = &typeid(void(Parameters...));
  what.thread = [](const void* context) { (*static_cast<Thread*>(context))(); };
  launch(what, &thread, sizeof thread, gpu::stream());
  return cudaGetLastError();
}
template <class... Parameters>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block,
            const std::type_identity_t<Parameters>&... arguments) {
  gpu::check(try_to_launch({.grid = grid, .block = block}, kernel, arguments...), "a kernel");
}
template <class... Parameters>
bool launch_together(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
                     const std::type_identity_t<Parameters>&... arguments) {
  return gpu::was_taken(try_to_launch(
      {.grid = grid, .block = block, .together = true, .shared_bytes = shared_bytes}, kernel, arguments...));
}

template <class T>
T* given(T* memory, int64_t n, int64_t moved) {
  if (!memory || n <= 0) return memory;
  check_device_memory(memory, static_cast<std::size_t>(n) * sizeof(T));
  const std::size_t bytes = static_cast<std::size_t>(moved) * sizeof(T);
  std::is_const_v<T> ? count_bytes(bytes, 0) : count_bytes(0, bytes);
  return memory;
}
template <class T>
T* given(T* memory, int64_t n) {
  return given(memory, n, n);
}
template <class T>
T* changed(T* memory, int64_t n, int64_t moved) {
  if (memory && n > 0) count_bytes(static_cast<std::size_t>(moved) * sizeof(T), 0);
  return given(memory, n, moved);
}
template <class T>
T* changed(T* memory, int64_t n) {
  return changed(memory, n, n);
}

}  // namespace unroll::cuda

#endif

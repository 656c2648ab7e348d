// A vector whose elements both a test and the kernels under test can reach.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "framework/real.h"

#ifdef UNROLL_STANDIN
#include "tests/standin/standin.h"
#elif defined(UNROLL_ON_GPU)
#include <cuda_runtime_api.h>
#endif

namespace unroll {

inline constexpr real infinity = std::numeric_limits<real>::infinity();
inline constexpr real not_a_number = std::numeric_limits<real>::quiet_NaN();

#if defined(UNROLL_STANDIN) || defined(UNROLL_ON_GPU)
#define UNROLL_TEST_DEVICE
// Each vector is a block of memory that the device and the host reach: these suites keep the stand-in's device open, and take
// memory of the host for a GPU, which reads and writes it there.
template <class T>
struct DeviceAllocator {
  using value_type = T;
  DeviceAllocator() = default;
  template <class U>
  DeviceAllocator(const DeviceAllocator<U>&) {}
  T* allocate(std::size_t n) {
    void* memory = nullptr;
#ifdef UNROLL_STANDIN
    REQUIRE(cudaMalloc(&memory, n * sizeof(T)) == cudaSuccess);
#else
    REQUIRE(cudaMallocHost(&memory, n * sizeof(T)) == cudaSuccess);
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) {
#ifdef UNROLL_STANDIN
    CHECK(cudaFree(memory) == cudaSuccess);
#else
    CHECK(cudaFreeHost(memory) == cudaSuccess);
#endif
  }
  bool operator==(const DeviceAllocator&) const { return true; }
};
#ifdef UNROLL_STANDIN
inline const standin::OpenMemory reachable;
#endif
template <class T>
using KernelVector = std::vector<T, DeviceAllocator<T>>;
#else
template <class T>
using KernelVector = std::vector<T>;
#endif

}  // namespace unroll

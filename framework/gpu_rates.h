// How fast a GPU reads memory and multiplies: of known GPUs as published, of the one at hand as its driver gives it. For
// estimates; nothing is measured.
#pragma once

#include <string>
#include <string_view>

#include "framework/device.h"
#include "framework/gemm.h"

namespace unroll {

struct GpuRates {
  std::string name;                       // "NVIDIA H100 SXM"
  std::string source;                     // "published", "as its driver says"
  int capability = 0;                     // 90: compute capability 9.0
  double memory = 0;                      // bytes per second
  double cache = 0;                       // bytes that the cache between memory and all processors holds
  int processors = 0;
  int64_t shared_memory = 0;              // bytes that a block of threads may have
  double fp32 = 0, tf32 = 0, bits16 = 0;  // floating-point operations per second, in products
  // Of products in this precision; 0: the GPU has no such numbers.
  double of(Precision precision) const;
};

// A GPU by its short name, "h100". Throws InputError naming those that are known.
GpuRates known_gpu(std::string_view name);
std::string known_gpu_names();  // "t4, a100, …"

// From processors, clocks and widths: what each processor does in a cycle depends on the compute capability.
GpuRates rates_of(const DeviceFacts& gpu);

}  // namespace unroll

#include "framework/gpu_rates.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace unroll {

namespace {

// From NVIDIA's data sheets, products without sparsity.
struct Known {
  std::string_view name;
  const char* title;
  int capability, processors;
  double gigabytes, mebibytes, fp32, tf32, bits16;  // of memory per second, of cache; TFLOP per second
};
constexpr Known all_known[] = {
    {"t4", "NVIDIA T4", 75, 40, 320, 4, 8.1, 0, 65},
    {"a10", "NVIDIA A10", 86, 72, 600, 6, 31.2, 62.5, 125},
    {"a100", "NVIDIA A100 SXM 80 GB", 80, 108, 2039, 40, 19.5, 156, 312},
    {"l4", "NVIDIA L4", 89, 58, 300, 48, 30.3, 60, 121},
    {"l40s", "NVIDIA L40S", 89, 142, 864, 96, 91.6, 183, 362},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 86, 82, 936, 6, 35.6, 35.6, 71},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 89, 128, 1008, 72, 82.6, 82.6, 165.2},
    {"h100-pcie", "NVIDIA H100 PCIe", 90, 114, 2000, 50, 51, 378, 756},
    {"h100", "NVIDIA H100 SXM", 90, 132, 3350, 50, 67, 494.5, 989.5},
    {"h200", "NVIDIA H200", 90, 132, 4800, 50, 67, 494.5, 989.5},
};

// Floating-point operations of a processor in a cycle, and KiB of shared memory that a block may have (CUDA C++ Programming Guide,
// "Compute Capabilities"), from the first compute capability that has so many.
struct Processor {
  int capability;
  double fp32, tf32, bits16;
  int64_t shared;
};
constexpr Processor processors[] = {{75, 128, 0, 1024, 64},      {80, 128, 1024, 2048, 163},
                                    {86, 256, 256, 512, 99},     {87, 256, 256, 512, 163},
                                    {89, 256, 256, 512, 99},     {90, 256, 2048, 4096, 227},
                                    {100, 256, 4096, 8192, 227}, {120, 256, 256, 512, 99}};
const Processor& processor_of(int capability) {
  const Processor* result = &processors[0];
  for (const Processor& p : processors)
    if (p.capability <= capability) result = &p;
  return *result;
}

}  // namespace

double GpuRates::of(Precision precision) const {
  return precision == Precision::fp32 ? fp32 : precision == Precision::tf32 ? tf32 : bits16;
}

std::string known_gpu_names() {
  std::vector<std::string_view> names;
  for (const Known& known : all_known) names.push_back(known.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

GpuRates known_gpu(std::string_view name) {
  const auto* const found = std::ranges::find(all_known, name, &Known::name);
  require_input(found != std::end(all_known), "the rates of a GPU '{}' are not known; known are {}", name,
                known_gpu_names());
  return {.name = found->title,
          .source = "published",
          .capability = found->capability,
          .memory = found->gigabytes * 1e9,
          .cache = found->mebibytes * (1 << 20),
          .processors = found->processors,
          .shared_memory = processor_of(found->capability).shared << 10,
          .fp32 = found->fp32 * 1e12,
          .tf32 = found->tf32 * 1e12,
          .bits16 = found->bits16 * 1e12};
}

GpuRates rates_of(const DeviceFacts& gpu) {
  const Processor& processor = processor_of(gpu.capability);
  const double cycles = gpu.clock * gpu.processors;
  return {.name = gpu.name,
          .source = "as its driver says",
          .capability = gpu.capability,
          .memory = 2 * gpu.memory_clock * gpu.memory_width / 8,  // two transfers a cycle
          .cache = static_cast<double>(gpu.cache),
          .processors = gpu.processors,
          .shared_memory = gpu.shared_memory,
          .fp32 = processor.fp32 * cycles,
          .tf32 = processor.tf32 * cycles,
          .bits16 = processor.bits16 * cycles};
}

}  // namespace unroll

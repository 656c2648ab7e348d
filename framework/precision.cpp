#include "framework/precision.h"

#include "framework/check.h"
#include "framework/kernels/kernels.h"

namespace unroll {

static Precision current_precision = Precision::fp32;

const char* name_of(Precision precision) {
  constexpr const char* names[] = {"fp32", "tf32", "bf16", "fp16"};
  return names[static_cast<size_t>(precision)];
}

static const Products& products(Precision precision) {
  constexpr Products Kernels::*of[] = {&Kernels::fp32, &Kernels::tf32, &Kernels::bf16, &Kernels::fp16};
  return kernels().*of[static_cast<size_t>(precision)];
}

Precision precision_named(const std::string& name) {
  if (name == "auto") return kernels().bf16.gemm ? Precision::bf16 : Precision::fp32;
  for (Precision precision : all_precisions)
    if (name == name_of(precision)) return precision;
  throw InputError(fmt::format("precision '{}' is none of fp32, tf32, bf16, fp16, auto", name));
}

void set_precision(Precision precision) {
  const bool half = precision == Precision::fp16;  // which tensor cores took first
  require_input(
      products(precision).gemm,
      "precision {}: this needs {} (this one's kernels: {}); fp32 and auto run anywhere", name_of(precision),
      on_gpu() ? (half ? "a GPU of compute capability 7.0" : "a GPU of compute capability 8.0")
      : half   ? "an NVIDIA GPU of compute capability 7.0"
      : precision == Precision::tf32
          ? "an NVIDIA GPU of compute capability 8.0"
          : "a processor with AMX, AVX512-BF16 or Arm's BF16, or UNROLL_ISA=emulated_bf16, as slow as fp32",
      kernels().name);
  current_precision = precision;
}
Precision precision() { return current_precision; }

// The device may have been chosen after the precision.
const Products& products_in(Precision precision) {
  const Products& result = products(precision);
  require(result.gemm, "precision {} was set before the device, which cannot compute in it ({})",
          name_of(precision), kernels().name);
  return result;
}

}  // namespace unroll

// The instruction sets that the CPU's kernels were compiled for.
#pragma once

#include <span>

#include "framework/kernels/kernels.h"

namespace unroll::cpu {

struct Variant {
  const char* name;  // as in UNROLL_ISA
  bool runs_here;    // this machine has it
  const Kernels& (*table)();
};
// From the plainest to the fastest.
std::span<const Variant> variants();

// The one called `name`, or the fastest that runs here if `name` is null; "emulated_bf16" is the fastest without bfloat16,
// with emulated_bf16 (kernels.h) as its bf16. Throws InputError.
const Kernels& choose(const char* name);

}  // namespace unroll::cpu

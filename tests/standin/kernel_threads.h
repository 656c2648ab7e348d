// A kernel's launch on the host: its blocks one after the other, and of a block one thread after the other, each until it meets a
// barrier or ends. Blocks and threads come in a random order, another one after each barrier.
#pragma once

#include <string>

#include "framework/kernels/cuda/language.h"

namespace standin {

// Ends the process, naming the kernel, where a launch is beyond a GPU's limits.
void require_launchable(const unroll::cuda::Launch& launch);

// Counts a launch in control().moved, by its functor's name without template arguments: "SgdStep".
void count_launch(const unroll::cuda::Launch& launch);
// Ends the process, naming the kernel.
[[noreturn]] void stop_kernel(const unroll::cuda::Launch& launch, const std::string& what);
std::string place(const char* file, int line);  // "launch.h:70", of a barrier
uint64_t random_bits();

// The whole grid. Memory of the device is open meanwhile.
void run_threads(const unroll::cuda::Launch& launch, const void* arguments);

}  // namespace standin

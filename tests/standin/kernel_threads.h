// A kernel's launch on the host: its blocks one after the other, and of a block one thread after the other, each until it meets a
// barrier or ends. Blocks and threads come in a random order, another one after each barrier.
#pragma once

#include "framework/kernels/cuda/language.h"

namespace standin {

// Ends the process, naming the kernel, where a launch is beyond a GPU's limits.
void require_launchable(const unroll::cuda::Launch& launch);

// The whole grid. Memory of the device is open meanwhile.
void run_threads(const unroll::cuda::Launch& launch, const void* arguments);

}  // namespace standin

// A launch whose blocks may wait for each other: all of them run at once, each thread a fibre. Which one goes on is drawn anew whenever
// one waits: at a barrier of its block or warp, or for a number that another block is to change.
#pragma once

#include "framework/kernels/cuda/language.h"

namespace standin {

// The whole grid. Ends the process, naming the kernel and what its threads wait for, where they wait for ever.
void run_together(const unroll::cuda::Launch& launch, const void* arguments);
bool together();  // whether such a launch runs

// __syncthreads_or, and a block's shared memory for a place of the text.
int wait_together(int vote, const char* file, int line);
void* shared_together(const void* place, std::size_t bytes);

}  // namespace standin

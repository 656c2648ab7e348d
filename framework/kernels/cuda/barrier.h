// A barrier for all threads of a grid that was launched together.
//
// Each block adds one to a number and waits until all have. After it every thread sees what any thread wrote before.
// The block's own barrier hands the writes to the thread that adds, which releases them. The writes that this thread
// acquires go the same way back. Blocks that do not come, as two programs that share a GPU may keep each other's from
// running, end the launch with an error after minutes.
#pragma once

#include "framework/kernels/cuda/language.h"

namespace unroll::cuda {

class GridBarrier {
 public:
  // `come` is 0 when the kernel begins, and counts blocks.
  UNROLL_KERNEL explicit GridBarrier(unsigned* come) : come_(come) {}
  UNROLL_KERNEL void wait() {
    goal_ += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      add_release(come_, 1);
      for (unsigned looks = 0; load_acquire(come_) < goal_; ++looks)
        if (looks == most_looks) never_come();
    }
    __syncthreads();
  }

 private:
  static constexpr unsigned most_looks = 1u << 28;  // each half a microsecond or more
  unsigned* come_;
  unsigned goal_ = 0;
};

}  // namespace unroll::cuda

// A barrier for all threads of a grid that was launched together.
//
// Each block adds one to a number and waits until all have. After it every thread sees what any thread wrote before.
// The block's own barrier hands the writes to the thread that adds, which releases them. The writes that this thread
// acquires go the same way back. A barrier that is waited at for very long ends the kernel with an error: a hang would say
// nothing.
#pragma once

#include "framework/kernels/cuda/language.h"

namespace unroll::cuda {

class GridBarrier {
 public:
  static constexpr unsigned most_looks =
      1u << 26;  // half a minute or more; a GPU that is shared counts none meanwhile
  // `come` is 0 when the kernel begins, and counts blocks.
  UNROLL_KERNEL explicit GridBarrier(unsigned* come, unsigned most = most_looks) : come_(come), most_(most) {}
  UNROLL_KERNEL void wait() {
    goal_ += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      add_release(come_, 1);
      for (unsigned looks = 0; load_acquire(come_) < goal_; ++looks)
        if (looks == most_) end_with_error();
    }
    __syncthreads();
  }

 private:
  unsigned* come_;
  unsigned most_, goal_ = 0;
};

}  // namespace unroll::cuda

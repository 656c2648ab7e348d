// A barrier for all threads of a grid that was launched together.
//
// Each block says that it has come, and waits until all have. After it every thread sees what any thread wrote before it came.
// The block's own barrier hands the writes to the thread that says so, which releases them. Threads acquire as they
// look for other blocks, and hand it on the same way. A barrier that is waited at for very long ends the kernel with an error: a hang would
// say nothing.
#pragma once

#include "framework/kernels/cuda/language.h"

namespace unroll::cuda {

class GridBarrier {
 public:
  static constexpr unsigned most_looks =
      1u << 26;  // half a minute or more; a GPU that is shared counts none meanwhile
  // `come` is 0 when the kernel begins. Blocks are counted in one number; or each has a number of its own, so that nobody waits
  // for others to add: come[block], which threads look at side by side.
  UNROLL_KERNEL explicit GridBarrier(unsigned* come, bool by_block = false, unsigned most = most_looks)
      : come_(come), most_(most), by_block_(by_block) {}
  // By all threads of the block, as await() after it. Between the two a block may do what no other waits for.
  UNROLL_KERNEL void arrive() {
    ++times_;
    __syncthreads();
    if (threadIdx.x > 0) return;
    if (by_block_)
      store_release(come_ + blockIdx.x, times_);
    else
      add_release(come_, 1);
  }
  UNROLL_KERNEL void await() {
    if (!by_block_ && threadIdx.x == 0) look(come_, times_ * gridDim.x);
    for (unsigned block = threadIdx.x; by_block_ && block < gridDim.x; block += blockDim.x)
      look(come_ + block, times_);
    __syncthreads();
  }
  UNROLL_KERNEL void wait() { arrive(), await(); }

 private:
  UNROLL_KERNEL void look(const unsigned* number, unsigned goal) const {
    for (unsigned looks = 0; load_acquire(number) < goal; ++looks)
      if (looks == most_) end_with_error();
  }
  unsigned* come_;
  unsigned most_, times_ = 0;
  bool by_block_;
};

}  // namespace unroll::cuda

#pragma once

#include <cstdint>

namespace unroll {

// A second copy of what a kernel writes, in the 16 bits in which products take operands on a GPU (Products::round):
// bfloat16, or half precision. Without data there is no such copy. The CPU's kernels make none.
struct RoundedCopy {
  void* data = nullptr;
  bool half = false;
  constexpr RoundedCopy from(int64_t i) const {  // the part that begins at number i
    return data ? RoundedCopy{static_cast<uint16_t*>(data) + i, half} : *this;
  }
};

}  // namespace unroll

// Blocks of memory that ranks exchange.
#pragma once

#include <cstddef>
#include <span>

namespace unroll {

// To another rank, of the host's memory or the GPU's.
struct SentBlock {
  int to = 0;                       // a rank
  std::span<const std::byte> data;  // is read
};
// From another rank, likewise.
struct ReceivedBlock {
  int from = 0;               // a rank
  std::span<std::byte> data;  // is overwritten
};

}  // namespace unroll

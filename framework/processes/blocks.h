// Blocks of memory that ranks exchange.
#pragma once

#include <cstddef>
#include <span>

namespace unroll {

struct SentBlock {
  int to = 0;
  std::span<const std::byte> data;
};
struct ReceivedBlock {
  int from = 0;
  std::span<std::byte> data;
};

}  // namespace unroll

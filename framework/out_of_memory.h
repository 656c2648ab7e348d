// A refusal of the pool, with figures for those who can say what to do.
#pragma once

#include <cstdint>

#include "framework/check.h"

namespace unroll {

struct MemoryRefused : OutOfMemory {
  MemoryRefused(const std::string& what, int64_t bytes_asked, int64_t bytes_in_use, int64_t all_room)
      : OutOfMemory(what), asked(bytes_asked), in_use(bytes_in_use), room(all_room) {}
  int64_t asked;   // bytes
  int64_t in_use;  // of tensors, then
  int64_t room;    // all that tensors could have at once; 0: the system does not say
};

// Advice if weights and gradients do not fit: no smaller batch helps then.
constexpr const char* less_for_weights = "; a smaller model needs less";

}  // namespace unroll

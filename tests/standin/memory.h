// The stand-in's device memory. Each block lies between two pages that nobody may touch, its end at the second; the few
// bytes that alignment leaves there have a pattern that is looked at.
#pragma once

#include <cstddef>

namespace standin {

void* take_memory(std::size_t bytes);     // aligned to 256 bytes, filled with NaN
bool give_memory(void* memory);           // false: it was never taken, or given back already
std::size_t size_of(const void* memory);  // of a block, by its first byte; 0: there is none
bool memory_is_intact();                  // of every pattern

}  // namespace standin

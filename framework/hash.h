// 64-bit FNV-1a (Fowler, Noll and Vo): one number that stands for a sequence of marks, the same on every machine.
#pragma once

#include <cstdint>

namespace unroll {

constexpr uint64_t hash_of_nothing = 0xcbf29ce484222325;  // of a sequence without marks
// `hash` with one more mark behind it, in [0, 255].
constexpr uint64_t hash_with(uint64_t hash, uint64_t mark) { return (hash ^ mark) * 0x100000001b3; }

}  // namespace unroll

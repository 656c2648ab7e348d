// Advice for a step that found too little memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/out_of_memory.h"
#include "framework/tape.h"

namespace unroll {

// Keys of a recipe in whose proportion a window takes memory, and what they are: {"data.batch", 20}.
using WindowSizes = std::vector<std::pair<std::string, int>>;

// One line: the refusal, the largest entries of the tape, and of each key the most that can fit. That is a bound and no
// promise: how much more the step would have needed, nobody knows. `kept`: bytes that any window needs.
std::string memory_advice(const MemoryRefused& refusal, const Tape& tape, int64_t kept,
                          const WindowSizes& sizes);

}  // namespace unroll

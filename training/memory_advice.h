// Advice for a step that ran out of memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/memory.h"
#include "framework/tape.h"

namespace unroll {

// Keys of a recipe that a window's memory is proportional to, with their values: {"data.batch", 20}.
using WindowSizes = std::vector<std::pair<std::string, int>>;

// One line: the refusal, the largest entries of the tape, and for each key the most that can fit. That is an upper
// bound, since the rest of the step might have needed more. `kept`: bytes that any window needs.
std::string memory_advice(const MemoryRefused& refusal, const Tape& tape, int64_t kept,
                          const WindowSizes& sizes);

}  // namespace unroll

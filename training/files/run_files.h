// Limits on the size of a run's files. A longer file is not ours, and is not read.
#pragma once

#include <cstddef>

namespace unroll {

constexpr std::size_t most_bytes_of_start = std::size_t{1} << 20;         // start.json
constexpr std::size_t most_bytes_of_recipe = std::size_t{1} << 20;        // in a file or in a model's
constexpr std::size_t most_bytes_of_description = std::size_t{32} << 20;  // report.json
constexpr std::size_t most_bytes_of_log = std::size_t{1} << 30;           // log.jsonl
constexpr std::size_t most_bytes_of_samples = std::size_t{64} << 20;      // samples.jsonl

}  // namespace unroll

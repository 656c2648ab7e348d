// The user's file of what cuDNN's algorithms took: read, searched and written. It is a cache, which anything may have
// happened to: what is wrong with it is said, and is no error.
//
//   {"version": 1, "measured": [
//   {"of": {"gpu": …}, "seconds": {"standard": 0.01, …}, "cannot": {"persistent": "why"}}]}
//
// "of" is everything that the times depend on; what that is, only who measures knows.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "layers/recurrent/engines/cudnn_algorithm.h"

namespace unroll {

struct AlgorithmFile {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();  // each with all algorithms
  std::string complaint = {};  // why there are none, one line; empty: all is well, or there is no file
};
AlgorithmFile read_algorithm_file(const std::filesystem::path& path);

// An entry for a file, of what measure_algorithms() gave.
nlohmann::ordered_json measured_entry(nlohmann::ordered_json of,
                                      const std::vector<MeasuredAlgorithm>& measured);
// The measurements of such an entry among these.
std::optional<std::vector<MeasuredAlgorithm>> find_measured(const nlohmann::ordered_json& entries,
                                                            const nlohmann::ordered_json& of);

// Makes the folder too. Throws Error where that cannot be done.
void write_algorithm_file(const std::filesystem::path& path, const nlohmann::ordered_json& entries);

}  // namespace unroll

// How a run was started: what its folder remembers for "resume", beside the recipe.
#pragma once

#include <filesystem>
#include <string>

namespace unroll {

struct RunStart {
  std::string program;  // "ptb"
  std::string recipe_name;
  std::filesystem::path data;  // what it was trained on, absolute; empty: the default
  int threads = 1;
  std::string device = "cpu";            // "cuda:0"
  std::filesystem::path init_from = {};  // weights that it began with, absolute; empty: they were drawn
  int processes = 1;                     // that shared it, each with so many threads
};

// Writes `start.json`, and then `recipe.toml`: a folder that has both holds a run. Throws Error.
void write_run_start(const std::filesystem::path& folder, const RunStart& start, const std::string& recipe);
// Throws InputError: there is no run in the folder, which `program` would start, or it is another program's.
RunStart read_run_start(const std::filesystem::path& folder, const std::string& program);

}  // namespace unroll

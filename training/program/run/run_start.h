// How a run was started: its folder keeps this for "resume", beside the recipe.
#pragma once

#include <filesystem>
#include <string>

namespace unroll {

struct RunStart {
  std::string program;  // "ptb"
  std::string recipe_name;
  std::filesystem::path data;  // the training data, absolute; empty: the default
  int threads = 1;
  std::string device = "cpu";            // "cuda:0"
  std::filesystem::path init_from = {};  // weights that it began with, absolute; empty: they were drawn
  int processes = 1;                     // that shared it, each with so many threads
};

// Writes `start.json`, then `recipe.toml`: a folder with both holds a run. Throws Error.
void write_run_start(const std::filesystem::path& folder, const RunStart& start, const std::string& recipe);
// Throws InputError if the folder has no run (`program` would start one), or another program's.
RunStart read_run_start(const std::filesystem::path& folder, const std::string& program);

}  // namespace unroll

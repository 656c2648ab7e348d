#include "run_start.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "framework/check.h"
#include "training/atomic_file.h"

namespace ptb {

namespace fs = std::filesystem;
using unroll::require_input;

void write_run_start(const fs::path& folder, const RunStart& start, const std::string& recipe) {
  const nlohmann::ordered_json json{{"recipe", start.recipe_name},
                                    {"data", start.data.empty() ? "" : fs::absolute(start.data).string()},
                                    {"threads", start.threads}};
  unroll::write_file_atomically(folder / "start.json", json.dump(2) + '\n');
  unroll::write_file_atomically(folder / "recipe.toml", recipe);
}

RunStart read_run_start(const fs::path& folder) {
  require_input(fs::is_directory(folder), "{}: there is no such folder", folder.string());
  const fs::path path = folder / "start.json";
  require_input(fs::exists(path) && fs::exists(folder / "recipe.toml"),
                "{}: no run has begun in it; start one with 'ptb train' in a new folder", folder.string());
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  try {
    return {json.at("recipe"), json.at("data").get<std::string>(), json.at("threads")};
  } catch (const nlohmann::json::exception&) {
    throw unroll::InputError(
        fmt::format("{}: damaged: recipe, data and threads are to be in it", path.string()));
  }
}

}  // namespace ptb

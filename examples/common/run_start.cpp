#include "examples/common/run_start.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "framework/check.h"
#include "training/atomic_file.h"

namespace unroll {

namespace fs = std::filesystem;

void write_run_start(const fs::path& folder, const RunStart& start, const std::string& recipe) {
  const nlohmann::ordered_json json{{"recipe", start.recipe_name},
                                    {"data", start.data.empty() ? "" : fs::absolute(start.data).string()},
                                    {"threads", start.threads},
                                    {"device", start.device}};
  write_file_atomically(folder / "start.json", json.dump(2) + '\n');
  write_file_atomically(folder / "recipe.toml", recipe);
}

RunStart read_run_start(const fs::path& folder, const std::string& program) {
  require_input(fs::is_directory(folder), "{}: there is no such folder", folder.string());
  const fs::path path = folder / "start.json";
  require_input(fs::exists(path) && fs::exists(folder / "recipe.toml"),
                "{}: no run has begun in it; start one with '{} train' in a new folder", folder.string(),
                program);
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  try {
    return {json.at("recipe"), json.at("data").get<std::string>(), json.at("threads"),
            json.value("device", "cpu")};
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("{}: damaged: recipe, data and threads are to be in it", path.string()));
  }
}

}  // namespace unroll

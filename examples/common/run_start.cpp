#include "examples/common/run_start.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "framework/check.h"
#include "framework/one_line.h"
#include "training/atomic_file.h"

namespace unroll {

namespace fs = std::filesystem;

void write_run_start(const fs::path& folder, const RunStart& start, const std::string& recipe) {
  const nlohmann::ordered_json json{{"program", start.program},
                                    {"recipe", start.recipe_name},
                                    {"data", start.data.empty() ? "" : fs::absolute(start.data).string()},
                                    {"threads", start.threads},
                                    {"device", start.device}};
  write_file_atomically(folder / "start.json", json.dump(2) + '\n');
  write_file_atomically(folder / "recipe.toml", recipe);
}

RunStart read_run_start(const fs::path& folder, const std::string& program) {
  std::error_code error;
  const bool is_folder = fs::is_directory(folder, error);  // before its error is looked at
  require_input(
      is_folder, "{}: {}", folder.string(),
      error && error != std::errc::no_such_file_or_directory ? error.message() : "there is no such folder");
  const fs::path path = folder / "start.json";
  require_input(fs::exists(path, error) && fs::exists(folder / "recipe.toml", error),
                "{}: no run has begun in it; start one with '{} train'", folder.string(), program);
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  RunStart start;
  try {
    start = {json.value("program", program), json.at("recipe"), json.at("data").get<std::string>(),
             json.at("threads"), json.value("device", "cpu")};
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("{}: damaged: recipe, data and threads are to be in it", path.string()));
  }
  require_input(start.program == program, "{}: a run of 'unroll {}', not of 'unroll {}'", folder.string(),
                one_line(start.program), program);
  return start;
}

}  // namespace unroll

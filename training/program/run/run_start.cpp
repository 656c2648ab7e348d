#include "training/program/run/run_start.h"

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "training/checkpoint.h"
#include "training/files/atomic_file.h"
#include "training/files/json/json.h"
#include "training/files/run_files.h"
#include "training/program/cli/invocation.h"
#include "training/run_folder.h"

namespace unroll {

namespace fs = std::filesystem;

void write_run_start(const fs::path& folder, const RunStart& start, const std::string& recipe) {
  nlohmann::ordered_json json{{"program", start.program},
                              {"recipe", start.recipe_name},
                              {"data", path_json(start.data.empty() ? "" : fs::absolute(start.data))},
                              {"threads", start.threads},
                              {"device", start.device}};
  if (!start.init_from.empty()) json["init_from"] = path_json(start.init_from);
  if (start.processes > 1) json["processes"] = start.processes;
  write_file_atomically(folder / "start.json", json_text(json, 2) + '\n');
  write_file_atomically(folder / "recipe.toml", recipe);
}

RunStart read_run_start(const fs::path& folder, const std::string& program) {
  std::error_code error;
  const bool is_folder = fs::is_directory(folder, error);  // before its error is looked at
  require_input(
      is_folder, "{}: {}", folder.string(),
      error && error != std::errc::no_such_file_or_directory ? error.message() : "there is no such folder");
  check_run_files(folder);
  const fs::path path = folder / "start.json", recipe = folder / "recipe.toml";
  const bool has_start = has_own_file(path), has_recipe = has_own_file(recipe);
  const bool has_begun =
      has_recipe || has_own_file(folder / last_checkpoint) || has_own_file(folder / best_checkpoint);
  require_input(has_begun, "{}: no run has begun in it; start one with '{} train'", folder.string(), program);
  require_input(
      has_start && has_recipe,
      "{}: is missing, and without it the run cannot go on; '{} train {}'{} begins in another folder",
      (has_start ? recipe : path).string(), invocation(program), has_recipe ? shell_path(recipe) : "RECIPE",
      has_start ? "" : ", with the run's data where it had some,");
  const auto json = parse_json(read_own_file(path, most_bytes_of_start));
  const InputError damaged(
      fmt::format("{}: damaged: recipe, data and threads are to be in it", path.string()));
  RunStart start;
  try {
    start = {json.value("program", program),
             json.at("recipe"),
             path_in(json.at("data")),
             count_in<int>(json.at("threads")),
             json.value("device", "cpu"),
             json.contains("init_from") ? path_in(json.at("init_from")) : fs::path(),
             json.contains("processes") ? count_in<int>(json.at("processes")) : 1};
  } catch (const nlohmann::json::exception&) { throw damaged; } catch (const Error&) {
    throw damaged;
  }
  require_input(start.program == program, "{}: a run of 'unroll {}', not of 'unroll {}'", folder.string(),
                one_line(start.program), program);
  return start;
}

}  // namespace unroll

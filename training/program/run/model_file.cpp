#include "training/program/run/model_file.h"

#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

const std::string& metadata_of(const SafetensorsFile& file, const std::string& program,
                               const std::string& key) {
  const Metadata& metadata = file.metadata();
  const std::string ours = "unroll " + program;
  if (const auto whose = metadata.find("program"); whose != metadata.end() && whose->second != ours)
    throw InputError(
        fmt::format("{}: a model of '{}', not of '{}'", file.path(), one_line(whose->second), ours));
  const auto found = metadata.find(key);
  require_input(found != metadata.end(), "{}: not a model of {}: its metadata has no '{}'", file.path(),
                program, key);
  return found->second;
}

RecipeFile recipe_of(const SafetensorsFile& file, const std::string& program) {
  return {.name = one_line(metadata_of(file, program, "recipe_name")),
          .origin = file.path() + ": recipe",
          .text = metadata_of(file, program, "recipe")};
}

std::vector<Override> for_this_machine() { return {{"model.engine=auto"}, {"model.algorithm=auto"}}; }

}  // namespace unroll

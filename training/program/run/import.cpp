#include "training/program/run/import.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/one_line.h"
#include "training/files/atomic_file.h"

namespace unroll {

namespace fs = std::filesystem;

void ImportOptions::add_to(Command& command, const std::string& unsaid) {
  command.word("FILE", "a state_dict as safetensors");
  command.option("out", out, "FILE", "the model's file that is to be written");
  command.option("recipe", recipe_name, "RECIPE", fmt::format("what the shapes do not say: {}", unsaid))
      .otherwise("every default");
  command.option("set", sets, "KEY=VALUE", "another value for a key of the recipe; may be repeated");
  command.option(
      "rename", renames, "THEIRS=OURS",
      "what a tensor, or all of a module, is; with nothing after '=' it is left out; may be repeated");
}

void ImportOptions::check() const {
  require_input(!out.empty(), "import: --out FILE is missing");
  require_new("import", out);
}

std::vector<Override> ImportOptions::overrides(
    const fs::path& file, const std::vector<std::pair<std::string, std::string>>& of_shapes) const {
  std::vector<Override> overrides;
  for (const std::string& assignment : sets) {
    const std::string key = assignment.substr(0, assignment.find_first_of(" ="));
    for (const auto& [of_shape, value] : of_shapes)
      require_input(key != of_shape, "--set {}: what {} is, the shapes in {} say", assignment, key,
                    file.string());
    overrides.push_back({assignment});
  }
  for (const auto& [key, value] : of_shapes)
    overrides.push_back(
        {fmt::format("{}={}", key, value), fmt::format("{} {}={}", file.string(), key, value)});
  return overrides;
}

RecipeFile ImportOptions::recipe(const fs::path& file, const std::string& program) const {
  if (!recipe_name.empty()) return find_recipe(recipe_name, program);
  return {.name = file.stem().string(), .origin = "the default recipe", .text = ""};
}

void check_is_of_torch(const SafetensorsFile& file) {
  const auto found = file.metadata().find("program");
  const std::string whose = found == file.metadata().end() ? "" : one_line(found->second), ours = "unroll ";
  require_input(!whose.starts_with(ours),
                "{}: a model of '{}' already, which needs no import: {} evaluate reads it as it is",
                file.path(), whose, whose.substr(std::min(ours.size(), whose.size())));
}

void check_known_to_torch(const RecurrentConfig& layers, const std::filesystem::path& file) {
  const std::string unknown = unknown_to_torch(layers);
  require_input(unknown.empty(),
                "import: the recipe asks for {}, which no module of PyTorch computes that {} could be of",
                unknown, file.string());
}

std::string unsaid_by_shapes(const CellFacts& cell, const RecurrentConfig& layers,
                             const ImportOptions& options) {
  const auto says = [](const std::string& set) { return set.starts_with("model.nonlinearity="); };
  if (cell.kind != CellKind::rnn || !options.recipe_name.empty() || std::ranges::any_of(options.sets, says))
    return "";
  return fmt::format(
      "nonlinearity {}, as nn.RNN has it unasked: no shape says; the other is --set model.nonlinearity={}\n",
      unary_names[static_cast<size_t>(layers.nonlinearity)],
      unary_names[static_cast<size_t>(layers.nonlinearity == Unary::tanh ? Unary::relu : Unary::tanh)]);
}

}  // namespace unroll

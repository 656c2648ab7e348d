// Shared by the commands "import": makes a model's file from a model trained in PyTorch.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "training/program/cli/command.h"
#include "training/program/recipe/recurrent_keys.h"
#include "training/program/run/torch_tensors.h"

namespace unroll {

class ImportOptions {
 public:
  // Declares the word FILE, --out, --recipe, --set and --rename. `unsaid`: the settings of a recipe that shapes do not
  // tell.
  void add_to(Command& command, const std::string& unsaid);
  // Requires: the command has been parsed. Throws InputError if --out is missing, or its file exists.
  void check() const;
  // The changes by --set, and those that the shapes in `file` tell, as pairs of a key and its value. Throws InputError
  // if --set names one of the latter.
  std::vector<Override> overrides(const std::filesystem::path& file,
                                  const std::vector<std::pair<std::string, std::string>>& of_shapes) const;
  // The recipe of --recipe; without it, all keys have their defaults.
  RecipeFile recipe(const std::filesystem::path& file, const std::string& program) const;

  std::string out, recipe_name;
  std::vector<std::string> sets, renames;
};

// Throws InputError for a model that one of our programs wrote: an import would lose its recipe.
void check_is_of_torch(const SafetensorsFile& file);
// Throws InputError if the layers have options that PyTorch's modules lack.
void check_known_to_torch(const RecurrentConfig& layers, const std::filesystem::path& file);

// A line about a setting that neither shapes nor options tell: the function of a plain network. "" if there is none.
std::string unsaid_by_shapes(const CellFacts& cell, const RecurrentConfig& layers, const ImportOptions& options);

}  // namespace unroll

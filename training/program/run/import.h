// Shared by the commands "import": a model's file made of one that was trained in PyTorch.
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
  // Declares the word FILE, --out, --recipe, --set and --rename. `unsaid`: what the shapes do not say, of a recipe.
  void add_to(Command& command, const std::string& unsaid);
  // Once the command has been parsed. Throws InputError: no --out, or there is such a file already.
  void check() const;
  // --set, and what the shapes in `file` say: pairs of a key and its value. Throws InputError if --set names one of
  // those.
  std::vector<Override> overrides(const std::filesystem::path& file,
                                  const std::vector<std::pair<std::string, std::string>>& of_shapes) const;
  // The recipe's; without --recipe all of its keys have their defaults.
  RecipeFile recipe(const std::filesystem::path& file, const std::string& program) const;

  std::string out, recipe_name;
  std::vector<std::string> sets, renames;
};

// Throws InputError for a model of ours that PyTorch could not have made.
void check_is_of_torch(const SafetensorsFile& file);
// Throws InputError where a recipe's layers have options that no module of PyTorch has.
void check_known_to_torch(const RecurrentConfig& layers, const std::filesystem::path& file);

// A line about what no shape says and nothing else said: the function of a plain network. "" where there is nothing to say.
std::string unsaid_by_shapes(const CellFacts& cell, const RecurrentConfig& layers, const ImportOptions& options);

}  // namespace unroll

// The recipes compiled into the programs.
#pragma once

#include <span>
#include <string_view>

namespace unroll {

struct BundledRecipe {
  std::string_view program, name, text;  // "ptb", "demo", the TOML
};
std::span<const BundledRecipe> bundled_recipe_texts();  // sorted by name

}  // namespace unroll

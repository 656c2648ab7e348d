// The keys of a recipe about its recurrent layers: which cell, and what it has beside the plain one.
#pragma once

#include <string>
#include <vector>

#include "recipe.h"

namespace ptb {

// In the section that is declared at present.
void declare_cell(RecipeReader& reader, Recipe& recipe);
// Rules between the keys. Throws InputError.
void check_layers(const RecipeReader& reader, const Recipe& recipe);

// Names of the keys that make its layers other than plain ones.
std::vector<std::string> layer_options(const Recipe& recipe);
inline const char* cell_name(const Recipe& recipe) { return recipe.model.cell == Cell::gru ? "GRU" : "LSTM"; }
// "2 LSTM layers of 200", "1 GRU layer of 30 (weight_drop, residual)"
std::string describe_layers(const Recipe& recipe);

// Those of them which PyTorch's nn.LSTM and nn.GRU do not have, and without which the weights would compute
// something else: "layer_norm, residual", or "". What acts in training alone (weight_drop) is none of them.
std::string unknown_to_torch(const Recipe& recipe);
// For a file's metadata: PyTorch's modules that its weights are of, or "none: …", with those options.
std::string torch_modules(const Recipe& recipe, int vocab);

}  // namespace ptb

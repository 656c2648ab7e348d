// The keys of a recipe about its recurrent layers: the cell, and a key for each row of layers/recurrent/options.h.
#pragma once

#include "layers/recurrent/options.h"
#include "training/program/recipe/recipe_reader.h"

namespace unroll {

// In the section that is declared at present. The configuration's values are the defaults. `dropout` is left out: a program says
// where else it acts.
void declare_cell_key(RecipeReader& reader, CellKind& cell);
void declare_recurrent_keys(RecipeReader& reader, RecurrentConfig& config);
// Throws InputError where the layers as they are made of a recipe make no sense, naming a key of [model].
void check_recurrent_keys(const RecipeReader& reader, CellKind cell, const RecurrentConfig& made);
// The keys that nothing reads, `of_recurrent` saying what would, unless there are recurrent layers; and model.algorithm, unless
// the engine may be cuDNN's.
void add_unread_recurrent_keys(UnreadKeys& unread, const RecurrentConfig& config, bool recurrent = true,
                               const char* of_recurrent = "");

}  // namespace unroll

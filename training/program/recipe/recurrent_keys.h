// A recipe's keys for its recurrent layers: the cell, and one key for each row of layers/recurrent/options.h.
#pragma once

#include "layers/recurrent/options.h"
#include "training/program/recipe/recipe_reader.h"

namespace unroll {

// declare_cell_key, declare_recurrent_keys: keys of the current section, defaults from `config`. The program declares
// `dropout`: it knows where else that acts.
void declare_cell_key(RecipeReader& reader, CellKind& cell);
void declare_recurrent_keys(RecipeReader& reader, RecurrentConfig& config);
// Throws InputError, naming a key of [model], if the recipe's layers make no sense.
void check_recurrent_keys(const RecipeReader& reader, CellKind cell, const RecurrentConfig& made);
// Adds the keys that have no effect: all of them if there are no recurrent layers (`of_recurrent` says what would read
// them), and model.algorithm unless the engine may be `fused`.
void add_unread_recurrent_keys(UnreadKeys& unread, const RecurrentConfig& config, bool recurrent = true,
                               const char* of_recurrent = "");
// Adds the options that are set and that these layers lack: the cell does not have them, they act between layers and
// there is one, or they refine an option that is off.
void add_lost_recurrent_keys(UnreadKeys& unread, CellKind cell, const RecurrentConfig& made);

}  // namespace unroll

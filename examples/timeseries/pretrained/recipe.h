// Recipes of the pretrained forecaster's training.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "training/program/recipe/recipe_form.h"
#include "training/program/recipe/recipe_sections.h"
#include "training/program/recipe/recurrent_keys.h"

namespace timeseries {

using namespace unroll;

struct PretrainRecipe {
  std::string name;  // names the run's folder; not a key

  struct Model : RecurrentConfig {
    CellKind cell = CellKind::lstm;
    Model() : RecurrentConfig{.hidden = 256, .layers = 2} {}
  } model;
  struct {
    uint64_t seed = 1;
    int64_t steps = 1000;  // in an epoch
    int segments = 2048;   // of a step, all series together
    int64_t valid = 4096;  // series
  } series;
  TrainingSection training{.epochs = 10, .clip = 1};
  OptimizerSection optimizer{.kind = OptimizerKind::adamw, .learning_rate = 1e-3};
  ScheduleSection schedule;

  TrainingSections sections() const { return {training, optimizer, schedule}; }
};

// The program that find_recipe() is to be told for the bundled ones.
inline constexpr std::string_view pretrain_program = "timeseries pretrain";

// Requires: the recipe outlives the reader.
void declare_keys(RecipeReader& reader, PretrainRecipe& recipe);
void check_rules(const RecipeReader& reader, const PretrainRecipe& recipe);
UnreadKeys unread_keys(const PretrainRecipe& recipe);
inline constexpr RecipeForm<PretrainRecipe> pretrain_form{declare_keys, check_rules, unread_keys};
// Whether a recipe, of a run's folder say, is one of these.
bool pretrains(const RecipeFile& file);

}  // namespace timeseries

// Recipes of time-series models: all choices that a run depends on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/networks/networks.h"
#include "examples/timeseries/series/scaling.h"
#include "examples/timeseries/series/series.h"
#include "training/program/recipe/recipe_form.h"
#include "training/program/recipe/recipe_sections.h"
#include "training/program/recipe/recurrent_keys.h"

namespace timeseries {

using namespace unroll;

enum class SplitKind : uint8_t { fraction, rows, time };
enum class Loss : uint8_t { mse, quantile };
enum class Scored : uint8_t { test, valid };

// The word in data.known for all calendar features.
inline const std::string known_calendar = "calendar";

struct Recipe {
  std::string name;  // names the run's folder; not a key

  NetworkKeys model;
  struct : BaselineKeys {
    std::string file;
    std::vector<std::string> test_files;
    std::string time, only, id;
    DateOrder date_order = DateOrder::unknown;
    std::vector<std::string> channels, targets, calendar, known;
    std::string label;
    std::string separator = ",", decimal = ".", thousands;
    bool mend = false;
    Missing missing = Missing::error;
    Gaps gaps = Gaps::error;
    bool open_end = false;
    int stride = 1, batch = 32, eval_batch = 256;
    SplitKind split = SplitKind::fraction;
    double train = 0.7, valid = 0.1;
    int64_t train_rows = 0, valid_rows = 0, test_rows = 0;
    std::string valid_from, test_from;
    std::vector<double> bounds;
    Scored score = Scored::test;
  } data;
  struct {
    ScalingKind kind = ScalingKind::standard;
    Transform transform = Transform::none;
  } scaling;
  struct Training : TrainingSection {
    Loss loss = Loss::mse;
    std::vector<double> quantiles = {0.1, 0.5, 0.9};
    double pos_weight = 1;
    Training() : TrainingSection{.epochs = 100, .clip = 1, .keep = Keep::best, .log_every = 20} {}
  } training;
  OptimizerSection optimizer{.kind = OptimizerKind::adam, .learning_rate = 1e-3};
  ScheduleSection schedule;

  TrainingSections sections() const { return {training, optimizer, schedule}; }
  bool detects() const { return !data.label.empty(); }
  bool validates() const;  // whether it has a validation part
  bool has_quantiles() const { return training.loss == Loss::quantile && !detects(); }
  // Values predicted for each step and target: one for each quantile.
  int outputs() const { return has_quantiles() ? static_cast<int>(training.quantiles.size()) : 1; }
  int middle_output() const;  // index of quantile 0.5
  int horizon() const { return detects() ? 1 : data.horizon; }
};

inline const CellFacts& cell_of(const Recipe& recipe) { return facts_of(recipe.model.cell); }

// Declares the keys of a recipe's fields. Requires: the recipe outlives the reader.
void declare_keys(RecipeReader& reader, Recipe& recipe);

// Rules between keys (recipe_rules.cpp). Throws InputError for values that do not go together.
void check_rules(const RecipeReader& reader, const Recipe& recipe);
// The keys that have no effect, given the values of others.
UnreadKeys unread_keys(const Recipe& recipe);

inline constexpr RecipeForm<Recipe> recipe_form{declare_keys, check_rules, unread_keys};
// Loads a recipe, such as the resolved one in a saved model, applies overrides, and checks the rules between keys. Throws
// InputError.
inline Recipe load_recipe(const RecipeFile& file, const std::vector<Override>& overrides = {}) {
  return recipe_form.load(file, overrides);
}
inline Recipe load_recipe(std::string_view name_or_path, const std::vector<Override>& overrides) {
  return load_recipe(find_recipe(name_or_path, "timeseries"), overrides);
}
inline std::string resolved(const Recipe& recipe) { return recipe_form.resolved(recipe); }
inline std::vector<DifferingKey> differing_keys(const Recipe& before, const Recipe& after) {
  return recipe_form.differing_keys(before, after);
}

}  // namespace timeseries

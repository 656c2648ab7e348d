#include "examples/timeseries/guess/from_file.h"

#include <algorithm>
#include <array>

#include "data/lower_case.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/session/session.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "training/files/state_dict.h"
#include "training/program/run/first_weights.h"

namespace timeseries {

void FileOptions::add_to(Command& command) {
  command.group("A series without a recipe");
  command.option("column", columns_, "NAME", "a column to forecast; may be repeated")
      .otherwise("all columns of numbers");
}

Wishes FileOptions::wishes(const Command& command, int steps, std::vector<Override> overrides) const {
  for (auto name = columns_.begin(); name != columns_.end(); ++name)
    require_input(std::find(columns_.begin(), name, *name) == name, "{}: --column {} is given twice",
                  command.name(), one_line(*name));
  return {.columns = columns_, .steps = steps, .overrides = std::move(overrides)};
}

void FileOptions::refuse(const Command& command, const char* what) const {
  require_input(!command.given("column"), "{}: --column is for a series without a recipe, FILE.csv; {}",
                command.name(), what);
}

bool is_series_file(const std::string& word) {
  const std::string_view name =
      std::string_view(word).substr(0, word.size() - (word.ends_with(".gz") ? 3 : 0));
  return word == standard_input || name.ends_with(".csv") || name.ends_with(".tsv");
}

void require_read_without_network(const std::string& command, const std::vector<Override>& overrides,
                                  const std::string& more) {
  constexpr std::array read = {"channels",  "targets", "time",          "date_order", "only",    "id",
                               "separator", "decimal", "thousands",     "mend",       "missing", "gaps",
                               "open_end",  "period",  "second_period", "horizon",    "bounds"};
  for (const Override& o : overrides) {
    Recipe any;
    RecipeReader keys;
    declare_keys(keys, any);
    keys.set(o.assignment, o.said);  // refuses what is no key, or no longer one
    require_input(
        keys.given(more) ||
            std::ranges::any_of(read, [&](const std::string& name) { return keys.given("data." + name); }),
        "{}: {}: no network is trained for it, so '{}' has no effect; 'timeseries train FILE.csv' trains one",
        command, o.said.empty() ? "--set " + o.assignment : o.said,
        o.assignment.substr(0, o.assignment.find('=')));
  }
}

std::string series_asked(const Recipe& recipe, const std::string& word) {
  const auto& targets = recipe.data.targets;
  const bool is_column =
      recipe.data.id.empty() && targets.size() == 1 && lower_case(targets[0]).starts_with(lower_case(word));
  return is_column ? "" : word;
}

Recipe recipe_for(const std::filesystem::path& csv, const Wishes& wishes, const Console& console) {
  const GuessedRecipe guessed = guess_recipe(csv, wishes);
  for (const Guess& guess : guessed.guesses)
    console.print("{:<8}{}: {} ({})\n", guess.name, guess.what, guess.why, guess.option);
  return guessed.recipe;
}

Recipe recipe_of(const std::vector<Override>& overrides) {
  Recipe recipe;
  RecipeReader keys;
  declare_keys(keys, recipe);
  for (const Override& o : overrides) keys.set(o.assignment, o.said);
  return recipe;
}

SavedModel train_on_file(const RunOptions& run, const Recipe& recipe, const std::filesystem::path& csv,
                         const Console& console) {
  RunOptions quiet = run;
  quiet.quiet = true, quiet.dry_run = true;
  quiet.init_from = first_weights_file(recipe.training);
  SeriesTraining training(quiet, recipe);
  print_notes(console, training.data());
  training.fit();
  SavedModel saved{.path = csv, .recipe = recipe, .facts = training.data().facts};
  auto weights = std::make_shared<std::map<std::string, Tensor>>();
  for (const auto& [name, tensor] : state_dict(training.model().params))
    weights->emplace(name, tensor.clone());
  saved.weights = std::move(weights);
  return saved;
}

}  // namespace timeseries

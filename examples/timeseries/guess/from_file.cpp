#include "examples/timeseries/guess/from_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/guess/guess.h"
#include "examples/timeseries/guess/size.h"
#include "examples/timeseries/session/ensemble_folds.h"
#include "examples/timeseries/session/ensemble_validation.h"
#include "examples/timeseries/session/session.h"
#include "framework/check.h"
#include "training/files/state_dict.h"

namespace timeseries {

void FileOptions::add_to(Command& command) {
  command.group("A series without a recipe");
  command.option("column", columns_, "NAME", "a column to forecast; may be repeated")
      .otherwise("all columns of numbers");
  command.option("budget", budget_, "TIME",
                 "that training may take about: 60s, 5m, 1h; the recipe that is written down repeats it");
}

double FileOptions::seconds() const {
  double number = 0;
  const char* const end = budget_.data() + budget_.size();
  const auto [stopped, error] = std::from_chars(budget_.data(), end, number);
  const std::string_view unit(stopped, static_cast<size_t>(end - stopped));
  const double factor = unit.empty() || unit == "s"    ? 1
                        : unit == "m" || unit == "min" ? 60
                        : unit == "h"                  ? 3600
                                                       : 0;
  require_input(error == std::errc() && factor > 0 && std::isfinite(number),
                "--budget '{}': a time is expected, as in 60s, 5m or 1h", one_line(budget_));
  require_input(number * factor >= 1 && number * factor <= 1e7,
                "--budget {}: it must be at least a second, and at most 1e7", one_line(budget_));
  return number * factor;
}

Wishes FileOptions::wishes(const Command& command, int steps, double train,
                           std::vector<Override> overrides) const {
  (void)seconds();
  for (auto name = columns_.begin(); name != columns_.end(); ++name)
    require_input(std::find(columns_.begin(), name, *name) == name, "{}: --column {} is given twice",
                  command.name(), one_line(*name));
  return {.columns = columns_, .steps = steps, .train = train, .overrides = std::move(overrides)};
}

void FileOptions::refuse(const Command& command, const char* what) const {
  for (const char* option : {"column", "budget"})
    require_input(!command.given(option), "{}: --{} is for a series without a recipe, FILE.csv; {}",
                  command.name(), option, what);
}

bool is_series_file(const std::string& word) {
  const std::string_view name =
      std::string_view(word).substr(0, word.size() - (word.ends_with(".gz") ? 3 : 0));
  return word == standard_input || name.ends_with(".csv") || name.ends_with(".tsv");
}

// --- the budget --------------------------------------------------------------------------------------------

namespace {

// Seconds that the whole takes about on one core of 2024, by its sizes alone: however fast or busy a machine is, one command
// trains one ensemble.
double seconds_of(const Size& size, const Recipe& recipe, double windows, double rows, double targets) {
  const auto& d = recipe.data;
  double step = 0;  // of all networks' training
  for (const std::string& network : size.networks)
    step += targets * (network == "gru" ? 5e-4 + 2.5e-6 * d.window : 1.3e-4 + 1.8e-6 * d.window);
  const double steps = std::ceil(windows / d.batch) * size.epochs;
  const double fit = targets * (1e-9 * rows * (d.ridge ? d.window * (d.window + 2.0 * d.horizon) : 0) +
                                2e-8 * rows * d.autoregression * d.autoregression +
                                (size.ets ? 2e-4 * std::min(rows, 4000.0) : 0));
  return (size.folds + 1) * steps * step + (size.folds + 2) * fit;
}

}  // namespace

GuessedRecipe recipe_for(const std::filesystem::path& csv, const Wishes& wishes, double seconds,
                         const Console& console) {
  GuessedRecipe guessed = guess_recipe(csv, wishes);
  for (const Guess& guess : guessed.guesses)
    console.print("{:<8}{}: {} ({})\n", guess.name, guess.what, guess.why, guess.option);
  if (!guessed.recipe.is_ensemble()) {
    console.print("budget  not looked at: it is for ensembles (--set training.epochs=N)\n");
    return guessed;
  }
  const SeriesData data(guessed.recipe, csv);
  const Size full = size_of(guessed);
  const auto expected = [&](const Size& size) {
    return seconds_of(size, guessed.recipe, static_cast<double>(data.train->count()),
                      static_cast<double>(rows_of(data.split.train)),
                      static_cast<double>(data.targets().size()));
  };
  Size size = full, without_ets = full;
  std::vector<std::string> cut;
  const auto fits = [&] { return expected(size) <= seconds; };
  without_ets.ets = false;
  const bool cuts_folds = !says(wishes, "ensemble.folds"), cuts_epochs = !says(wishes, "training.epochs"),
             cuts_members = !says(wishes, "ensemble.members");
  if (!fits() && cuts_members && !says(wishes, "data.ets") &&
      expected(full) - expected(without_ets) > 0.3 * seconds)
    size = without_ets, cut.emplace_back("ETS left out");
  if (!fits() && cuts_folds && size.folds > 4) size.folds = 4;
  if (!fits() && cuts_members && size.networks.size() > 3)
    size.networks.resize(3), cut.emplace_back("one seed of each network");
  if (!fits() && cuts_folds && size.folds > 2) size.folds = 2;
  for (int halved = 0; !fits() && cuts_epochs && halved < 3 && size.epochs > 1; ++halved)
    size.epochs = (size.epochs + 1) / 2;
  if (size.epochs != full.epochs)
    cut.push_back(fmt::format("{} epochs in place of {}", size.epochs, full.epochs));
  while (!fits() && cuts_members && size.networks.size() > 1)
    size.networks.erase(size.networks.begin() + (size.networks.front() == "gru" ? 0 : 1));
  if (size.networks.size() < std::min<size_t>(full.networks.size(), 3))
    cut.push_back(fmt::format("{} alone of the networks", fmt::join(size.networks, ", ")));
  if (!fits() && cuts_folds && size.folds > 1) size.folds = 1;
  if (size.folds != full.folds)
    cut.push_back(
        fmt::format("{} fold{} in place of {}", size.folds, size.folds == 1 ? "" : "s", full.folds));
  console.print("budget  {:.0f} s, about {:.0f} s by the sizes: {} (--budget TIME)\n", seconds,
                expected(size), cut.empty() ? "nothing is cut" : fmt::format("{}", fmt::join(cut, ", ")));
  return cut.empty() ? guessed : with_size(guessed, wishes, size);
}

SavedModel train_on_file(const RunOptions& run, const Recipe& recipe, const std::filesystem::path& csv,
                         const Console& console) {
  RunOptions quiet = run;
  quiet.quiet = true, quiet.dry_run = true;
  EnsembleFacts folds;
  if (recipe.has_folds()) folds = run_folds(run, recipe, csv, console);
  SeriesTraining training(quiet, recipe, {.ensemble = folds.empty() ? nullptr : &folds});
  for (const std::string& note : training.data().notes) console.print("note    {}\n", note);
  for (const std::string& warning : training.data().warnings) console.print("warning {}\n", warning);
  training.fit();
  if (recipe.has_folds()) {
    const RunDescription::Table table = table_of_folds(folds, recipe);
    console.print("\n{}\n", table.title), console.print(table);
  }
  SavedModel saved{.path = csv, .recipe = recipe, .facts = training.data().facts};
  auto weights = std::make_shared<std::map<std::string, Tensor>>();
  for (const auto& [name, tensor] : state_dict(training.model().params))
    weights->emplace(name, tensor.clone());
  saved.weights = std::move(weights);
  return saved;
}

}  // namespace timeseries

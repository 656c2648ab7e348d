#include "from_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "data/series/series_file.h"
#include "ensemble_folds.h"
#include "framework/check.h"
#include "framework/clock.h"
#include "recipe_baselines.h"
#include "session.h"
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

// Seconds of one step of the networks' training, measured on a few.
double seconds_of_step(const RunOptions& run, const Recipe& recipe, const SeriesSplit& split) {
  constexpr int64_t least_steps = 24;
  Recipe probe = recipe;
  const int64_t windows = rows_of(split.train) - recipe.data.window - recipe.data.horizon + 1;
  const int64_t batches = std::max<int64_t>((windows + recipe.data.batch - 1) / recipe.data.batch, 1);
  probe.training.epochs = static_cast<int>((least_steps + batches - 1) / batches);
  SeriesTraining training(run, probe, {.fold = split});
  const double begin = clock_seconds();
  training.fit();
  return (clock_seconds() - begin) / static_cast<double>(batches * probe.training.epochs);
}

// Seconds to fit the baseline and to forecast some windows with it.
double seconds_of(const std::string& word, const Recipe& recipe, const Series& series, const Part& train,
                  const std::vector<int>& targets) {
  const double begin = clock_seconds();
  (void)baseline_of(word, recipe, series, train.back().end, train, targets);
  return clock_seconds() - begin;
}

}  // namespace

GuessedRecipe recipe_for(const RunOptions& run, const std::filesystem::path& csv, const Wishes& wishes,
                         double seconds, const Console& console) {
  const double begin = clock_seconds();
  GuessedRecipe guessed = guess_recipe(csv, wishes);
  for (const Guess& guess : guessed.guesses)
    console.print("{:<8}{}: {} ({})\n", guess.name, guess.what, guess.why, guess.option);
  if (!guessed.recipe.is_ensemble()) {
    console.print("budget  not looked at: it is for ensembles (--set training.epochs=N)\n");
    return guessed;
  }
  RunOptions quiet = run;
  quiet.quiet = true, quiet.dry_run = true;
  const SeriesData data(guessed.recipe, csv);
  const int64_t rows = rows_of(data.split.train), fold_rows = rows_of_fold(guessed.recipe, rows);
  const SeriesSplit last = rolling_origin(rows, 1, fold_rows, 0).front();
  const Size full = size_of(guessed);
  const double step = seconds_of_step(quiet, guessed.recipe, last);
  double ets = 0, others = 0;
  for (const std::string& word : guessed.recipe.ensemble.members) {
    if (std::ranges::find(baseline_words(), word) == baseline_words().end()) continue;
    (word == "ets" ? ets : others) +=
        seconds_of(word, guessed.recipe, data.series(), data.split.train, data.targets());
  }
  // A fold's rows are fewer; scoring, and the baselines' intervals, take their part.
  constexpr double reserve = 1.3;
  const double windows = static_cast<double>(data.train->count());
  const auto expected = [&](const Size& size) {
    const double share = static_cast<double>(size.networks.size()) /
                         static_cast<double>(std::max<size_t>(full.networks.size(), 1));
    const double steps = std::ceil(windows / guessed.recipe.data.batch) * size.epochs;
    const double fits = size.folds + 2;
    return reserve * (steps * (size.folds + 1) * step * share + fits * (others + (size.ets ? ets : 0)));
  };
  const double left = std::max(seconds - (clock_seconds() - begin), 0.0);
  Size size = full;
  std::vector<std::string> cut;
  const auto fits = [&] { return expected(size) <= left; };
  if (!fits() && size.ets && ets * (size.folds + 2) > 0.3 * left)
    size.ets = false, cut.emplace_back("ETS left out");
  if (!fits() && size.folds > 4) size.folds = 4;
  if (!fits() && size.networks.size() > 3)
    size.networks.resize(3), cut.emplace_back("one seed of each network");
  if (!fits() && size.folds > 2) size.folds = 2;
  for (int halved = 0; !fits() && halved < 3 && size.epochs > 1; ++halved)
    size.epochs = (size.epochs + 1) / 2;
  if (size.epochs != full.epochs)
    cut.push_back(fmt::format("{} epochs in place of {}", size.epochs, full.epochs));
  while (!fits() && size.networks.size() > 1)
    size.networks.erase(size.networks.begin() + (size.networks.front() == "gru" ? 0 : 1));
  if (size.networks.size() < std::min<size_t>(full.networks.size(), 3))
    cut.push_back(fmt::format("{} alone of the networks", fmt::join(size.networks, ", ")));
  if (!fits() && size.folds > 1) size.folds = 1;
  if (size.folds != full.folds)
    cut.push_back(
        fmt::format("{} fold{} in place of {}", size.folds, size.folds == 1 ? "" : "s", full.folds));
  console.print("budget  {:.0f} s, about {:.0f} s expected: {} (--budget TIME)\n", seconds,
                expected(size) + clock_seconds() - begin,
                cut.empty() ? "nothing is cut" : fmt::format("{}", fmt::join(cut, ", ")));
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
    const RunDescription::Table table = table_of(folds, recipe);
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

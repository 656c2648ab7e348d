// timeseries backtest: trains and scores a recipe anew on several parts of a series.
#include <algorithm>
#include <cmath>

#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/recipe/options.h"
#include "examples/timeseries/session/session.h"
#include "framework/one_line.h"
#include "training/files/json/json.h"
#include "training/program/cli/console.h"
#include "training/program/run/machine.h"

namespace timeseries {

namespace {

// A method's scores in the folds for which it has enough history.
struct AcrossFolds {
  std::string name;
  bool knows_labels;
  std::vector<std::vector<double>> values;  // by measure, in each of these folds

  size_t folds() const { return values.front().size(); }
};

void add(std::vector<AcrossFolds>& all, const ScoredRow& row) {
  const std::string name =
      row.name.starts_with("threshold") ? "threshold" : row.name;  // each fold has its own
  auto found = std::ranges::find(all, name, &AcrossFolds::name);
  if (found == all.end())
    found = all.insert(found, {name, row.knows_labels, std::vector<std::vector<double>>(row.values.size())});
  for (size_t k = 0; k < row.values.size(); ++k) found->values[k].push_back(row.values[k]);
}

// The mean over the folds in which the score is defined.
double mean_of(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double value : values)
    if (std::isfinite(value)) sum += value, ++count;
  return sum / count;
}

RunDescription::Table table_of(const std::string& name, size_t measure, const std::vector<AcrossFolds>& all,
                               const std::vector<std::string>& folds) {
  RunDescription::Table table{.title = name, .note = {}, .columns = {name}};
  for (const AcrossFolds& judged : all) {
    // A baseline with too little history in a fold has fewer values.
    if (judged.folds() != folds.size()) {
      table.note +=
          fmt::format("{}{}: too little history in a fold.", table.note.empty() ? "" : " ", judged.name);
      continue;
    }
    table.columns.push_back(judged.name);
    table.rows.resize(folds.size() + 1);
    const std::vector<double>& values = judged.values[measure];
    for (size_t k = 0; k < folds.size(); ++k) table.rows[k].push_back(figure(values[k]));
    table.rows.back().push_back(figure(mean_of(values)));
  }
  for (size_t k = 0; k <= folds.size(); ++k)
    table.rows[k].insert(table.rows[k].begin(), k < folds.size() ? folds[k] : "mean");
  return table;
}

// Means over folds, for methods with a score in each.
std::vector<ScoredRow> means_of(const std::vector<AcrossFolds>& all, size_t folds) {
  std::vector<ScoredRow> rows;
  for (const AcrossFolds& judged : all) {
    if (judged.folds() != folds) continue;
    rows.push_back({judged.name, {}, judged.knows_labels});
    for (const auto& values : judged.values) rows.back().values.push_back(mean_of(values));
  }
  return rows;
}

std::vector<SeriesSplit> folds_of(const Recipe& recipe, const Series& series, int folds, int64_t test_rows) {
  if (recipe.detects()) return contiguous_blocks(series.rows(), folds);
  require_input(test_rows == 0 || test_rows >= recipe.data.horizon,
                "backtest: --test-rows {} is less than the horizon, data.horizon = {}: no window would fit",
                test_rows, recipe.data.horizon);
  if (test_rows == 0) test_rows = std::max<int64_t>(recipe.data.horizon, series.rows() / 20);
  return rolling_origin(series.rows(), folds, test_rows, test_rows);
}

struct BacktestOptions {
  RunOptions run = {};
  std::string csv;
  int folds = 5;
  int64_t test_rows = 0;
  Machine machine = {};
  RecipeOptions options = recipe_options();
};

void declare(Command& command, BacktestOptions& asked) {
  command.describe(
      "Trains a recipe's model anew for each of several folds, and scores it on each fold's test beside the "
      "baselines. To forecast, the origin rolls: each fold tests the rows after those of the fold before, "
      "and trains on all rows before its validation rows. To detect, each fold tests one contiguous block, "
      "validates on the one before it, and trains on the others. Training windows cross no border of the "
      "two; scored windows look back into the rows before theirs. The recipe's own split is not used; "
      "nothing is written.");
  asked.options.add_with_recipe(command, {.seed = true});
  command.group(csv_option().heading);
  add_csv_option(command, asked.csv);
  asked.machine.add_to(command);
  command.group("Folds");
  command.option("folds", asked.folds, "N", "how many");
  command
      .option("test-rows", asked.test_rows, "N",
              "to forecast: rows that a fold tests, and as many that it validates on")
      .otherwise("a twentieth of the series, the horizon at least");
  command.group("Output");
  add_json_option(command, asked.run.json);
  command.example("backtest airline --folds 4 --test-rows 12", "the last four years, one after the other");
  command.example("backtest eeg --folds 10", "ten contiguous blocks");
}

void check(const Command& command, const Recipe& recipe) {
  require_input(
      !recipe.detects() || !command.given("test-rows"),
      "backtest: --test-rows is for forecasts; to detect (data.label), a fold tests one of --folds blocks");
  require_input(recipe.data.test_files.empty(),
                "backtest: the test of this recipe is files of their own (data.test_files)");
  require_input(
      recipe.training.on_divergence != OnDivergence::rollback,
      "backtest: training.on_divergence = \"rollback\" goes back to checkpoints, and the folds write "
      "none; \"skip\" or \"stop\" is possible");
  require_input(recipe.data.id.empty(),
                "backtest: data.id = {}: the folds are of one series; data.only reads one of several",
                toml_string(recipe.data.id));
  require_input(
      recipe.training.init_from.empty(),
      "backtest: training.init_from = {}: the model may have been trained on what a fold tests; each fold begins anew",
      toml_string(recipe.training.init_from));
}

}  // namespace

void backtest(Command& command) {
  BacktestOptions asked;
  declare(command, asked);
  if (!command.parse()) return;
  require_input(asked.folds >= 2 && asked.folds <= 1000, "backtest: --folds {} must be in [2, 1000]",
                asked.folds);
  require_input(asked.test_rows >= 0, "backtest: --test-rows {} is negative", asked.test_rows);
  const Recipe recipe = load_recipe(command.positional(), asked.options.overrides(command));
  asked.machine.set_up(command, recipe.training.precision);
  check(command, recipe);
  RunOptions& run = asked.run;
  run.program = command.program();
  run.data = asked.csv;

  const Console console = run.console();
  const Series series = load_series(recipe, asked.csv);
  const std::vector<SeriesSplit> splits = folds_of(recipe, series, asked.folds, asked.test_rows);
  const SeriesData first_fold(recipe, asked.csv, {.fold = splits.front()});
  print_notes(console, first_fold);
  std::vector<std::string> names;
  for (const SeriesSplit& split : splits)
    names.push_back(fmt::format("{} to {}", series.times.text(split.test.front().begin),
                                series.times.text(split.test.back().end - 1)));
  Comparison comparison;  // of means
  std::vector<AcrossFolds> judged;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (size_t k = 0; k < splits.size(); ++k) {
    SeriesTraining training(run, recipe, {.fold = splits[k]});
    const Evaluation fold = training.score_fold();
    comparison = comparison_of(fold);
    for (const ScoredRow& row : comparison.rows) add(judged, row);
    json.push_back({{"test", names[k]}, {"scores", json_of(fold)}});
    console.info("fold {}/{}: {}\n", k + 1, splits.size(), names[k]);
  }
  comparison.rows = means_of(judged, splits.size());
  for (const char* key : recipe.detects() ? std::vector{"accuracy", "balanced_accuracy"}
                                          : std::vector{summary_measure(first_fold.targets().size()).key}) {
    const auto measure = std::ranges::find(comparison.measures, std::string_view(key), &Measure::key);
    console.print("\n");
    console.print(
        table_of(measure->name, static_cast<size_t>(measure - comparison.measures.begin()), judged, names));
  }
  console.print("\nBy the means over all folds:\n");
  for (const std::string& line : verdicts(comparison)) console.print("{}\n", line);
  if (run.json) show("{}\n", json_text(json));
}

}  // namespace timeseries

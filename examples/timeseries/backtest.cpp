// timeseries backtest: how a recipe does when it is trained and scored anew on several parts of a series.
#include <algorithm>
#include <cmath>

#include "commands.h"
#include "examples/common/machine.h"
#include "examples/common/voice.h"
#include "options.h"
#include "session.h"
#include "training/json_text.h"

namespace timeseries {

namespace {

// What a fold is judged by, for the model and each rule.
struct Judged {
  std::string name;
  std::vector<double> values;  // by fold
};

void add(std::vector<Judged>& all, const std::string& name, double value) {
  const auto found = std::ranges::find(all, name, &Judged::name);
  (found == all.end() ? all.emplace_back(Judged{name, {}}) : *found).values.push_back(value);
}

// Of the folds in which it is defined.
double mean_of(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double value : values)
    if (std::isfinite(value)) sum += value, ++count;
  return sum / count;
}

std::string figure(double value) { return std::isnan(value) ? "" : fmt::format("{:.4f}", value); }

RunDescription::Table table_of(const std::string& measure, const std::vector<Judged>& all,
                               const std::vector<std::string>& folds) {
  RunDescription::Table table{.title = measure, .note = {}, .columns = {measure}};
  for (const Judged& judged : all) {
    // A rule for which a fold has too little history has fewer values.
    if (judged.values.size() != folds.size()) {
      table.note +=
          fmt::format("{}{}: too little history in a fold.", table.note.empty() ? "" : " ", judged.name);
      continue;
    }
    table.columns.push_back(judged.name);
    table.rows.resize(folds.size() + 1);
    for (size_t k = 0; k < folds.size(); ++k) table.rows[k].push_back(figure(judged.values[k]));
    table.rows.back().push_back(figure(mean_of(judged.values)));
  }
  for (size_t k = 0; k <= folds.size(); ++k)
    table.rows[k].insert(table.rows[k].begin(), k < folds.size() ? folds[k] : "mean");
  return table;
}

// A threshold is another in each fold.
std::string name_of_rule(const std::string& name) {
  return name.starts_with("rule ") ? "threshold rule" : name;
}

std::vector<SeriesSplit> folds_of(const Recipe& recipe, const Series& series, int folds, int64_t test_rows) {
  if (recipe.detects()) return contiguous_blocks(series.rows(), folds);
  require_input(test_rows == 0 || test_rows >= recipe.data.horizon,
                "backtest: --test-rows {} is less than the horizon, data.horizon = {}: no window would fit",
                test_rows, recipe.data.horizon);
  if (test_rows == 0) test_rows = std::max<int64_t>(recipe.data.horizon, series.rows() / 20);
  return rolling_origin(series.rows(), folds, test_rows, test_rows);
}

}  // namespace

void backtest(Command& command) {
  RunOptions run;
  std::string csv;
  int folds = 5;
  Machine machine;
  int64_t test_rows = 0;
  RecipeOptions options = recipe_options();
  command.describe(
      "Trains a recipe's model anew for each of several folds, and scores it on each fold's test beside the "
      "naive rules. To forecast, the origin rolls: each fold tests the rows after those of the fold before, "
      "and trains on all that precede its valid rows. To detect, each fold tests one contiguous block, "
      "validates on the one before it and trains on the others: training windows look across no border of "
      "the two, windows that are scored look back into the rows before theirs. The recipe's own split is not "
      "used; nothing is written.");
  options.add_with_recipe(command, {.seed = true});
  command.group(csv_option().heading);
  add_csv_option(command, csv);
  machine.add_to(command);
  command.group("Folds");
  command.option("folds", folds, "N", "how many");
  command
      .option("test-rows", test_rows, "N",
              "to forecast: rows that a fold tests, and as many that it validates on")
      .otherwise("a twentieth of the series, the horizon at least");
  command.group("Output");
  add_json_option(command, run.json);
  command.example("backtest airline --folds 4 --test-rows 12", "the last four years, one after the other");
  command.example("backtest eeg --folds 10", "ten contiguous blocks");
  if (!command.parse()) return;
  machine.use(command);
  require_input(folds >= 2 && folds <= 1000, "backtest: --folds {} must be in [2, 1000]", folds);
  require_input(test_rows >= 0, "backtest: --test-rows {} is negative", test_rows);
  Recipe recipe = load_recipe(command.positional(), options.overrides(command));
  require_input(
      !recipe.detects() || !command.given("test-rows"),
      "backtest: --test-rows is for forecasts; to detect (data.label), a fold tests one of --folds blocks");
  require_input(recipe.data.test_files.empty(),
                "backtest: the test of this recipe is files of their own (data.test_files)");
  require_input(
      recipe.training.on_divergence != OnDivergence::rollback,
      "backtest: training.on_divergence = \"rollback\" goes back to checkpoints, and the folds write "
      "none; \"skip\" or \"stop\" is possible");
  run.program = command.program();
  run.data = csv;

  const Voice voice = run.voice();
  const Series series = load_series(recipe, csv);
  std::vector<std::string> names;
  std::vector<Judged> first, second;  // RMSE, or scaled MSE of several channels; accuracy, balanced accuracy
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const std::vector<SeriesSplit> splits = folds_of(recipe, series, folds, test_rows);
  const SeriesData first_fold(recipe, csv, {.fold = splits.front()});
  tell_notes(voice, first_fold);
  const bool several = !recipe.detects() && first_fold.targets().size() > 1;
  for (const SeriesSplit& split : splits) {
    SeriesTraining training(run, recipe, {.fold = split});
    recipe.model.algorithm = training.recipe().model.algorithm;  // one for all folds
    const Evaluation evaluation = training.score_fold();
    names.push_back(fmt::format("{} to {}", series.times.text(split.test.front().begin),
                                series.times.text(split.test.back().end - 1)));
    voice.say("fold {}/{}: {}\n", names.size(), folds, names.back());
    for (const ForecastRow& row : evaluation.forecasts)
      add(first, row.name, several ? row.scores.overall().scaled_mse : row.scores.overall().rmse);
    for (const DetectionRow& row : evaluation.detections) {
      add(first, name_of_rule(row.name), row.scores.accuracy);
      add(second, name_of_rule(row.name), row.scores.balanced_accuracy);
    }
    json.push_back({{"test", names.back()}, {"scores", json_of(evaluation)}});
  }
  voice.tell("\n{}", table_text(table_of(recipe.detects() ? "accuracy"
                                         : several        ? "MSE scaled"
                                                          : "RMSE",
                                         first, names)));
  if (recipe.detects()) voice.tell("\n{}", table_text(table_of("balanced accuracy", second, names)));
  if (run.json) show("{}\n", json_text(json));
}

}  // namespace timeseries

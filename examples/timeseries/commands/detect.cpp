// timeseries detect: the probability that a trained detector gives each row of a series.
#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/model/saved_model.h"
#include "examples/timeseries/recipe/options.h"
#include "examples/timeseries/scores/scores.h"
#include "framework/one_line.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/run/machine.h"

namespace timeseries {

void detect(Command& command) {
  std::string csv, out;
  Machine machine;
  command.describe(
      "Gives each row of a series the probability that its label is 1, from the rows before it and itself. "
      "The file needs no labels; if it has them, the detector is scored. The first rows, which have no full "
      "window, are left out.");
  add_checkpoint(command);
  command.option("csv", csv, "FILE", "a CSV file with the channels that the model reads").otherwise("");
  command.option("out", out, "FILE", "writes the probabilities as CSV, in place of printing them");
  machine.add_to(command);
  command.example("detect runs/occupancy-1/best.safetensors --csv today.csv",
                  "a line for each row: time, probability");
  if (!command.parse()) return;
  machine.set_up(command);
  require_input(command.given("csv"), "detect: --csv names the series");
  require_new("detect", out);
  const SavedModel saved = read_saved_model(command.positional());
  const Recipe& recipe = saved.recipe;
  require_input(recipe.detects(), "{}: a model of forecasts; 'timeseries forecast' is the command for it",
                command.positional());
  const bool labelled = has_labels(saved, csv);
  const Series series = labelled ? load_series(saved, csv) : load_unlabelled(saved, csv);
  require_input(series.rows() >= recipe.data.window,
                "{}: it has {} row{}; the model of {} reads {} for each probability", csv, series.rows(),
                plural(series.rows()), command.positional(), recipe.data.window);
  SeriesWindows windows = make_windows(recipe, series, saved.facts.scaling, {{0, series.rows(), 0}}, csv);
  const auto model = saved.make_model(windows);
  const std::vector<double> probabilities = detect(recipe, *model, windows);
  std::string text = "time,probability\n";
  for (size_t k = 0; k < probabilities.size(); ++k)
    text += fmt::format("{},{}\n", series.times.text(windows.origins()[k]),
                        static_cast<float>(probabilities[k]));  // all digits of a float
  print_or_write(out, text);
  for (const std::string& note : series.notes) show(stderr, "note: {}\n", note);
  FarOutside far(saved.facts.trained, saved.facts.scaling);
  const auto& inputs = windows.options().inputs;
  far.look(series, 0, series.rows(), {inputs.begin(), inputs.end()});
  if (const auto warning = far.warning(series, FarOutside::inputs)) show(stderr, "warning: {}\n", *warning);
  if (!labelled) return;
  if (const auto warning = saved.facts.trained.warning_of(series, whole_series(series), csv))
    show(stderr, "warning: {}\n", *warning);
  const DetectionScores scores = score_detection(probabilities, window_labels(windows));
  if (const auto only = only_label(scores))
    return show(stderr, "{} rows with a label, all of them {}: accuracy {:.4f}\n", scores.count, *only,
                scores.accuracy);
  show(stderr, "{} rows with a label: accuracy {:.4f}, balanced {:.4f}, ROC-AUC {:.4f}\n", scores.count,
       scores.accuracy, scores.balanced_accuracy, scores.roc_auc);
}

}  // namespace timeseries

// timeseries: trains recurrent and linear models of series, to forecast and to detect.
#include <fmt/format.h>

#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/recipe/recipe.h"
#include "training/program/cli/program.h"
#include "training/program/run/run_commands.h"

namespace {

std::vector<unroll::Entry> recipe_keys() {
  timeseries::Recipe recipe;
  unroll::RecipeReader reader;
  timeseries::declare_keys(reader, recipe);
  return unroll::listed_keys(reader);
}

}  // namespace

int main(int argc, char** argv) {
  const unroll::Program program = {
      .name = "timeseries",
      .purpose = "trains recurrent models of time series",
      .description = fmt::format("Trains recurrent and linear models of time series in CSV files, to "
                                 "forecast values or to detect a state, and "
                                 "scores them beside baselines on the same windows. A recipe says "
                                 "everything about a run: series, windows, "
                                 "model, training; it is a TOML file or the name of a bundled one ({}). A "
                                 "run leaves a folder of its own, and "
                                 "a model's file in it, with a CSV, is enough to forecast.",
                                 fmt::join(unroll::bundled_recipes("timeseries"), ", ")),
      .commands =
          {{"train", "trains a model from a recipe and a series", timeseries::train, true},
           {"pretrain", "trains a forecaster of any series, on synthetic ones", timeseries::pretrain},
           {"resume", "goes on with a run that was interrupted, killed, or is to have more epochs",
            timeseries::resume, true},
           {"sweep", "trains a recipe with several values and seeds, and compares them", timeseries::sweep},
           {"evaluate", "scores a trained model, and the baselines beside it", timeseries::evaluate},
           {"forecast", "forecasts the rows after the last one", timeseries::forecast},
           {"detect", "gives each row of a series the probability of its label", timeseries::detect},
           {"anomalies", "finds rows of a series that a forecaster did not foresee", timeseries::anomalies},
           {"look", "makes a page that shows what a model does while it reads a window", timeseries::look},
           {"backtest", "trains and scores anew on several parts of a series", timeseries::backtest},
           {"baselines", "scores the baselines alone", timeseries::baselines},
           {"generate", "draws synthetic series, and their picture", timeseries::generate},
           {"report", "makes the report of a run again", unroll::report_command},
           {"explain", "windows, parameters and engine of a recipe's model", timeseries::explain},
           {"export", "writes a model in a form that runs without this program", timeseries::export_model}},
      .without_arguments = {"train", "airline"},
      .recipe_keys = recipe_keys};
  return unroll::run(program, argc, argv);
}

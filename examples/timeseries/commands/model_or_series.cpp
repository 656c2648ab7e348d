#include "examples/timeseries/commands/model_or_series.h"

#include <algorithm>
#include <filesystem>

#include "examples/timeseries/commands/commands.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/cli/pages.h"

namespace timeseries {

namespace {

namespace fs = std::filesystem;

// Works even if neither file exists yet.
bool same_file(const std::string& a, const std::string& b) {
  return fs::weakly_canonical(fs::absolute(a)) == fs::weakly_canonical(fs::absolute(b));
}

void require_forecast(const Command& command, bool is_forecast, const std::string& target) {
  require_input(is_forecast, "{}: --target {} is not forecast", command.name(), target);
}

}  // namespace

void ModelOrSeries::add_model(Command& command) {
  add_checkpoint(command);
  command.also_takes_series();
  add_csv_option(command, csv);
}

void ModelOrSeries::add_output(Command& command, const char* plot_says, const char* out_says) {
  command.option("target", target, "NAME", "the channel that is drawn").otherwise("the first one");
  command.option("plot", plot, "FILE", plot_says);
  command.option("out", out, "FILE", out_says);
  command.option("ascii", ascii, "draws it in the terminal");
  machine.add_to(command);
  file.add_to(command);
  options.add_to(command, {.seed = true});
}

void ModelOrSeries::check(const Command& command) {
  const std::string &name = command.name(), &word = command.positional();
  require_new(name, plot, "plot");
  require_new(name, out);
  require_input(plot.empty() || out.empty() || !same_file(plot, out),
                "{}: --plot {} and --out {} are one file; each needs its own", name, plot, out);
  require_input(target.empty() || !plot.empty() || ascii, "{}: --target is for a picture: --plot or --ascii",
                name);
  is_file = is_series_file(word);
  require_input(!is_file || csv.empty(),
                "{}: --csv {} beside {}: the series stands in the model's place already", name, csv, word);
  if (!is_file) refuse_of_file(command, {"set", "engine", "seed"});
}

void ModelOrSeries::refuse_of_file(const Command& command, std::initializer_list<const char*> names) const {
  file.refuse(command, "a model has its own recipe");
  for (const char* option : names)
    require_input(!command.given(option),
                  "{}: --{} is for a series without a recipe, FILE.csv; a model has its own", command.name(),
                  option);
}

Recipe ModelOrSeries::guess(const Command& command, const Wishes& wishes) const {
  Recipe recipe = recipe_for(command.positional(), wishes, {.out = stderr});
  const auto& targets = recipe.data.targets;
  require_forecast(command, target.empty() || targets.empty() || std::ranges::count(targets, target) > 0,
                   target);
  return recipe;
}

size_t ModelOrSeries::place_drawn(const Command& command, const Series& series,
                                  const std::vector<int>& channels) const {
  if (target.empty()) return 0;
  const auto found = std::ranges::find(channels, series.channel(target));
  require_forecast(command, found != channels.end(), target);
  return static_cast<size_t>(found - channels.begin());
}

void print_or_write(const std::string& out, const std::string& text) {
  if (out.empty())
    show_data(text);
  else
    write_new_file(out, text);
}

void ModelOrSeries::draw(const Chart& chart) const {
  if (!plot.empty()) write_new_file(plot, chart_file(chart));
  if (ascii) show("{}", chart_text(chart, page_columns(), 20));
}

}  // namespace timeseries

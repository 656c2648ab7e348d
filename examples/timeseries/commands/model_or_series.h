// Options and steps of commands that take a model, or a series in its place, and print, write and draw what they find.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "examples/timeseries/guess/from_file.h"
#include "examples/timeseries/recipe/options.h"
#include "training/program/run/machine.h"
#include "training/report/chart.h"

namespace timeseries {

struct ModelOrSeries {
  std::string csv, only, target, plot, out;  // --csv, --series, --target, --plot, --out
  bool ascii = false;
  bool is_file = false;  // a series stands in the model's place
  Machine machine = {};
  FileOptions file = {};
  RecipeOptions options = recipe_options();

  // Declares the word and --csv.
  void add_model(Command& command);
  // Declares --target and those below, with what --plot and --out say.
  void add_output(Command& command, const char* plot_says, const char* out_says);
  // Throws InputError if --column or one of these was given beside a model.
  void refuse_of_file(const Command& command, std::initializer_list<const char*> names) const;
  // Sets is_file. Throws InputError: a file that must not exist, a target without a picture, an option of the other kind.
  void check(const Command& command);

  // The recipe guessed for the series. Throws InputError like recipe_for, and if it does not forecast the target.
  Recipe guess(const Command& command, const Wishes& wishes) const;
  // The target's place among these channels. Throws InputError if it is none of them.
  size_t place_drawn(const Command& command, const Series& series, const std::vector<int>& channels) const;
  void draw(const Chart& chart) const;
};

}  // namespace timeseries

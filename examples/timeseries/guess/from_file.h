// A series without a recipe: one is guessed (guess.h), cut to a budget of time, and trained.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "examples/timeseries/ensemble/saved_model.h"
#include "examples/timeseries/guess/wishes.h"
#include "training/program/cli/command.h"
#include "training/program/run/session.h"

namespace timeseries {

// The options of a command that takes FILE.csv in place of a recipe or a model.
class FileOptions {
 public:
  void add_to(Command& command);
  // Throws InputError: what is no time, or a column that is named twice.
  Wishes wishes(const Command& command, int steps, double train, std::vector<Override> overrides) const;
  double seconds() const;  // of the budget
  // Throws InputError if one of these options was given beside a recipe or a model.
  void refuse(const Command& command, const char* what) const;

 private:
  std::vector<std::string> columns_;
  std::string budget_ = "60s";
};

// Whether a word is the file of a series: it ends in .csv or .tsv, packed in .csv.gz or .tsv.gz, or is "-", standard input.
bool is_series_file(const std::string& word);

// Guesses, says each guess, and cuts the ensemble to what by its sizes takes about so many seconds: no clock is looked at. Says
// what was cut.
GuessedRecipe recipe_for(const std::filesystem::path& csv, const Wishes& wishes, double seconds,
                         const Console& console);

// Folds, then training on all rows that the recipe has for it, in memory. Prints the table of the folds.
SavedModel train_on_file(const RunOptions& run, const Recipe& recipe, const std::filesystem::path& csv,
                         const Console& console);

}  // namespace timeseries

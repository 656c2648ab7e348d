// A series without a recipe: one is guessed (wishes.h), and a network trained.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "examples/timeseries/guess/wishes.h"
#include "examples/timeseries/model/saved_model.h"
#include "training/program/cli/command.h"
#include "training/program/run/session.h"

namespace timeseries {

// The options of a command that takes FILE.csv in place of a recipe or a model.
class FileOptions {
 public:
  void add_to(Command& command);
  // Throws InputError: a column that is named twice.
  Wishes wishes(const Command& command, int steps, std::vector<Override> overrides) const;
  // Throws InputError if one of these options was given beside a recipe or a model.
  void refuse(const Command& command, const char* what) const;

 private:
  std::vector<std::string> columns_;
};

// Whether a word is the file of a series: it ends in .csv or .tsv, packed in .csv.gz or .tsv.gz, or is "-", standard input.
bool is_series_file(const std::string& word);

// These keys, and all others as they are by default. Throws InputError: no key, or no value for it.
Recipe recipe_of(const std::vector<Override>& overrides);

// Throws InputError: a key that only a network would read. `more`: one that the command reads besides.
void require_read_without_network(const std::string& command, const std::vector<Override>& overrides,
                                  const std::string& more = {});

// The series of several that is asked for; "": none is, or the word names the one column that is read.
std::string series_asked(const Recipe& recipe, const std::string& word);

// guess_recipe, which prints each guess.
Recipe recipe_for(const std::filesystem::path& csv, const Wishes& wishes, const Console& console);

// Trains the recipe's network in memory.
SavedModel train_on_file(const RunOptions& run, const Recipe& recipe, const std::filesystem::path& csv,
                         const Console& console);

}  // namespace timeseries

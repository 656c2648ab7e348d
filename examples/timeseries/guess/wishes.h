// A user's wishes for a series without a recipe, and the guesses that were made.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "examples/timeseries/recipe/recipe.h"
#include "examples/timeseries/series/series.h"

namespace timeseries {

using namespace unroll;

// The user's own words.
struct Wishes {
  std::vector<std::string> columns = {};  // to forecast; none: every column of numbers
  std::string series = {};                // the one of several that is asked for
  int steps = 0;                          // 0: guessed
  double train = 1, valid = 0;            // shares of the rows; the rest are the test
  bool network = false;                   // one is to be trained; else the file is forecast by baselines
  std::vector<Override> overrides = {};   // which come before any guess
};

// Whether an override names the key.
bool says(const Wishes& wishes, const std::string& key);
// Whether one names the season.
bool tells_season(const Wishes& wishes);

struct Guess {
  std::string name, what;  // "season", "12 rows"
  std::string why;         // "a year of 12 rows: strength 0.82"
  std::string option;      // that says otherwise: "--set data.period=N"
};

struct GuessedRecipe {
  Recipe recipe;
  std::vector<Guess> guesses;
};

// How the file is read: its marks, its time, and which columns are forecast.
struct FileReading {
  std::vector<std::pair<std::string, std::string>> keys = {};  // of [data], as a recipe has them
  std::vector<Guess> guesses = {};
  std::vector<std::string> targets = {};
  int64_t columns = 0;                     // but those of times
  std::vector<std::string> left_out = {};  // of these, with why: "id (it never changes)"
};
// The one of tab, semicolon, bar and comma that most of the first lines have equally many of; of two such the first.
char separator_of(const std::string& text);
// `options` hold what is said of the file. Throws InputError: no column of numbers; numbers that may be read in two ways.
FileReading reading_of_file(const std::string& text, const std::string& origin, SeriesOptions options,
                            const Wishes& wishes);

// After that: `file` without the targets whose values keep to a longer step than the rows. No keys: there are none. Throws InputError if
// all do, or one that is asked for.
FileReading reading_of_steps(const Series& series, const FileReading& file, const Wishes& wishes);

// After that, by the series as it is read with Gaps::fill, Missing::mask and open_end, where nothing else is said: the keys that it
// needs of these.
FileReading reading_of_holes(const Series& series, const Wishes& wishes);

// A recipe for a series without one: how the file is read, its season, steps and baselines; and a network, if that is wished for.
// Throws InputError: the file cannot be read, a column is not there or holds no numbers, too few rows; where
// a key says how to read it, the message names the option.
GuessedRecipe guess_recipe(const std::filesystem::path& csv, const Wishes& wishes);

}  // namespace timeseries

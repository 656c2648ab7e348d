// How the file of a series without a recipe is read: its marks, its time, and which columns are forecast.
#pragma once

#include <string>
#include <vector>

#include "examples/timeseries/guess/wishes.h"
#include "examples/timeseries/series/series.h"

namespace timeseries {

struct FileReading {
  std::vector<std::pair<std::string, std::string>> keys = {};  // of [data], as a recipe has them
  std::vector<Guess> guesses = {};
  std::vector<std::string> targets = {};
};
// The one of comma, semicolon and tab that most of the first lines have; of two such, that the first one has most of.
char separator_of(const std::string& text);
// `options` hold what is said of the file. Throws InputError: no column of numbers; numbers that may be read in two ways.
FileReading reading_of_file(const std::string& text, const std::string& origin, SeriesOptions options,
                            const Wishes& wishes);

// After that, by the series as it is read with Gaps::fill, Missing::mask and open_end, where nothing else is said: the keys that it
// needs of these.
FileReading reading_of_holes(const Series& series, const Wishes& wishes);

}  // namespace timeseries

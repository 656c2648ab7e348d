// Reads the series of a recipe or a model from a file, with its calendar.
#pragma once

#include <filesystem>
#include <string>

#include "examples/timeseries/model/saved_model.h"
#include "examples/timeseries/recipe/recipe.h"
#include "examples/timeseries/series/series.h"

namespace timeseries {

// Reads a recipe's series with its calendar, from `csv`, or from data.file if that is empty. Adds `rows_beyond`
// rows at the end of each series, with known times and values 0. Throws InputError.
Series load_series(const Recipe& recipe, const std::filesystem::path& csv, int64_t rows_beyond = 0);
// A file with the known inputs of rows beyond a series' end. `steps` rows of it are needed; 0: it is not read.
struct FutureRows {
  std::filesystem::path file = {};
  int64_t steps = 0;
  std::string only = {};  // the series that needs them; empty: all
};
// As above for a saved model, reading only its columns. Throws InputError, naming both, if the file lacks one.
Series load_series(const SavedModel& saved, const std::filesystem::path& csv, int64_t rows_beyond = 0,
                   const FutureRows& future = {});
// The columns that a model reads of the rows to forecast (data.known).
std::vector<std::string> columns_of_future(const Recipe& recipe);
// The options to read a recipe's file, or a saved model's if there is one.
SeriesOptions series_options(const Recipe& recipe, const SavedModel* saved = nullptr);
// Whether a file has a column of the detector's labels.
bool has_labels(const SavedModel& saved, const std::filesystem::path& csv);
// Reads a detector's series from a file without labels; the labels are 0.
Series load_unlabelled(const SavedModel& saved, const std::filesystem::path& csv);
// The recipe of a model trained on `csv`: data.file is this path as given, or "" for a pipe or a name that is not
// UTF-8. If `csv` is empty the recipe's own stays.
Recipe trained_on_file(Recipe recipe, const std::filesystem::path& csv);
// The series for messages: "airline (bundled)", "data/ETTh1.csv".
std::string describe(const Recipe& recipe, const std::filesystem::path& csv);

// Whether `file` is a bundled series' name rather than a path.
bool is_name(const std::string& file);
Series with_calendar(const Recipe& recipe, Series series);

}  // namespace timeseries

// The series that a recipe or a model reads, out of a file, with its calendar.
#pragma once

#include <filesystem>
#include <string>

#include "examples/timeseries/ensemble/saved_model.h"
#include "examples/timeseries/recipe/recipe.h"
#include "examples/timeseries/series/series.h"

namespace timeseries {

// The series of a recipe with its calendar: from `csv`, or where that is empty from data.file. `rows_beyond`
// more rows stand at its end, or at that of each series in it, with values 0, only their times being known. Throws InputError.
Series load_series(const Recipe& recipe, const std::filesystem::path& csv, int64_t rows_beyond = 0);
// What is known of rows beyond a series' end: a file of them, of which so many are needed; 0: they are not looked at.
struct FutureRows {
  std::filesystem::path file = {};
  int64_t steps = 0;
  std::string only = {};  // the series that needs them; empty: each
};
// The same for a saved model: what it reads and predicts alone, whatever else the file has. Throws InputError,
// naming both, if the file lacks a column of it.
Series load_series(const SavedModel& saved, const std::filesystem::path& csv, int64_t rows_beyond = 0,
                   const FutureRows& future = {});
// The columns of the file of the rows to forecast that a model reads (data.known), without those of which each series has one
// word.
std::vector<std::string> columns_of_future(const Recipe& recipe, const ModelFacts& facts);
// The text of a file; of a pipe, which has it once, what it had.
std::string csv_text(const std::filesystem::path& csv);
// How a recipe reads its file; or a saved model's, if there is one.
SeriesOptions series_options(const Recipe& recipe, const SavedModel* saved = nullptr);
// Whether the header of a CSV file names a column.
bool has_column(const std::filesystem::path& csv, char separator, const std::string& name);
// A detector's series from a file that has no labels: they are 0.
Series load_unlabelled(const SavedModel& saved, const std::filesystem::path& csv);
// The recipe of a model that is trained on `csv`: data.file is this path as it was given; "": a pipe, or a name
// that is no UTF-8, which no recipe can hold. An empty `csv` leaves the
// recipe's own.
Recipe trained_on_file(Recipe recipe, const std::filesystem::path& csv);
// "airline (bundled)", "data/ETTh1.csv"
std::string describe(const Recipe& recipe, const std::filesystem::path& csv);

// The name of a bundled series, as opposed to a path.
bool is_name(const std::string& file);
Series load_csv(const std::filesystem::path& csv, const SeriesOptions& options);
bool has_trend(const Recipe& recipe);
// The trend counts from `trend_zero`; empty: from the first row.
Series with_calendar(const Recipe& recipe, Series series, const std::string& trend_zero = {});

}  // namespace timeseries

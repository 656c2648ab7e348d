// Reads a recipe's series, splits and scales it, and cuts it into windows.
#pragma once

#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "examples/timeseries/data/series_read.h"
#include "examples/timeseries/model/saved_model.h"
#include "examples/timeseries/recipe/recipe.h"
#include "examples/timeseries/series/series_windows.h"
#include "examples/timeseries/series/split.h"
#include "training/program/cli/console.h"

namespace timeseries {

// The windows of a part that a recipe cuts; all of them if `stride` is 1.
SeriesWindows make_windows(const Recipe& recipe, const Series& series, const Scaling& scaling,
                           const Part& part, const std::string& part_name, int stride = 1);

// All windows of a part; none if it has no window.
std::optional<SeriesWindows> windows_if_any(const Recipe& recipe, const Series& series,
                                            const Scaling& scaling, const Part& part);
// The recipe's split without the last `rows_beyond` rows of each series; none if they are too few for it.
std::optional<SeriesSplit> split_if_any(const Recipe& recipe, const Series& series, int64_t rows_beyond);

// A part to score: the test split, or one of the files in data.test_files.
struct TestPart {
  std::string name;  // "test", or the file's name
  SeriesWindows windows;
  Part rows = {};
};

// The purpose for which a series is read.
struct Purpose {
  const SavedModel* model = nullptr;     // its facts count; nullptr: they are measured here
  bool trains = true;                    // if false, rows that training needs may be missing
  std::optional<SeriesSplit> fold = {};  // replaces the recipe's split
};

struct SeriesData {
  // Throws InputError.
  SeriesData(const Recipe& recipe, const std::filesystem::path& csv, const Purpose& purpose = {});
  SeriesData(const SeriesData&) = delete;  // windows refer to the series
  SeriesData& operator=(const SeriesData&) = delete;

  const Series& series() const { return all.front(); }
  const std::vector<int>& targets() const { return train->options().targets; }

  std::vector<std::string> notes;     // not asked for: filled values, constant channels
  std::vector<std::string> warnings;  // about inflated scores, or an impossible model
  std::filesystem::path file;         // the file read; empty for a bundled series
  std::deque<Series> all;             // the series to train on, then the test files
  SeriesSplit split;
  ModelFacts facts;  // a saved model's own, else those of the model to be trained
  std::optional<SeriesWindows> train, valid;
  std::vector<TestPart> tests;
  std::vector<double> mase_scale;  // [series, targets]; empty for detectors
  // By series: the first row after those that may have trained; earlier rows count in no interval.
  std::vector<int64_t> first_untrained;

  // Says that the weights are now trained on these rows.
  void set_trained_on(const TrainedOn& trained);

 private:
  void note_targets_left_out();
  void note_short_series(const std::vector<int>& not_split);
};
// Warnings that rows of the part "valid" or "test" trained the model whose facts the data have. A shorter file than
// in training is split differently, and data.test_files may name rows that trained.
std::vector<std::string> warnings_of_training(const SeriesData& data, const std::string& split);
// Prints the notes and warnings, one a line.
void print_notes(const Console& console, const SeriesData& data);

}  // namespace timeseries

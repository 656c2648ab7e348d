// The series that a recipe asks for: read, split, scaled, and cut into windows.
#pragma once

#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "examples/timeseries/data/series_read.h"
#include "examples/timeseries/ensemble/saved_model.h"
#include "examples/timeseries/recipe/recipe.h"
#include "examples/timeseries/series/series_windows.h"
#include "examples/timeseries/series/split.h"
#include "training/program/cli/console.h"

namespace timeseries {

// The windows that a recipe cuts a part into, every one of them if `stride` is 1.
SeriesWindows make_windows(const Recipe& recipe, const Series& series, const Scaling& scaling,
                           const Part& part, const std::string& part_name, int stride = 1);

// The same, or none if the part has no window.
std::optional<SeriesWindows> windows_if_any(const Recipe& recipe, const Series& series,
                                            const Scaling& scaling, const Part& part);
// As the recipe says, without the last `rows_beyond` rows of each series; none if they are too few for it.
std::optional<SeriesSplit> split_if_any(const Recipe& recipe, const Series& series, int64_t rows_beyond);

// What is scored by itself: the test split, or one of the files of data.test_files.
struct TestPart {
  std::string name;  // "test", or the file's
  SeriesWindows windows;
};

// What a series is read for.
struct Purpose {
  const SavedModel* model = nullptr;        // whose facts count; nullptr: they are measured here
  bool trains = true;                       // else rows that training needs may be missing
  std::optional<SeriesSplit> fold = {};     // in place of the recipe's split
  const EnsembleFacts* ensemble = nullptr;  // that its folds have found, of a model that is to be trained
};

struct SeriesData {
  // Throws InputError.
  SeriesData(const Recipe& recipe, const std::filesystem::path& csv, const Purpose& purpose = {});
  SeriesData(const SeriesData&) = delete;  // windows refer to the series
  SeriesData& operator=(const SeriesData&) = delete;

  const Series& series() const { return all.front(); }
  const std::vector<int>& targets() const { return train->options().targets; }

  std::vector<std::string> notes;     // that nobody asked for: filled values, constant channels
  std::vector<std::string> warnings;  // of what makes scores better than they are, or a model impossible
  std::filesystem::path file;         // that was read, but for a bundled series
  std::deque<Series> all;             // the one to train on, then the test files
  SeriesSplit split;
  ModelFacts facts;  // of a saved model its own; else of the model that is to be trained
  std::optional<SeriesWindows> train, valid;
  std::vector<TestPart> tests;
  std::vector<double> mase_scale;  // [series, targets]; empty to detect
  // By series: rows before it may have trained, and are in no interval. Of rows by lot 0, if this is the lot that trained.
  std::vector<int64_t> first_untrained;

  // From here on the weights are those that were trained on these rows.
  void set_trained_on(const Recipe& recipe, const TrainedOn& trained);

 private:
  void note_targets_left_out();
  void note_categories();
  void note_short_series(const std::vector<int>& not_split);
};
// Warnings that rows of the part "valid" or "test" trained the model, whose facts the data have: in a file that is shorter
// than the one of training the split is another, and data.test_files may name rows that trained. Rows by lot have a warning
// of their own, and this one too if another lot trained.
std::vector<std::string> warnings_of_training(const Recipe& recipe, const SeriesData& data,
                                              const std::string& split);
// Says the notes and warnings, a line for each.
void print_notes(const Console& console, const SeriesData& data);

}  // namespace timeseries

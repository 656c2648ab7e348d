// A model in a file: weights under PyTorch's names, recipe and facts in the metadata. With a CSV it can forecast.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "examples/timeseries/model/series_model.h"
#include "examples/timeseries/networks/trained_on.h"
#include "examples/timeseries/series/scaling.h"
#include "training/files/safetensors.h"

namespace timeseries {

// Facts that belong to a model, whatever file of its series it reads later. Training measures them, and the model's
// file keeps them. Commands with a model take them from there, never from the file at hand.
struct ModelFacts {
  std::vector<std::string> channels = {};     // read and predicted, in this order; the calendar's come last
  Scaling scaling = {};                       // [series, channels]
  std::vector<std::string> members = {};      // names of several series in a file; empty: one series
  std::string time = {};                      // column of times; empty: none, or an earlier version
  DateOrder date_order = DateOrder::unknown;  // unknown: not needed, or an earlier version
  std::string step = {};                      // step between rows (step_code); empty: an earlier version
  TrainedOn trained = {};
};

// The scaling of a file's series: as in training if the model knows them, else by their rows of `part`, with a note.
Scaling scaling_for(const Series& series, const Part& part, const Recipe& recipe, const ModelFacts& facts,
                    std::vector<std::string>& notes);

Metadata model_metadata(const Recipe& recipe, const ModelFacts& facts, const SeriesModel& model);

struct SavedModel {
  std::filesystem::path path;
  Recipe recipe;
  ModelFacts facts;
  // Weights by name of a model that was just trained; nullptr: they are in the file.
  std::shared_ptr<const std::map<std::string, Tensor>> weights = nullptr;

  // The model of one of its series, as if that were the only one in the file. Throws InputError, with the nearest
  // name, if it was not trained on this series.
  SavedModel of_series(const std::string& name) const;
  // Its channels without the calendar's.
  std::vector<std::string> columns() const;
  // Makes the model with its weights. Throws InputError like load_state_dict.
  std::unique_ptr<SeriesModel> make_model(const SeriesWindows& windows) const;
};
// The model of the series that --series names. Throws InputError for a name if the model has only one series; and
// without a name if it has several, which the command does not support.
SavedModel one_series(const SavedModel& saved, const std::string& command, const std::string& name);

// Throws InputError: the file is missing, cut off, of another program, or inconsistent.
SavedModel read_saved_model(const std::filesystem::path& path);

// The model whose weights initialise a training of the recipe; none if the path is empty. Its facts come with its
// weights: the new run reads and scales its series by them. Throws InputError like read_saved_model, and if the two
// recipes differ in channels, scaling or loss.
std::optional<SavedModel> first_model(const std::filesystem::path& path, const Recipe& recipe);

}  // namespace timeseries

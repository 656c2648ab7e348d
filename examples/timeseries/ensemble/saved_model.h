// A model in a file: weights under the names that PyTorch would use; its recipe and its facts in the metadata, so that
// the file and a CSV are enough to forecast.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/timeseries/ensemble/ensemble.h"
#include "examples/timeseries/files/categories.h"
#include "examples/timeseries/networks/model.h"
#include "examples/timeseries/networks/trained_on.h"
#include "examples/timeseries/series/scaling.h"
#include "training/files/safetensors.h"

namespace timeseries {

// What belongs to a model, whatever file of its series it meets later. Training measures it; the model's file keeps it; and
// every command that has a model takes it from there, never from the file at hand.
struct ModelFacts {
  std::vector<std::string> channels =
      {};                // that it reads and predicts, in their order; the calendar's stand last
  Scaling scaling = {};  // [series, channels]
  std::vector<std::string> members = {};  // names of the series that share a file; empty: it is one
  std::string time = {};        // the column of its times; empty: it had none, or is of an earlier version
  std::string date_order = {};  // "dmy", "mdy"; empty: its times need none, or an earlier version
  std::string trend_zero =
      {};                 // the time from which its trend counts; empty: no trend, or an earlier version
  std::string step = {};  // from row to row (step_code); empty: an earlier version
  TrainedOn trained = {};
  std::vector<CategoryWords> categories = {};  // in the recipe's order
  EnsembleFacts ensemble = {};                 // empty: it is none
};

// "dmy", "mdy" or "", and back.
std::string code_of(DateOrder order);
DateOrder date_order_of(std::string_view code);

// Of the series of a file: those that the model knows are scaled as in training, others by their own rows of the part; a note
// names these.
Scaling scaling_for(const Series& series, const Part& part, const Recipe& recipe, const ModelFacts& facts,
                    std::vector<std::string>& notes);

// What a model's file says about it.
Metadata model_metadata(const Recipe& recipe, const ModelFacts& facts, const SeriesModel& model);
// PyTorch's modules that a model's weights are of: "lstm = nn.LSTM(3, 8, 1); head = nn.Linear(8, 6)", or "none: …" with the
// options that they lack.
std::string torch_modules(const Recipe& recipe, const ParameterSet& params);
// Writes the file whole or not at all. The biases become PyTorch's two (training/files/state_dict.h).
void save_model(const std::filesystem::path& path, const Recipe& recipe, const ModelFacts& facts,
                const SeriesModel& model);

struct SavedModel {
  std::filesystem::path path;
  Recipe recipe;
  ModelFacts facts;
  // By name, of a model that was trained just now; nullptr: they stand in the file.
  std::shared_ptr<const std::map<std::string, Tensor>> weights = nullptr;

  // The model of one of its series, as if it were the only one in the file. InputError, with the nearest name: it was not trained
  // on such a series.
  SavedModel of_series(const std::string& name) const;
  // Its channels but for the calendar's.
  std::vector<std::string> columns() const;
  // With the weights of the file. Throws InputError as load_state_dict.
  std::unique_ptr<SeriesModel> make_model(const SeriesWindows& windows) const;
};
// The model of the series that --series names. InputError: it is of one series, or, without a name, of several, which the command
// does not take.
SavedModel one_series(const SavedModel& saved, const std::string& command, const std::string& name);

// Throws InputError: no such file, cut off, of another program, or contradicting itself.
SavedModel read_saved_model(const std::filesystem::path& path);

// The model whose weights a training of the recipe begins with; none: the path is empty. Its facts go with its weights: the
// new run reads and scales its series by them. So its recipe is this one from here on. Throws InputError as read_saved_model,
// and where what the two recipes say of channels, scaling and loss differs.
std::optional<SavedModel> first_model(const std::filesystem::path& path, const Recipe& recipe);

}  // namespace timeseries

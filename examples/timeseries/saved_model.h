// A model in a file: weights under the names that PyTorch would use; recipe, channels and their scaling in
// the metadata, so that the file and a CSV are enough to forecast.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/scaling.h"
#include "model.h"
#include "training/safetensors.h"

namespace timeseries {

// What a model's file says about it.
Metadata model_metadata(const Recipe& recipe, const Series& series, const Scaling& scaling,
                        const SeriesModel& model);
// PyTorch's modules that a model's weights are of: "lstm = nn.LSTM(3, 8, 1); head = nn.Linear(8, 6)"
std::string torch_modules(const ParameterSet& params);
// Writes the file whole or not at all. The biases become PyTorch's two (training/state_dict.h).
void save_model(const std::filesystem::path& path, const Recipe& recipe, const Series& series,
                const Scaling& scaling, const SeriesModel& model);

struct SavedModel {
  std::filesystem::path path;
  Recipe recipe;
  std::vector<std::string> channels;  // of the series that it was trained on, with the calendar's
  Scaling scaling;
  std::string time = {};  // the column of its times; empty: it had none, or is of an earlier version
  // The time of the last row that trained, or its number where rows have no times. Empty: not known, as of models of
  // earlier versions and imported ones.
  std::string trained_to = {};

  // The first row of a series that is after that. None: not known, or one has dates and the other none.
  std::optional<int64_t> first_after_training(const Series& series) const;
  // Those without the calendar's.
  std::vector<std::string> columns() const;
  // With the weights of the file. Throws InputError as load_state_dict.
  std::unique_ptr<SeriesModel> make_model(const SeriesWindows& windows) const;
};
// Throws InputError: no such file, cut off, of another program, or contradicting itself.
SavedModel read_saved_model(const std::filesystem::path& path);

}  // namespace timeseries

// A saved model without a file of its series: what exports it needs to know which columns it reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "examples/timeseries/model/saved_model.h"

namespace timeseries {

struct BlankModel {
  // Throws InputError, which begins with `form`, for several series of which each has a transform of its own.
  BlankModel(const SavedModel& saved, const std::string& form);
  std::vector<std::string> names(const std::vector<int>& channels) const;

  Series series;                     // of the model's channels, without values
  std::vector<int> inputs, targets;  // their channels
  std::unique_ptr<SeriesModel> model;
};

}  // namespace timeseries

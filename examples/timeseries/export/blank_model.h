// A saved model without a file of its series: what exports it needs to know which columns it reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "examples/timeseries/model/saved_model.h"
#include "examples/timeseries/series/bounds.h"

namespace timeseries {

struct BlankModel {
  // Throws InputError, which begins with `form`, for several series of which each has a transform of its own.
  BlankModel(const SavedModel& saved, const std::string& form);
  std::vector<std::string> names(const std::vector<int>& channels) const;
  // "sales not below 0, share from 0 to 100"; "": no target has one
  std::string bounds_text() const;

  Series series;                     // of the model's channels, without values
  std::vector<int> inputs, targets;  // their channels
  // By target: the bounds that are asked for, or 0 where no value that trained lies beyond it. A detector has none.
  std::vector<Bound> bounds;
  std::unique_ptr<SeriesModel> model;
};

}  // namespace timeseries

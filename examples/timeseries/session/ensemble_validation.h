// An ensemble without folds: the rows that validate weigh its networks.
#pragma once

#include "examples/timeseries/ensemble/ensemble.h"
#include "training/report/run_description.h"
#include "training/shared_score.h"

namespace timeseries {

// The mean squared error of the weighted mean of the networks' forecasts of all windows, in double, in parts of one batch. The
// weights come from the networks' errors on the same windows, of each target by itself (ensemble.weights of the recipe). Whoever asks
// for the score has them in `facts` then, with the errors. All must outlive it. Throws Interrupted after a signal.
SharedScore weighed_loss(const Recipe& recipe, const SeriesModel& model, SeriesWindows& windows,
                         EnsembleFacts& facts);

// Members, their weights and errors on the folds.
RunDescription::Table table_of_folds(const EnsembleFacts& facts, const Recipe& recipe);
// Members, their weights and errors on the validation split.
RunDescription::Table table_of_validation(const EnsembleFacts& facts);

}  // namespace timeseries

// How a model is validated. The rows that validate also weigh the networks of an ensemble without folds.
#pragma once

#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/ensemble/ensemble.h"
#include "training/report/run_description.h"
#include "training/trainer.h"

namespace timeseries {

// Gives a training its score: the mean loss; or the mean squared error of the weighted mean of the networks' forecasts, and then each
// network keeps the weights of its own best epoch. All must outlive the task.
void add_validation(TrainingTask& task, const Recipe& recipe, const SeriesModel& model, SeriesData& data);
// Weighs the networks by the weights that are kept. Throws Interrupted after a signal.
void finish_validation(const Recipe& recipe, const SeriesModel& model, SeriesData& data);
// Goes into a checkpoint with the score.
Metadata validation_metadata(const ModelFacts& facts);
// Weights and errors of an ensemble; none: it is none, or nothing weighs.
std::optional<RunDescription::Table> validation_table(const Recipe& recipe, const SeriesData& data);

// Members, their weights and errors on the folds.
RunDescription::Table table_of_folds(const EnsembleFacts& facts, const Recipe& recipe);

}  // namespace timeseries

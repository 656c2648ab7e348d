// The rolling folds of an ensemble: each trains all members on the first rows that train, and has them forecast those after.
#pragma once

#include <filesystem>
#include <optional>

#include "examples/timeseries/ensemble/ensemble.h"
#include "examples/timeseries/series/split.h"
#include "training/program/cli/console.h"
#include "training/program/run/session.h"

namespace timeseries {

// Rows that a fold of the recipe forecasts, of so many that train.
int64_t rows_of_fold(const Recipe& recipe, int64_t train_rows);

// Weights of all members by their errors on the folds, and the errors of the ensemble there: each fold is forecast with the
// weights that the others give. The folds lie among the rows that the recipe trains on, or those of `fold`, of a backtest. Says
// on the console which rows each fold forecasts. Throws InputError: too few rows for the folds, or several processes;
// Interrupted after a signal.
EnsembleFacts run_folds(const RunOptions& run, const Recipe& recipe, const std::filesystem::path& csv,
                        const Console& console, const std::optional<SeriesSplit>& fold = {});

}  // namespace timeseries

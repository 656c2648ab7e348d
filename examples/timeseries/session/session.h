// A time-series model in training: the model, its series, and what a session (training/program/run/session.h)
// needs of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/model/series_model.h"
#include "examples/timeseries/scores/scores.h"
#include "training/program/run/session.h"

namespace timeseries {

class SeriesTraining {
 public:
  // Reads the series, for a fold of a backtest or to go on with a model: the purpose's, or that of options.init_from. Throws
  // InputError.
  SeriesTraining(RunOptions options, const Recipe& recipe, const Purpose& purpose = {});
  SeriesTraining(const SeriesTraining&) = delete;  // the session refers to it
  SeriesTraining& operator=(const SeriesTraining&) = delete;

  void run() { options_.dry_run ? session_.dry_run() : session_.run(); }
  // Trains a fold without a word and scores its test. The result must not outlive this.
  Evaluation score_fold();
  // Trains without a word, and writes nothing. The references below must not outlive this.
  void fit() { session_.fit(); }
  const SeriesModel& model() const { return model_; }
  SeriesData& data() { return data_; }

 private:
  std::vector<RunDescription::Figure> facts() const;
  RunDescription description() const;
  TrainingTask task();
  Metadata metadata() const;
  DataDifferences differences(const Metadata& then) const;
  TrainingRun training_run();
  std::vector<std::string> next_words() const;
  std::function<std::vector<std::string>()> look_words() const;
  void score_a_little();
  void report(std::optional<double> valid, RunDescription& description);
  void print_json(const RunResult& run) const;

  const RunOptions options_;
  const Recipe recipe_;
  const Console console_;
  const std::optional<SavedModel> first_;  // of options.init_from
  SeriesData data_;
  SeriesModel model_;
  std::optional<double> valid_;
  nlohmann::ordered_json scores_ = nlohmann::ordered_json::object();  // by part, what `report` found
  Session session_;
};

}  // namespace timeseries

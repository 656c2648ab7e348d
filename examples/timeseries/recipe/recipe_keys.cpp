#include <algorithm>

#include <fmt/ranges.h>

#include "examples/timeseries/recipe/recipe.h"
#include "framework/check.h"

namespace timeseries {

namespace {

using enum OnResume;

// As the reader's own, and with what a change means for a run that goes on; a declaration begins with its key.
template <class T>
RecipeKey& key(RecipeReader& reader, const char* name, T& field, OnResume change,
               const std::string& meaning) {
  RecipeKey& declared = reader.key(name, field, meaning);
  declared.on_resume = change;
  return declared;
}
template <class E>
RecipeKey& choice(RecipeReader& reader, const char* name, E& field, OnResume change,
                  std::vector<std::pair<std::string, E>> words, const std::string& meaning) {
  RecipeKey& declared = reader.choice(name, field, std::move(words), meaning);
  declared.on_resume = change;
  return declared;
}
// A number of rows.
template <class T>
RecipeKey& rows_key(RecipeReader& reader, const char* name, T& rows, OnResume change,
                    const std::string& meaning, double least, double most = 1e6) {
  return key(reader, name, rows, change, meaning).at_least(least).at_most(most).unit("rows");
}

constexpr const char* gone_word = "is gone; the last version that knows it is commit c1369e57";

// Keys of earlier versions.
void declare_gone(RecipeReader& reader) {
  reader.gone(
      "ensemble", "members",
      "is no key any more: 'timeseries forecast FILE.csv' has a mean of a few forecasters; the last version "
      "that trains and reads ensembles is commit 16a6a2ee");
  const auto gone = [&](const char* section, const char* key, const char* why, const char* nothing = "") {
    reader.gone(section, key,
                fmt::format("is no key any more: {}; the last version that has it is commit c1369e57", why),
                nothing);
  };
  reader.gone(
      "data", "holidays",
      "is no key any more: a column of 0 and 1 says which days are off, and data.known reads it ahead; the last "
      "version that reads a file of dates is commit 2b9f02c6");
  gone("model", "moving_average", "it was of the architecture dlinear", "25");
  gone("data", "drop_last_pairs", "it was of a tutorial's faults");
  gone("scaling", "fit", "the rows that train are measured, since others would leak", "train");
  gone("data", "autoregression", "it was a baseline, and no forecast of a model", "*");
  gone("data", "categories", "columns are numbers: one of 0 and 1 for each word");
  gone("data", "resample", "rows of one time, or of no rule, are put together before they come here");
  gone("data", "together", "it was of data.resample", "mean");
}

void declare_model(RecipeReader& reader, Recipe& r) {
  const char *zeng = "Zeng et al. 2023", *kim = "Kim et al. 2022";
  const auto of = [](const char* key, const char* meaning) { return networks_reading(key) + ": " + meaning; };
  reader.section("model", "The network: from a window of rows to a forecast, or to a probability.");
  std::vector<std::pair<std::string, const NetworkRow*>> networks;
  std::vector<std::string> meanings;
  for (const NetworkRow& row : series_networks) {
    networks.emplace_back(row.word, &row);
    meanings.push_back(fmt::format("{}: {}", row.word, row.meaning));
  }
  choice(reader, "architecture", r.model.architecture, fixed, std::move(networks),
         fmt::format("{}", fmt::join(meanings, "; ")))
      .gone("encoder-decoder", gone_word)
      .gone("dlinear", gone_word)
      .source(zeng);
  declare_cell_key(reader, r.model.cell);
  // Bounds as in ptb's recipes: they stop a damaged file before it allocates anything.
  key(reader, "hidden", r.model.hidden, fixed, "width of every recurrent layer").at_least(1).at_most(100'000);
  key(reader, "layers", r.model.layers, fixed, "recurrent layers").at_least(1).at_most(100);
  key(reader, "dropout", r.model.dropout, may_change,
      "probability that an element is dropped: between layers, and of what the dense layer reads")
      .at_least(0)
      .below(1);
  key(reader, "shared_channels", r.model.shared_channels, fixed,
      "one set of weights for all targets: each is a row of the batch, and sees itself and the calendar only");
  choice(reader, "normalization", r.model.normalization, fixed,
         {{"none", Normalization::none}, {"last", Normalization::last}, {"window", Normalization::window}},
         "of each channel in each window, undone at the output of a forecast: last subtracts its last value; "
         "window its mean, and divides by its standard deviation")
      .source(fmt::format("{}; {}", zeng, kim));
  rows_key(reader, "segment", r.model.segment, fixed,
           of("segment", "rows that one step of the recurrent layers reads"), 1)
      .source("Lin et al. 2023");
  rows_key(
      reader, "highway", r.model.highway, fixed,
      of("highway",
         "so many last values are added to the output as weighted sums: to forecast, of each target's own, "
         "with the same weights for all; to detect, of all channels'; 0: none"),
      0)
      .source("Lai et al. 2018");
  declare_recurrent_keys(reader, r.model);
}

void declare_data(RecipeReader& reader, Recipe& r) {
  auto& d = r.data;
  // The rows that train and validate may change later. The columns read, the targets and their units may not. Files
  // and how to read them are not fixed: only their rows count.
  reader.section("data", "The series, what of it is read and predicted, and which rows train.");
  key(reader, "file", d.file, harmless,
      "a CSV file with a header, or the name of a bundled series; --csv goes before it");
  key(reader, "test_files", d.test_files, harmless,
      "CSV files that are the test split, each scored by itself; looked for beside the first")
      .cuts_windows();
  key(reader, "time", d.time, harmless,
      "the column of times; \"\": the first column, if it holds dates, or the only one that does");
  choice(reader, "date_order", d.date_order, harmless,
         {{"auto", DateOrder::unknown}, {"dmy", DateOrder::day_first}, {"mdy", DateOrder::month_first}},
         "of dates whose year comes last: dmy reads 31/03/2017, mdy 03/31/2017; auto finds it from the "
         "column, or asks for it");
  key(reader, "only", d.only, fixed,
      "of a file of several series: the rows of one of them, as in \"symbol=AAPL\"; \"\": all rows");
  key(reader, "id", d.id, fixed,
      "of a file of several series: the column that names the series of each row; one model is trained on "
      "all; \"\": one series");
  key(reader, "channels", d.channels, fixed, "the columns that are read; none named: all but time and label");
  key(reader, "targets", d.targets, fixed, "the channels that are forecast; none named: all");
  key(reader, "calendar", d.calendar, fixed, "what is read of the time besides, as sines and cosines")
      .one_of({"minute", "hour", "weekday", "day", "day_of_year", "month"})
      .gone("trend", gone_word);
  key(reader, "known", d.known, fixed,
      "columns that are known of the rows to forecast, too, as prices and plans are: they are read there, "
      "and forecast takes them from --future; \"calendar\": what is read of the time");
  key(reader, "label", d.label, fixed,
      "a column of 0 and 1 that is to be detected; \"\": the task is to forecast");
  key(reader, "separator", d.separator, harmless, "between the cells of a row").one_of({",", ";", "\t", "|"});
  key(reader, "decimal", d.decimal, harmless, "before the decimals of a number").one_of({".", ","});
  key(reader, "thousands", d.thousands, harmless,
      "between groups of three digits of a number; \"\": neither point nor comma")
      .one_of({"", ".", ","});
  key(reader, "mend", d.mend, harmless,
      "a file is read as programs export it: in other encodings, with lines above the names and below the rows, units, totals, a time in "
      "several columns, a table by year and month; notes say what was mended");
  choice(
      reader, "missing", d.missing, harmless,
      {{"error", Missing::error},
       {"previous", Missing::previous},
       {"mask", Missing::mask},
       {"interpolate", Missing::interpolate},
       {"zero", Missing::zero}},
      "a cell without a value: an error; the value before it; that, and a further input for each column that "
      "says where it had none; the line between its neighbours, which looks ahead; 0, as if it stood there");
  choice(
      reader, "gaps", d.gaps, harmless,
      {{"error", Gaps::error}, {"allow", Gaps::allow}, {"fill", Gaps::fill}},
      "times that are not a step apart: an error; taken as if evenly spaced; rows that are missing are put "
      "in, without values, if gaps are few (any number if missing = \"zero\")");
  key(reader, "open_end", d.open_end, harmless,
      "rows at the end without a value of any target are to be forecast, and no part of the series");
  rows_key(reader, "window", d.window, fixed, "rows that are read", 1);
  rows_key(reader, "horizon", d.horizon, fixed, "rows that are forecast", 1);
  key(reader, "stride", d.stride, may_change,
      "rows from a window to the next in training; every window is scored")
      .at_least(1)
      .unit("rows")
      .cuts_windows();
  key(reader, "batch", d.batch, may_change,
      "windows that are computed side by side; a step of training, without accumulate")
      .at_least(1)
      .at_most(1'000'000)
      .cuts_windows();
  key(reader, "eval_batch", d.eval_batch, rescores, "windows that are scored side by side")
      .at_least(1)
      .at_most(1'000'000);
  choice(reader, "split", d.split, may_change,
         {{"fraction", SplitKind::fraction}, {"rows", SplitKind::rows}, {"time", SplitKind::time}},
         "by train and valid; by train_rows, valid_rows, test_rows; by valid_from and test_from")
      .gone("shuffled", gone_word)
      .cuts_windows();
  key(reader, "train", d.train, may_change, "fraction: share of the rows that train, the first ones")
      .above(0)
      .at_most(1)
      .cuts_windows();
  key(reader, "valid", d.valid, may_change,
      "fraction: share of those after them that validate, beside test_files all; the rest are the test")
      .at_least(0)
      .below(1);
  constexpr double most_rows = 1e9;
  rows_key(reader, "train_rows", d.train_rows, may_change,
           "rows: that train, the first ones; 0: all that valid_rows and test_rows leave", 0, most_rows)
      .cuts_windows();
  rows_key(reader, "valid_rows", d.valid_rows, may_change, "rows: after them, that validate", 0, most_rows);
  rows_key(reader, "test_rows", d.test_rows, may_change,
           "rows: after those, that are the test; 0: to the end", 0, most_rows);
  key(reader, "valid_from", d.valid_from, may_change, "time: first one that validates, as in \"2016-09-01\"")
      .cuts_windows();
  key(reader, "test_from", d.test_from, may_change, "time: first one of the test");
  rows_key(reader, "period", d.period, harmless, "rows of a season: for the seasonal baselines, and for MASE",
           1);
  rows_key(
      reader, "second_period", d.second_period, harmless,
      "rows of a second season, for the seasonal baselines: the week of hours whose period is a day; 0: none",
      0);
  for (const ForecastBaselineRow& row : forecast_baselines)
    if (row.key) reader.key(std::string(row.word), d.*row.key, row.meaning).source(row.source).harmless();
  key(reader, "bounds", d.bounds, harmless,
      "least and most of a forecast and its interval, as in [0.0, 100.0]; none named: 0, where no value of "
      "the series lies beyond it");
  choice(reader, "score", d.score, harmless, {{"test", Scored::test}, {"valid", Scored::valid}},
         "the split that a run is scored on at its end: valid, while a recipe is being chosen, so that "
         "nobody sees the test before");
}

}  // namespace

void declare_keys(RecipeReader& reader, Recipe& r) {
  declare_model(reader, r);
  declare_data(reader, r);
  declare_gone(reader);
  reader.section("scaling", "Of each channel by itself; errors are given in scaled and in original units.");
  choice(reader, "kind", r.scaling.kind, fixed,
         {{"none", ScalingKind::none}, {"standard", ScalingKind::standard}, {"minmax", ScalingKind::minmax}},
         "to mean 0 and standard deviation 1; to 0 … 1");
  choice(reader, "transform", r.scaling.transform, fixed,
         {{"none", Transform::none}, {"log", Transform::log}},
         "before that, of values above 0: the logarithm")
      .gone("box-cox", gone_word);
  // An epoch takes the windows in an order drawn from the seed.
  declare_training_keys(reader, r.training, r.schedule, [] { return true; });
  choice(reader, "loss", r.training.loss, fixed, {{"mse", Loss::mse}, {"quantile", Loss::quantile}},
         "of a forecast: mean squared error; mean quantile loss, which gives an interval too")
      .source("Koenker and Bassett 1978");
  key(reader, "quantiles", r.training.quantiles, fixed,
      "quantile: those that are forecast, ascending, 0.5 among them")
      .above(0)
      .below(1);
  key(reader, "pos_weight", r.training.pos_weight, rescores, "factor of the loss where the label is 1")
      .above(0);
  declare_optimizer_keys(reader, r.optimizer);
  declare_schedule_keys(reader, r.schedule);
}

int Recipe::middle_output() const {
  if (!has_quantiles()) return 0;
  return static_cast<int>(std::ranges::find(training.quantiles, 0.5) - training.quantiles.begin());
}

bool Recipe::validates() const {
  if (!data.test_files.empty()) return data.train < 1;
  if (data.split == SplitKind::time) return data.valid_from != data.test_from;
  return data.split == SplitKind::rows ? data.valid_rows > 0 : data.valid > 0;
}

}  // namespace timeseries

#include "recipe.h"

#include <algorithm>
#include <cmath>

#include "data/series/resample.h"
#include "ensemble_keys.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "training/recipe/recipe_form.h"

namespace timeseries {

namespace {

void declare_model(RecipeReader& reader, Recipe& r) {
  const char *zeng = "Zeng et al. 2023", *kim = "Kim et al. 2022";
  reader.section("model", "The network: from a window of rows to a forecast, or to a probability.");
  reader
      .choice(
          "architecture", r.model.architecture,
          {{"direct", Architecture::direct},
           {"encoder-decoder", Architecture::encoder_decoder},
           {"segment-rnn", Architecture::segment_rnn},
           {"linear", Architecture::linear},
           {"dlinear", Architecture::dlinear}},
          "direct: recurrent layers over the window, and a dense layer from their last step to the whole "
          "horizon; encoder-decoder: further layers go on from their state a step at a time, reading what "
          "was forecast for the step before; segment-rnn: each target alone, in segments; the same layers take one step "
          "for each segment of the horizon, all from the last state, reading which segment and target it is (Lin et al. "
          "2023); linear: the horizon as weighted sums of the window, with "
          "normalization \"last\" NLinear; dlinear: the same of its moving average and of the rest")
      .source(zeng)
      .fixed();
  declare_cell_key(reader, r.model.cell);
  // Bounds as in ptb's recipes: what a damaged file asks for is refused before it is made.
  reader.key("hidden", r.model.hidden, "width of every recurrent layer").at_least(1).at_most(100'000).fixed();
  reader.key("layers", r.model.layers, "recurrent layers").at_least(1).at_most(100).fixed();
  reader
      .key("dropout", r.model.dropout,
           "probability that an element is dropped: between layers, and of what the dense layer reads")
      .at_least(0)
      .below(1)
      .may_change();
  reader
      .key("shared_channels", r.model.shared_channels,
           "one set of weights for all targets: each is a row of the batch, and sees itself and the "
           "calendar only")
      .fixed();
  reader
      .choice(
          "normalization", r.model.normalization,
          {{"none", Normalization::none}, {"last", Normalization::last}, {"window", Normalization::window}},
          "of each channel in each window, undone at the output of a forecast: last subtracts its last value; "
          "window its mean, and divides by its standard deviation")
      .source(fmt::format("{}; {}", zeng, kim))
      .fixed();
  reader
      .key("segment", r.model.segment,
           "direct, segment-rnn: rows that one step of the recurrent layers reads")
      .at_least(1)
      .at_most(1'000'000)
      .unit("rows")
      .source("Lin et al. 2023")
      .fixed();
  reader
      .key("highway", r.model.highway,
           "direct: so many last values are added to the output as weighted sums: to forecast, of each "
           "target's own, with the same weights for all; to detect, of all channels'; 0: none")
      .at_least(0)
      .at_most(1'000'000)
      .unit("rows")
      .source("Lai et al. 2018")
      .fixed();
  reader.key("moving_average", r.model.moving_average, "dlinear: rows that are averaged")
      .at_least(1)
      .at_most(100'000)
      .unit("rows")
      .source(zeng)
      .fixed();
  declare_recurrent_keys(reader, r.model);
}

void declare_data(RecipeReader& reader, Recipe& r) {
  auto& d = r.data;
  // Which rows train and validate may change; what a model reads and predicts, and in which units, may not. Of the files, and
  // of how they are read, their rows count.
  reader.section("data", "The series, what of it is read and predicted, and which rows train.");
  reader
      .key("file", d.file, "a CSV file with a header, or the name of a bundled series; --csv goes before it")
      .harmless();
  reader
      .key("test_files", d.test_files,
           "CSV files that are the test split, each scored by itself; looked for beside the first")
      .harmless()
      .cuts_windows();
  reader
      .key("time", d.time,
           "the column of times; \"\": the first column, if it holds dates, or the only one that does")
      .harmless();
  reader
      .choice("date_order", d.date_order,
              {{"auto", DateOrder::unknown}, {"dmy", DateOrder::day_first}, {"mdy", DateOrder::month_first}},
              "of dates whose year comes last: dmy reads 31/03/2017, mdy 03/31/2017; auto finds it from the "
              "column, or asks for it")
      .harmless();
  reader
      .key("only", d.only,
           "of a file of several series: the rows of one of them, as in \"symbol=AAPL\"; \"\": all rows")
      .fixed();
  reader.key("channels", d.channels, "the columns that are read; none named: all but time and label").fixed();
  reader.key("targets", d.targets, "the channels that are forecast; none named: all").fixed();
  reader
      .key("calendar", d.calendar,
           "what is read of the time besides, as sines and cosines; trend: years since the first row of the "
           "file that it was trained on")
      .one_of({"minute", "hour", "weekday", "day", "day_of_year", "month", "trend"})
      .fixed();
  reader.key("label", d.label, "a column of 0 and 1 that is to be detected; \"\": the task is to forecast")
      .fixed();
  reader.key("separator", d.separator, "between the cells of a row").one_of({",", ";", "\t"}).harmless();
  reader.key("decimal", d.decimal, "before the decimals of a number").one_of({".", ","}).harmless();
  reader
      .choice(
          "missing", d.missing,
          {{"error", Missing::error}, {"previous", Missing::previous}, {"interpolate", Missing::interpolate}},
          "a cell without a value: an error; the value before it; the line between its neighbours, which looks "
          "ahead")
      .harmless();
  reader
      .choice("gaps", d.gaps, {{"error", Gaps::error}, {"allow", Gaps::allow}},
              "times that are not a step apart: an error; taken as if evenly spaced")
      .harmless();
  reader
      .key(
          "resample", d.resample,
          "rows, in any order of time, are put together by steps of so long: 15min, 1h, 1d, 1w, 1month, 1quarter, "
          "1year; \"\": they stay as they are")
      .fixed();
  reader
      .choice("together", d.together,
              {{"mean", Together::mean},
               {"sum", Together::sum},
               {"first", Together::first},
               {"last", Together::last},
               {"least", Together::least},
               {"most", Together::most}},
              "resample: what several rows of a step become")
      .fixed();
  reader.key("window", d.window, "rows that are read").at_least(1).at_most(1'000'000).unit("rows").fixed();
  reader.key("horizon", d.horizon, "rows that are forecast")
      .at_least(1)
      .at_most(1'000'000)
      .unit("rows")
      .fixed();
  reader.key("stride", d.stride, "rows from a window to the next in training; every window is scored")
      .at_least(1)
      .unit("rows")
      .may_change()
      .cuts_windows();
  reader
      .key("batch", d.batch, "windows that are computed side by side; a step of training, without accumulate")
      .at_least(1)
      .at_most(1'000'000)
      .may_change()
      .cuts_windows();
  reader.key("eval_batch", d.eval_batch, "windows that are scored side by side")
      .at_least(1)
      .at_most(1'000'000)
      .rescores();
  reader
      .choice(
          "split", d.split,
          {{"fraction", SplitKind::fraction},
           {"rows", SplitKind::rows},
           {"time", SplitKind::time},
           {"shuffled", SplitKind::shuffled}},
          "by train and valid; by train_rows, valid_rows, test_rows; by valid_from and test_from; each row by "
          "lot, which leaks: to show what that does")
      .may_change()
      .cuts_windows();
  reader.key("train", d.train, "fraction, shuffled: share of the rows that train, the first ones")
      .above(0)
      .at_most(1)
      .may_change()
      .cuts_windows();
  reader
      .key("valid", d.valid,
           "fraction, shuffled: share of those after them that validate, beside test_files all; the rest are "
           "the test")
      .at_least(0)
      .below(1)
      .may_change();
  constexpr double most_rows = 1e9;
  reader.key("train_rows", d.train_rows, "rows: that train, the first ones")
      .at_least(0)
      .at_most(most_rows)
      .unit("rows")
      .may_change()
      .cuts_windows();
  reader.key("valid_rows", d.valid_rows, "rows: after them, that validate")
      .at_least(0)
      .at_most(most_rows)
      .unit("rows")
      .may_change();
  reader.key("test_rows", d.test_rows, "rows: after those, that are the test; 0: to the end")
      .at_least(0)
      .at_most(most_rows)
      .unit("rows")
      .may_change();
  reader.key("valid_from", d.valid_from, "time: first one that validates, as in \"2016-09-01\"")
      .may_change()
      .cuts_windows();
  reader.key("test_from", d.test_from, "time: first one of the test").may_change();
  reader
      .key("drop_last_pairs", d.drop_last_pairs,
           "leaves so many pairs of window and target out at the end of each part, and lets no window look "
           "back across a border, as a tutorial does; a test without them is no full test")
      .at_least(0)
      .may_change()
      .cuts_windows();
  reader.key("period", d.period, "rows of a season: for the seasonal baselines, and for MASE")
      .at_least(1)
      .at_most(1'000'000)
      .unit("rows")
      .harmless();
  reader
      .key(
          "second_period", d.second_period,
          "rows of a second season, for the seasonal baselines: the week of hours whose period is a day; 0: none")
      .at_least(0)
      .at_most(1'000'000)
      .unit("rows")
      .harmless();
  reader.key("autoregression", d.autoregression, "order of the autoregression among the baselines; 0: none")
      .at_least(0)
      .at_most(1000)
      .harmless();
  reader
      .key("ets", d.ets,
           "exponential smoothing among the baselines, its form by AICc: fitted to the rows that train, and "
           "carried on")
      .source("Hyndman et al. 2008")
      .harmless();
  reader
      .key(
          "ridge", d.ridge,
          "a ridge regression of the window among the baselines, one for each step, and waves of each period")
      .source("Hoerl and Kennard 1970")
      .harmless();
  reader.key("theta", d.theta, "the Theta method among the baselines: fitted and carried on likewise")
      .source("Assimakopoulos and Nikolopoulos 2000")
      .harmless();
  reader
      .key(
          "bounds", d.bounds,
          "least and most that an interval of a forecast reaches, as in [0.0, 100.0]; none named: 0, where the rows that "
          "train lie on one side of it")
      .harmless();
  reader
      .choice("score", d.score, {{"test", Scored::test}, {"valid", Scored::valid}},
              "the split that a run is scored on at its end: valid, while a recipe is being chosen, so that "
              "nobody sees the test before")
      .harmless();
}

}  // namespace

void declare_keys(RecipeReader& reader, Recipe& r) {
  declare_model(reader, r);
  declare_data(reader, r);
  declare_ensemble_keys(reader, r);
  reader.section("scaling", "Of each channel by itself; errors are given in scaled and in original units.");
  reader
      .choice(
          "kind", r.scaling.kind,
          {{"none", ScalingKind::none}, {"standard", ScalingKind::standard}, {"minmax", ScalingKind::minmax}},
          "to mean 0 and standard deviation 1; to 0 … 1")
      .fixed();
  reader
      .choice(
          "transform", r.scaling.transform,
          {{"none", Transform::none}, {"log", Transform::log}, {"box-cox", Transform::box_cox}},
          "before that, of values above 0: the logarithm; or a power between it and the values as they are, by "
          "which the spread of a season depends least on its level")
      .source("Box and Cox 1964; Guerrero 1993")
      .fixed();
  reader
      .choice(
          "fit", r.scaling.fit, {{"train", ScalingFit::train}, {"all", ScalingFit::all}},
          "measured on the training rows; on all rows, a leak of the test into training, as a tutorial does")
      .fixed();
  // An epoch takes the windows in an order that the seed draws.
  declare_training_keys(reader, r.training, r.schedule, [] { return true; });
  reader
      .choice("loss", r.training.loss, {{"mse", Loss::mse}, {"quantile", Loss::quantile}},
              "of a forecast: mean squared error; mean quantile loss, which gives an interval too")
      .source("Koenker and Bassett 1978")
      .fixed();
  reader
      .key("quantiles", r.training.quantiles, "quantile: those that are forecast, ascending, 0.5 among them")
      .above(0)
      .below(1)
      .fixed();
  reader.key("pos_weight", r.training.pos_weight, "factor of the loss where the label is 1")
      .above(0)
      .rescores();
  declare_optimizer_keys(reader, r.optimizer);
  declare_schedule_keys(reader, r.schedule);
}

namespace {

// What does not train of the first file validates. A run of a version that passed over other values of data.valid can
// still go on, and its model be scored.
void check_shares_beside_test_files(const RecipeReader& reader, const Recipe& r) {
  const auto& d = r.data;
  const bool said = !reader.spelled_out() || reader.overridden("data.train") ||
                    reader.overridden("data.valid") || reader.overridden("data.test_files");
  if (!d.test_files.empty() && said && std::abs(d.train + d.valid - 1) > 1e-9)
    reader.refuse("data.valid",
                  fmt::format("must be 1 - data.train ({:.10g}), not {:.10g}: the test is files of its own "
                              "(data.test_files)",
                              1 - d.train, d.valid));
}

// Rules between keys.
void check(const RecipeReader& reader, const Recipe& r) {
  const bool linear =
      r.model.architecture == Architecture::linear || r.model.architecture == Architecture::dlinear;
  if (r.detects()) {
    if (r.model.architecture != Architecture::direct)
      reader.refuse("model.architecture", "must be \"direct\" to detect a label");
    if (r.model.shared_channels)
      reader.refuse("model.shared_channels", "is for forecasts; there is a label (data.label)");
    if (!r.data.targets.empty())
      reader.refuse("data.targets", "are for forecasts; there is a label (data.label)");
  } else if (!r.data.test_files.empty()) {
    reader.refuse("data.test_files",
                  "are for detection (data.label); a forecast's test rows follow its training rows");
  }
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (r.detects() && has(r.data.channels, r.data.label))
    reader.refuse(
        "data.channels",
        fmt::format("has '{}' in it, the label that is to be detected (data.label)", one_line(r.data.label)));
  const auto refuse_repeated = [&](const char* key, const std::vector<std::string>& names) {
    for (auto name = names.begin(); name != names.end(); ++name)
      if (has({names.begin(), name}, *name))
        reader.refuse(key, fmt::format("has '{}' in it twice", one_line(*name)));
  };
  refuse_repeated("data.targets", r.data.targets);
  refuse_repeated("data.test_files", r.data.test_files);
  if (!r.data.resample.empty() && !parse_resample(r.data.resample))
    reader.refuse("data.resample", "= " + why_no_step(r.data.resample));
  if (!r.data.resample.empty() && r.detects())
    reader.refuse("data.resample", "is for forecasts: labels cannot be put together (data.label)");
  const auto& bounds = r.data.bounds;
  if (!bounds.empty() && (bounds.size() != 2 || !(bounds[0] < bounds[1])))
    reader.refuse("data.bounds", "must be two numbers that ascend, or none");
  if (r.data.second_period > 0 && r.data.second_period <= r.data.period)
    reader.refuse("data.second_period", fmt::format("= {} must be more than data.period = {}",
                                                    r.data.second_period, r.data.period));
  if (r.data.split == SplitKind::shuffled && r.horizon() > 1)
    reader.refuse("data.horizon",
                  fmt::format("must be 1, not {}, with data.split = \"shuffled\": its parts are single rows",
                              r.horizon()));
  const bool direct = r.model.architecture == Architecture::direct;
  const bool segments = r.model.architecture == Architecture::segment_rnn;
  if (r.model.segment > 1 && !direct && !segments)
    reader.refuse("model.segment", "is for the architectures \"direct\" and \"segment-rnn\"");
  if (segments && r.data.horizon % r.model.segment != 0)
    reader.refuse("model.segment", fmt::format("= {} does not divide the horizon's {} rows (data.horizon)",
                                               r.model.segment, r.data.horizon));
  if (segments && r.model.hidden % 2 != 0)
    reader.refuse("model.hidden", "must be even: half of it says which segment, half which target");
  if (r.data.window % r.model.segment != 0)
    reader.refuse("model.segment", fmt::format("= {} does not divide the window's {} rows (data.window)",
                                               r.model.segment, r.data.window));
  if (r.model.highway > 0 && !direct) reader.refuse("model.highway", "is for the architecture \"direct\"");
  if (r.model.highway > r.data.window)
    reader.refuse("model.highway",
                  fmt::format("reads more than the window's {} rows (data.window)", r.data.window));
  if (linear && !r.data.calendar.empty())
    reader.refuse("data.calendar", "is not read by a linear architecture");
  const auto& q = r.training.quantiles;
  if (r.has_quantiles() &&
      (!std::ranges::is_sorted(q, std::less_equal{}) || std::ranges::find(q, 0.5) == q.end()))
    reader.refuse("training.quantiles", "must ascend, and 0.5 must be among them");
  if (!r.data.test_files.empty() && r.data.split != SplitKind::fraction)
    reader.refuse("data.test_files", "need data.split = \"fraction\": train and valid share the first file");
  check_shares_beside_test_files(reader, r);
  if (r.data.split == SplitKind::rows && r.data.train_rows == 0)
    reader.refuse("data.split", "= \"rows\" needs data.train_rows");
  if (r.data.split == SplitKind::time && (r.data.valid_from.empty() || r.data.test_from.empty()))
    reader.refuse("data.split", "= \"time\" needs data.valid_from and data.test_from");
  if (r.data.drop_last_pairs > 0 && (r.data.window != 1 || r.data.horizon != 1 || r.detects()))
    reader.refuse("data.drop_last_pairs",
                  "is for forecasts of one row from one (data.window = 1, data.horizon = 1)");
  if (!r.validates()) {
    if (r.training.patience > 0) reader.refuse("training.patience", "needs rows that validate");
    if (r.data.score == Scored::valid) reader.refuse("data.score", "= \"valid\" needs rows that validate");
    if (r.schedule.kind == ScheduleKind::plateau)
      reader.refuse("schedule.kind", "= \"plateau\" needs rows that validate");
    if (r.optimizer.kind == OptimizerKind::asgd && r.optimizer.average_from == 0)
      reader.refuse("optimizer.average_from",
                    "= 0 waits for valid scores; without rows that validate, name an epoch");
  }
  if (!linear) check_recurrent_keys(reader, r.model.cell, layers_of(r, 1));
  check_training_keys(reader, r.sections());
  check_ensemble(reader, r);
}

UnreadKeys unread_keys(const Recipe& r) {
  UnreadKeys unread = unread_training_keys(r.sections());
  const auto& m = r.model;
  const bool any = r.is_ensemble();  // some network may read it
  const bool segments = m.architecture == Architecture::segment_rnn;
  const bool recurrent = any || segments || m.architecture == Architecture::direct ||
                         m.architecture == Architecture::encoder_decoder;
  const char* of_recurrent = "model.architecture = \"direct\", \"encoder-decoder\" or \"segment-rnn\"";
  unread.add_unless(recurrent, of_recurrent,
                    {"model.cell", "model.hidden", "model.layers", "model.dropout", "model.shared_channels"});
  if (recurrent)
    unread.add_unless(any || !segments, "model.architecture = \"direct\" or \"encoder-decoder\"",
                      {"model.shared_channels"});
  add_unread_recurrent_keys(unread, m, recurrent, of_recurrent);
  if (recurrent)
    unread.add_unless(any || m.cell == CellKind::lstm, "model.cell = \"lstm\"", {"model.forget_bias"});
  unread.add_unless(any || m.architecture == Architecture::dlinear, "model.architecture = \"dlinear\"",
                    {"model.moving_average"});
  const SplitKind split = r.data.split;
  unread.add_unless(split == SplitKind::fraction || split == SplitKind::shuffled,
                    "data.split = \"fraction\" or \"shuffled\"", {"data.train", "data.valid"});
  unread.add_unless(split == SplitKind::rows, "data.split = \"rows\"",
                    {"data.train_rows", "data.valid_rows", "data.test_rows"});
  unread.add_unless(split == SplitKind::time, "data.split = \"time\"", {"data.valid_from", "data.test_from"});
  const char* of_forecasts = "forecasts, and there is a label (data.label)";
  unread.add_unless(!r.detects(), of_forecasts,
                    {"data.horizon", "data.period", "data.second_period", "data.autoregression", "data.ets",
                     "data.theta", "data.ridge", "data.bounds", "training.loss", "training.quantiles"});
  if (!r.detects())
    unread.add_unless(r.training.loss == Loss::quantile, "training.loss = \"quantile\"",
                      {"training.quantiles"});
  unread.add_unless(!r.data.resample.empty(), "data.resample", {"data.together"});
  unread.add_unless(r.is_ensemble(), "ensemble.members",
                    {"ensemble.folds", "ensemble.fold_rows", "ensemble.weights"});
  unread.add_unless(r.detects(), "detection (data.label)", {"training.pos_weight"});
  unread.add_unless(r.scaling.kind != ScalingKind::none || r.scaling.transform == Transform::box_cox,
                    "scaling.kind = \"standard\" or \"minmax\"", {"scaling.fit"});
  return unread;
}

}  // namespace

RecurrentConfig layers_of(const Recipe& recipe, int input) {
  RecurrentConfig layers = recipe.model;
  layers.input = input;
  if (recipe.model.cell != CellKind::lstm) layers.forget_bias = 0;  // the default is an LSTM's
  return layers;
}

int Recipe::middle_output() const {
  if (!has_quantiles()) return 0;
  return static_cast<int>(std::ranges::find(training.quantiles, 0.5) - training.quantiles.begin());
}

bool Recipe::validates() const {
  if (!data.test_files.empty()) return data.train < 1;
  switch (data.split) {
    case SplitKind::fraction:
    case SplitKind::shuffled:
      return data.valid > 0;
    case SplitKind::rows:
      return data.valid_rows > 0;
    case SplitKind::time:
      break;
  }
  return data.valid_from != data.test_from;
}

static constexpr RecipeForm<Recipe> form{declare_keys, check, unread_keys};

Recipe load_recipe(const RecipeFile& file, const std::vector<Override>& overrides) {
  return form.load(file, overrides);
}

Recipe load_recipe(std::string_view name_or_path, const std::vector<Override>& overrides) {
  return form.load(find_recipe(name_or_path, "timeseries"), overrides);
}

std::string resolved(const Recipe& recipe) { return form.resolved(recipe); }

std::vector<DifferingKey> differing_keys(const Recipe& before, const Recipe& after) {
  return form.differing_keys(before, after);
}

}  // namespace timeseries

#include "examples/timeseries/recipe/recipe_rules.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "examples/timeseries/files/resample.h"
#include "examples/timeseries/recipe/ensemble_keys.h"
#include "examples/timeseries/series/holidays.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace timeseries {

namespace {

// Rows of the first file that do not train validate. A run of an older version, which ignored other values of
// data.valid, can still go on, and its model be scored.
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

void check_missing(const RecipeReader& reader, const Recipe& r) {
  const auto& d = r.data;
  if (d.decimal == d.thousands)
    reader.refuse("data.thousands", fmt::format("= {0}: data.decimal = {0} too", toml_string(d.thousands)));
  if (d.open_end && d.targets.empty())
    reader.refuse("data.open_end", "= true needs to know which channels are to be forecast (data.targets)");
  if (d.missing != Missing::error) return;
  if (d.gaps == Gaps::fill)
    reader.refuse("data.gaps",
                  "= \"fill\" puts rows without values in: data.missing says how to fill them in");
  if (d.open_end) reader.refuse("data.open_end", "= true reads cells without a value: data.missing says how");
}

void check_known(const RecipeReader& reader, const Recipe& r) {
  const auto& d = r.data;
  const auto& countries = holiday_countries();
  if (!d.holidays.empty() && d.holidays.find_first_of("./") == std::string::npos &&
      std::ranges::find(countries, d.holidays) == countries.end())
    reader.refuse("data.holidays",
                  fmt::format("= {}: there is no such country{}; there are {}, or a file of dates",
                              toml_string(d.holidays), did_you_mean(nearest(d.holidays, countries)),
                              fmt::join(countries, ", ")));
  if (d.known.empty()) return;
  if (r.detects()) reader.refuse("data.known", "is for forecasts; there is a label (data.label)");
  if (r.model.architecture == Architecture::segment_rnn)
    reader.refuse("data.known", "is not read by model.architecture = \"segment-rnn\"");
  for (const std::string& name : d.known) {
    if (std::ranges::find(d.targets, name) != d.targets.end())
      reader.refuse("data.known",
                    fmt::format("has '{}' in it, which is to be forecast (data.targets)", one_line(name)));
    if (name == known_calendar && d.calendar.empty() && d.holidays.empty())
      reader.refuse("data.known",
                    "has \"calendar\" in it, and nothing is read of it (data.calendar, data.holidays)");
  }
}

void check_categories(const RecipeReader& reader, const Recipe& r) {
  const auto& d = r.data;
  if (d.categories.empty()) return;
  const bool linear =
      r.model.architecture == Architecture::linear || r.model.architecture == Architecture::dlinear;
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  for (const std::string& name : d.categories) {
    for (const auto& [key, names] : {std::pair{"data.channels", &d.channels}, {"data.targets", &d.targets}})
      if (has(*names, name))
        reader.refuse(key,
                      fmt::format("has '{}' in it, a column of words (data.categories)", one_line(name)));
    if (r.detects() && name == d.label)
      reader.refuse(
          "data.categories",
          fmt::format("has '{}' in it, the label that is to be detected (data.label)", one_line(name)));
    if (name == known_calendar)
      reader.refuse("data.categories",
                    "has \"calendar\" in it, which stands for what is read of the time (data.known)");
    if (linear && !r.is_ensemble() && !has(d.known, name))
      reader.refuse(
          "data.categories",
          fmt::format("has '{}' in it, which is not read by a linear architecture, but of the rows to "
                      "forecast: data.known = [{}]",
                      one_line(name), toml_string(name)));
  }
  if (r.is_ensemble())
    reader.refuse("ensemble.members",
                  "do not read words (data.categories): name a network (model.architecture)");
  if (!d.resample.empty())
    reader.refuse("data.resample", "puts rows together, which words cannot be (data.categories)");
}

// Refuses keys that work only with a single series.
void check_series(const RecipeReader& reader, const Recipe& r) {
  if (r.data.id.empty()) return;
  const auto refuse_if = [&](bool wrong, const char* key, const char* message) {
    if (wrong) reader.refuse(key, message);
  };
  refuse_if(r.detects(), "data.id", "is for forecasts; there is a label (data.label)");
  refuse_if(!r.data.only.empty(), "data.only", "reads one series, and data.id reads all");
  refuse_if(r.is_ensemble(), "ensemble.members",
            "are of one series, and data.id reads several: name a network");
  refuse_if(!r.data.resample.empty(), "data.resample",
            "puts rows of one series together, and data.id reads several");
  refuse_if(r.data.split == SplitKind::shuffled, "data.split", "= \"shuffled\" is for one series (data.id)");
  refuse_if(r.data.drop_last_pairs > 0, "data.drop_last_pairs", "is for one series (data.id)");
}

}  // namespace

void check_rules(const RecipeReader& reader, const Recipe& r) {
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
  refuse_repeated("data.known", r.data.known);
  refuse_repeated("data.categories", r.data.categories);
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
  check_missing(reader, r);
  check_known(reader, r);
  check_categories(reader, r);
  for (const auto& [key, read] :
       {std::pair{"data.calendar", !r.data.calendar.empty()}, {"data.holidays", !r.data.holidays.empty()}})
    if (linear && read && !has(r.data.known, known_calendar))
      reader.refuse(
          key,
          "is not read by a linear architecture, but of the rows to forecast: data.known = [\"calendar\"]");
  const auto& q = r.training.quantiles;
  if (r.has_quantiles() &&
      (!std::ranges::is_sorted(q, std::less_equal{}) || std::ranges::find(q, 0.5) == q.end()))
    reader.refuse("training.quantiles", "must ascend, and 0.5 must be among them");
  if (!r.data.test_files.empty() && r.data.split != SplitKind::fraction)
    reader.refuse("data.test_files", "need data.split = \"fraction\": train and valid share the first file");
  check_shares_beside_test_files(reader, r);
  if (r.data.split == SplitKind::rows && r.data.train_rows == 0 && r.data.test_rows == 0)
    reader.refuse("data.split", "= \"rows\" needs data.train_rows or data.test_rows");
  check_series(reader, r);
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
  const bool any = r.is_ensemble();  // some network may read the key
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
                    {"data.horizon", "data.period", "data.second_period", "data.autoregression",
                     "data.bounds", "training.loss", "training.quantiles"});
  for (const ForecastBaselineRow& row : forecast_baselines)
    if (row.key) unread.add_unless(!r.detects(), of_forecasts, {fmt::format("data.{}", row.word).c_str()});
  if (!r.detects())
    unread.add_unless(r.training.loss == Loss::quantile, "training.loss = \"quantile\"",
                      {"training.quantiles"});
  unread.add_unless(!r.data.resample.empty(), "data.resample", {"data.together"});
  unread.add_unless(r.is_ensemble(), "ensemble.members",
                    {"ensemble.folds", "ensemble.fold_rows", "ensemble.weights", "ensemble.pooled"});
  unread.add_unless(r.detects(), "detection (data.label)", {"training.pos_weight"});
  unread.add_unless(r.scaling.kind != ScalingKind::none || r.scaling.transform == Transform::box_cox,
                    "scaling.kind = \"standard\" or \"minmax\"", {"scaling.fit"});
  return unread;
}

}  // namespace timeseries

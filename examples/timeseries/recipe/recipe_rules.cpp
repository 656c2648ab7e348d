#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "examples/timeseries/recipe/recipe.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace timeseries {

namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Rows of the first file that do not train validate. A run of an older version, which ignored other values of
// data.valid, can still go on, and its model be scored.
void check_shares_beside_test_files(const RecipeReader& reader, const Recipe& r) {
  const auto& d = r.data;
  const bool said = !reader.spelled_out() || reader.overridden("data.train") ||
                    reader.overridden("data.valid") || reader.overridden("data.test_files");
  reader.refuse_if(
      !d.test_files.empty() && said && std::abs(d.train + d.valid - 1) > 1e-9, "data.valid",
      "must be 1 - data.train ({:.10g}), not {:.10g}: the test is files of its own (data.test_files)",
      1 - d.train, d.valid);
}

void check_missing(const RecipeReader& reader, const Recipe& r) {
  const auto& d = r.data;
  reader.refuse_if(d.decimal == d.thousands, "data.thousands", "= {0}: data.decimal = {0} too",
                   toml_string(d.thousands));
  reader.refuse_if(d.open_end && d.targets.empty(), "data.open_end",
                   "= true needs to know which channels are to be forecast (data.targets)");
  if (d.missing != Missing::error) return;
  reader.refuse_if(
      d.gaps == Gaps::fill, "data.gaps",
      "= \"fill\" puts rows without values in: data.missing says how to fill them in (previous, mask, interpolate, zero)");
  reader.refuse_if(d.open_end, "data.open_end", "= true reads cells without a value: data.missing says how");
}

void check_known(const RecipeReader& reader, const Recipe& r) {
  const auto& d = r.data;
  if (d.known.empty()) return;
  reader.refuse_if(!r.model.architecture->reads("known"), "data.known",
                   "is not read by model.architecture = \"{}\"", r.model.architecture->word);
  for (const std::string& name : d.known) {
    reader.refuse_if(has(d.targets, name), "data.known",
                     "has '{}' in it, which is to be forecast (data.targets)", one_line(name));
    reader.refuse_if(name == known_calendar && d.calendar.empty(), "data.known",
                     "has \"calendar\" in it, and nothing is read of it (data.calendar)");
  }
}

}  // namespace

void check_rules(const RecipeReader& reader, const Recipe& r) {
  const NetworkRow& network = *r.model.architecture;
  if (r.detects()) {
    reader.refuse_if(!network.reads("label"), "model.architecture", "must be {} to detect a label",
                     networks_reading("label", " or "));
    for (const auto& [key, is_set] : {std::pair{"model.shared_channels", r.model.shared_channels},
                                      {"data.targets", !r.data.targets.empty()},
                                      {"data.known", !r.data.known.empty()},
                                      {"data.id", !r.data.id.empty()}})
      reader.refuse_if(is_set, key, "is for forecasts; there is a label (data.label)");
  } else if (!r.data.test_files.empty()) {
    reader.refuse("data.test_files",
                  "are for detection (data.label); a forecast's test rows follow its training rows");
  }
  reader.refuse_if(r.detects() && has(r.data.channels, r.data.label), "data.channels",
                   "has '{}' in it, the label that is to be detected (data.label)", one_line(r.data.label));
  const auto refuse_repeated = [&](const char* key, const std::vector<std::string>& names) {
    for (auto name = names.begin(); name != names.end(); ++name)
      reader.refuse_if(has({names.begin(), name}, *name), key, "has '{}' in it twice", one_line(*name));
  };
  refuse_repeated("data.targets", r.data.targets);
  refuse_repeated("data.known", r.data.known);
  refuse_repeated("data.test_files", r.data.test_files);
  const auto& bounds = r.data.bounds;
  reader.refuse_if(!bounds.empty() && (bounds.size() != 2 || !(bounds[0] < bounds[1])), "data.bounds",
                   "must be two numbers that ascend, or none");
  reader.refuse_if(r.data.second_period > 0 && r.data.second_period <= r.data.period, "data.second_period",
                   "= {} must be more than data.period{}", r.data.second_period,
                   r.data.period > 1 ? fmt::format(" = {}", r.data.period) : "");
  const auto refuse_unless_read = [&](bool is_set, const char* key) {
    reader.refuse_if(
        is_set && !network.reads(key), fmt::format("model.{}", key), "is for the architecture{} {}",
        networks_reading(key).find(',') == std::string::npos ? "" : "s", networks_reading(key, " and "));
  };
  refuse_unless_read(r.model.segment > 1, "segment");
  if (network.fault_in)
    if (const auto [key, text] = network.fault_in(r.model, r.data.horizon); key) reader.refuse(key, text);
  reader.refuse_if(r.data.window % r.model.segment != 0, "model.segment",
                   "= {} does not divide the window's {} rows (data.window)", r.model.segment, r.data.window);
  refuse_unless_read(r.model.highway > 0, "highway");
  reader.refuse_if(r.model.highway > r.data.window, "model.highway",
                   "reads more than the window's {} rows (data.window)", r.data.window);
  check_missing(reader, r);
  check_known(reader, r);
  reader.refuse_if(
      !network.is_recurrent() && !r.data.calendar.empty() && !has(r.data.known, known_calendar),
      "data.calendar",
      "is not read by a linear architecture, but of the rows to forecast: data.known = [\"calendar\"]");
  const auto& q = r.training.quantiles;
  reader.refuse_if(r.has_quantiles() && (!std::ranges::is_sorted(q, std::less_equal{}) ||
                                         std::ranges::find(q, 0.5) == q.end()),
                   "training.quantiles", "must ascend, and 0.5 must be among them");
  reader.refuse_if(!r.data.test_files.empty() && r.data.split != SplitKind::fraction, "data.test_files",
                   "need data.split = \"fraction\": train and valid share the first file");
  check_shares_beside_test_files(reader, r);
  reader.refuse_if(r.data.split == SplitKind::rows && r.data.train_rows == 0 && r.data.test_rows == 0,
                   "data.split", "= \"rows\" needs data.train_rows or data.test_rows");
  reader.refuse_if(!r.data.id.empty() && !r.data.only.empty(), "data.only",
                   "reads one series, and data.id reads all");
  reader.refuse_if(r.data.split == SplitKind::time && (r.data.valid_from.empty() || r.data.test_from.empty()),
                   "data.split", "= \"time\" needs data.valid_from and data.test_from");
  if (!r.validates()) {
    reader.refuse_if(r.training.patience > 0, "training.patience", "needs rows that validate");
    reader.refuse_if(r.data.score == Scored::valid, "data.score", "= \"valid\" needs rows that validate");
    reader.refuse_if(r.schedule.kind == ScheduleKind::plateau, "schedule.kind",
                     "= \"plateau\" needs rows that validate");
    reader.refuse_if(r.optimizer.kind == OptimizerKind::asgd && r.optimizer.average_from == 0,
                     "optimizer.average_from",
                     "= 0 waits for valid scores; without rows that validate, name an epoch");
  }
  if (network.is_recurrent()) check_recurrent_keys(reader, r.model.cell, r.model.layers_of(1));
  check_training_keys(reader, r.sections());
}

UnreadKeys unread_keys(const Recipe& r) {
  UnreadKeys unread = unread_training_keys(r.sections());
  const auto& m = r.model;
  const auto reads = [&](const char* key) { return m.architecture->reads(key); };
  const auto readers_of = [](const char* key) {
    return "model.architecture = " + networks_reading(key, " or ");
  };
  unread.add_unless(reads("cell"), readers_of("cell"),
                    {"model.cell", "model.hidden", "model.layers", "model.dropout"});
  unread.add_unless(reads("shared_channels"), readers_of("shared_channels"), {"model.shared_channels"});
  add_unread_recurrent_keys(unread, m, reads("cell"), readers_of("cell").c_str());
  if (reads("cell")) {
    unread.add_unless(m.cell == CellKind::lstm, "model.cell = \"lstm\"", {"model.forget_bias"});
    add_lost_recurrent_keys(unread, m.cell, m.layers_of(1));
  }
  const SplitKind split = r.data.split;
  unread.add_unless(split == SplitKind::fraction, "data.split = \"fraction\"", {"data.train", "data.valid"});
  unread.add_unless(split == SplitKind::rows, "data.split = \"rows\"",
                    {"data.train_rows", "data.valid_rows", "data.test_rows"});
  unread.add_unless(split == SplitKind::time, "data.split = \"time\"", {"data.valid_from", "data.test_from"});
  const char* of_forecasts = "forecasts, and there is a label (data.label)";
  unread.add_unless(!r.detects(), of_forecasts,
                    {"data.horizon", "data.period", "data.second_period", "data.bounds", "training.loss",
                     "training.quantiles"});
  for (const ForecastBaselineRow& row : forecast_baselines)
    if (row.key) unread.add_unless(!r.detects(), of_forecasts, {fmt::format("data.{}", row.word).c_str()});
  unread.add_unless(r.training.loss == Loss::quantile || r.detects(), "training.loss = \"quantile\"",
                    {"training.quantiles"});
  unread.add_unless(r.detects(), "detection (data.label)", {"training.pos_weight"});
  return unread;
}

}  // namespace timeseries

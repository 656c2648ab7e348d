#include "training/program/sweep/results.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/csv.h"
#include "data/text_file.h"
#include "framework/check.h"
#include "training/files/atomic_file.h"
#include "training/files/json/json.h"
#include "training/program/run/result.h"
#include "training/report/log.h"
#include "training/report/progress.h"

namespace unroll {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* result_file = "result.json";
constexpr std::size_t most_bytes_of_result = std::size_t{1} << 20;

// As a recipe would have it: 100 is a number, lstm a word.
Json value_json(const std::string& text) {
  Json value = parse_json(text);
  return value.is_number() || value.is_boolean() || value.is_string() ? value : Json(text);
}
Json values_json(const SweepPlan& plan, const Trial& trial) {
  Json json = Json::object();
  for (std::size_t i = 0; i < plan.keys.size(); ++i) json[plan.keys[i].key] = value_json(trial.values[i]);
  return json;
}

const char* state_of(const std::optional<TrialResult>& result) {
  return !result ? "unfinished" : result->failed() ? "failed" : "done";
}

Json trial_json(const SweepPlan& plan, const Trial& trial, const std::optional<TrialResult>& result) {
  Json json{{"folder", trial.folder}, {"values", values_json(plan, trial)}};
  if (trial.seed) json["seed"] = *trial.seed;
  json["state"] = state_of(result);
  if (result && result->failed()) json["why"] = result->why;
  if (result && !result->failed())
    json.update(Json{{"best", or_null(result->best)},
                     {"epoch", result->epoch},
                     {"epochs", result->epochs},
                     {"steps", result->steps},
                     {"seconds", result->seconds}});
  return json;
}

Json configuration_json(const SweepPlan& plan, const Configuration& c) {
  return {{"values", values_json(plan, plan.trials[c.trials[0]])},
          {"trials", c.trials.size()},
          {"done", c.done},
          {"failed", c.failed},
          {"mean", or_null(c.mean)},
          {"spread", or_null(c.spread)},
          {"lowest", or_null(c.lowest)},
          {"seconds", or_null(c.seconds)}};
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + csv_cell(cell);
  return line + '\n';
}
std::string number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

std::vector<std::string> key_names(const SweepPlan& plan) {
  std::vector<std::string> names;
  for (const SweptKey& key : plan.keys) names.push_back(key.key);
  return names;
}

void append(std::vector<std::string>& to, std::vector<std::string> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::string table_csv(const SweepPlan& plan, const TrialResults& results) {
  std::vector<std::string> names = key_names(plan);
  append(names, {"trials", "done", "failed", "mean", "spread", "lowest", "seconds"});
  std::string text = csv_line(names);
  for (const Configuration& c : configurations_of(plan, results)) {
    std::vector<std::string> cells = plan.trials[c.trials[0]].values;
    append(cells, {std::to_string(c.trials.size()), std::to_string(c.done), std::to_string(c.failed),
                   number(c.mean), number(c.spread), number(c.lowest), number(c.seconds)});
    text += csv_line(cells);
  }
  return text;
}

std::string trials_csv(const SweepPlan& plan, const TrialResults& results) {
  std::vector<std::string> names = {"folder"};
  append(names, key_names(plan));
  append(names, {"seed", "state", "best", "epoch", "epochs", "steps", "seconds", "why"});
  std::string text = csv_line(names);
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    const Trial& trial = plan.trials[i];
    const TrialResult r = results[i].value_or(TrialResult{});
    const bool done = results[i] && !r.failed();
    const auto count = [&](int64_t n) { return done ? std::to_string(n) : ""; };
    std::vector<std::string> cells = {trial.folder};
    append(cells, trial.values);
    append(cells, {trial.seed ? std::to_string(*trial.seed) : "", state_of(results[i]), number(r.best),
                   count(r.epoch), count(r.epochs), count(r.steps), done ? number(r.seconds) : "", r.why});
    text += csv_line(cells);
  }
  return text;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace

TrialResult result_of_run(const fs::path& run) {
  const LogNames names = read_run_description(run).names;
  const Course course = read_course(run, names);
  TrialResult result{.perplexity = names.perplexity};
  if (const LogRecord* best = course.best()) result.best = best->valid, result.epoch = best->epoch;
  if (course.epochs.empty()) return result;
  const LogRecord& last = course.epochs.back();
  result.epochs = last.epoch, result.steps = last.step, result.seconds = last.seconds;
  return result;
}

static void each_field(TrialResult& result, auto f) {
  f("best", result.best, "epoch", result.epoch, "epochs", result.epochs, "steps", result.steps, "seconds",
    result.seconds, "perplexity", result.perplexity);
}

void write_result(const fs::path& trial, const TrialResult& result) {
  const Json json = result.failed() ? Json{{"why", result.why}} : json_of(result);
  write_file_atomically(trial / result_file, json_text(json) + '\n');
}

std::optional<TrialResult> read_result(const fs::path& trial) {
  const fs::path path = trial / result_file;
  if (!has_own_file(path)) return {};
  const Json json = parse_json(read_own_file(path, most_bytes_of_result));
  TrialResult result;
  try {
    if (json.contains("why"))
      read_field(json, "why", result.why);
    else
      read_json(json, result);
  } catch (const FieldError&) {
    throw InputError(fmt::format("{}: damaged; without it the trial is looked at again", path.string()));
  }
  return result;
}

void remove_result(const fs::path& trial) {
  std::error_code error;
  fs::remove(trial / result_file, error);
  if (error) throw_system_error(error.value(), (trial / result_file).string());
}

std::vector<Configuration> configurations_of(const SweepPlan& plan, const TrialResults& results) {
  std::vector<Configuration> configurations;
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {  // those of one configuration follow each other
    if (configurations.empty() ||
        plan.trials[configurations.back().trials[0]].values != plan.trials[i].values)
      configurations.emplace_back();
    configurations.back().trials.push_back(i);
  }
  for (Configuration& c : configurations) {
    std::vector<double> scores, seconds;
    for (const std::size_t i : c.trials) {
      if (!results[i]) continue;
      ++(results[i]->failed() ? c.failed : c.done);
      if (results[i]->failed()) continue;
      seconds.push_back(results[i]->seconds);
      if (results[i]->best) scores.push_back(*results[i]->best);
    }
    if (!seconds.empty()) c.seconds = mean_of(seconds);
    if (!scores.empty()) c.mean = mean_of(scores), c.lowest = std::ranges::min(scores);
    if (scores.size() > 1) c.spread = deviation_of(scores);
  }
  return configurations;
}

std::optional<std::size_t> best_of(const std::vector<Configuration>& configurations) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < configurations.size(); ++i)
    if (configurations[i].mean && (!best || *configurations[i].mean < *configurations[*best].mean)) best = i;
  return best;
}

const char* name_of_score(const TrialResults& results) {
  const bool perplexity =
      std::ranges::any_of(results, [](const auto& result) { return result && result->perplexity; });
  return perplexity ? "perplexity" : "loss";
}

RunDescription::Table table_of(const SweepPlan& plan, const TrialResults& results) {
  const bool seeds = plan.seeds.size() > 1;
  RunDescription::Table table{
      .title = fmt::format("Validation {}", name_of_score(results)), .note = {}, .columns = {}};
  for (const std::size_t i : plan.varying()) table.columns.push_back(plan.keys[i].key);
  if (table.columns.empty()) table.columns.push_back("recipe");
  table.columns.push_back("trials");
  append(table.columns, seeds ? std::vector<std::string>{"mean", "spread", "lowest"}
                              : std::vector<std::string>{name_of_score(results)});
  table.columns.push_back("time");
  const auto score = [](const std::optional<double>& value) { return value ? format_score(*value) : ""; };
  for (const Configuration& c : configurations_of(plan, results)) {
    std::vector<std::string> cells;
    for (const std::size_t i : plan.varying()) cells.push_back(plan.trials[c.trials[0]].values[i]);
    if (cells.empty()) cells.push_back(plan.recipe);
    cells.push_back(fmt::format("{} of {}", c.done, c.trials.size()));
    if (c.failed > 0) cells.back() += fmt::format(", {} failed", c.failed);
    cells.push_back(score(c.mean));
    if (seeds) append(cells, {c.spread ? format_score(*c.spread, 3) : "", score(c.lowest)});
    cells.push_back(c.seconds ? format_duration(*c.seconds) : "");
    table.rows.push_back(std::move(cells));
  }
  table.note = fmt::format("Best validation {} of each trial: lower is better. {}Time: of one trial.",
                           name_of_score(results), seeds ? "Spread: standard deviation. " : "");
  return table;
}

std::string in_words(const TrialResult& result) {
  if (result.failed()) return "failed: " + result.why;
  std::string words = "nothing validated";
  if (result.best)
    words = fmt::format("{} {} after epoch {}", result.perplexity ? "perplexity" : "loss",
                        format_score(*result.best), result.epoch);
  return fmt::format("{} of {}, {}", words, result.epochs, format_duration(result.seconds));
}

static Json all_json(const fs::path& folder, const SweepPlan& plan, const TrialResults& results) {
  Json json{{"folder", folder.string()},
            {"recipe", plan.recipe},
            {"score", name_of_score(results)},
            {"configurations", Json::array()},
            {"trials", Json::array()}};
  for (const Configuration& c : configurations_of(plan, results))
    json["configurations"].push_back(configuration_json(plan, c));
  for (std::size_t i = 0; i < plan.trials.size(); ++i)
    json["trials"].push_back(trial_json(plan, plan.trials[i], results[i]));
  return json;
}

void write_tables(const fs::path& folder, const SweepPlan& plan, const TrialResults& results) {
  write_file_atomically(folder / "table.csv", table_csv(plan, results));
  write_file_atomically(folder / "trials.csv", trials_csv(plan, results));
  write_file_atomically(folder / "table.json", json_text(all_json(folder, plan, results), 1) + '\n');
}

std::string tables_json(const fs::path& folder, const SweepPlan& plan, const TrialResults& results) {
  return json_text(all_json(folder, plan, results));
}

}  // namespace unroll

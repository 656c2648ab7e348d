#include "examples/timeseries/pretrained/training.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "examples/timeseries/pretrained/batches.h"
#include "examples/timeseries/pretrained/model_file.h"
#include "framework/signals.h"
#include "training/program/cli/explanations.h"
#include "training/program/run/first_weights.h"

namespace timeseries {

namespace {

// Sums over the series of validation, in units of their scales.
struct PretrainScore {
  double loss = 0;                 // pinball, over values and levels
  double naive = 0;                // that of the seasonal naive forecast at every level
  int64_t inside = 0, values = 0;  // between the quantiles .1 and .9
  void operator+=(const PretrainScore& other) {
    loss += other.loss, naive += other.naive, inside += other.inside, values += other.values;
  }
  double mean() const { return loss / static_cast<double>(values); }
  double relative() const { return loss / naive; }
  double coverage() const { return static_cast<double>(inside) / static_cast<double>(values); }
};

using Length = std::pair<int, std::string>;  // its place in a table, and its name
Length length_of(int64_t rows) {
  return rows <= 16    ? Length{0, "up to 16 rows"}
         : rows <= 32  ? Length{1, "17 to 32 rows"}
         : rows <= 128 ? Length{2, "33 to 128 rows"}
                       : Length{3, "more rows"};
}

class Pretraining {
 public:
  Pretraining(RunOptions options, const PretrainRecipe& recipe);
  Pretraining(const Pretraining&) = delete;  // the session refers to it
  Pretraining& operator=(const Pretraining&) = delete;

  void run() { options_.dry_run ? session_.dry_run() : session_.run(); }

 private:
  TrainingTask task();
  TrainingRun training_run();
  Metadata metadata() const;
  RunDescription description() const;
  WindowLoss loss(const SyntheticBatch& batch) const;
  // By kind of series, and by their length.
  void score();
  RunDescription::Table table() const;
  void write(const std::filesystem::path& folder) const;  // the forecaster's file
  void report(std::optional<double> valid, RunDescription& description);

  const RunOptions options_;
  const PretrainRecipe recipe_;
  const Console console_;
  PretrainedNetwork network_;
  BatchesAhead batches_;
  int epoch_ = 1;
  PretrainScore all_;  // of the last validation
  std::map<std::string, PretrainScore, std::less<>> by_kind_;
  std::map<Length, PretrainScore> by_length_;
  Session session_;
};

Pretraining::Pretraining(RunOptions options, const PretrainRecipe& recipe)
    : options_(std::move(options)),
      recipe_(recipe),
      console_(options_.console()),
      network_(recipe_.model.cell, recipe_.model, recipe_.training.seed),
      batches_(recipe_, recipe_.series.seed),
      session_(options_, training_run()) {}

WindowLoss Pretraining::loss(const SyntheticBatch& batch) const {
  const Shape shape{batch.ahead_segments, batch.batch, segment_rows};
  const Var mean = quantile_loss(network_(batch), Tensor::from(shape, std::span(batch.target)),
                                 forecast_levels, {.weights = Tensor::from(shape, std::span(batch.weight))});
  return mean_loss(mean, batch.scored);
}

TrainingTask Pretraining::task() {
  const auto cut = [this](int epoch) { return epoch_ = epoch, recipe_.series.steps; };
  return {.cut = cut,
          .loss = [this](int64_t k) { return loss(batches_.at((epoch_ - 1) * recipe_.series.steps + k)); },
          .validate = [this] { return score(), all_.mean(); },
          .metrics =
              [this] {
                return std::vector<Scalar>{{"relative", all_.relative()}, {"coverage", all_.coverage()}};
              }};
}

void Pretraining::score() {
  const NoTape guard;
  all_ = {}, by_kind_.clear(), by_length_.clear();
  const uint64_t seed = seed_of_validation(recipe_.series.seed);
  for (int64_t series = 0, step = 0; series < recipe_.series.valid; ++step) {
    stop_if_signalled();
    const SyntheticBatch batch = synthetic_batch(recipe_, seed, step);
    std::vector<std::vector<real>> quantiles;
    for (const Var& quantile : network_(batch)) quantiles.push_back(quantile.value().to_host());
    for (int place = 0; place < batch.batch; ++place) {
      PretrainScore score;
      for (int i = 0; i < batch.ahead_segments * segment_rows; ++i) {
        const size_t at = batch.at(place, i);
        if (batch.weight[at] == 0) continue;
        const auto pinball = [&](double forecast, double level) {
          const double d = batch.target[at] - forecast;
          return static_cast<double>(batch.weight[at]) * std::max(level * d, (level - 1) * d) /
                 forecast_quantiles;
        };
        for (size_t k = 0; k < forecast_levels.size(); ++k) {
          score.loss += pinball(quantiles[k][at], forecast_levels[k]);
          score.naive += pinball(batch.base[at], forecast_levels[k]);
        }
        ++score.values;
        score.inside +=
            batch.target[at] >= quantiles[1][at] && batch.target[at] <= quantiles[forecast_quantiles - 2][at];
      }
      all_ += score;
      by_kind_[std::string(batch.kinds[place])] += score;
      by_length_[length_of(batch.rows[place])] += score;
    }
    series += batch.batch;
  }
}

RunDescription::Table Pretraining::table() const {
  RunDescription::Table table{
      .title = "Validation: series that training never sees",
      .note =
          "relative: the pinball loss divided by that of the seasonal naive forecast. coverage: values between the "
          "quantiles 0.1 and 0.9.",
      .columns = {"series", "values", "loss", "relative", "coverage"}};
  const auto add = [&](const std::string& name, const PretrainScore& score) {
    table.rows.push_back({name, with_commas(score.values), fmt::format("{:.4f}", score.mean()),
                          fmt::format("{:.4f}", score.relative()),
                          fmt::format("{:.1f} %", 100 * score.coverage())});
  };
  for (const auto& [kind, score] : by_kind_) add(kind, score);
  for (const auto& [length, score] : by_length_) add(length.second, score);
  add("all", all_);
  return table;
}

void Pretraining::report(std::optional<double> valid, RunDescription& description) {
  score();
  if (valid) console_.print("valid   loss {}, relative {:.4f}\n", format_score(*valid, 5), all_.relative());
  const RunDescription::Table scores = table();
  console_.print("\n{}\n", scores.title), console_.print(scores), console_.print("\n");
  description.results.push_back(
      {"relative", fmt::format("{:.4f}", all_.relative()), "of the seasonal naive forecast's loss"});
  description.tables.insert(description.tables.end() - 1, scores);
}

void Pretraining::write(const std::filesystem::path& folder) const {
  write_forecaster(folder / forecaster_file, recipe_, network_.params);
  console_.print("\nwrote   {}, {}\n", shown(folder / forecaster_file),
                 format_bytes(static_cast<int64_t>(std::filesystem::file_size(folder / forecaster_file))));
}

Metadata Pretraining::metadata() const {
  return {{"program", "unroll timeseries"},
          {"recipe_name", recipe_.name},
          {"recipe", pretrain_form.resolved(recipe_)},
          {"engine", std::string(name_of(network_.layers.choice().engine))}};
}

RunDescription Pretraining::description() const {
  const int64_t series = recipe_.training.epochs * recipe_.series.steps;
  std::vector<RunDescription::Figure> facts = {
      {"recipe", recipe_.name},
      {"series",
       fmt::format("{} steps of {} segments", with_commas(series), with_commas(recipe_.series.segments)),
       fmt::format("to train on; {} series to validate", with_commas(recipe_.series.valid))},
      {"model", fmt::format("{}: {} parameters",
                            describe_layers(facts_of(recipe_.model.cell), network_.layers.config()),
                            with_commas(network_.params.count()))},
      {"engine", network_.layers.choice().text},
      {"", describe_computing(recipe_.training)}};
  return {.title = {},
          .summary = fmt::format("Pretrained forecaster of {} parameters",
                                 format_number(static_cast<double>(network_.params.count()))),
          .names = {.unit = "values", .perplexity = false},
          .facts = facts,
          .tables = {engine_table(network_.layers.choice())}};
}

TrainingRun Pretraining::training_run() {
  return {
      .recipe_name = recipe_.name,
      .recipe = pretrain_form.resolved(recipe_),
      .sections = recipe_.sections(),
      .params = network_.params,
      .task = task(),
      .windows = recipe_.series.steps,
      .metadata = metadata(),
      .take_first_weights =
          [this] { load_first_weights(SafetensorsFile(options_.init_from), network_.params); },
      .description = description(),
      .differing_keys =
          [this](const RecipeFile& before) {
            return pretrain_form.differing_keys(pretrain_form.load(before), recipe_);
          },
      .window_sizes = {{"series.segments", recipe_.series.segments}},
      .data_differences = [](const Metadata&, const std::string&) { return DataDifferences(); },
      .score_a_little = [] {},
      .kept =
          [this](const SafetensorsFile& file) { write(std::filesystem::path(file.path()).parent_path()); },
      .report = [this](std::optional<double> valid,
                       RunDescription& description) { report(valid, description); },
      .print_json =
          [this](const RunResult& run) {
            run.print_json("values", "values_per_second",
                           {{"valid_loss", all_.mean()}, {"relative", all_.relative()}});
          }};
}

}  // namespace

void run_pretraining(const RunOptions& options, const PretrainRecipe& recipe) {
  Pretraining(options, recipe).run();
}

}  // namespace timeseries

#include "examples/timeseries/session/session.h"

#include <algorithm>
#include <iterator>

#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/model/saved_model.h"
#include "examples/timeseries/scores/scores.h"
#include "framework/one_line.h"
#include "training/program/cli/explanations.h"
#include "training/program/cli/invocation.h"
#include "training/program/run/first_weights.h"

namespace timeseries {

SeriesTraining::SeriesTraining(RunOptions options, const Recipe& recipe, const Purpose& purpose)
    : options_(std::move(options)),
      recipe_(recipe),
      console_(options_.console()),
      first_(purpose.model ? std::nullopt : first_model(options_.init_from, recipe_)),
      data_(recipe_, options_.data, {first_ ? &*first_ : purpose.model, purpose.trains, purpose.fold}),
      model_(recipe_, columns_of(*data_.train)),
      session_(options_, training_run()) {
  if (recipe_.training.deterministic && model_.recurrent())
    require_repeatable(model_.recurrent()->choice().engine);
}

static std::string describe_engine(const SeriesModel& model) {
  return model.recurrent() ? model.recurrent()->choice().text : "none: no recurrent layers";
}

static std::pair<int64_t, int64_t> rows_of_first_and_last_time(const Series& series) {
  const auto [first, last] = std::ranges::minmax_element(series.times.at);
  return {first - series.times.at.begin(), last - series.times.at.begin()};
}

std::vector<RunDescription::Figure> SeriesTraining::facts() const {
  const Series& series = data_.series();
  const SeriesSplit& split = data_.split;
  const auto& options = data_.train->options();
  const int64_t valid = data_.valid ? data_.valid->count() : 0;
  int64_t test_rows = 0, test = 0;
  for (const TestPart& part : data_.tests) test_rows += rows_of(part.rows), test += part.windows.count();
  const auto [first, last] = rows_of_first_and_last_time(series);
  std::vector<RunDescription::Figure> facts = {
      {"recipe", fmt::format("{}: {}", recipe_.name, describe(recipe_, options_.data))},
      {"series",
       fmt::format("{} / {} / {} rows", with_commas(rows_of(split.train)), with_commas(rows_of(split.valid)),
                   with_commas(test_rows)),
       fmt::format("to train on, to validate, to test; {}{} rows, {} to {}{}",
                   series.members.empty() ? "" : fmt::format("{} series of ", with_commas(series.count())),
                   with_commas(series.rows()), series.times.text(first), series.times.text(last),
                   series.time_name.empty() ? "" : ", " + apart_text(series.times.step))},
      {"windows",
       fmt::format("{} / {} / {}", with_commas(data_.train->count()), with_commas(valid), with_commas(test)),
       fmt::format("to train on, to validate, to test; each {} row{} of {} channel{}, to {}",
                   recipe_.data.window, plural(recipe_.data.window), options.inputs.size(),
                   plural(options.inputs.size()),
                   recipe_.detects() ? "tell the label of the last one"
                                     : fmt::format("forecast {} row{} of {}", recipe_.data.horizon,
                                                   plural(recipe_.data.horizon), options.targets.size()))},
      {"model", fmt::format("{}, dropout {:g}: {} parameters", describe_layers(recipe_),
                            recipe_.model.dropout, with_commas(model_.params.count()))},
      {"engine", describe_engine(model_)},
      {"", describe_computing(recipe_.training)}};
  for (const std::string& note : data_.notes) facts.push_back({"note", note});
  for (const std::string& warning : data_.warnings) facts.push_back({"warning", warning});
  if (const auto& file = options_.init_from; !file.empty()) {
    // A run that is resumed does not need the file.
    const auto keys = options_.resume ? std::vector<DifferingKey>()
                                      : timeseries::differing_keys(read_saved_model(file).recipe, recipe_);
    std::ranges::copy(describe_first_weights(file, keys), std::back_inserter(facts));
  }
  return facts;
}

RunDescription SeriesTraining::description() const {
  std::vector<RunDescription::Table> tables;
  if (model_.recurrent()) tables.push_back(engine_table(model_.recurrent()->choice()));
  return {.title = {},
          .summary = fmt::format(
              "{} of {} parameters: {}", recipe_.detects() ? "Detector" : "Forecasts by a model",
              format_number(static_cast<double>(model_.params.count())), describe(recipe_, options_.data)),
          .names = {.unit = "values", .perplexity = false},
          .facts = facts(),
          .tables = tables};
}

// Each epoch takes the windows in an order of its own.
TrainingTask SeriesTraining::task() {
  SeriesWindows& windows = *data_.train;
  const int size = recipe_.data.batch;
  TrainingTask task{.windows = windows.batches(size),
                    .cut =
                        [this, &windows, size](int epoch) {
                          windows.shuffle(recipe_.training.seed, static_cast<uint32_t>(epoch));
                          return windows.batches(size);
                        },
                    .loss = [this, &windows, size](int64_t k) { return model_.loss(windows.batch(k, size)); },
                    .shard_loss = [this, &windows, size](int64_t k, const Shard& shard) -> WindowLoss {
                      const int count = windows.windows_in(k, size), begin = shard.begin(count),
                                end = shard.end(count);
                      if (begin == end) return {};
                      SeriesBatch batch = windows.batch(k, size, begin, end);
                      WindowLoss result = model_.loss(batch);
                      result.share = static_cast<double>(batch.observed) /
                                     static_cast<double>(windows.observed_in(k, size));
                      return result;
                    }};
  if (data_.valid) {
    task.shared_validation = mean_loss(model_, *data_.valid, recipe_.data.eval_batch);
    task.validate = [score = task.shared_validation] { return score.score(sum_of_parts(score)); };
  }
  return task;
}

TrainingRun SeriesTraining::training_run() {
  return {.recipe_name = recipe_.name,
          .recipe = resolved(recipe_),
          .sections = recipe_.sections(),
          .params = model_.params,
          .task = task(),
          .windows = data_.train->batches(recipe_.data.batch),
          .metadata = metadata(),
          .of_weights = trained_on_keys(),
          .take_first_weights =
              [this] { load_first_weights(SafetensorsFile(options_.init_from), model_.params); },
          .description = description(),
          .differing_keys =
              [this](const RecipeFile& before) {
                return timeseries::differing_keys(load_recipe(before), recipe_);
              },
          .own_data = data_.file,
          .window_sizes = {{"data.batch", recipe_.data.batch}},
          .operations = operations_of_step(recipe_, columns_of(*data_.train), model_.params),
          .data_differences = [this](const Metadata& then, const std::string&) { return differences(then); },
          .score_a_little = [this] { score_a_little(); },
          .kept =
              [this](const SafetensorsFile& file) {
                data_.set_trained_on(trained_on(file.metadata(), data_.facts.channels.size(), file.path()));
              },
          .report = [this](std::optional<double> valid,
                           RunDescription& description) { report(valid, description); },
          .print_json = [this](const RunResult& run) { print_json(run); },
          .next = recipe_.detects() ? "detect" : "forecast",
          .next_words = next_words(),
          .look_words = look_words()};
}

// The words after the model's file in the commands to go on with. A forecast finds the recipe's own series by itself; to
// detect, there is none to begin with. No file with the rows to forecast is named, since there is none yet.
std::vector<std::string> SeriesTraining::next_words() const {
  const std::string csv =
      options_.data.empty() && recipe_.detects() ? recipe_.data.file : options_.data.string();
  std::vector<std::string> words;
  if (!csv.empty()) words = {"--csv", csv == standard_input ? csv : shell_path(csv)};
  if (!columns_of_future(recipe_).empty()) words.insert(words.end(), {"--future", "FILE"});
  return words;
}

// None where rows that are forecast are read, for which the page has no place. It shows one series.
std::function<std::vector<std::string>()> SeriesTraining::look_words() const {
  if (!recipe_.data.known.empty()) return {};
  return [this] {
    std::vector<std::string> words = next_words();
    if (!data_.facts.members.empty())
      words.insert(words.end(), {"--series", shell_word(data_.facts.members.front())});
    return words;
  };
}

// The facts in a checkpoint: resuming it compares them, and a later file of the series is compared with them.
Metadata SeriesTraining::metadata() const {
  Metadata metadata = model_metadata(recipe_, data_.facts, model_);
  metadata["engine"] = model_.recurrent() ? name_of(model_.recurrent()->choice().engine) : "none";
  const auto of = [](const auto& numbers) { return fingerprint(std::as_bytes(std::span(numbers))); };
  metadata["series"] = of(data_.series().values);
  if (!data_.series().filled.empty()) metadata["series"] += of(data_.series().filled);
  if (data_.valid) metadata["valid_rows"] = metadata["series"] + of(data_.valid->origins());
  return metadata;
}

DataDifferences SeriesTraining::differences(const Metadata& then) const {
  const Metadata now = metadata();
  const auto same = [&](const char* key) {
    const auto before = then.find(key), after = now.find(key);
    return (before == then.end()) == (after == now.end()) &&
           (before == then.end() || before->second == after->second);
  };
  DataDifferences differences{.scores = !same("valid_rows")};
  if (!same("series")) differences.notes.push_back("the series is another");
  return differences;
}

Evaluation SeriesTraining::score_fold() {
  fit();
  return evaluate(recipe_, data_, data_.tests.front(), &model_);
}

void SeriesTraining::score_a_little() {
  SeriesWindows& windows = data_.valid ? *data_.valid : *data_.train;
  const SeriesBatch batch = windows.batch(0, recipe_.data.eval_batch);
  const NoTape guard;
  const double loss = static_cast<double>(model_.loss(batch).mean.item());
  console_.print("scoring: loss {} of {} values of the {} split\n", format_score(loss),
                 with_commas(batch.observed), data_.valid ? "valid" : "training");
}

void SeriesTraining::report(std::optional<double> valid, RunDescription& description) {
  valid_ = valid;
  if (valid)
    console_.print("valid   loss {}, {} windows scored\n", format_score(*valid, 5),
                   with_commas(data_.valid->count()));
  std::vector<TestPart> parts = data_.tests;
  if (recipe_.data.score == Scored::valid) parts = {{"valid", *data_.valid, data_.split.valid}};
  for (TestPart& part : parts) {
    const Evaluation evaluation = evaluate(recipe_, data_, part, &model_);
    console_.print("\n"), print(console_, evaluation, true);
    RunDescription::Table table = table_of(evaluation);
    for (const std::string& warning : evaluation.warnings)
      table.note += fmt::format(" Warning: {}.", warning);
    for (const std::string& line : verdicts(evaluation))
      table.note += fmt::format(" On these windows {}.", line);
    table.note += fmt::format(" Protocol: {}.", evaluation.protocol);
    description.results.push_back(tile_of(evaluation));
    description.tables.insert(description.tables.end() - 1, table);
    for (const RunDescription::Table& further : further_tables(evaluation))
      description.tables.insert(description.tables.end() - 1, further);
    for (Chart& chart : pictures_of(part, evaluation)) description.charts.push_back(std::move(chart));
    scores_[part.name] = json_of(evaluation);
  }
  console_.print("\n");
}

void SeriesTraining::print_json(const RunResult& run) const {
  nlohmann::ordered_json scores{{"train_loss", or_null(run.train)}, {"valid_loss", or_null(valid_)}};
  scores["scores"] = scores_;
  run.print_json("values", "values_per_second", scores);
}

}  // namespace timeseries

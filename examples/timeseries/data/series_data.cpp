#include "examples/timeseries/data/series_data.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/series/forecast_scores.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "training/report/run_description.h"

namespace timeseries {

namespace fs = std::filesystem;

namespace {

SeriesSplit split_by_keys(const Recipe& recipe, const Series& series, int64_t rows) {
  const auto& d = recipe.data;
  switch (d.split) {
    case SplitKind::fraction:
      return split_by_fraction(rows, d.train, d.valid);
    case SplitKind::rows: {
      const int64_t train_rows =
          d.train_rows > 0 ? d.train_rows : std::max<int64_t>(1, rows - d.valid_rows - d.test_rows);
      const int64_t valid_end = train_rows + d.valid_rows, test_rows = std::max<int64_t>(d.test_rows, 1);
      require_input(valid_end + test_rows <= rows,
                    "{} rows to train on, {} to validate and {} to test are asked for of {}", train_rows,
                    d.valid_rows, d.test_rows > 0 ? fmt::format("{}", test_rows) : "at least 1", rows);
      return split_at_rows(rows, train_rows, valid_end, d.test_rows > 0 ? valid_end + d.test_rows : 0);
    }
    case SplitKind::time:
      return split_by_time(series, d.valid_from, d.test_from);
  }
  return {};
}

// The keys that split_by_keys reads, with their values.
std::string split_keys(const Recipe& recipe) {
  const auto& d = recipe.data;
  if (d.split == SplitKind::rows)
    return fmt::format("data.train_rows = {}, data.valid_rows = {}, data.test_rows = {}", d.train_rows,
                       d.valid_rows, d.test_rows);
  if (d.split == SplitKind::time)
    return fmt::format("data.valid_from = {}, data.test_from = {}", toml_string(d.valid_from),
                       toml_string(d.test_from));
  return fmt::format("data.train = {}, data.valid = {}", d.train, d.valid);
}

// `not_split`: those of several series that are too short for the split, or have no row at a part's times.
SeriesSplit make_split(const Recipe& recipe, const Series& series, int64_t rows_beyond,
                       std::vector<int>& not_split) {
  const auto& d = recipe.data;
  const auto known = [&](int member) {
    return series.end_of(member) - series.begin_of(member) - rows_beyond;
  };
  const int64_t rows = known(0), border = unroll::share_of(rows, d.train);
  if (!d.test_files.empty()) {
    require_input(border > 0, "{}: data.train = {} leaves no rows to train on of {}", series.origin, d.train,
                  rows);
    return {{{0, border, 0}}, {{border, rows, 0}}, {}};
  }
  try {
    if (series.members.empty()) return split_by_keys(recipe, series, rows);
    const bool by_time = d.split == SplitKind::time;
    return split_each(
        series,
        [&](int member) {
          return split_by_keys(recipe, by_time ? series.alone(member) : series, known(member));
        },
        not_split);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}: {}", series.origin, split_keys(recipe), error.what()));
  }
}

// Refuses keys that need validation rows if there are none. Runs after the split: most recipes do not set which
// weights are kept, and a share may be less than a row.
void require_valid_rows(const Recipe& recipe, const Series& series, const SeriesSplit& split) {
  if (rows_of(split.valid) > 0) return;
  const auto refuse_if = [&](bool wanted, const char* needs) {
    require_input(!wanted, "{}: {} leaves no rows to validate, {}", series.origin, split_keys(recipe), needs);
  };
  refuse_if(recipe.training.keep == Keep::best,
            "so no epoch is the best: set training.keep = \"last\", or rows to validate");
  refuse_if(recipe.data.score == Scored::valid, "which data.score = \"valid\" scores");
  refuse_if(recipe.training.patience > 0, "which training.patience waits for");
  refuse_if(recipe.schedule.kind == ScheduleKind::plateau, "which schedule.kind = \"plateau\" goes by");
  refuse_if(recipe.optimizer.kind == OptimizerKind::asgd && recipe.optimizer.average_from == 0,
            "which optimizer.average_from = 0 waits for: name an epoch");
}

// The channels to forecast: named, or all but those known ahead. Empty: all, or a label is to be detected.
std::vector<int> targets_of(const Recipe& recipe, const Series& series) {
  const auto& d = recipe.data;
  std::vector<int> targets;
  for (const std::string& name : d.targets) targets.push_back(series.channel(name));
  const bool has_known =
      std::ranges::any_of(d.known, [](const std::string& name) { return name != known_calendar; });
  for (int k = 0; d.targets.empty() && has_known && k < series.width() - series.calendar; ++k)
    if (std::ranges::find(d.known, series.channels[k]) == d.known.end()) targets.push_back(k);
  return targets;
}

// The facts of a model trained on these rows.
ModelFacts measured_facts(const Recipe& recipe, const Series& series, const Part& train,
                          std::vector<std::string>& notes) {
  return {.channels = series.channels,
          .scaling = fit_scaling(series, train, recipe.scaling.kind, notes, recipe.scaling.transform,
                                 targets_of(recipe, series)),
          .members = {},
          .time = series.time_name,
          .date_order = series.date_order,
          .step = {},
          .trained = trained_on(series, train)};
}

void warn_of_one_class(const Series& series, const Part& train, std::vector<std::string>& warnings) {
  int64_t ones = 0;
  for (const Span& span : train)
    for (int64_t row = span.begin; row < span.end; ++row) ones += series.at(row, series.label) == 1;
  if (ones == 0 || ones == rows_of(train))
    warnings.push_back(
        fmt::format("'{}' is {} in all rows that train: no detector can learn from them what {} looks like",
                    one_line(series.channels[series.label]), ones == 0 ? 0 : 1, ones == 0 ? 1 : 0));
}

}  // namespace

SeriesWindows make_windows(const Recipe& recipe, const Series& series, const Scaling& scaling,
                           const Part& part, const std::string& part_name, int stride) {
  SeriesWindowOptions options{.window = recipe.data.window,
                              .horizon = recipe.horizon(),
                              .stride = stride,
                              .lead = recipe.detects() ? 0 : 1,
                              .inputs = {},
                              .targets = {}};
  require_input(series.width() > 1 || !recipe.detects(), "{}: there is no column to detect '{}' from",
                series.origin, one_line(recipe.data.label));
  require_positive(series, scaling);
  const int columns = series.width() - series.calendar;
  for (const std::string& name : recipe.data.channels) options.inputs.push_back(series.channel(name));
  for (const std::string& name : recipe.data.known) {
    if (name == known_calendar) continue;
    options.known.push_back(series.channel(name));
    if (!options.inputs.empty() && options.known.back() < columns &&
        std::ranges::find(options.inputs, options.known.back()) == options.inputs.end())
      options.inputs.push_back(options.known.back());
  }
  if (!options.inputs.empty())
    for (int k = columns; k < series.width(); ++k) options.inputs.push_back(k);
  options.targets = targets_of(recipe, series);
  require_input(options.known.empty() || !options.targets.empty(),
                "{}: all of its columns are known ahead (data.known), and none is left to forecast",
                series.origin);
  if (std::ranges::find(recipe.data.known, known_calendar) != recipe.data.known.end())
    for (int k = columns; k < series.width(); ++k)
      if (!series.channels[k].ends_with(" missing")) options.known.push_back(k);
  return SeriesWindows(series, scaling, part, part_name, options);
}

std::optional<SeriesWindows> windows_if_any(const Recipe& recipe, const Series& series,
                                            const Scaling& scaling, const Part& part) {
  try {
    if (!part.empty()) return make_windows(recipe, series, scaling, part, "valid");
  } catch (const InputError&) {}  // the part is too short
  return {};
}

std::optional<SeriesSplit> split_if_any(const Recipe& recipe, const Series& series, int64_t rows_beyond) {
  try {
    std::vector<int> not_split;
    return make_split(recipe, series, rows_beyond, not_split);
  } catch (const InputError&) { return {}; }
}

std::vector<std::string> warnings_of_training(const SeriesData& data, const std::string& split) {
  std::vector<std::string> warnings;
  const auto look = [&](const Series& series, const Part& part, const std::string& name) {
    if (auto warning = data.facts.trained.warning_of(series, part, name)) warnings.push_back(*warning);
  };
  if (split == "valid") look(data.series(), data.split.valid, split);
  for (const TestPart& test : data.tests)
    if (split == "test") look(test.windows.series(), test.rows, test.name);
  return warnings;
}

// How files to test on are read: as the first file. Inputs and scaling refer to the order of its channels.
static SeriesOptions options_of_tests(const Recipe& recipe, const SavedModel* saved, const Series& first) {
  SeriesOptions options = series_options(recipe, saved);
  options.channels.assign(first.channels.begin(), first.channels.end() - first.calendar);
  options.usual_time = first.time_name;
  if (first.date_order != DateOrder::unknown) options.usual_order = first.date_order;
  if (!saved && !first.time_name.empty()) options.step = first.times.step;
  return options;
}

SeriesData::SeriesData(const Recipe& recipe, const fs::path& csv, const Purpose& purpose) {
  const auto& [saved, trains, fold] = purpose;
  if (recipe.data.missing == Missing::interpolate)
    warnings.push_back(
        "data.missing = \"interpolate\": a filled-in value that is read has seen the value after it, which may be the one "
        "that is forecast: the scores leak");
  if (!csv.empty() || !is_name(recipe.data.file)) file = csv.empty() ? fs::path(recipe.data.file) : csv;
  all.push_back(saved ? load_series(*saved, csv) : load_series(recipe, csv));
  notes = series().notes;
  for (const SeriesMember& member : series().members)
    require_input(
        !member.step,
        "{}: rows of '{}' are {}, those of other series {}: scores and a network have one step of time; "
        "leave out its rows, or read one series: data.only = {}",
        series().origin, one_line(member.name), apart_text(member.step.value_or(TimeStep{})),
        apart_text(series().times.step), toml_string(series().id_name + "=" + member.name));
  std::vector<int> not_split;
  split = fold ? *fold : make_split(recipe, series(), 0, not_split);
  if (trains) require_valid_rows(recipe, series(), split);
  if (trains && !fold)
    std::ranges::copy(warnings_of_outliers(series(), split.train), std::back_inserter(warnings));
  if (recipe.detects() && trains) warn_of_one_class(series(), split.train, warnings);
  facts = saved ? saved->facts : measured_facts(recipe, series(), split.train, notes);
  if (saved) facts.scaling = scaling_for(series(), split.train, recipe, facts, notes);
  facts.members.clear();
  for (const SeriesMember& member : series().members) facts.members.push_back(member.name);
  if (facts.step.empty())
    facts.step = step_code(series().time_name.empty() ? TimeStep{} : series().times.step);
  const Scaling& scaling = facts.scaling;
  train.emplace(make_windows(recipe, series(), scaling, split.train, "train", recipe.data.stride));
  if (rows_of(split.valid) > 0) valid.emplace(make_windows(recipe, series(), scaling, split.valid, "valid"));
  if (rows_of(split.test) > 0)
    tests.push_back({"test", make_windows(recipe, series(), scaling, split.test, "test"), split.test});
  const SeriesOptions of_test = options_of_tests(recipe, saved, series());
  for (const std::string& name : recipe.data.test_files) {
    const fs::path path = file.parent_path() / name;
    const auto same_stem = [&](const std::string& other) { return fs::path(other).stem() == path.stem(); };
    const bool alone = std::ranges::count_if(recipe.data.test_files, same_stem) == 1;
    all.push_back(with_calendar(recipe, unroll::load_series(path, of_test)));
    for (const std::string& note : all.back().notes)
      notes.push_back(fmt::format("{}: {}", path.filename().string(), note));
    const Part rows = whole_series(all.back());
    tests.push_back({alone ? path.stem().string() : name,
                     make_windows(recipe, all.back(), scaling, rows, path.string()), rows});
  }
  if (!recipe.detects())
    mase_scale = unroll::mase_scale(series(), split.train, recipe.data.period, targets());
  if (trains && !fold)
    for (const char* part : {"valid", "test"})
      std::ranges::copy(warnings_of_training(*this, part), std::back_inserter(warnings));
  if (saved && trains) facts.trained.add(series(), split.train);
  set_trained_on(TrainedOn(facts.trained));
  note_short_series(not_split);
  note_targets_left_out();
}

void SeriesData::set_trained_on(const TrainedOn& trained) {
  facts.trained = trained;
  first_untrained.clear();
  for (int member = 0; member < series().count(); ++member)
    first_untrained.push_back(trained.first_after(series(), member).value_or(series().begin_of(member)));
}

// Notes which of several series lack rows for a window in some part.
void SeriesData::note_short_series(const std::vector<int>& not_split) {
  if (series().members.empty()) return;
  const auto say = [&](const std::vector<int>& members, const std::string& what) {
    if (members.empty()) return;
    std::vector<std::string> names;
    for (const int member : members) names.push_back("'" + one_line(facts.members[member]) + "'");
    notes.push_back(fmt::format("{} of {} series {}: {}", with_commas(members.size()),
                                with_commas(series().count()), what, first_of(names)));
  };
  say(not_split, "cannot be split, and are left out");
  const auto& options = train->options();
  const auto without = [&](const SeriesWindows& windows) {
    std::vector<bool> has(facts.members.size());
    for (const int member : not_split) has[member] = true;
    for (const int64_t origin : windows.origins()) has[series().member_of(origin)] = true;
    std::vector<int> members;
    for (size_t k = 0; k < has.size(); ++k)
      if (!has[k]) members.push_back(static_cast<int>(k));
    return members;
  };
  const auto too_short = [&](const char* where) {
    return fmt::format("have no window of {} row{} and {} to forecast {}", options.window,
                       plural(options.window), options.horizon, where);
  };
  say(without(*train), too_short("among the rows that train, and train nothing"));
  if (valid) say(without(*valid), too_short("that validates"));
  if (!tests.empty()) say(without(tests.front().windows), too_short("in the test, and are not scored"));
}

void SeriesData::note_targets_left_out() {
  std::vector<std::string> counts;
  const auto add = [&](const std::string& part, const SeriesWindows& windows) {
    if (const int64_t left_out = windows.targets_left_out())
      counts.push_back(fmt::format("{} of {}", with_commas(left_out), part));
  };
  add("train", *train);
  if (valid) add("valid", *valid);
  for (const TestPart& test : tests) add(test.name, test.windows);
  if (!counts.empty())
    notes.push_back(fmt::format("filled-in values are read but are no targets: left out are {}",
                                fmt::join(counts, ", ")));
}

void print_notes(const Console& console, const SeriesData& data) {
  for (const std::string& note : data.notes) console.print("note    {}\n", note);
  for (const std::string& warning : data.warnings) console.print("warning {}\n", warning);
}

}  // namespace timeseries

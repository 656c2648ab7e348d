#include "series_data.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <type_traits>

#include <fmt/format.h>

#include "bundled_series.h"
#include "data/series/baselines.h"
#include "data/series/csv.h"
#include "data/series/forecast_scores.h"
#include "data/series/series_file.h"
#include "framework/check.h"
#include "framework/one_line.h"
#include "training/report/run_description.h"

namespace timeseries {

namespace fs = std::filesystem;

SeriesOptions series_options(const Recipe& recipe, const SavedModel* saved) {
  const auto& d = recipe.data;
  SeriesOptions options{.time = d.time,
                        .date_order = d.date_order,
                        .channels = d.channels,
                        .known = d.targets,
                        .label = d.label,
                        .only = d.only,
                        .id = d.id,
                        .missing = d.missing,
                        .gaps = d.gaps,
                        .resample = d.resample,
                        .together = d.together,
                        .separator = d.separator[0],
                        .decimal = d.decimal[0]};
  if (saved) {
    options.channels = saved->columns();
    options.usual_time = saved->facts.time;
    options.usual_order = date_order_of(saved->facts.date_order);
    options.model = saved->path.string();
    options.step = parse_step(saved->facts.step);
    return options;
  }
  if (!options.channels.empty())
    for (const std::string& target : d.targets)
      if (std::ranges::find(d.channels, target) == d.channels.end()) options.channels.push_back(target);
  return options;
}

// A command may look at its file twice, but a pipe has its text once: that is kept.
std::string csv_text(const fs::path& csv) {
  static std::map<fs::path, std::string> of_pipes;
  std::error_code error;  // which reading says
  if (csv != standard_input && fs::is_regular_file(csv, error)) return read_series_file(csv);
  const auto known = of_pipes.find(csv);
  return known != of_pipes.end() ? known->second : of_pipes.emplace(csv, read_series_file(csv)).first->second;
}

namespace {

// The name of a bundled series, as opposed to a path.
bool is_name(const std::string& file) { return file.find_first_of("./") == std::string::npos; }

Series load_csv(const fs::path& csv, const SeriesOptions& options) {
  return parse_series(csv_text(csv), name_of_series_file(csv), options);
}

Series read(const Recipe& recipe, const fs::path& csv, const SavedModel* saved) {
  const SeriesOptions options = series_options(recipe, saved);
  if (!csv.empty()) return load_csv(csv, options);
  const std::string& file = recipe.data.file;
  require_input(!file.empty(), "{}: the recipe wants a series of yours; name its file with --csv",
                recipe.name);
  if (!is_name(file)) {
    require_input(fs::exists(file),
                  "{}: there is no such file; data/get-series.sh fetches what the bundled recipes "
                  "need, --csv names it elsewhere",
                  file);
    return unroll::load_series(file, options);
  }
  std::vector<std::string> names;
  for (const BundledSeries& series : bundled_series()) {
    if (series.name == file) return parse_series(series.text, file, options);
    names.emplace_back(series.name);
  }
  throw InputError(
      fmt::format("there is no bundled series '{}'; there are {}; a file of yours has a '.' or '/' in its "
                  "name",
                  file, fmt::join(names, ", ")));
}

void add_rows(Series& series, int64_t rows) {
  if (rows == 0) return;
  const auto with_rows = [&](auto& all, int64_t each, auto more) {  // more(member, k): a value of its row k
    std::remove_cvref_t<decltype(all)> result;
    result.reserve(all.size() + static_cast<size_t>(rows * each * series.count()));
    for (int member = 0; member < series.count(); ++member) {
      result.insert(result.end(), all.begin() + series.begin_of(member) * each,
                    all.begin() + series.end_of(member) * each);
      for (int64_t k = 0; k < rows * each; ++k) result.push_back(more(member, k / each));
    }
    return result;
  };
  std::vector<int64_t> at;
  try {
    at = with_rows(series.times.at, 1, [&, times = Times()](int member, int64_t k) mutable {
      if (k == 0) {
        times = {.form = series.times.form,
                 .compact = series.times.compact,
                 .utc = series.times.utc,
                 .at = {series.times.at[static_cast<size_t>(series.end_of(member) - 1)]},
                 .step = series.times.step};
        (void)times.time(rows);
      }
      return times.time(k + 1).count;
    });
  } catch (const InputError& error) { throw InputError(fmt::format("{}: {}", series.origin, error.what())); }
  series.values = with_rows(series.values, series.width(), [](int, int64_t) { return 0.0; });
  if (!series.filled.empty())
    series.filled = with_rows(series.filled, series.width(), [](int, int64_t) { return uint8_t{0}; });
  if (!series.members.empty())
    series.lines = with_rows(series.lines, 1, [](int, int64_t) { return int64_t{0}; });
  series.times.at = std::move(at);
  if (!series.members.empty()) series.times.offsets.clear();  // only reading needs them
  int64_t moved = 0;
  for (SeriesMember& member : series.members)
    member.begin += moved, moved += rows, member.end += moved;
}

bool has_trend(const Recipe& recipe) {
  return std::ranges::find(recipe.data.calendar, "trend") != recipe.data.calendar.end();
}

// The trend counts from `trend_zero`; empty: from the first row.
Series with_calendar(const Recipe& recipe, Series series, const std::string& trend_zero = {}) {
  if (const auto zero = parse_time(trend_zero, series.times.form))
    add_calendar(series, recipe.data.calendar, *zero);
  else
    add_calendar(series, recipe.data.calendar);
  return series;
}

// Of a saved model's series. A model of an earlier version does not know its zero.
Series with_calendar(const SavedModel& saved, Series series) {
  if (has_trend(saved.recipe) && saved.facts.trend_zero.empty())
    series.notes.push_back(
        fmt::format("{} does not say from when its trend counts: taken from the first row of {}, {}",
                    saved.path.string(), series.origin, series.times.text(0)));
  return with_calendar(saved.recipe, std::move(series), saved.facts.trend_zero);
}

Part rows_between(int64_t begin, int64_t end) { return {{begin, end, 0}}; }

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
    case SplitKind::shuffled:
      return split_shuffled(rows, d.train, d.valid, recipe.training.seed);
  }
  return {};
}

// Those that split_by_keys reads, with their values.
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

// `not_split`: those of several series that have too few rows for it, or none of a part's times.
SeriesSplit make_split(const Recipe& recipe, const Series& series, int64_t rows_beyond,
                       std::vector<int>& not_split) {
  const auto& d = recipe.data;
  const auto known = [&](int member) {
    return series.end_of(member) - series.begin_of(member) - rows_beyond;
  };
  const int64_t rows = known(0);
  if (!d.test_files.empty()) {
    const int64_t border = unroll::share_of(rows, d.train);
    require_input(border > 0, "{}: data.train = {} leaves no rows to train on of {}", series.origin, d.train,
                  rows);
    return {rows_between(0, border), rows_between(border, rows), {}};
  }
  if (recipe.is_ensemble() && d.split == SplitKind::fraction && d.train == 1)
    return {rows_between(0, rows), {}, {}};
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

// Once it is known that the rows are enough for the split: most recipes do not say which weights are kept, and a share
// may be less than a row.
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

// Of a fold: its split is not the recipe's.
std::vector<std::string> warnings_of(const Recipe& recipe, bool fold) {
  std::vector<std::string> warnings;
  if (recipe.scaling.fit == ScalingFit::all && recipe.scaling.kind != ScalingKind::none)
    warnings.push_back(
        "scaling.fit = \"all\": the scaling has seen the test rows, as no forecast could have");
  if (recipe.data.drop_last_pairs > 0)
    warnings.push_back(
        fmt::format("data.drop_last_pairs = {}: each part loses so many pairs; the test is not full",
                    recipe.data.drop_last_pairs));
  if (recipe.data.split == SplitKind::shuffled && !fold)
    warnings.push_back(
        "data.split = \"shuffled\": neighbours of each test row were trained on; the scores leak");
  if (recipe.data.missing == Missing::interpolate)
    warnings.push_back(
        "data.missing = \"interpolate\": a filled-in value that is read has seen the value after it, which may be the one "
        "that is forecast: the scores leak");
  return warnings;
}

std::vector<std::string> names_of_members(const Series& series) {
  std::vector<std::string> names;
  for (const SeriesMember& member : series.members) names.push_back(member.name);
  return names;
}

// Those of a model that is trained on these rows.
ModelFacts measured_facts(const Recipe& recipe, const Series& series, const Part& train,
                          std::vector<std::string>& notes) {
  const Part measured = recipe.scaling.fit == ScalingFit::all ? whole_series(series) : train;
  return {.channels = series.channels,
          .scaling = fit_scaling(series, measured, recipe.scaling.kind, notes, recipe.scaling.transform,
                                 recipe.data.period),
          .members = names_of_members(series),
          .time = series.time_name,
          .date_order = code_of(series.date_order),
          .trend_zero = {},
          .step = {},
          .trained = trained_on(series, train)};
}

void warn_of_one_class(const Series& series, const Part& train, std::vector<std::string>& warnings) {
  int64_t ones = 0;
  for (const Span& span : train)
    for (int64_t row = span.begin; row < span.end; ++row) ones += series.at(row, series.label) == 1;
  if (ones == 0 || ones == rows_of(train))
    warnings.push_back(fmt::format(
        "'{}' is {} in all rows that train: no detector can learn from them what {} looks like",
        one_line(series.channels[static_cast<size_t>(series.label)]), ones == 0 ? 0 : 1, ones == 0 ? 1 : 0));
}

}  // namespace

Series load_series(const Recipe& recipe, const fs::path& csv, int64_t rows_beyond) {
  Series series = read(recipe, csv, nullptr);
  add_rows(series, rows_beyond);
  return with_calendar(recipe, std::move(series));
}

Series load_series(const SavedModel& saved, const fs::path& csv, int64_t rows_beyond) {
  Series series = read(saved.recipe, csv, &saved);
  add_rows(series, rows_beyond);
  return with_calendar(saved, std::move(series));
}

bool has_column(const fs::path& csv, char separator, const std::string& name) {
  const std::string text = csv_text(csv);
  CsvReader reader(text, name_of_series_file(csv), separator);
  return reader.next() && std::ranges::find(reader.cells(), name) != reader.cells().end();
}

Series load_unlabelled(const SavedModel& saved, const fs::path& csv) {
  const Recipe& recipe = saved.recipe;
  SeriesOptions options = series_options(recipe, &saved);
  const auto label = std::ranges::find(options.channels, recipe.data.label) - options.channels.begin();
  std::erase(options.channels, recipe.data.label);
  options.times_alone = options.channels.empty();  // it reads the calendar
  options.label.clear();
  Series series = load_csv(csv, options);
  series.insert_channels(static_cast<int>(label), {recipe.data.label},
                         {std::vector<double>(static_cast<size_t>(series.rows()))});
  series.label = static_cast<int>(label);
  return with_calendar(saved, std::move(series));
}

std::string describe(const Recipe& recipe, const fs::path& csv) {
  if (!csv.empty()) return csv.string();
  return is_name(recipe.data.file) ? recipe.data.file + " (bundled)" : recipe.data.file;
}

SeriesWindows make_windows(const Recipe& recipe, const Series& series, const Scaling& scaling,
                           const Part& part, const std::string& part_name, int stride) {
  SeriesWindowOptions options{.window = recipe.data.window,
                              .horizon = recipe.horizon(),
                              .stride = stride,
                              .lead = recipe.detects() ? 0 : 1,
                              .drop_last = std::max(0, recipe.data.drop_last_pairs - 1),
                              .inputs = {},
                              .targets = {}};
  require_input(series.width() > 1 || !recipe.detects(), "{}: there is no column to detect '{}' from",
                series.origin, one_line(recipe.data.label));
  require_positive(series, scaling);
  for (const std::string& name : recipe.data.channels) options.inputs.push_back(series.channel(name));
  if (!options.inputs.empty())
    for (int k = series.width() - series.calendar; k < series.width(); ++k) options.inputs.push_back(k);
  for (const std::string& name : recipe.data.targets) options.targets.push_back(series.channel(name));
  return SeriesWindows(series, scaling, part, part_name, options);
}

std::optional<SeriesWindows> windows_if_any(const Recipe& recipe, const Series& series,
                                            const Scaling& scaling, const Part& part) {
  try {
    if (!part.empty()) return make_windows(recipe, series, scaling, part, "valid");
  } catch (const InputError&) {}  // it is too short
  return {};
}

std::optional<SeriesSplit> split_if_any(const Recipe& recipe, const Series& series, int64_t rows_beyond) {
  try {
    std::vector<int> not_split;
    return make_split(recipe, series, rows_beyond, not_split);
  } catch (const InputError&) { return {}; }
}

std::vector<std::string> warnings_of_training(const Recipe& recipe, const SeriesData& data,
                                              const std::string& split) {
  std::vector<std::string> warnings;
  const auto look = [&](const Series& series, const Part& part, const std::string& name) {
    if (auto warning = data.facts.trained.warning_of(series, part, name))
      warnings.push_back(std::move(*warning));
  };
  if (recipe.data.split == SplitKind::shuffled && data.facts.trained.is_of(data.series(), data.split.train))
    return {};
  if (split == "valid") look(data.series(), data.split.valid, split);
  if (split != "test") return warnings;
  look(data.series(), data.split.test, split);
  const size_t of_files = data.tests.size() - (data.all.size() - 1);
  for (size_t k = 1; k < data.all.size(); ++k)
    look(data.all[k], whole_series(data.all[k]), data.tests[of_files + k - 1].name);
  return warnings;
}

SeriesData::SeriesData(const Recipe& recipe, const fs::path& csv, const Purpose& purpose)
    : warnings(warnings_of(recipe, purpose.fold.has_value())) {
  const auto& [saved, trains, fold, ensemble] = purpose;
  if (!csv.empty() || !is_name(recipe.data.file)) file = csv.empty() ? fs::path(recipe.data.file) : csv;
  all.push_back(saved ? load_series(*saved, csv) : load_series(recipe, csv));
  notes = series().notes;
  std::vector<int> not_split;
  split = fold ? *fold : make_split(recipe, series(), 0, not_split);
  if (trains) require_valid_rows(recipe, series(), split);
  if (recipe.detects() && trains) warn_of_one_class(series(), split.train, warnings);
  if (recipe.data.drop_last_pairs > 0) split = without_history(split);
  facts = saved ? saved->facts : measured_facts(recipe, series(), split.train, notes);
  if (saved) facts.scaling = scaling_for(series(), split.train, recipe, facts, notes);
  facts.members = names_of_members(series());
  if (ensemble) facts.ensemble = *ensemble;
  if (facts.trend_zero.empty() && has_trend(recipe)) facts.trend_zero = series().times.text(0);
  if (facts.step.empty())
    facts.step = step_code(series().time_name.empty() ? TimeStep{} : series().times.step);
  const Scaling& scaling = facts.scaling;
  train.emplace(make_windows(recipe, series(), scaling, split.train, "train", recipe.data.stride));
  if (const int order = recipe.data.autoregression;
      !recipe.detects() && trains && series().members.empty())
    require_input(order == 0 || can_fit_autoregression(series(), split.train, order, targets()),
                  "{}: data.autoregression = {} needs {} rows side by side that train, and there are {}{}",
                  series().origin, order, 2 * order + 1, longest_span(split.train),
                  series().filled.empty() ? "" : "; values that were filled in do not count");
  if (rows_of(split.valid) > 0) valid.emplace(make_windows(recipe, series(), scaling, split.valid, "valid"));
  if (rows_of(split.test) > 0)
    tests.push_back({"test", make_windows(recipe, series(), scaling, split.test, "test")});
  SeriesOptions of_test = series_options(recipe, saved);
  // In the order of the first file, to which inputs and scaling refer.
  of_test.channels.assign(series().channels.begin(), series().channels.end() - series().calendar);
  of_test.usual_time = series().time_name;
  if (series().date_order != DateOrder::unknown) of_test.usual_order = series().date_order;
  if (!saved && !series().time_name.empty()) of_test.step = series().times.step;
  for (const std::string& name : recipe.data.test_files) {
    const fs::path path = file.parent_path() / name;
    const auto same_stem = [&](const std::string& other) { return fs::path(other).stem() == path.stem(); };
    const bool alone = std::ranges::count_if(recipe.data.test_files, same_stem) == 1;
    all.push_back(with_calendar(recipe, load_csv(path, of_test), facts.trend_zero));
    for (const std::string& note : all.back().notes)
      notes.push_back(fmt::format("{}: {}", path.filename().string(), note));
    tests.push_back(
        {alone ? path.stem().string() : name,
         make_windows(recipe, all.back(), scaling, rows_between(0, all.back().rows()), path.string())});
  }
  if (!recipe.detects())
    mase_scale = unroll::mase_scale(series(), split.train, recipe.data.period, targets());
  if (trains && !fold)
    for (const char* part : {"valid", "test"})
      std::ranges::copy(warnings_of_training(recipe, *this, part), std::back_inserter(warnings));
  if (saved && trains) facts.trained.add(series(), split.train);
  set_trained_on(recipe, TrainedOn(facts.trained));
  note_short_series(not_split);
  note_targets_left_out();
}

void SeriesData::set_trained_on(const Recipe& recipe, const TrainedOn& trained) {
  facts.trained = trained;
  const bool by_lot = recipe.data.split == SplitKind::shuffled && trained.is_of(series(), split.train);
  first_untrained.clear();
  for (int member = 0; member < series().count(); ++member)
    first_untrained.push_back(
        by_lot ? 0 : trained.first_after(series(), member).value_or(series().begin_of(member)));
}

// Of several series those that lack rows for a window in some part.
void SeriesData::note_short_series(const std::vector<int>& not_split) {
  if (series().members.empty()) return;
  const auto say = [&](const std::vector<int>& members, const std::string& what) {
    if (members.empty()) return;
    constexpr size_t most = 5;
    std::vector<std::string> names;
    for (size_t k = 0; k < std::min(most, members.size()); ++k)
      names.push_back("'" + one_line(facts.members[static_cast<size_t>(members[k])]) + "'");
    notes.push_back(fmt::format("{} of {} series {}: {}{}", with_commas(members.size()),
                                with_commas(series().count()), what, fmt::join(names, ", "),
                                members.size() > most ? ", …" : ""));
  };
  say(not_split, "cannot be split, and are left out");
  const auto& options = train->options();
  const auto without = [&](const SeriesWindows& windows) {
    std::vector<bool> has(facts.members.size());
    for (const int member : not_split) has[static_cast<size_t>(member)] = true;
    for (const int64_t origin : windows.origins()) has[static_cast<size_t>(series().member_of(origin))] = true;
    std::vector<int> members;
    for (size_t k = 0; k < has.size(); ++k)
      if (!has[k]) members.push_back(static_cast<int>(k));
    return members;
  };
  const auto too_short = [&](const char* where) {
    return fmt::format("have no window of {} row{} and {} to forecast {}", options.window,
                       options.window == 1 ? "" : "s", options.horizon, where);
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

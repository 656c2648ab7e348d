#include "examples/timeseries/data/series_read.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "data/csv.h"
#include "data/text_file.h"
#include "examples/timeseries/data/bundled_series.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/series_rows.h"
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
                        .open_end = d.open_end ? d.targets : std::vector<std::string>(),
                        .separator = d.separator[0],
                        .decimal = d.decimal[0],
                        .thousands = d.thousands.empty() ? '\0' : d.thousands[0],
                        .mend = d.mend};
  options.known.insert(options.known.end(), d.known.begin(), d.known.end());
  if (saved) {
    options.channels = saved->columns();
    options.usual_time = saved->facts.time;
    options.usual_order = saved->facts.date_order;
    options.model = saved->path.string();
    options.step = parse_step(saved->facts.step);
    return options;
  }
  if (options.channels.empty()) return options;
  for (const std::string& name : options.known)
    if (name != known_calendar && std::ranges::find(options.channels, name) == options.channels.end())
      options.channels.push_back(name);
  return options;
}

bool is_name(const std::string& file) { return file.find_first_of("./") == std::string::npos; }

Series with_calendar(const Recipe& recipe, Series series) {
  if (recipe.data.missing == Missing::mask) add_indicators(series);
  add_calendar(series, recipe.data.calendar);
  return series;
}

namespace {

Series read(const Recipe& recipe, const fs::path& csv, const SavedModel* saved) {
  const SeriesOptions options = series_options(recipe, saved);
  if (!csv.empty()) return unroll::load_series(csv, options);
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

// This machine's clock, as Times::at counts it.
int64_t local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return static_cast<int64_t>(timegm(&local)) * one_second;
}

void add_rows(Series& series, int64_t rows) {
  if (rows == 0) return;
  note_unfinished(series, local_time());
  NewRows all;
  all.from.reserve(series.times.at.size() + static_cast<size_t>(rows * series.count()));
  try {
    for (int member = 0; member < series.count(); ++member) {
      const int64_t end = series.end_of(member);
      const Times times{
          .form = series.times.form,
          .compact = series.times.compact,
          .utc = series.times.utc,
          .at = {series.times.at.begin() + series.begin_of(member), series.times.at.begin() + end},
          .step = series.step_of(member)};
      const int64_t last = std::ssize(times.at) - 1;
      (void)times.time(last + rows);  // says how many rows there are, if the last lies too far ahead
      for (int64_t row = series.begin_of(member); row < end; ++row) all.from.push_back(row);
      for (int64_t k = 1; k <= rows; ++k) all.add_empty(end - 1, times.time(last + k).count);
    }
  } catch (const InputError& error) { throw InputError(fmt::format("{}: {}", series.origin, error.what())); }
  put_rows(series, all, 0);
  for (const auto& [row, time] : all.empty) {  // has no cells to fill in, and no line
    const auto first = static_cast<std::ptrdiff_t>(row) * series.width();
    if (!series.filled.empty()) std::fill_n(series.filled.begin() + first, series.width(), 0);
    if (!series.lines.empty()) series.lines[row] = 0;
  }
}

// The times of a file as those of a series count them: a day may be written with its midnight, and a clock without its offset.
void count_as(Series& ahead, const Series& series) {
  Times& times = ahead.times;
  const Times& others = series.times;
  if (times.form == TimeForm::number || others.form == TimeForm::number) return;
  std::vector<int64_t> at;
  for (int64_t row = 0; row < ahead.rows(); ++row) {
    const Time time = times.time(row), now = in_form(time, others.form);
    const bool is_first =
        others.form >= times.form || in_form(now, times.form).count == time.count + time.offset;
    require_input(is_first, "{}:{}: {} lies within a row of {}, whose times are written as {}", ahead.origin,
                  ahead.lines[row], to_text(time), series.origin, others.text(0));
    at.push_back(others.utc ? others.count_of(now) : now.count + now.offset);
  }
  times.at = std::move(at);
}

// The columns of the rows to forecast, out of their file.
Series read_future(const SavedModel& saved, const std::vector<std::string>& names, const fs::path& file) {
  SeriesOptions options = series_options(saved.recipe, &saved);
  options.channels = names, options.gaps = Gaps::allow;
  options.step.reset(), options.open_end.clear();
  return unroll::load_series(file, options);
}

// Puts what is known of the rows beyond each series' end into them, of the first `future.steps` from the file, from there on the
// last value, which no step that is asked for reads.
void add_future(const SavedModel& saved, Series& series, int64_t rows_beyond, const FutureRows& future) {
  const std::vector<std::string> names = columns_of_future(saved.recipe);
  if (!future.steps || names.empty()) return;
  require_input(
      !future.file.empty(),
      "{}: the model of {} reads {} of the rows that it forecasts (data.known): --future FILE has {}",
      series.origin, saved.path.string(), fmt::join(names, ", "), names.size() == 1 ? "it" : "them");
  Series ahead = read_future(saved, names, future.file);
  require_input(ahead.time_name.empty() == series.time_name.empty(),
                "{}: it has {} column of times, and {} has {}", ahead.origin,
                ahead.time_name.empty() ? "no" : "a", series.origin,
                series.time_name.empty() ? "none" : "one");
  count_as(ahead, series);
  for (int member = 0; member < series.count(); ++member) {
    const std::string name = series.name_of(member);
    const auto of_series = [&] { return name.empty() ? "" : fmt::format(" of series '{}'", one_line(name)); };
    int other = 0;
    while (!name.empty() && other < ahead.count() && ahead.name_of(other) != name) ++other;
    const int64_t first = series.end_of(member) - rows_beyond;
    for (int64_t k = 0; k < rows_beyond; ++k) {
      const int64_t row = first + k;
      int64_t from = -1;
      if (other < ahead.count()) {
        const auto begin = ahead.times.at.begin() + ahead.begin_of(other),
                   end = ahead.times.at.begin() + ahead.end_of(other);
        const int64_t time = series.time_name.empty() ? k : series.times.at[row];
        const auto found = std::lower_bound(begin, end, time);
        if (found != end && *found == time) from = found - ahead.times.at.begin();
      }
      const bool is_needed = k < future.steps && (future.only.empty() || name == future.only);
      const auto require_there = [&](bool there, const std::string& what) {
        require_input(there || !is_needed, "{}: it has no {} for {}{}, step {} of {} to forecast",
                      ahead.origin, what,
                      series.time_name.empty() ? fmt::format("row {}", k + 1) : series.times.text(row),
                      of_series(), k + 1, future.steps);
      };
      require_there(from >= 0, "row");
      for (int channel = 0; channel < ahead.width(); ++channel) {
        const std::string& called = ahead.channels[channel];
        const int to = series.channel(called);
        if (from >= 0) require_there(!ahead.is_filled(from, channel), fmt::format("'{}'", one_line(called)));
        series.values[row * series.width() + to] =
            from >= 0 ? ahead.at(from, channel) : series.at(row - 1, to);
      }
    }
  }
}

}  // namespace

Series load_series(const Recipe& recipe, const fs::path& csv, int64_t rows_beyond) {
  Series series = read(recipe, csv, nullptr);
  add_rows(series, rows_beyond);
  return with_calendar(recipe, std::move(series));
}

Series load_series(const SavedModel& saved, const fs::path& csv, int64_t rows_beyond,
                   const FutureRows& future) {
  Series series = read(saved.recipe, csv, &saved);
  add_rows(series, rows_beyond);
  add_future(saved, series, rows_beyond, future);
  return with_calendar(saved.recipe, std::move(series));
}

std::vector<std::string> columns_of_future(const Recipe& recipe) {
  std::vector<std::string> names = recipe.data.known;
  std::erase(names, known_calendar);
  return names;
}

// To read a detector's series without its labels.
static SeriesOptions without_label(const SavedModel& saved) {
  SeriesOptions options = series_options(saved.recipe, &saved);
  std::erase(options.channels, saved.recipe.data.label);
  options.times_alone = options.channels.empty();  // it reads the calendar
  options.label.clear();
  return options;
}

bool has_labels(const SavedModel& saved, const fs::path& csv) {
  const SeriesOptions options = without_label(saved);
  std::vector<std::string> done;  // which reading the series says
  return read_mended(
      read_series_file(csv), name_of_series_file(csv), options.mend, done, [&](const std::string& text) {
        if (options.mend)
          (void)parse_series(text, name_of_series_file(csv), options);  // its names are mended then
        CsvReader reader(text, name_of_series_file(csv), options.separator);
        return reader.next() &&
               std::ranges::find(reader.cells(), saved.recipe.data.label) != reader.cells().end();
      });
}

Series load_unlabelled(const SavedModel& saved, const fs::path& csv) {
  const Recipe& recipe = saved.recipe;
  const std::vector<std::string> columns = saved.columns();
  const auto label = std::ranges::find(columns, recipe.data.label) - columns.begin();
  Series series = unroll::load_series(csv, without_label(saved));
  series.insert_channels(static_cast<int>(label), {recipe.data.label},
                         {std::vector<double>(static_cast<size_t>(series.rows()))});
  series.label = static_cast<int>(label);
  return with_calendar(recipe, std::move(series));
}

Recipe trained_on_file(Recipe recipe, const fs::path& csv) {
  if (!csv.empty()) recipe.data.file = csv != standard_input && is_utf8(csv.string()) ? csv.string() : "";
  return recipe;
}

std::string describe(const Recipe& recipe, const fs::path& csv) {
  if (!csv.empty()) return csv.string();
  return is_name(recipe.data.file) ? recipe.data.file + " (bundled)" : recipe.data.file;
}

}  // namespace timeseries

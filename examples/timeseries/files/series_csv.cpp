// Reads a series from a CSV file. See series.h.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "data/csv.h"
#include "examples/timeseries/files/categories.h"
#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/resample.h"
#include "examples/timeseries/files/series_columns.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/series_members.h"
#include "examples/timeseries/series/series_rows.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

constexpr double missing_value = std::numeric_limits<double>::quiet_NaN();

NumberMarks marks_of(const SeriesOptions& options) { return {options.decimal, options.thousands}; }

// A line below the rows may hold a total or a remark: its first cell is neither a time nor a number.
std::string or_no_row(const CsvReader& csv, const SeriesColumns& columns) {
  const std::string_view first = csv.cells().front();
  if (time_in(first, columns) || written_number(first, {}) || looks_like_a_date(first)) return "";
  return fmt::format("; if line {} is no row of the series, such as a total, delete it", csv.line());
}

// The advice for a column in which this cell is no number. For a model's file there is mostly none.
std::string advice(const CsvReader& csv, const SeriesColumns& columns, int column, std::string_view cell,
                   const SeriesOptions& options, bool has_numbers) {
  const char other = other_mark(options.decimal);
  const auto with_other = written_number(cell, {other}),
             grouped = written_number(cell, {options.decimal, other});
  if ((with_other || grouped) && !options.model.empty())
    return fmt::format("; the model of {} reads numbers with '{}' before their decimals{}", options.model,
                       options.decimal, with_other ? "" : ", and no other mark");
  if (with_other || grouped) {
    const std::string decimal = toml_line("data.decimal", {&other, 1}),
                      thousands = toml_line("data.thousands", {&other, 1});
    if (with_other && grouped)
      return fmt::format("; {} reads it as {}, {} as {}", decimal, with_other->value, thousands,
                         grouped->value);
    return fmt::format("; {} reads numbers that are written so", with_other ? decimal : thousands);
  }
  if (has_numbers)
    return fmt::format("; the cells above it are numbers: leave it empty if its value is missing{}",
                       or_no_row(csv, columns));
  const bool is_date = reads_as_date(cell);
  if (!is_date && looks_like_a_date(cell))
    return fmt::format("; if it is a time, these forms are read: {}", forms_of_time);
  if (is_date && columns.time < 0 && options.model.empty())
    return fmt::format("; {} makes it the time", toml_line("data.time", columns.names[column]));
  std::vector<std::string> others;
  for (const int other : columns.chosen) {
    const auto at = static_cast<std::size_t>(other + columns.skipped);
    const bool is_label = columns.label >= 0 && other == columns.chosen[columns.label];
    if (!is_label && (written_number(csv.cells()[at], marks_of(options)) || says_missing(csv.cells()[at])))
      others.push_back(columns.names[other]);
  }
  if (!options.channels.empty() || others.empty()) return "";
  const std::string as_words =
      is_date ? ""
              : fmt::format(" (data.categories = {} reads its words)", toml_list({columns.names[column]}));
  return fmt::format("; a column of {} is left out by naming the channels{}: data.channels = {}",
                     is_date ? "dates" : "text", as_words, toml_list(others));
}

// The numbers of a channel so far: their unit, and a note about the first that is not plain.
struct WrittenChannel {
  std::optional<std::string_view> unit;
  std::string note;
};

double read_value(std::string_view text, const CsvReader& csv, const SeriesColumns& columns, int channel,
                  std::string_view cell, const SeriesOptions& options, WrittenChannel& written) {
  const int column = columns.chosen[channel];
  const auto where = [&] { return columns.where(csv, column); };
  if (says_missing(cell)) {
    if (channel == columns.label) throw InputError(fmt::format("{}: a label is missing", where()));
    if (options.missing == Missing::error && options.resample.empty()) {
      throw InputError(fmt::format(
          "{}: a value is missing{}{}", where(), cell.empty() ? "" : fmt::format(" ('{}')", one_line(cell)),
          options.model.empty() ? "; data.missing = \"previous\", \"mask\" or \"interpolate\" fills it in"
                                : ""));
    }
    return missing_value;
  }
  const auto parsed = written_number(cell, marks_of(options));
  if (!parsed) {
    if (const auto several = several_series(text, columns, csv, options)) throw InputError(*several);
    throw InputError(fmt::format("{}: '{}' is not a number{}", where(), one_line(cell),
                                 advice(csv, columns, column, cell, options, written.unit.has_value())));
  }
  const double value = parsed->value;
  if (!written.unit) written.unit = parsed->unit;
  if (*written.unit != parsed->unit)
    throw InputError(
        fmt::format("{}: '{}' has {}, and the numbers above it have {}: write all with one unit, or without",
                    where(), one_line(cell), parsed->unit.empty() ? "no unit" : parsed->unit,
                    written.unit->empty() ? "none" : *written.unit));
  if (written.note.empty() && !parse_number(cell, options.decimal))
    written.note = fmt::format(
        "column {} ('{}'): numbers are read without the marks around them, '{}' in line {} as {}",
        column + columns.skipped + 1, one_line(columns.names[column]), one_line(cell), csv.line(), value);
  if (!std::isfinite(value))
    throw InputError(fmt::format("{}: '{}' is no finite number", where(), one_line(cell)));
  if (channel == columns.label && value != 0 && value != 1)
    throw InputError(fmt::format("{}: a label is 0 or 1, not '{}'", where(), one_line(cell)));
  return value;
}

// --- times -------------------------------------------------------------------------------------------------

// Most of the whole numbers look like dates: how to read them as values instead.
std::string or_a_channel(const SeriesColumns& columns, const SeriesOptions& options) {
  if (!columns.time_found || columns.form == TimeForm::number || !options.model.empty()) return "";
  std::vector<std::string> names = {columns.names[columns.time]};
  for (const int column : columns.chosen) names.push_back(columns.names[column]);
  if (columns.label >= 0) names.erase(names.begin() + 1 + columns.label);
  return fmt::format("; if the column holds values, data.channels = {} reads it as a channel",
                     toml_list(names));
}

// Whether rows ascend in time, or descend with the newest first.
enum class Direction : int8_t { back = -1, unknown = 0, forward = 1 };

// Throws InputError for a row whose time does not follow `last`, the time of the row before, in the rows' direction.
[[noreturn]] void refuse_order(std::string_view text, const Times& times, const CsvReader& csv,
                               const SeriesColumns& columns, const Time& time, int64_t last,
                               Direction direction, const SeriesOptions& options) {
  if (const auto several = several_series(text, columns, csv, options)) throw InputError(*several);
  Time before = times.time(static_cast<int64_t>(times.at.size()) - 1);
  before.count = last;
  constexpr int64_t hour = 3'600'000'000;
  const bool clock = time.form == TimeForm::date_time && !time.utc && std::abs(last - time.count) <= hour;
  std::string hint = clock ? "; where clocks are set back, an hour comes twice: times with an offset "
                             "(2021-10-31T02:00+01:00) tell which is which"
                           : or_a_channel(columns, options);
  const bool can_merge = hint.empty() || clock;
  if (time.count == last && can_merge && columns.id < 0 && time.form != TimeForm::number &&
      options.model.empty())
    hint +=
        fmt::format("; {} and data.together = \"sum\", or \"mean\", \"last\", put rows of one time together",
                    toml_line("data.resample", resample_text(times)));
  const std::string of_series =
      columns.id < 0 ? ""
                     : fmt::format(" of series '{}'", one_line(csv.cells()[columns.id + columns.skipped]));
  const std::string where = columns.where(csv, columns.time);
  if (time.count == last)
    throw InputError(fmt::format("{}: {}{} stands there twice{}", where, to_text(before), of_series, hint));
  throw InputError(
      fmt::format("{}: {}{} comes after {}: rows must be in order of time{}{}", where, to_text(time),
                  of_series, to_text(before),
                  direction == Direction::back ? ", and those above it have the newest first" : "", hint));
}

// Reads a row's time. `last`: the time of the previous row of its series; nullptr: there is none.
void read_time(std::string_view text, Series& series, const CsvReader& csv, const SeriesColumns& columns,
               std::string_view cell, const SeriesOptions& options, const int64_t* last,
               Direction& direction) {
  const auto time = time_in(cell, columns);
  const auto where = [&] { return columns.where(csv, columns.time); };
  if (!time) {
    if (columns.order != DateOrder::unknown && reads_as_date(cell))
      throw InputError(fmt::format("{}: '{}' is not a time, since dates here are {}", where(), one_line(cell),
                                   described(columns.order)));
    const bool is_large = std::abs(parse_number(cell).value_or(0)) >= static_cast<double>(largest_number);
    throw InputError(fmt::format(
        "{}: '{}' is not a time; these forms are read: whole numbers{}, {}{}{}", where(), one_line(cell),
        is_large ? fmt::format(" up to {} (nanoseconds since 1970 in 2065)", largest_number) : "",
        forms_of_time, or_a_channel(columns, options), series.rows() > 0 ? or_no_row(csv, columns) : ""));
  }
  if (columns.form != TimeForm::number && time->form != columns.form) {
    const std::string called = times_called(columns.form);
    throw InputError(fmt::format("{}: '{}' is no {}, and the column holds {}{}", where(), one_line(cell),
                                 called.substr(0, called.size() - 1), called,
                                 or_a_channel(columns, options)));
  }
  Times& times = series.times;
  if (times.at.empty()) {
    times.form = time->form;
    times.utc = time->utc;
    times.compact = time->compact;
  } else {
    const Time before = times.time(static_cast<int64_t>(times.at.size()) - 1);
    if (time->form != times.form || time->compact != times.compact) {
      throw InputError(fmt::format("{}: '{}' is another form of time than '{}' above it", where(),
                                   one_line(cell), to_text(before)));
    }
    if (time->utc != times.utc)  // not require_input(): formats only on failure
      throw InputError(fmt::format(
          "{}: '{}' has {} offset from UTC, and the times above it have {}: which comes first cannot be told",
          where(), one_line(cell), time->utc ? "an" : "no", time->utc ? "none" : "one"));
    if (last && options.resample.empty()) {
      // Whole numbers that descend may be values.
      const bool may_go_back = columns.form == TimeForm::number && time->form != TimeForm::number;
      if (direction == Direction::unknown && (time->count > *last || may_go_back) && time->count != *last)
        direction = time->count > *last ? Direction::forward : Direction::back;
      const bool in_order = direction == Direction::back ? time->count < *last : time->count > *last;
      if (!in_order) refuse_order(text, times, csv, columns, *time, *last, direction, options);
    }
  }
  if (time->offset != 0 && times.offsets.empty()) times.offsets.resize(times.at.size());
  times.at.push_back(time->count);
  if (time->offset != 0 || !times.offsets.empty()) times.offsets.push_back(time->offset);
}

// Checks a row number in a first column without a name: it must ascend. A column of values must not be taken for
// one: it would be lost.
void check_row_number(const CsvReader& csv, std::optional<int64_t>& before) {
  const std::string_view cell = csv.cells().front();
  const auto number = parse_time(cell);
  const bool is_whole = number && number->form == TimeForm::number;
  if (!is_whole || (before && number->count <= *before)) {
    throw InputError(fmt::format(
        "{}:{}: the first column has no name, and '{}' is no row number{}", csv.origin(), csv.line(),
        one_line(cell),
        is_whole                  ? fmt::format(": it comes after {}", *before)
        : looks_like_a_date(cell) ? fmt::format("; if it is a time, these forms are read: {}", forms_of_time)
                                  : ""));
  }
  before = number->count;
}

constexpr const char* stamps = "dates with a time of day, which are read as 2017-03-31 14:05:59 alone";

// The kind of times that a channel's whole numbers may be: "years", "seconds since 1970". "": none.
std::string times_in_channel(const Series& series, int channel) {
  std::vector<int64_t> numbers;
  bool ascends = true;
  for (int64_t row = 0; row < series.rows(); ++row) {
    const double value = series.at(row, channel);
    if (!(std::abs(value) <= static_cast<double>(largest_number)) || value != std::floor(value)) {
      if (std::isnan(value)) continue;  // missing
      return "";
    }
    if (numbers.empty() && value < static_cast<double>(least_dated)) return "";
    ascends = ascends && (numbers.empty() || static_cast<int64_t>(value) > numbers.back());
    numbers.push_back(static_cast<int64_t>(value));
  }
  const auto rows = static_cast<std::size_t>(series.rows());
  const std::string& name = series.channels[channel];
  if (are_stamps(numbers, rows)) return stamps;
  const TimeForm form = ascends ? form_of_numbers(numbers, name, rows) : TimeForm::number;
  return form != TimeForm::number ? times_called(form) : moments_of_numbers(numbers, name, rows);
}

// Throws InputError if a column may be the time, and the options name neither the time nor the channels.
void require_no_times(const Series& series, const SeriesColumns& columns, const NumberOrder& first,
                      const SeriesOptions& options) {
  if ((!options.channels.empty() && !options.channels_guessed) || options.times_alone) return;
  std::vector<std::string> others = series.channels;
  if (columns.label >= 0) others.erase(others.begin() + columns.label);
  const auto refuse = [&](int channel, const std::string& what, bool may_be_time) {
    const std::string& name = series.channels[channel];
    std::erase(others, name);
    throw InputError(fmt::format(
        "{}: column {} ('{}') holds {}: {}data.channels = {} leaves it out; to read it as a "
        "channel, name it there too",
        series.origin, columns.chosen[channel] + columns.skipped + 1, one_line(name), what,
        may_be_time ? toml_line("data.time", name) + " makes it the time, " : "", toml_list(others)));
  };
  if (others.size() < 2) return;
  for (int channel = 0; channel < series.width(); ++channel) {
    if (channel == columns.label) continue;
    if (const std::string times = times_in_channel(series, channel); !times.empty())
      refuse(channel, times, times != stamps);
    const bool is_first = columns.chosen[channel] == 0 && columns.skipped == 0;
    if (is_first && !first.described().empty()) refuse(channel, first.described(), first.is_whole());
  }
}

}  // namespace

Series parse_series(std::string_view text, const std::string& origin, const SeriesOptions& options) {
  CsvReader csv(text, origin, options.separator);
  const SeriesColumns columns = read_columns(csv, options);
  Series series;
  series.origin = origin;
  series.label = columns.label;
  series.date_order = columns.order;
  series.notes = columns.notes;
  if (columns.time >= 0) series.time_name = columns.names[columns.time];
  for (const int column : columns.chosen) series.channels.push_back(columns.names[column]);
  if (columns.id >= 0) series.id_name = columns.names[columns.id];
  require_input(columns.id < 0 || options.resample.empty(),
                "{}: rows of several series (data.id) cannot be put together by steps (data.resample)",
                origin);
  const std::size_t width = columns.names.size() + static_cast<std::size_t>(columns.skipped);
  std::vector<CategoryColumn> words_of(columns.categories.size(), CategoryColumn(options.decimal));
  for (const int column : columns.categories)
    series.categories.push_back(
        {.name = columns.names[column], .column = column + columns.skipped + 1, .words = {}, .codes = {}});
  require_input(series.categories.empty() || options.resample.empty(),
                "{}: words (data.categories) cannot be put together by steps (data.resample)", origin);
  // Reserves room for all rows: a growing vector would need twice as much.
  const auto most_rows = static_cast<std::size_t>(csv.lines());
  series.values.reserve(most_rows * columns.chosen.size());
  series.times.at.reserve(most_rows), series.lines.reserve(most_rows);
  SeriesMembers members;
  Direction direction = Direction::unknown;
  std::optional<int64_t> row_number;
  NumberOrder first;
  std::vector<std::string> words;  // found instead of options.only's word
  const int width_read = series.width();
  bool is_missing = false;
  std::vector<WrittenChannel> written(columns.chosen.size());
  do {
    const std::vector<std::string_view>& cells = csv.cells();
    const auto count = static_cast<std::size_t>(csv.count());
    if (count < width)
      throw InputError(
          fmt::format("{}:{}: column {} is missing; the row has {} cell{}, the header {}{}", origin,
                      csv.line(), count + 1, count, count == 1 ? "" : "s", width,
                      series.rows() > 0 && !cells.front().empty() ? or_no_row(csv, columns) : ""));
    require_input(count <= width, "{}:{}: column {} is one too many; the row has {} cells, the header {}",
                  origin, csv.line(), width + 1, count, width);
    const auto cell = [&](int column) { return cells[column + columns.skipped]; };
    if (columns.skipped > 0) check_row_number(csv, row_number);
    if (columns.only >= 0 && cell(columns.only) != columns.only_word) {
      if (words.size() < 100 && std::find(words.begin(), words.end(), cell(columns.only)) == words.end())
        words.emplace_back(cell(columns.only));
      continue;
    }
    const int64_t* last = series.times.at.empty() ? nullptr : &series.times.at.back();
    if (columns.id >= 0) {
      if (says_missing(cell(columns.id)))
        throw InputError(
            fmt::format("{}: a row does not name its series (data.id)", columns.where(csv, columns.id)));
      members.next_row(cell(columns.id));
      last = members.last_time();
    } else if (columns.time < 0 && first.is_ordered()) {
      first.add(parse_number(cells.front(), options.decimal));
    }
    if (columns.time >= 0) {
      read_time(text, series, csv, columns, cell(columns.time), options, last, direction);
      if (columns.id >= 0) members.set_time(series.times.at.back());
    } else {
      series.times.at.push_back(columns.id >= 0 ? members.rows_before() : series.rows());
    }
    series.lines.push_back(csv.line());
    const std::size_t before = series.values.size();
    series.values.resize(before + columns.chosen.size());
    double* to = series.values.data() + before;
    for (int channel = 0; channel < width_read; ++channel) {
      const std::string_view text_of = cells[columns.chosen[channel] + columns.skipped];
      WrittenChannel& how = written[channel];
      if (channel != columns.label && (!how.unit || how.unit->empty()))
        if (const auto plain = plain_decimal(text_of, options.decimal)) {
          how.unit.emplace();
          *to++ = *plain;
          continue;
        }
      const double value = read_value(text, csv, columns, channel, text_of, options, how);
      is_missing = is_missing || std::isnan(value);
      *to++ = value;
    }
    for (std::size_t k = 0; k < words_of.size(); ++k) {
      const int column = columns.categories[k];
      const auto where = [&] { return columns.where(csv, column); };
      const int32_t code = words_of[k].code(cell(column), where);
      if (code == CategoryColumn::missing && options.missing == Missing::error)
        throw InputError(fmt::format(
            "{}: a word is missing{}", where(),
            options.model.empty() ? "; data.missing = \"previous\" takes the one before it" : ""));
      series.categories[k].codes.push_back(code);
    }
  } while (csv.next());
  require_input(series.rows() > 0, "{}: no row has '{}' in column '{}' (data.only){}", origin,
                one_line(columns.only_word), columns.only < 0 ? "" : one_line(columns.names[columns.only]),
                which_was_meant(columns.only_word, words));
  for (const WrittenChannel& channel : written)
    if (!channel.note.empty()) series.notes.push_back(channel.note);
  if (columns.time < 0 && columns.id < 0 && (options.channels.empty() || options.channels_guessed))
    if (const auto parts = time_in_parts(text, columns, csv)) throw InputError(*parts);
  if (columns.time < 0 && columns.id < 0) require_no_times(series, columns, first, options);
  if (!series.times.offsets.empty())
    series.notes.push_back(fmt::format("the times have offsets from UTC: rows beyond the last keep its {}",
                                       offset_text(series.times.offsets.back())));
  if (!options.resample.empty() &&
      !std::is_sorted(series.times.at.begin(), series.times.at.end(), std::less_equal{}))
    if (const auto several = several_series(text, columns, csv, options)) throw InputError(*several);
  if (columns.id >= 0) members.settle(series);
  if (direction == Direction::back) turn_around(series);
  resample(series, options);
  for (std::size_t k = 0; k < words_of.size(); ++k) words_of[k].settle(series, series.categories[k]);
  settle_step(series, options);
  cut_open_end(series, options);
  if (is_missing || !options.resample.empty() || options.gaps == Gaps::fill) fill_in(series, options.missing);
  return series;
}

Series load_series(const std::filesystem::path& path, const SeriesOptions& options) {
  return parse_series(read_series_file(path), name_of_series_file(path), options);
}

}  // namespace unroll

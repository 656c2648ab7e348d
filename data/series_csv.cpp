// A series out of a CSV file. See series.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "data/cells.h"
#include "data/csv.h"
#include "data/series.h"
#include "data/series_columns.h"
#include "data/series_rows.h"
#include "data/text_file.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

constexpr double missing_value = std::numeric_limits<double>::quiet_NaN();

// What the program can do about a column of which this cell is no number. Of a model's file it can do nothing.
std::string advice(const CsvReader& csv, const SeriesColumns& columns, int column, const std::string& cell,
                   const SeriesOptions& options) {
  const auto time = parse_time(cell);
  const bool is_date = time && time->form != TimeForm::number;
  if (!is_date && looks_like_a_date(cell))
    return fmt::format("; if it is a time: read are {} alone", forms_of_time);
  if (is_date && columns.time < 0 && options.model.empty())
    return fmt::format("; data.time = \"{}\" makes it the time",
                       one_line(columns.names[static_cast<std::size_t>(column)]));
  std::vector<std::string> others;
  for (const int other : columns.chosen) {
    const auto at = static_cast<std::size_t>(other + columns.skipped);
    const bool is_label =
        columns.label >= 0 && other == columns.chosen[static_cast<std::size_t>(columns.label)];
    if (!is_label && (parse_number(csv.cells()[at]) || says_missing(csv.cells()[at])))
      others.push_back(columns.names[static_cast<std::size_t>(other)]);
  }
  if (!options.channels.empty() || others.empty()) return "";
  return fmt::format("; a column of {} is left out by naming the channels: data.channels = {}",
                     is_date ? "dates" : "text", toml_list(others));
}

double read_value(std::string_view text, const CsvReader& csv, const SeriesColumns& columns, int channel,
                  const std::string& cell, const SeriesOptions& options) {
  const int column = columns.chosen[static_cast<std::size_t>(channel)];
  const auto where = [&] { return columns.where(csv, column); };
  if (says_missing(cell)) {
    if (channel == columns.label) throw InputError(fmt::format("{}: a label is missing", where()));
    if (options.missing == Missing::error) {
      throw InputError(fmt::format(
          "{}: a value is missing{}{}", where(), cell.empty() ? "" : fmt::format(" ('{}')", one_line(cell)),
          options.model.empty() ? "; data.missing = \"previous\" or \"interpolate\" fills it in" : ""));
    }
    return missing_value;
  }
  const auto parsed = parse_number(cell);
  if (!parsed) {
    if (const auto several = several_series(text, columns, csv, options)) throw InputError(*several);
    throw InputError(fmt::format("{}: '{}' is not a number{}", where(), one_line(cell),
                                 advice(csv, columns, column, cell, options)));
  }
  const double value = *parsed;
  if (!std::isfinite(value))
    throw InputError(fmt::format("{}: '{}' is no finite number", where(), one_line(cell)));
  if (channel == columns.label && value != 0 && value != 1)
    throw InputError(fmt::format("{}: a label is 0 or 1, not '{}'", where(), one_line(cell)));
  return value;
}

// --- times -------------------------------------------------------------------------------------------------

// Whether it has an offset from UTC that is not 0.
bool read_time(std::string_view text, Series& series, const CsvReader& csv, const SeriesColumns& columns,
               const std::string& cell, const SeriesOptions& options) {
  const auto time = parse_time(cell);
  const auto where = [&] { return columns.where(csv, columns.time); };
  if (!time) {
    throw InputError(fmt::format("{}: '{}' is not a time; read are whole numbers, {}", where(),
                                 one_line(cell), forms_of_time));
  }
  Times& times = series.times;
  if (times.at.empty()) {
    times.form = time->form;
    times.utc = time->utc;
  } else {
    const Time before{.form = times.form, .count = times.at.back(), .utc = times.utc};
    if (time->form != times.form) {
      throw InputError(fmt::format("{}: '{}' is another form of time than '{}' above it", where(),
                                   one_line(cell), to_text(before)));
    }
    require_input(
        time->utc == times.utc,
        "{}: '{}' has {} offset from UTC, and the times above it have {}: which comes first cannot be told",
        where(), one_line(cell), time->utc ? "an" : "no", time->utc ? "none" : "one");
    if (time->count <= before.count) {
      if (const auto several = several_series(text, columns, csv, options)) throw InputError(*several);
      constexpr int64_t hour = 3'600'000'000;
      const bool clock =
          time->form == TimeForm::date_time && !time->utc && before.count - time->count <= hour;
      const char* hint = clock ? "; where clocks are set back, an hour comes twice: times with an offset "
                                 "(2021-10-31T02:00+01:00) tell which is which"
                               : "";
      if (time->count == before.count)
        throw InputError(fmt::format("{}: {} stands there twice{}", where(), to_text(before), hint));
      throw InputError(fmt::format("{}: {} comes after {}: rows must be in order of time{}", where(),
                                   to_text(*time), to_text(before), hint));
    }
  }
  times.at.push_back(time->count);
  return time->offset;
}

// Of a first column without a name: they ascend, like times. A column of values is none: it would be lost.
void check_row_number(const CsvReader& csv, std::optional<int64_t>& before) {
  const std::string& cell = csv.cells().front();
  const auto number = parse_time(cell);
  const bool is_whole = number && number->form == TimeForm::number;
  if (!is_whole || (before && number->count <= *before)) {
    throw InputError(fmt::format("{}:{}: the first column has no name, and '{}' is no row number{}",
                                 csv.origin(), csv.line(), one_line(cell),
                                 is_whole ? fmt::format(": it comes after {}", *before)
                                 : looks_like_a_date(cell)
                                     ? fmt::format("; if it is a time: read are {} alone", forms_of_time)
                                     : ""));
  }
  before = number->count;
}

// The first column where none is the time, as long as it holds whole numbers that ascend: it may be the time.
class FirstColumn {
 public:
  explicit FirstColumn(const SeriesColumns& columns) : ascends_(columns.time < 0) {}
  void add(const std::string& cell) {
    if (!ascends_) return;
    const auto number = parse_time(cell);
    ascends_ =
        number && number->form == TimeForm::number && (numbers_.empty() || number->count > numbers_.back());
    if (ascends_) numbers_.push_back(number->count);
  }
  const std::vector<int64_t>& numbers() const { return numbers_; }
  bool ascends() const { return ascends_; }

 private:
  bool ascends_;
  std::vector<int64_t> numbers_;
};

// Whole numbers as the dates that they stand for.
void take_numbers(Times& times, const std::vector<int64_t>& numbers, TimeForm form) {
  times.at.clear();
  times.form = form;
  times.compact = form != TimeForm::year;
  for (const int64_t number : numbers) times.at.push_back(parse_time(fmt::format("{}", number), form)->count);
}

constexpr const char* form_names[] = {"numbers", "years", "months", "dates", "times"};

void remove_channel(Series& series, int channel) {
  const int width = series.width();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < series.values.size(); ++i)
    if (static_cast<int>(i % static_cast<std::size_t>(width)) != channel)
      series.values[kept++] = series.values[i];
  series.values.resize(kept);
  series.channels.erase(series.channels.begin() + channel);
  if (series.label > channel) --series.label;
}

// The numbers of a channel, if they stand for dates.
TimeForm form_of_channel(const Series& series, int channel) {
  std::vector<int64_t> numbers;
  for (int64_t row = 0; row < series.rows(); ++row) {
    const double value = series.at(row, channel);
    if (!(std::abs(value) < 1e9) || value != std::floor(value)) return TimeForm::number;
    numbers.push_back(static_cast<int64_t>(value));
    if (row > 0 && numbers[static_cast<std::size_t>(row)] <= numbers[static_cast<std::size_t>(row) - 1])
      return TimeForm::number;
  }
  return form_of_numbers(numbers, series.channels[static_cast<std::size_t>(channel)]);
}

// Where no column is the time, whole numbers that ascend may be: they become the time where they are dates. InputError
// where that is not certain and nobody has said that they are values.
void settle_numbers(Series& series, const SeriesColumns& columns, const FirstColumn& first,
                    const SeriesOptions& options) {
  const bool unnamed = columns.skipped > 0, named = !options.channels.empty() || options.times_alone;
  if (first.ascends()) {
    const std::string name = unnamed ? "" : columns.names[0];
    const auto found = std::find(columns.chosen.begin(), columns.chosen.end(), 0);
    const int channel =
        unnamed || found == columns.chosen.end() ? -1 : static_cast<int>(found - columns.chosen.begin());
    const bool is_wanted = channel >= 0 && (named || channel == columns.label);  // as a channel
    const TimeForm form = form_of_numbers(first.numbers(), name);
    if (form != TimeForm::number && !is_wanted) {
      take_numbers(series.times, first.numbers(), form);
      series.time_name = unnamed ? "time" : name;
      if (unnamed) series.notes.clear();
      series.notes.push_back(
          unnamed ? fmt::format("the first column has no name: it holds {}, and is called 'time'",
                                form_names[static_cast<int>(form)])
                  : fmt::format("column 1 ('{}') holds {}, and is taken as the time (data.time)",
                                one_line(name), form_names[static_cast<int>(form)]));
      if (channel >= 0) remove_channel(series, channel);
      require_input(series.width() > 0 || options.times_alone, "{}: there is no column of values",
                    series.origin);
      return;
    }
    std::vector<std::string> others = series.channels;
    if (columns.label >= 0) others.erase(others.begin() + columns.label);
    constexpr int64_t least = 8;  // fewer numbers may ascend by chance
    if (channel >= 0 && !is_wanted && others.size() > 1 && series.rows() >= least) {
      others.erase(others.begin());
      throw InputError(fmt::format(
          "{}: column 1 ('{}') holds whole numbers that ascend: data.time = \"{}\" makes it the time, data.channels "
          "= {} leaves it out; to read it as a channel, name it there too",
          series.origin, one_line(name), one_line(name), toml_list(others)));
    }
  }
  for (int channel = 0; !named && channel < series.width(); ++channel) {
    if (channel == series.label) continue;
    const TimeForm form = form_of_channel(series, channel);
    const std::string name = one_line(series.channels[static_cast<std::size_t>(channel)]);
    require_input(form == TimeForm::number, "{}: column '{}' holds {}: data.time = \"{}\" makes it the time",
                  series.origin, name, form_names[static_cast<int>(form)], name);
  }
}

}  // namespace

Series parse_series(std::string_view text, const std::string& origin, const SeriesOptions& options) {
  CsvReader csv(text, origin, options.separator);
  const SeriesColumns columns = read_columns(csv, options);
  Series series;
  series.origin = origin;
  series.label = columns.label;
  series.notes = columns.notes;
  if (columns.time >= 0) series.time_name = columns.names[static_cast<std::size_t>(columns.time)];
  for (const int column : columns.chosen)
    series.channels.push_back(columns.names[static_cast<std::size_t>(column)]);
  const std::size_t width = columns.names.size() + static_cast<std::size_t>(columns.skipped);
  std::optional<int64_t> row_number;
  FirstColumn first(columns);
  bool has_offsets = false;
  std::vector<std::string> words;  // in place of options.only's
  do {
    const std::vector<std::string>& cells = csv.cells();
    const auto count = static_cast<std::size_t>(csv.count());
    require_input(count >= width, "{}:{}: column {} is missing; the row has {} cell{}, the header {}", origin,
                  csv.line(), count + 1, count, count == 1 ? "" : "s", width);
    require_input(count <= width, "{}:{}: column {} is one too many; the row has {} cells, the header {}",
                  origin, csv.line(), width + 1, count, width);
    const auto cell = [&](int column) -> const std::string& {
      return cells[static_cast<std::size_t>(column + columns.skipped)];
    };
    if (columns.skipped > 0) check_row_number(csv, row_number);
    if (columns.only >= 0 && cell(columns.only) != columns.only_word) {
      if (words.size() < 100 && std::find(words.begin(), words.end(), cell(columns.only)) == words.end())
        words.push_back(cell(columns.only));
      continue;
    }
    first.add(cells.front());
    if (columns.time >= 0) {
      has_offsets = read_time(text, series, csv, columns, cell(columns.time), options) || has_offsets;
    } else {
      series.times.at.push_back(series.rows());
    }
    series.lines.push_back(csv.line());
    for (int channel = 0; channel < series.width(); ++channel) {
      series.values.push_back(read_value(text, csv, columns, channel,
                                         cell(columns.chosen[static_cast<std::size_t>(channel)]), options));
    }
  } while (csv.next());
  require_input(series.rows() > 0, "{}: no row has '{}' in column '{}' (data.only){}", origin,
                one_line(columns.only_word),
                columns.only < 0 ? "" : one_line(columns.names[static_cast<std::size_t>(columns.only)]),
                which_was_meant(columns.only_word, words));
  if (columns.time < 0) {
    settle_numbers(series, columns, first, options);
  } else if (series.times.form == TimeForm::number) {
    const TimeForm form = form_of_numbers(series.times.at, series.time_name);
    if (form != TimeForm::number) take_numbers(series.times, std::vector<int64_t>(series.times.at), form);
  }
  if (has_offsets)
    series.notes.push_back("the times have offsets from UTC: they are read and written in UTC");
  settle_step(series, options);
  fill_in(series, options.missing);
  return series;
}

Series load_series(const std::filesystem::path& path, const SeriesOptions& options) {
  return parse_series(read_file(path), path.string(), options);
}

}  // namespace unroll

// A series out of a CSV file. See series.h.
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
#include "framework/one_line.h"

namespace unroll {
namespace {

constexpr double missing_value = std::numeric_limits<double>::quiet_NaN();

double read_value(const CsvReader& csv, const SeriesColumns& columns, int channel, const std::string& cell,
                  const SeriesOptions& options) {
  const int column = columns.chosen[static_cast<std::size_t>(channel)];
  const auto where = [&] { return columns.where(csv, column); };
  if (says_missing(cell)) {
    if (channel == columns.label) throw InputError(fmt::format("{}: a label is missing", where()));
    if (options.missing == Missing::error) {
      throw InputError(fmt::format(
          "{}: a value is missing{}{}", where(), cell.empty() ? "" : fmt::format(" ('{}')", one_line(cell)),
          options.model.empty() ? "; missing = \"previous\" or \"interpolate\" fills it in" : ""));
    }
    return missing_value;
  }
  const auto parsed = parse_number(cell);
  if (!parsed) {
    throw InputError(fmt::format(
        "{}: '{}' is not a number{}", where(), one_line(cell),
        looks_like_a_date(cell)    ? fmt::format("; if it is a time: read are {} alone", forms_of_time)
        : options.channels.empty() ? "; a column of text is left out by naming the channels"
                                   : ""));
  }
  const double value = *parsed;
  if (!std::isfinite(value))
    throw InputError(fmt::format("{}: '{}' is no finite number", where(), one_line(cell)));
  if (channel == columns.label && value != 0 && value != 1)
    throw InputError(fmt::format("{}: a label is 0 or 1, not '{}'", where(), one_line(cell)));
  return value;
}

// --- times -------------------------------------------------------------------------------------------------

void read_time(Series& series, const CsvReader& csv, const SeriesColumns& columns, const std::string& cell) {
  const auto time = parse_time(cell);
  const auto where = [&] { return columns.where(csv, columns.time); };
  if (!time) {
    throw InputError(fmt::format("{}: '{}' is not a time; read are whole numbers, {}", where(),
                                 one_line(cell), forms_of_time));
  }
  Times& times = series.times;
  if (times.at.empty()) {
    times.form = time->form;
  } else {
    const Time before{times.form, times.at.back()};
    if (time->form != times.form) {
      throw InputError(fmt::format("{}: '{}' is another form of time than '{}' above it", where(),
                                   one_line(cell), to_text(before)));
    }
    if (time->count == before.count)
      throw InputError(fmt::format("{}: {} stands there twice", where(), to_text(before)));
    if (time->count < before.count)
      throw InputError(fmt::format("{}: {} comes after {}: rows must be in order of time", where(),
                                   to_text(*time), to_text(before)));
  }
  times.at.push_back(time->count);
}

// Numbers of rows ascend, like times. A column of values is none: it would be lost.
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
  do {
    const std::vector<std::string>& cells = csv.cells();
    require_input(cells.size() >= width, "{}:{}: column {} is missing; the row has {} cell{}, the header {}",
                  origin, csv.line(), cells.size() + 1, cells.size(), cells.size() == 1 ? "" : "s", width);
    require_input(cells.size() <= width,
                  "{}:{}: column {} is one too many; the row has {} cells, the header {}", origin, csv.line(),
                  width + 1, cells.size(), width);
    const auto cell = [&](int column) -> const std::string& {
      return cells[static_cast<std::size_t>(column + columns.skipped)];
    };
    if (columns.skipped > 0) check_row_number(csv, row_number);
    if (columns.time >= 0) {
      read_time(series, csv, columns, cell(columns.time));
    } else {
      series.times.at.push_back(series.rows());
    }
    series.lines.push_back(csv.line());
    for (int channel = 0; channel < series.width(); ++channel) {
      series.values.push_back(read_value(csv, columns, channel,
                                         cell(columns.chosen[static_cast<std::size_t>(channel)]), options));
    }
  } while (csv.next());
  find_step(series, options);
  fill_in(series, options.missing);
  return series;
}

Series load_series(const std::filesystem::path& path, const SeriesOptions& options) {
  return parse_series(read_file(path), path.string(), options);
}

}  // namespace unroll

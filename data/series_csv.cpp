// A series out of a CSV file. See series.h.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "data/csv.h"
#include "data/series.h"
#include "data/series_rows.h"
#include "data/text_file.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

constexpr double missing_value = std::numeric_limits<double>::quiet_NaN();

bool says_missing(std::string_view cell) {
  constexpr std::array<std::string_view, 6> words = {"", "na", "n/a", "nan", "null", "?"};
  const auto same = [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a + ('a' - 'A') == b); };
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return std::equal(cell.begin(), cell.end(), word.begin(), word.end(), same);
  });
}

// The number that a cell consists of; infinite or NaN where a double cannot hold it, none if it is not one.
std::optional<double> parse_number(std::string_view cell) {
  double value = 0;
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  const auto [stopped, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (stopped != cell.data() + cell.size() || error == std::errc::invalid_argument) return std::nullopt;
  return error == std::errc() ? value : std::numeric_limits<double>::infinity();
}

// The columns of a file: which are read, and into which channel of the series.
struct Columns {
  std::vector<std::string> names;  // of the file's columns, without the row numbers
  int skipped = 0;                 // 1 if row numbers stand before them
  int time = -1;                   // indices into `names`
  std::vector<int> chosen;         // by channel of the series
  int label = -1;                  // the channel that is the label

  std::string where(const CsvReader& csv, int column) const {
    return fmt::format("{}:{}: column {} ('{}')", csv.origin(), csv.line(), column + skipped + 1,
                       one_line(names[static_cast<std::size_t>(column)]));
  }
};

bool reads_as_value(const std::string& name) {
  return parse_number(name) || parse_time(name) ||
         (looks_like_a_date(name) && name[0] >= '0' && name[0] <= '9');
}

// A file without a header would lose its first row. Names that the user has named are names.
void require_names(const CsvReader& csv, const std::vector<std::string>& names,
                   const SeriesOptions& options) {
  const auto is_named = [&](const std::string& name) {
    return name == options.time || name == options.label ||
           std::find(options.channels.begin(), options.channels.end(), name) != options.channels.end();
  };
  require_input(!std::all_of(names.begin(), names.end(), reads_as_value) ||
                    std::any_of(names.begin(), names.end(), is_named),
                "{}:1: the first line must name the columns; '{}' is a value, as are all in it", csv.origin(),
                one_line(names[0]));
}

// The header is the reader's first row; `next_row_cells` those of the row after it, 0 if there is none.
Columns read_header(const CsvReader& csv, const std::vector<std::string>& header, std::size_t next_row_cells,
                    const SeriesOptions& options) {
  Columns columns;
  columns.names = header;
  if (next_row_cells == header.size() + 1) {
    columns.skipped = 1;
  } else if (header.size() > 1 && header.front().empty()) {
    columns.names.erase(columns.names.begin());
    columns.skipped = 1;
  }
  if (columns.skipped == 0) require_names(csv, header, options);  // row numbers stand below a header alone
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < columns.names.size(); ++i) {
    const std::size_t place = i + 1 + static_cast<std::size_t>(columns.skipped);
    require_input(!columns.names[i].empty(), "{}:1: column {} has no name", csv.origin(), place);
    const auto [first, is_new] = seen.emplace(columns.names[i], place);
    require_input(is_new, "{}:1: column {} is named '{}', as column {} is", csv.origin(), place,
                  one_line(columns.names[i]), first->second);
  }
  return columns;
}

int find_column(const CsvReader& csv, const Columns& columns, std::string_view name,
                const SeriesOptions& options) {
  const auto found = std::find(columns.names.begin(), columns.names.end(), name);
  if (found != columns.names.end()) return static_cast<int>(found - columns.names.begin());
  if (!options.model.empty() && name != options.time)
    throw InputError(fmt::format("{}: its columns are {}; the model of {} was trained on {}", csv.origin(),
                                 one_line(fmt::format("{}", fmt::join(columns.names, ", "))), options.model,
                                 one_line(fmt::format("{}", fmt::join(options.channels, ", ")))));
  throw InputError(fmt::format("{}: there is no column '{}'{}", csv.origin(), one_line(name),
                               did_you_mean(nearest(name, columns.names))));
}

// One column whose cells all hold another separator: that is meant.
void require_separated(const Columns& columns, const CsvReader& csv, const std::vector<std::string>& first,
                       const SeriesOptions& options) {
  if (columns.names.size() != 1 || first.empty()) return;
  const auto text = [](char c) { return c == '\t' ? "\\t" : std::string(1, c); };
  const std::string &name = columns.names[0], &cell = first[0];
  for (const char other : {',', ';', '\t'}) {
    if (other == options.separator || name.find(other) == name.npos || cell.find(other) == cell.npos)
      continue;
    throw InputError(
        fmt::format("{}:1: one column, '{}'; {}", csv.origin(), one_line(name),
                    options.model.empty()
                        ? fmt::format("separator = \"{}\" makes several of it", text(other))
                        : fmt::format("the model of {} reads files with '{}' between the cells, not '{}'",
                                      options.model, text(options.separator), text(other))));
  }
}

// Says which columns are read. `first` are the cells of the first row.
void choose(Columns& columns, const CsvReader& csv, const std::vector<std::string>& first,
            const SeriesOptions& options) {
  require_separated(columns, csv, first, options);
  if (!options.time.empty()) {
    columns.time = find_column(csv, columns, options.time, options);
  } else if (static_cast<int>(first.size()) > columns.skipped) {
    const auto time = parse_time(first[static_cast<std::size_t>(columns.skipped)]);
    if (time && time->form != TimeForm::number) columns.time = 0;
  }
  const int label = options.label.empty() ? -1 : find_column(csv, columns, options.label, options);
  require_input(label < 0 || label != columns.time, "{}: column '{}' cannot be both the times and the label",
                csv.origin(), one_line(options.label));
  for (const std::string& name : options.channels) {
    const int column = find_column(csv, columns, name, options);
    require_input(column != columns.time, "{}: column '{}' holds the times, not a channel", csv.origin(),
                  one_line(name));
    require_input(std::find(columns.chosen.begin(), columns.chosen.end(), column) == columns.chosen.end(),
                  "{}: channel '{}' is asked for twice", csv.origin(), one_line(name));
    columns.chosen.push_back(column);
  }
  for (int i = 0; options.channels.empty() && i < static_cast<int>(columns.names.size()); ++i) {
    if (i != columns.time) columns.chosen.push_back(i);
  }
  if (label >= 0) {
    const auto found = std::find(columns.chosen.begin(), columns.chosen.end(), label);
    columns.label = static_cast<int>(found - columns.chosen.begin());
    if (found == columns.chosen.end()) columns.chosen.push_back(label);
  }
  require_input(!columns.chosen.empty(), "{}: there is no column of values", csv.origin());
  for (const int column : columns.chosen) {  // a name goes into tables, files and pictures
    const std::string& name = columns.names[static_cast<std::size_t>(column)];
    const bool prints =
        std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 32 || c == 127; });
    require_input(prints,
                  "{}:1: column {}: the end of a line, or another control character, in the name '{}'",
                  csv.origin(), column + columns.skipped + 1, one_line(name));
  }
}

double read_value(const CsvReader& csv, const Columns& columns, int channel, const std::string& cell,
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

void read_time(Series& series, const CsvReader& csv, const Columns& columns, const std::string& cell) {
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

}  // namespace

Series parse_series(std::string_view text, const std::string& origin, const SeriesOptions& options) {
  CsvReader csv(text, origin, options.separator);
  csv.next();
  const std::vector<std::string> header = csv.cells();
  const bool has_rows = csv.next();
  Columns columns = read_header(csv, header, has_rows ? csv.cells().size() : 0, options);
  choose(columns, csv, has_rows ? csv.cells() : std::vector<std::string>{}, options);
  require_input(has_rows, "{}: there are no rows below the header", origin);

  Series series;
  series.origin = origin;
  series.label = columns.label;
  if (columns.skipped > 0) series.notes.push_back("the first column has no name: row numbers, left out");
  for (const int column : columns.chosen)
    series.channels.push_back(columns.names[static_cast<std::size_t>(column)]);
  const std::size_t width = columns.names.size() + static_cast<std::size_t>(columns.skipped);
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

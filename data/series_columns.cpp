// See series_columns.h.
#include "data/series_columns.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "data/cells.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {

std::string SeriesColumns::where(const CsvReader& csv, int column) const {
  return fmt::format("{}:{}: column {} ('{}')", csv.origin(), csv.line(), column + skipped + 1,
                     one_line(names[static_cast<std::size_t>(column)]));
}

namespace {

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
SeriesColumns read_header(const CsvReader& csv, const std::vector<std::string>& header,
                          std::size_t next_row_cells, const SeriesOptions& options) {
  SeriesColumns columns;
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

int find_column(const CsvReader& csv, const SeriesColumns& columns, std::string_view name,
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
void require_separated(const SeriesColumns& columns, const CsvReader& csv,
                       const std::vector<std::string>& first, const SeriesOptions& options) {
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
void choose(SeriesColumns& columns, const CsvReader& csv, const std::vector<std::string>& first,
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

}  // namespace

SeriesColumns read_columns(CsvReader& csv, const SeriesOptions& options) {
  csv.next();
  const std::vector<std::string> header = csv.cells();
  const bool has_rows = csv.next();
  const std::vector<std::string> first = has_rows ? csv.cells() : std::vector<std::string>{};
  SeriesColumns columns = read_header(csv, header, first.size(), options);
  choose(columns, csv, first, options);
  require_input(has_rows, "{}: there are no rows below the header", csv.origin());
  return columns;
}

}  // namespace unroll

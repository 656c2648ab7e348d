// See series_columns.h.
#include "examples/timeseries/files/series_columns.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {

std::string SeriesColumns::where(const CsvReader& csv, int column) const {
  return fmt::format("{}:{}: column {} ('{}')", csv.origin(), csv.line(), column + skipped + 1,
                     one_line(names[column]));
}

namespace {

struct Row {
  std::vector<std::string> cells = {};
  std::vector<bool> quoted = {};
};
Row row_of(const CsvReader& csv) { return {{csv.cells().begin(), csv.cells().end()}, csv.quoted()}; }

// The form of the whole numbers in column `cell`, judged by all rows from the reader's on; months too, if most cells are
// 03.2017 and one begins with 0, or more than 12 are each a month from the one before. Reads ahead only if the first cell may be a year or more.
TimeForm form_of_column(const CsvReader& at_first_row, std::size_t cell, std::string_view name) {
  bool padded = false;
  const bool dotted =
      cell < at_first_row.cells().size() && dotted_month(at_first_row.cells()[cell]).has_value();
  const auto number_in = [&](const CsvReader& csv) -> std::optional<int64_t> {
    const std::string_view text = cell < csv.cells().size() ? csv.cells()[cell] : std::string_view();
    const auto time = dotted ? dotted_month(text) : parse_time(text);
    if (!time || (!dotted && time->form != TimeForm::number)) return std::nullopt;
    padded = padded || text[0] == '0';
    return time->count;
  };
  if (number_in(at_first_row).value_or(0) < least_dated) return TimeForm::number;
  CsvReader csv = at_first_row;
  csv.keep(cell + 1);
  std::vector<int64_t> numbers;
  std::size_t rows = 0;
  try {
    do {
      if (const auto number = number_in(csv)) numbers.push_back(*number);
      ++rows;
    } while (csv.next());
  } catch (const InputError&) {}  // reported when the rows are read
  if (!dotted) return form_of_numbers(numbers, name, rows);
  const auto apart = [](int64_t a, int64_t b) { return std::abs(a - b) != 1; };
  const bool in_turn = numbers.size() > 12 && std::ranges::adjacent_find(numbers, apart) == numbers.end();
  return 2 * numbers.size() > rows && (padded || in_turn) ? TimeForm::month : TimeForm::number;
}

// Whether names are 0, 1, 2, ... or 1, 2, 3, ..., as programs name columns without names.
bool count_up(const std::vector<std::string>& names) {
  const int first = names.front() == "0" ? 0 : 1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != std::to_string(static_cast<int>(i) + first)) return false;
  }
  return true;
}

// Throws InputError if the header may be a row of values, which would be lost. Names are those that the options
// name, and numbers in quotes above a number without. `below`: the cells of the next row, of which the first
// `unnamed` have no name.
void require_names(const CsvReader& csv, const Row& names, const Row& below, std::size_t unnamed,
                   const SeriesOptions& options) {
  std::unordered_set<std::string> named(options.channels.begin(), options.channels.end());
  named.insert(options.known.begin(), options.known.end());
  named.insert({options.time, options.label, options.id});
  const auto is_quoted_alone = [&](std::size_t i) {
    const std::size_t under = i + unnamed;
    return names.quoted[i] && !says_missing(names.cells[i]) && under < below.cells.size() &&
           !below.quoted[under] && !says_missing(below.cells[under]);
  };
  for (std::size_t i = 0; i < names.cells.size(); ++i) {
    if (!reads_as_value(names.cells[i], options.decimal) || named.contains(names.cells[i]) ||
        is_quoted_alone(i))
      return;
  }
  throw InputError(
      fmt::format("{}:1: the first line must name the columns; '{}' is a value, as are all in it{}",
                  csv.origin(), one_line(names.cells[0]),
                  options.model.empty() ? "; if they are names, naming one in data.channels says so" : ""));
}

// Throws InputError if the reader's row, the first below the names, has units: nothing but words, and numbers below them.
void require_no_units(CsvReader csv, const Row& header) {
  const Row units = row_of(csv);
  const int64_t line = csv.line();
  const auto is_unit = [&](const std::string& cell) {
    return says_missing(cell) || !(reads_as_value(cell, '.') || reads_as_value(cell, ','));
  };
  if (!std::ranges::all_of(units.cells, is_unit) || !csv.next()) return;
  for (std::size_t i = 0; i < std::min({header.cells.size(), units.cells.size(), csv.cells().size()}); ++i)
    for (const char mark : {'.', ','})
      require_input(
          says_missing(units.cells[i]) || !written_number(csv.cells()[i], {mark, other_mark(mark)}),
          "{}:{}: column {} ('{}'): '{}' is not a number; line {} looks like a row of units: delete it",
          csv.origin(), line, i + 1, one_line(header.cells[i]), one_line(units.cells[i]), line);
}

// Names a first column without a name "time" if it holds dates; else it numbers the rows.
void name_first_column(SeriesColumns& columns, const CsvReader& csv, const Row& first) {
  if (!first.cells.empty()) columns.form = form_of_column(csv, 0, "");
  const bool is_time =
      !first.cells.empty() && (reads_as_date(first.cells[0]) || columns.form != TimeForm::number);
  if (!is_time) {
    columns.skipped = 1;
    columns.notes.push_back("the first column has no name: row numbers, left out");
    return;
  }
  const char* called = times_called(columns.form == TimeForm::number ? TimeForm::date : columns.form);
  const auto same = std::find(columns.names.begin(), columns.names.end(), "time");
  require_input(same == columns.names.end(),
                "{}:1: the first column holds {} and has no name; it cannot be called 'time', since "
                "another is",
                csv.origin(), called);
  columns.names.insert(columns.names.begin(), "time");
  columns.notes.push_back(
      fmt::format("the first column has no name: it holds {}, and is called 'time'", called));
}

// Reads the header, the reader's first row. `first`: the row after it, without cells if there is none.
SeriesColumns read_header(const CsvReader& csv, Row header, const Row& first, const SeriesOptions& options) {
  const bool one_short = csv.count() == static_cast<int64_t>(header.cells.size()) + 1 && !first.cells.empty();
  require_input(!one_short || !first.cells.back().empty() || first.quoted.back(),
                "{}:{}: the row ends with a separator and the header does not: the row has {} cells, the "
                "header {}",
                csv.origin(), csv.line(), first.cells.size(), header.cells.size());
  if (one_short && options.channels.empty() && options.model.empty())
    require_no_split_numbers(csv, header.cells.size());
  SeriesColumns columns;
  columns.has_empty_end = !one_short && header.cells.size() > 1 && header.cells.back().empty() &&
                          is_empty_column(csv, header.cells.size() - 1);
  if (columns.has_empty_end) header.cells.pop_back(), header.quoted.pop_back();
  const bool begun_empty = !one_short && header.cells.size() > 1 && header.cells.front().empty();
  if (begun_empty) {
    header.cells.erase(header.cells.begin());
    header.quoted.erase(header.quoted.begin());
  }
  const bool unnamed = one_short || begun_empty;
  if (!unnamed || !count_up(header.cells)) require_names(csv, header, first, unnamed ? 1 : 0, options);
  require_upright(csv, header.cells, options);
  columns.names = std::move(header.cells);
  if (unnamed) name_first_column(columns, csv, first);
  for (std::size_t i = 0; i < columns.names.size(); ++i) {
    const std::size_t place = i + 1 + static_cast<std::size_t>(columns.skipped);
    require_input(!columns.names[i].empty(),
                  "{}:1: column {} has no name: name it, or delete it if it is empty", csv.origin(), place);
    const auto [same, is_new] = columns.places.emplace(columns.names[i], static_cast<int>(i));
    require_input(is_new, "{}:1: column {} is named '{}', as column {} is", csv.origin(), place,
                  one_line(columns.names[i]), same->second + 1 + columns.skipped);
  }
  return columns;
}

int find_column(const CsvReader& csv, const SeriesColumns& columns, const std::string& name,
                const SeriesOptions& options) {
  if (const auto found = columns.places.find(name); found != columns.places.end()) return found->second;
  if (!options.model.empty() && name != options.time && name != options.id)
    throw InputError(fmt::format("{}: its columns are {}; the model of {} was trained on {}", csv.origin(),
                                 one_line(fmt::format("{}", fmt::join(columns.names, ", "))), options.model,
                                 one_line(fmt::format("{}", fmt::join(options.channels, ", ")))));
  throw InputError(fmt::format("{}: there is no column '{}'{}{}", csv.origin(), one_line(name),
                               name == options.id ? " that names the series (data.id)" : "",
                               which_was_meant(name, columns.names)));
}

// Finds the column of times if no option names it: the first column, else the only one, that holds dates and is
// read for nothing else. Whole numbers that are months or years count only in the first column. `first`: the cells
// of the first row.
void find_times(SeriesColumns& columns, const CsvReader& csv, const std::vector<std::string>& first,
                const SeriesOptions& options) {
  const auto skipped = static_cast<std::size_t>(columns.skipped);
  const std::size_t count = std::min(columns.names.size(), first.size() - std::min(skipped, first.size()));
  const auto is_id = [&](std::size_t i) { return static_cast<int>(i) == columns.id; };
  const auto is_asked_for = [&](std::size_t i) {
    const std::string& name = columns.names[i];
    const auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    return name == options.label || is_id(i) || has(options.channels);
  };
  const auto name = [&](int column) { return one_line(columns.names[column]); };
  const auto take = [&](const std::vector<int>& dated, TimeForm form, bool is_sure) {
    // A model without times may read a file that has some.
    if (dated[0] != 0 && !options.model.empty()) return;
    if (dated[0] != 0 && dated.size() > 1)
      throw InputError(fmt::format("{}: columns '{}' and '{}' hold dates: {} makes one the time",
                                   csv.origin(), name(dated[0]), name(dated[1]),
                                   toml_line("data.time", columns.names[dated[0]])));
    columns.time = dated[0], columns.form = form, columns.time_found = true;
    if (!is_sure)
      columns.notes.push_back(fmt::format("column {} ('{}') holds {}, and is taken as the time (data.time)",
                                          dated[0] + columns.skipped + 1, name(dated[0]),
                                          times_called(form == TimeForm::number ? TimeForm::date : form)));
  };
  std::vector<int> dated;
  for (std::size_t i = 0; i < count; ++i)
    if (reads_as_date(first[i + skipped]) && !is_id(i) && (i == 0 || !is_asked_for(i)))
      dated.push_back(static_cast<int>(i));
  if (!dated.empty()) return take(dated, TimeForm::number, dated[0] == 0);

  if (columns.form != TimeForm::number) return take({0}, columns.form, true);  // a column without a name
  TimeForm found = TimeForm::number;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_asked_for(i) || (i == 0 && skipped > 0)) continue;
    const auto day = parse_time(first[i + skipped], TimeForm::date);
    if (i > 0 && !(day && day->form == TimeForm::date) && !dotted_month(first[i + skipped])) continue;
    const TimeForm form = form_of_column(csv, i + skipped, columns.names[i]);
    if (i == 0 && form != TimeForm::number) return take({0}, form, false);
    if (form != TimeForm::date && form != TimeForm::month) continue;
    if (dated.empty()) found = form;
    dated.push_back(static_cast<int>(i));
  }
  if (!dated.empty()) return take(dated, found, false);

  for (std::size_t i = 0; i < count; ++i) {
    const std::string& cell = first[i + skipped];
    if (parse_number(cell, options.decimal) || !looks_like_a_date(cell) || is_asked_for(i)) continue;
    columns.notes.push_back(fmt::format(
        "column {} ('{}') may hold times, but '{}' in line {} is not read as one: rows are numbered; "
        "write it in one of these forms: {}",
        i + skipped + 1, one_line(columns.names[i]), one_line(cell), csv.line(), forms_of_time));
    return;
  }
}

// Finds the column and the word of options.only.
void find_rows(SeriesColumns& columns, const CsvReader& csv, const SeriesOptions& options) {
  if (options.only.empty()) return;
  // A name may contain '='. The first one behind a column's name counts, else the first one.
  std::size_t equals = options.only.find('=');
  while (equals != std::string::npos && !columns.places.contains(options.only.substr(0, equals)))
    equals = options.only.find('=', equals + 1);
  if (equals == std::string::npos) equals = std::min(options.only.find('='), options.only.size());
  const std::string name = options.only.substr(0, equals);
  require_input(equals < options.only.size(), "{}: write column=word", toml_line("data.only", options.only));
  const auto found = columns.places.find(name);
  require_input(found != columns.places.end(), "{}: there is no column '{}' for {}{}", csv.origin(),
                one_line(name), toml_line("data.only", options.only), which_was_meant(name, columns.names));
  columns.only = found->second;
  columns.only_word = options.only.substr(equals + 1);
}

// A single column whose name and first cell contain another separator was meant to be several.
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
                        ? toml_line("data.separator", {&other, 1}) + " makes several of it"
                        : fmt::format("the model of {} reads files with '{}' between the cells, not '{}'",
                                      options.model, text(options.separator), text(other))));
  }
}

// Names appear in tables, files and pictures.
void require_printable(const SeriesColumns& columns, const CsvReader& csv, const std::vector<int>& read) {
  for (const int column : read) {
    const std::string& name = columns.names[column];
    require_input(std::ranges::none_of(name, [](unsigned char c) { return c < 32 || c == 127; }),
                  "{}:1: column {}: the end of a line, or another control character, in the name '{}'",
                  csv.origin(), column + columns.skipped + 1, one_line(name));
  }
}

// Chooses the columns to read. `first`: the cells of the first row.
void choose(SeriesColumns& columns, const CsvReader& csv, const std::vector<std::string>& first,
            const SeriesOptions& options) {
  require_separated(columns, csv, first, options);
  find_rows(columns, csv, options);
  if (!options.id.empty()) columns.id = find_column(csv, columns, options.id, options);
  if (!options.time.empty()) {
    columns.time = find_column(csv, columns, options.time, options);
  } else if (const auto usual = columns.places.find(options.usual_time); usual != columns.places.end()) {
    columns.time = usual->second;
  } else {
    find_times(columns, csv, first, options);
  }
  if (columns.time >= 0 && !columns.time_found)
    columns.form = form_of_column(csv, static_cast<std::size_t>(columns.time + columns.skipped),
                                  columns.names[columns.time]);
  if (columns.time >= 0) columns.order = order_of_dates(csv, columns, options);
  require_input(columns.id < 0 || columns.id != columns.time,
                "{}: column '{}' cannot both name the series and hold the times", csv.origin(),
                one_line(options.id));
  const int label = options.label.empty() ? -1 : find_column(csv, columns, options.label, options);
  require_input(label < 0 || label != columns.time, "{}: column '{}' cannot be both the times and the label",
                csv.origin(), one_line(options.label));
  std::vector<bool> is_chosen(columns.names.size());
  for (const std::string& name : options.channels) {
    const int column = find_column(csv, columns, name, options);
    require_input(column != columns.time, "{}: column '{}' holds the times, not a channel", csv.origin(),
                  one_line(name));
    require_input(column != columns.id, "{}: column '{}' names the series (data.id), and is no channel",
                  csv.origin(), one_line(name));
    require_input(!is_chosen[column], "{}: channel '{}' is asked for twice", csv.origin(), one_line(name));
    is_chosen[column] = true;
    columns.chosen.push_back(column);
  }
  const bool every = options.channels.empty() && !options.times_alone;
  for (int i = 0; every && i < static_cast<int>(columns.names.size()); ++i) {
    if (i != columns.time && i != columns.only && i != columns.id && !is_chosen[i])
      columns.chosen.push_back(i);
  }
  if (label >= 0) {
    const auto found = std::find(columns.chosen.begin(), columns.chosen.end(), label);
    columns.label = static_cast<int>(found - columns.chosen.begin());
    if (found == columns.chosen.end()) columns.chosen.push_back(label);
  }
  require_input(!columns.chosen.empty() || options.times_alone, "{}: there is no column of values",
                csv.origin());
  require_printable(columns, csv, columns.chosen);
}

}  // namespace

std::string toml_list(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i ? ", " : "") + toml_string(names[i]);
  return "[" + text + (names.size() > most ? ", ...]" : "]");
}

std::string toml_line(std::string_view key, std::string_view value) {
  return fmt::format("{} = {}", key, toml_string(value));
}

std::optional<Time> time_in(std::string_view cell, const SeriesColumns& columns) {
  return parse_time(cell, columns.form, columns.order);
}

const char* times_called(TimeForm form) {
  constexpr const char* names[] = {"numbers", "years", "quarters", "months", "dates", "times"};
  return names[static_cast<int>(form)];
}

SeriesColumns read_columns(CsvReader& csv, const SeriesOptions& options) {
  csv.next();
  require_input(csv.count() <= static_cast<int64_t>(CsvReader::most_columns),
                "{}:1: {} columns; at most {} are read", csv.origin(), csv.count(), CsvReader::most_columns);
  const Row header = row_of(csv);
  CsvReader below = csv;
  const bool has_rows = below.next();
  const auto named = has_rows ? line_of_names(below, header.cells, options) : std::nullopt;
  require_input(!named, "{}:1: '{}' names no columns, but line {} does: delete what is above it",
                csv.origin(), one_line(header.cells.front()), named.value_or(0));
  if (has_rows) require_no_units(below, header);
  csv.keep(header.cells.size() + 1);  // one cell more than the header: a column without a name
  csv.next();
  const Row first = has_rows ? row_of(csv) : Row{};
  SeriesColumns columns = read_header(csv, header, first, options);
  choose(columns, csv, first.cells, options);
  require_input(has_rows, "{}: there are no rows below the header", csv.origin());
  return columns;
}

}  // namespace unroll

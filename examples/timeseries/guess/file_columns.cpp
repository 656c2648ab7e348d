// How the file of a series without a recipe is read. See wishes.h.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "data/lower_case.h"
#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "examples/timeseries/guess/columns.h"
#include "examples/timeseries/guess/wishes.h"
#include "examples/timeseries/series/series_rows.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace timeseries {

namespace {

std::string quoted(char mark) { return toml_string(std::string(1, mark)); }

// Which marks the numbers have.
void guess_marks(FileReading& reading, const FileColumns& file, const std::string& origin,
                 SeriesOptions& options, const Wishes& wishes) {
  std::vector<MarkFinder> columns(file.columns.size()), without_units(columns);
  std::vector<bool> have_units(columns.size(), options.mend);
  file.each_cell([&](size_t c, std::string_view cell, const CsvReader&) {
    if (options.mend) cell = bare(cell);
    columns[c].add(cell);
    const std::string_view number = have_units[c] ? number_before_unit(cell) : "";
    have_units[c] = have_units[c] && (says_missing(cell) || !number.empty());
    if (!number.empty()) without_units[c].add(number);
  });
  MarkFinder finder;
  for (size_t c = 0; c < columns.size(); ++c) finder.join(have_units[c] ? without_units[c] : columns[c]);
  if (!says(wishes, "data.decimal")) {
    auto decimal = finder.decimal(options.separator);
    if (!decimal) {  // another column may be in doubt
      MarkFinder asked;
      for (size_t c = 0; c < columns.size(); ++c)
        if (std::ranges::count(reading.targets, file.columns[c].name) > 0) asked.join(columns[c]);
      if (!reading.targets.empty()) decimal = asked.decimal(options.separator);
    }
    if (!decimal) {
      const std::string& cell = finder.either();
      const char mark = cell.find(',') != std::string::npos ? ',' : '.';
      const auto as = [&](NumberMarks marks) {
        return written_number(cell, marks).value_or(WrittenNumber{}).value;
      };
      throw InputError(fmt::format(
          "{}: '{}' may be {} or {}, and no cell of its column tells which: --set data.decimal={} reads the first, "
          "--set data.decimal={} the second",
          origin, one_line(cell), as({.decimal = mark}), as({other_mark(mark), mark}), mark,
          other_mark(mark)));
    }
    options.decimal = *decimal;
    if (*decimal != '.') {
      reading.keys.emplace_back("decimal", quoted(*decimal));
      if (finder.has_decimal_commas())
        reading.guesses.push_back(
            {"numbers", "with decimal commas", "more cells are numbers so", "--set data.decimal=."});
    }
  }
  if (says(wishes, "data.thousands")) return;
  options.thousands = finder.thousands(options.decimal);
  if (options.thousands == '\0') return;
  reading.keys.emplace_back("thousands", quoted(options.thousands));
  reading.guesses.push_back(
      {"numbers", fmt::format("with '{}' between groups of three digits", options.thousands),
       finder.grouped().empty() ? "more cells are numbers so"
                                : fmt::format("as in '{}'", one_line(with_plain_blanks(finder.grouped()))),
       fmt::format("--set data.decimal={}", options.thousands)});
}

// Numbers in the first column that ascend are times, or number the rows.
bool guess_time(FileReading& reading, const FileColumns& file, const Column& column, const Wishes& wishes) {
  if (file.has_time || !column.is_first || !column.order.is_whole() || !column.order.is_even() ||
      !column.order.ascends() || column.counts_up || column.order.described().empty() ||
      says(wishes, "data.time"))
    return false;
  reading.keys.emplace_back("time", toml_string(column.name));
  const bool may_be_days = 36'526 <= column.last && column.last < 54'789;  // 2000 to 2050, of a spreadsheet
  reading.guesses.push_back(
      {"time", fmt::format("column '{}'", one_line(column.name)),
       fmt::format("the first one, {}{}", column.order.described(),
                   may_be_days ? "; if they are a spreadsheet's days, format the cells as dates "
                                 "there, as 2025-03-31, and save again"
                               : ""),
       fmt::format("--column {} forecasts it", one_line(column.name))});
  return true;
}

// Why it is not forecast; "": it is.
std::string left_out(const FileColumns& file, const Column& column) {
  if (column.others > 0) {
    const std::string cell = fmt::format("'{}' in line {}", one_line(column.other, 20), column.other_line);
    if (column.numbers <= column.others)
      return fmt::format("text, {} is no number{}{}", cell, column.mend.empty() ? "" : ": ", column.mend);
    return column.others == 1
               ? fmt::format("{} is no number: forecast if the cell is one, or is left empty", cell)
               : fmt::format("{} is no number, nor are {} other cells: {}", cell, column.others - 1,
                             column.mend.empty() ? "forecast if they are, or are left empty" : column.mend);
  }
  if (column.numbers == 0) return "empty";
  if (file.columns.size() == 1) return "";
  const auto has_values = [](const Column& of) { return of.numbers > of.others && !of.follows; };
  if (column.counts_up ||
      (column.follows && !column.is_first && std::ranges::any_of(file.columns, has_values)))
    return "numbers the rows";
  if (column.changes && column.repeats.holds()) return "it repeats the time";
  if (const std::string of = flagged_by(column.name);
      std::ranges::any_of(file.columns, [&](const Column& other) { return !of.empty() && other.name == of; }))
    return "a flag by its name";
  if (column.numbers < 6 && 10 * column.numbers < column.missing)
    return fmt::format("only {} cells have a number", column.numbers);
  if (column.order.is_whole() && column.order.ascends() && !column.order.described().empty() &&
      names_a_counter(column.name))
    return "a counter by its name and whole numbers that ascend";
  if (!column.is_first || file.has_time || column.order.described().empty()) return "";
  return column.order.described() +
         (column.order.is_whole()
              ? fmt::format(", as times do: --set data.time={} makes it the time", one_line(column.name))
              : ", as times do");
}

}  // namespace

bool says(const Wishes& wishes, const std::string& key) {
  return std::ranges::any_of(wishes.overrides,
                             [&](const Override& o) { return o.assignment.starts_with(key + "="); });
}

bool tells_season(const Wishes& wishes) {
  return says(wishes, "data.period") || says(wishes, "data.second_period");
}

char separator_of(const std::string& text) {
  constexpr int most_lines = 20;
  char best = ',';
  int most = 0;
  for (const char c : {'\t', ';', '|', ','}) {  // a comma may stand in names and numbers
    std::map<int64_t, int> lines;               // by how many they have
    size_t begin = 0;
    for (int k = 0; k < most_lines && begin < text.size(); ++k) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const bool is_row = text[begin] != '#' && text[begin] != no_row;
      if (const auto count = std::count(text.begin() + begin, text.begin() + end, c); is_row && count > 0)
        ++lines[count];
      k -= !is_row, begin = end + 1;
    }
    for (const auto& [count, of] : lines)
      if (of > most) best = c, most = of;
  }
  return best;
}

namespace {

// The words of a column, and whether each stands in as many rows, one below the other.
struct Blocks {
  std::set<std::string, std::less<>> words = {};
  std::string now = {};
  int64_t rows = 0, each = 0;
  bool is_even = true, is_text = true;

  void add(std::string_view cell) {
    constexpr size_t most = 1000;
    is_text = is_text && !cell.empty() && !written_number(cell, {}) && words.size() < most;
    if (!is_text) return;
    if (cell != now || words.empty()) {
      if (!words.empty()) close();
      is_even = words.emplace(cell).second && is_even;
      now = cell, rows = 0;
    }
    ++rows;
  }
  void close() {
    if (each == 0) each = rows;
    is_even = is_even && rows == each;
  }
};

// Throws MendableFile: a column names the series. It holds the one that is wished for; or the rows have no times, and each word has as
// many of them.
void require_series(const FileColumns& file, const std::string& origin, const Wishes& wishes) {
  constexpr int64_t least = 8;
  std::vector<Blocks> blocks(file.columns.size());
  file.each_cell([&](size_t c, std::string_view cell, const CsvReader&) { blocks[c].add(cell); });
  const std::string* name = nullptr;
  size_t most = 1;
  for (size_t c = 0; c < blocks.size(); ++c) {
    blocks[c].close();
    const bool is_wished = !wishes.series.empty() && blocks[c].words.contains(wishes.series);
    const bool are_blocks = !file.has_time && blocks[c].is_even && blocks[c].each >= least;
    if (!blocks[c].is_text || blocks[c].words.size() <= most || !(is_wished || are_blocks)) continue;
    name = &file.columns[c].name;
    most = is_wished ? std::numeric_limits<size_t>::max() : blocks[c].words.size();
  }
  if (name)
    throw MendableFile(fmt::format("{}: {} reads several series", origin, toml_line("data.id", *name)), "id",
                       *name);
}

// The column that a word names: by its whole name, or as the only one that begins with it and goes on with no letter.
std::string column_called(FileReading& reading, const FileColumns& file, const std::string& word) {
  std::vector<std::string> found;
  for (const Column& column : file.columns) {
    if (column.name == word) return word;
    const bool begins_so = lower_case(column.name).starts_with(lower_case(word)) && !word.empty();
    const char next = begins_so && column.name.size() > word.size() ? column.name[word.size()] : ' ';
    if (begins_so && !std::isalnum(static_cast<unsigned char>(next)) && next != '_')
      found.push_back(column.name);
  }
  if (found.size() != 1) return word;
  reading.guesses.push_back({"column", fmt::format("'{}'", one_line(found[0])),
                             fmt::format("the only one that begins with '{}'", one_line(word)),
                             "--column NAME"});
  return found[0];
}

}  // namespace

static void add_columns_guess(FileReading& reading) {
  reading.guesses.push_back({"columns", fmt::format("{} of {}", reading.targets.size(), reading.columns),
                             reading.left_out.empty()
                                 ? "all hold numbers"
                                 : fmt::format("left out: {}", fmt::join(reading.left_out, ", ")),
                             "--column NAME"});
}

static void require_targets(const FileReading& reading, const FileColumns& file, const std::string& origin,
                            const std::vector<std::string>& out) {
  if (!reading.targets.empty()) return;
  const auto is_number = [](const Column& column) { return !column.mend.empty(); };  // but for its marks
  const bool are_events =
      file.has_time && std::ranges::none_of(file.columns, is_number) &&
      std::ranges::any_of(file.columns, [](const Column& column) { return column.words.size() > 1; });
  for (const Column& column : file.columns)
    require_input(column.numbers > 0 || !is_duration(column.other),
                  "{}:{}: '{}' holds lengths of time, as '{}': write each as one number, such as minutes",
                  origin, column.other_line, one_line(column.name), one_line(column.other));
  throw InputError(fmt::format(
      "{}: there is no column of numbers to forecast; it has {}{}", origin, fmt::join(out, ", "),
      are_events ? "; if each row is an event, count those of each day, and forecast the counts with "
                   "--set data.missing=zero, so that days without rows are 0"
                 : ""));
}

// Takes the columns of numbers with a unit, which reading leaves out, from those that are left out.
static void take_units(FileReading& reading, const FileColumns& file, std::vector<std::string>& out) {
  for (const Column& column : file.columns)
    if (column.mend.starts_with("delete the unit")) {
      reading.targets.push_back(column.name);
      std::erase_if(out, [&](const auto& left) { return left.starts_with(one_line(column.name) + " ("); });
    }
}

// What is known of the last rows, which lack other values.
static void add_ahead_guess(FileReading& reading, const std::vector<std::string>& open,
                            const std::vector<std::string>& ahead, const std::string& origin) {
  reading.guesses.push_back({"ahead",
                             fmt::format("the last rows have no '{}', but '{}'",
                                         one_line(fmt::format("{}", fmt::join(open, "', '"))),
                                         one_line(fmt::format("{}", fmt::join(ahead, "', '")))),
                             "these options forecast them with it",
                             fmt::format("--column '{}' --set 'data.known={}' --future {}",
                                         fmt::join(open, "' --column '"), toml_list(ahead), origin)});
}

// Takes the column that is called as the series that is asked for: in the file it may be a row.
static void take_series(FileReading& reading, const FileColumns& file, const std::string& series) {
  const std::string name = column_called(reading, file, series);
  if (std::ranges::find(file.columns, name, &Column::name) == file.columns.end()) return;
  reading.targets = {name};
  if (name == series)
    reading.guesses.push_back(
        {"column", fmt::format("'{}'", one_line(name)), "no column names several series", "--column NAME"});
}

FileReading reading_of_file(const std::string& text, const std::string& origin, SeriesOptions options,
                            const Wishes& wishes) {
  FileReading reading;
  options.channels = wishes.columns;
  FileColumns file(text, origin, options);
  if (options.mend && options.id.empty() && (!file.has_time || !wishes.series.empty()))
    require_series(file, origin, wishes);
  for (const std::string& word : wishes.columns)
    reading.targets.push_back(column_called(reading, file, word));
  if (wishes.columns.empty() && !wishes.series.empty() && options.id.empty())
    take_series(reading, file, wishes.series);
  const std::vector<std::string> wished = reading.targets;
  guess_marks(reading, file, origin, options, wishes);
  file.look(options);
  std::vector<std::string> out, constant, empty;
  std::vector<std::string> open, ahead;  // of the rows at the end one lacks values, the other has them
  int64_t count = 0;                     // without a column of times
  const Column* nearly = nullptr;        // the one of most numbers beside other cells
  std::set<int64_t> ends;                // without values; below 0: values are missing elsewhere
  for (const Column& column : file.columns) {
    const bool is_wished = std::ranges::find(wished, column.name) != wished.end();
    if (!is_wished && file.columns.size() > 1 && guess_time(reading, file, column, wishes)) continue;
    ++count;
    if (!wished.empty()) continue;
    const bool is_nearly = is_of_numbers_nearly(column, options.mend);
    const bool is_measured = options.mend && column.is_measured();
    const std::string why = is_nearly || is_measured ? "" : left_out(file, column);
    if (why == "empty")
      empty.push_back(column.name);
    else if (!why.empty())
      out.push_back(fmt::format("{} ({})", one_line(column.name), why));
    else if (!column.changes && !is_nearly)
      constant.push_back(column.name);
    else {
      const bool is_open = column.open > 1 && column.numbers > column.missing - column.open;
      reading.targets.push_back(column.name), (is_open ? open : ahead).push_back(column.name);
      ends.insert(is_open ? column.open : -column.missing);
    }
    if (column.others > 0 && column.numbers > (nearly ? nearly->numbers : 0)) nearly = &column;
  }
  if (ends.size() == 2 && *ends.begin() == 0) {  // a plan: whole columns, and those that end together before
    reading.targets = open;
    for (const std::string& name : ahead) out.push_back(one_line(name) + " (known of the last rows)");
  }
  if (reading.targets.empty()) reading.targets.swap(constant);
  add_together(out, empty, "empty", "empty");
  add_together(out, constant, "it never changes", "they never change");
  if (reading.targets.empty() && !nearly && options.mend) take_units(reading, file, out);
  if (reading.targets.empty() && nearly)
    reading.targets.push_back(nearly->name), out.clear();  // reading it says which cell
  require_targets(reading, file, origin, out);
  reading.columns = count, reading.left_out = std::move(out);
  if (wished.empty() && count > 1) add_columns_guess(reading);
  if (!open.empty() && !ahead.empty()) add_ahead_guess(reading, open, ahead, origin);
  return reading;
}

FileReading reading_of_steps(const Series& series, const FileReading& file, const Wishes& wishes) {
  FileReading reading{.columns = file.columns, .left_out = file.left_out};
  std::vector<std::string> out;
  for (const std::string& name : file.targets) {
    const auto own = file.targets.size() > 1 ? step_of_values(series, {series.channel(name)}) : std::nullopt;
    if (own)
      out.push_back(fmt::format("'{}' has values {}", one_line(name), apart_text(*own)));
    else
      reading.targets.push_back(name);
  }
  if (out.empty()) return reading;
  require_input(!reading.targets.empty() && wishes.columns.empty() && !says(wishes, "data.targets") &&
                    !says(wishes, "data.channels"),
                "{}: {}, where rows are {}: --column NAME forecasts one of such columns by itself",
                series.origin, fmt::join(out, ", "), apart_text(series.times.step));
  for (const char* key : {"channels", "targets"})
    reading.keys.emplace_back(key, toml_list(reading.targets, reading.targets.size()));
  reading.left_out.insert(reading.left_out.end(), out.begin(), out.end());
  add_columns_guess(reading);
  return reading;
}

FileReading reading_of_holes(const Series& series, const Wishes& wishes) {
  FileReading reading;
  const bool fills = series.follows_clock || series.left_out > 0;
  if (series.added_rows > 0 || fills) reading.keys.emplace_back("gaps", toml_string("fill"));
  if (series.added_rows > 0)
    reading.guesses.push_back(
        {"gaps",
         series.added_rows == 1 ? std::string("a row that the file lacks is put in")
                                : fmt::format("{} rows that the file lacks are put in", series.added_rows),
         series.filled.empty() ? "they count as 0" : "rows keep their season so", "--set data.gaps=allow"});
  if (series.open_rows > 0) {
    reading.keys.emplace_back("open_end", "true");
    reading.guesses.push_back({"ahead",
                               series.open_rows == 1
                                   ? "a row at the end is to be forecast"
                                   : fmt::format("{} rows at the end are to be forecast", series.open_rows),
                               "without a value of what is forecast", "--set data.missing=previous"});
  }
  const bool early = std::ranges::find(series.filled, 2) != series.filled.end();
  if (says(wishes, "data.missing") || (series.filled.empty() && series.open_rows == 0 && !fills))
    return reading;
  reading.keys.emplace_back("missing", toml_string(early ? "mask" : "previous"));
  if (!series.filled.empty())
    reading.guesses.push_back(
        {"missing", early ? "the value before, or before the first one the mean" : "the value before",
         "cells without a value are read so, and are never scored", "--set data.missing=interpolate"});
  return reading;
}

}  // namespace timeseries

// How the file of a series without a recipe is read. See wishes.h.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "data/csv.h"
#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/series_columns.h"
#include "examples/timeseries/guess/wishes.h"
#include "examples/timeseries/series/series_rows.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace timeseries {

namespace {

struct Column {
  std::string name;
  bool is_first = false;
  int64_t numbers = 0, missing = 0, others = 0;
  std::string other = {};  // the first cell that is no number, or not of the unit of those above it
  int64_t other_line = 0;
  std::string mend = {};
  std::set<std::string> words = {};  // the first four different ones
  std::optional<std::string_view> unit = {};
  NumberOrder order = {};
  bool changes = false, counts_up = true;  // 1, 2, 3, …: it numbers the rows
  double last = 0;
  int64_t open = 0;  // cells at the end without a value

  void add(std::string_view cell, int64_t line, NumberMarks marks) {
    const auto number = written_number(cell, marks);
    order.add(number ? std::optional(number->value) : std::nullopt);
    if (number && !unit) unit = number->unit;
    if (number && *unit == number->unit) {
      const double value = number->value;
      counts_up = counts_up && (numbers == 0 ? value == 0 || value == 1 : value == last + 1);
      changes = changes || (numbers > 0 && value != last), last = value, open = 0;
      ++numbers;
      return;
    }
    counts_up = false;
    const bool is_missing = !number && says_missing(cell);
    ++(is_missing ? missing : others), ++open;
    if (!is_missing && words.size() < 4) words.emplace(cell);
    if (!is_missing && other_line == 0)
      other = cell, other_line = line, mend = how_to_mend(cell, marks, numbers > 0);
  }
};

// Every column but those of times and of series' names.
class FileColumns {
 public:
  FileColumns(const std::string& text, const std::string& origin, const SeriesOptions& options)
      : first_row_(text, origin, options.separator) {
    SeriesOptions open = options;
    open.known = open.channels, open.channels.clear();
    const SeriesColumns found = read_columns(first_row_, open);
    has_time = found.time >= 0 || found.id >= 0;
    for (size_t i = 0; i < found.names.size(); ++i) {
      if (const auto at = static_cast<int>(i); at == found.time || at == found.id || at == found.only)
        continue;
      columns.push_back({.name = found.names[i], .is_first = i == 0 && found.skipped == 0});
      places_.push_back(i + static_cast<size_t>(found.skipped));
    }
  }
  template <class Use>
  void each_cell(const Use& use) const {
    CsvReader csv = first_row_;
    do {
      for (size_t c = 0; c < columns.size(); ++c)
        if (places_[c] < csv.cells().size()) use(c, csv.cells()[places_[c]], csv.line());
    } while (csv.next());
  }

  std::vector<Column> columns;
  bool has_time = false;

 private:
  CsvReader first_row_;
  std::vector<size_t> places_;  // of the columns, in a row
};

std::string quoted(char mark) { return toml_string(std::string(1, mark)); }

// Which marks the numbers have.
void guess_marks(FileReading& reading, const FileColumns& file, const std::string& origin,
                 SeriesOptions& options, const Wishes& wishes) {
  std::vector<MarkFinder> columns(file.columns.size());
  const auto bare = [&](std::string_view cell) { return options.mend ? without_mark(cell) : cell; };
  file.each_cell([&](size_t c, std::string_view cell, int64_t) { columns[c].add(bare(cell)); });
  MarkFinder finder;
  for (const MarkFinder& column : columns) finder.join(column);
  if (!says(wishes, "data.decimal")) {
    const auto decimal = finder.decimal(options.separator);
    if (!decimal) {
      const std::string& cell = finder.either();
      const char mark = cell.find(',') != std::string::npos ? ',' : '.';
      const auto as = [&](NumberMarks marks) {
        return written_number(cell, marks).value_or(WrittenNumber{}).value;
      };
      throw InputError(fmt::format(
          "{}: '{}' may be {} or {}, and no cell of its column tells which: --set data.decimal={} or {}",
          origin, one_line(cell), as({.decimal = mark}), as({other_mark(mark), mark}), mark,
          other_mark(mark)));
    }
    options.decimal = *decimal;
    if (*decimal != '.') {
      reading.keys.emplace_back("decimal", quoted(*decimal));
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
       options.separator == ',' ? "a comma stands between columns" : "more cells are numbers so",
       fmt::format("--set data.decimal={}", options.thousands)});
}

// Numbers in the first column that ascend are times, or number the rows.
bool guess_time(FileReading& reading, const FileColumns& file, const Column& column, const Wishes& wishes) {
  if (file.has_time || !column.is_first || !column.order.is_whole() || !column.order.is_even() ||
      !column.order.ascends() || column.counts_up || column.order.described().empty() ||
      says(wishes, "data.time"))
    return false;
  reading.keys.emplace_back("time", toml_string(column.name));
  // Days from 2000 to 2050 as spreadsheets count them.
  const bool may_be_days = 36'526 <= column.last && column.last < 54'789;
  reading.guesses.push_back(
      {"time", fmt::format("column '{}'", one_line(column.name)),
       fmt::format("the first one, {}{}", column.order.described(),
                   may_be_days ? "; if they are a spreadsheet's days, format the cells as dates "
                                 "there, as 2025-03-31, and save again"
                               : ""),
       fmt::format("--column {} forecasts it", one_line(column.name))});
  return true;
}

// Whether a name is that of a counter: entry_id, Invoice No., OrderID.
bool names_a_counter(const std::string& name) {
  std::string last = lower_case(name.substr(name.find_last_of(" _-") + 1));
  if (last.ends_with('.')) last.pop_back();
  constexpr std::string_view words = " id no nr nummer index idx # ";
  const bool is_joined = name.size() > 2 && std::islower(static_cast<unsigned char>(name[name.size() - 3]));
  return words.find(fmt::format(" {} ", last)) != words.npos || last.ends_with("nummer") ||
         (is_joined && (name.ends_with("ID") || name.ends_with("Id")));
}

// Whether it is one of numbers but for a cell or two, or few words that are mended: reading it says which.
bool is_of_numbers_nearly(const Column& column, bool mend) {
  if (column.others <= 2) return column.others > 0 && column.numbers >= 8 * column.others;
  return mend && column.mend.empty() && column.numbers >= column.others &&
         are_few_words(column.others, std::ssize(column.words),
                       column.numbers + column.missing + column.others);
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
  if (column.counts_up) return "numbers the rows";
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
      if (const auto count = std::count(text.begin() + begin, text.begin() + end, c); count > 0)
        ++lines[count];
      begin = end + 1;
    }
    for (const auto& [count, of] : lines)
      if (of > most) best = c, most = of;
  }
  return best;
}

static void add_columns_guess(FileReading& reading) {
  reading.guesses.push_back({"columns", fmt::format("{} of {}", reading.targets.size(), reading.columns),
                             reading.left_out.empty()
                                 ? "all hold numbers"
                                 : fmt::format("left out: {}", fmt::join(reading.left_out, ", ")),
                             "--column NAME"});
}

static void require_targets(const FileReading& reading, const FileColumns& file, const std::string& origin,
                            const std::vector<std::string>& out) {
  const auto is_number = [](const Column& column) { return !column.mend.empty(); };  // but for its marks
  const bool are_events =
      file.has_time && std::ranges::none_of(file.columns, is_number) &&
      std::ranges::any_of(file.columns, [](const Column& column) { return column.words.size() > 1; });
  require_input(!reading.targets.empty(), "{}: there is no column of numbers to forecast; it has {}{}",
                origin, fmt::join(out, ", "),
                are_events
                    ? "; if each row is an event, count those of each day, and forecast the counts with "
                      "--set data.missing=zero, so that days without rows are 0"
                    : "");
}

FileReading reading_of_file(const std::string& text, const std::string& origin, SeriesOptions options,
                            const Wishes& wishes) {
  FileReading reading{.targets = wishes.columns};
  options.channels = wishes.columns;
  FileColumns file(text, origin, options);
  guess_marks(reading, file, origin, options, wishes);
  file.each_cell([&](size_t c, std::string_view cell, int64_t line) {
    file.columns[c].add(options.mend ? without_mark(cell) : cell, line, {options.decimal, options.thousands});
  });
  std::vector<std::string> out, open,
      ahead;                       // of the rows at the end one lacks values, the other has them
  int64_t count = 0;               // without a column of times
  const Column* nearly = nullptr;  // the one of most numbers beside other cells
  std::vector<std::string> constant;
  std::set<int64_t> ends;  // without values; below 0: values are missing elsewhere
  for (const Column& column : file.columns) {
    const bool is_wished = std::ranges::find(wishes.columns, column.name) != wishes.columns.end();
    if (!is_wished && file.columns.size() > 1 && guess_time(reading, file, column, wishes)) continue;
    ++count;
    if (!wishes.columns.empty()) continue;
    const bool is_nearly = is_of_numbers_nearly(column, options.mend);
    const std::string why = is_nearly ? "" : left_out(file, column);
    if (!why.empty())
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
  for (const std::string& name : constant) out.push_back(one_line(name) + " (it never changes)");
  if (reading.targets.empty() && nearly)
    reading.targets.push_back(nearly->name), out.clear();  // reading it says which cell
  require_targets(reading, file, origin, out);
  reading.columns = count, reading.left_out = std::move(out);
  if (wishes.columns.empty() && count > 1) add_columns_guess(reading);
  if (!open.empty() && !ahead.empty())
    reading.guesses.push_back({"ahead",
                               fmt::format("the last rows have no '{}', but '{}'",
                                           one_line(fmt::format("{}", fmt::join(open, "', '"))),
                                           one_line(fmt::format("{}", fmt::join(ahead, "', '")))),
                               "these options forecast them with it",
                               fmt::format("--column '{}' --set 'data.known={}' --future {}",
                                           fmt::join(open, "' --column '"), toml_list(ahead), origin)});
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
        {"gaps", fmt::format("{} rows that the file lacks are put in", series.added_rows),
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

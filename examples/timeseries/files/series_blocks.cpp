// Rows that stand above the first time, or have times of another form than the series. See series_columns.h.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

void require_times_from_first_row(CsvReader csv, const std::string& called) {
  constexpr std::size_t most_lines = 20, least_rows = 8;
  const auto is_time = [](std::string_view cell) {
    const auto time = parse_time(cell, TimeForm::date);
    return reads_as_date(cell) || (time && (time->form == TimeForm::date || time->form == TimeForm::month));
  };
  std::set<int64_t> lines;  // above the first time
  std::string above;
  std::size_t rows = 0;
  each_row(csv, [&] {
    const std::string_view cell = cell_of(csv, 0);
    const bool has_time = is_time(without_mark(cell));
    if (has_time && ++rows == 1 &&
        std::ranges::any_of(csv.cells().begin() + 1, csv.cells().end(), reads_as_date))
      return false;  // the first column may hold other dates
    if (has_time) return rows < least_rows;
    for (const std::string_view any : csv.cells())
      if (above.empty()) above = any;
    lines.insert(csv.line());
    return rows == 0 && lines.size() <= most_lines && !written_number(cell, {}) && !looks_like_a_date(cell);
  });
  if (lines.empty() || rows < least_rows) return;
  const std::string message = fmt::format("{}:{}: {} has times from line {} on: delete what is above them",
                                          csv.origin(), *lines.begin(), called, *lines.rbegin() + 1);
  refuse_lines(message, std::move(lines), fmt::format("above the first time, as '{}'", one_line(above, 30)));
}

namespace {

constexpr std::size_t least_of_block = 8, most_others = 20;  // rows with a time; rows without

// The rows of one form in a column of times.
struct Block {
  TimeForm form;
  std::string first, last = {};  // cells
  std::vector<int64_t> lines = {};
};

// Years, quarters, months and days in a column, and the rows above the first.
struct TimesColumn {
  std::size_t place;
  bool holds = true;  // few rows have no such time
  std::vector<int64_t> above = {};
  std::string first_above = {};
  std::vector<Block> blocks = {};
  std::size_t others = 0;    // rows without a time below the first one
  bool is_in_blocks = true;  // the rows of each form follow each other
  bool are_in_turn = true;   // each time is one from the one above it
  int64_t year = 0;

  void add(const CsvReader& csv) {
    const std::string_view cell = without_mark(cell_of(csv, place));
    const bool is_whole = cell.find_first_not_of("0123456789") == cell.npos;
    auto time =
        is_whole && cell.size() != 4 ? std::nullopt : parse_time(cell, TimeForm::year, DateOrder::day_first);
    if (!time && !is_whole) time = parse_time(cell, TimeForm::year, DateOrder::month_first);
    if (!time || time->form == TimeForm::number || time->form == TimeForm::date_time) return add_other(csv);
    if (blocks.empty() || blocks.back().form != time->form) {
      is_in_blocks = is_in_blocks && std::ranges::find(blocks, time->form, &Block::form) == blocks.end();
      holds = holds && blocks.size() < most_others;
      blocks.push_back({time->form, std::string(cell)});
    }
    const int64_t now = calendar_of(*time).year, before = std::exchange(year, now);
    are_in_turn = are_in_turn && (blocks.back().lines.empty() || std::abs(now - before) == 1);
    blocks.back().lines.push_back(csv.line()), blocks.back().last = cell;
  }
  // Metadata stand in the first columns.
  void add_other(const CsvReader& csv) {
    const std::string_view cell = cell_of(csv, place);
    if (!blocks.empty()) return void(holds = ++others <= most_others);
    holds = place == 0 && above.size() < most_others && !written_number(cell, {}) && !looks_like_a_date(cell);
    if (above.empty()) first_above = cell;
    above.push_back(csv.line());
  }
  bool is_mixed() const { return blocks.size() > 1; }
  bool are_years() const {
    return blocks.size() == 1 && blocks[0].form == TimeForm::year && are_in_turn &&
           blocks[0].lines.size() >= least_of_block;
  }
};

// The first column with times of several forms, or with years below metadata; none: another column holds the times.
std::optional<TimesColumn> column_of_forms(const CsvReader& csv, const std::vector<std::string>& header,
                                           const SeriesOptions& options) {
  constexpr std::size_t most_columns = 16;
  std::vector<TimesColumn> columns;
  bool has_times = false;  // of one form, in a column before
  for (std::size_t i = 0; i < std::min(csv.cells().size(), most_columns); ++i)
    if (options.time.empty() || (i < header.size() && header[i] == options.time)) columns.push_back({i});
  CsvReader rows = csv;
  each_row(rows, [&] {
    for (TimesColumn& column : columns)
      if (column.holds) column.add(rows);
    return std::ranges::any_of(columns, &TimesColumn::holds);
  });
  for (const TimesColumn& column : columns) {
    if (column.holds && (column.is_mixed() || (column.are_years() && !column.above.empty()))) {
      std::size_t place = 0;
      for (const std::string_view cell : csv.cells())
        has_times = has_times || (place++ != column.place && options.time.empty() && reads_as_date(cell));
      return has_times ? std::nullopt : std::optional(column);
    }
    const auto time = parse_time(cell_of(csv, column.place), TimeForm::date);
    has_times = has_times || (options.time.empty() && time && time->form != TimeForm::number);
  }
  return std::nullopt;
}

}  // namespace

void require_one_form(CsvReader csv, const std::vector<std::string>& header, const SeriesOptions& options) {
  const auto found = column_of_forms(csv, header, options);
  if (!found) return;
  const std::string called = fmt::format("column {} ('{}')", found->place + 1,
                                         found->place < header.size() ? one_line(header[found->place]) : "");
  if (!found->above.empty()) {
    refuse_lines(
        fmt::format("{}:{}: {}: '{}' is not a time, and times stand below it: delete the lines above them",
                    csv.origin(), found->above[0], called, one_line(found->first_above)),
        {found->above.begin(), found->above.end()},
        fmt::format("above the first time, as '{}'", one_line(found->first_above, 30)));
  }
  const auto finest = std::ranges::max_element(found->blocks, {}, &Block::form);
  const auto longest =
      std::ranges::max_element(found->blocks, {}, [](const Block& block) { return block.lines.size(); });
  if (!found->is_in_blocks || finest != longest || finest->lines.size() < least_of_block) {
    const Block& second = found->blocks[1];
    throw InputError(fmt::format(
        "{}:{}: {}: '{}' is another form of time than '{}' above it: keep the rows of one form", csv.origin(),
        second.lines[0], called, one_line(second.first), one_line(found->blocks[0].last)));
  }
  std::set<int64_t> lines;
  std::string counts;
  for (const Block& block : found->blocks) {
    if (&block == &*finest) continue;
    const char* const noun = !counts.empty() ? "" : block.lines.size() == 1 ? "row " : "rows ";
    counts += fmt::format("{}{} {}of {}", counts.empty() ? "" : " and ", block.lines.size(), noun,
                          times_called(block.form));
    lines.insert(block.lines.begin(), block.lines.end());
  }
  const std::string kept = times_called(finest->form),
                    message = fmt::format("{}:{}: {} has {} beside those of {}: delete them", csv.origin(),
                                          *lines.begin(), called, counts, kept);
  refuse_lines(message, std::move(lines), fmt::format("{} in {}, which has {}, too", counts, called, kept));
}

void require_no_empty_begin(CsvReader csv) {
  constexpr int64_t least_rows = 4;
  std::size_t empty = csv.cells().size();
  int64_t rows = 0;
  std::size_t titles = 0;  // rows with a first cell alone
  const int64_t line = csv.line();
  const std::string origin = csv.origin();
  const char separator = csv.separator();
  const bool all = each_row(csv, [&] {
    const auto& cells = csv.cells();
    const auto filled = std::ranges::find_if(cells, [](auto cell) { return !cell.empty(); });
    if (filled == cells.end()) return true;
    const bool is_alone = std::all_of(filled + 1, cells.end(), [](auto cell) { return cell.empty(); });
    if (filled == cells.begin() && is_alone) return ++titles <= most_others;
    empty = rows++ == 0 ? static_cast<std::size_t>(filled - cells.begin())
                        : std::min(empty, static_cast<std::size_t>(filled - cells.begin()));
    return empty > 0;
  });
  if (!all || rows < least_rows) return;
  refuse_rows(fmt::format("{}:{}: column 1 has neither a name nor values: delete it", origin, line),
              empty == 1 ? std::string("column 1 is left out: it is empty")
                         : fmt::format("columns 1 to {} are left out: they are empty", empty),
              separator, [=](std::vector<std::string>& cells, int64_t) {
                const auto end = cells.begin() + static_cast<std::ptrdiff_t>(std::min(empty, cells.size()));
                if (std::all_of(cells.begin(), end, [](const auto& cell) { return cell.empty(); }))
                  cells.erase(cells.begin(), end);
                if (std::ranges::all_of(cells, &std::string::empty)) cells.clear();
              });
}

}  // namespace unroll

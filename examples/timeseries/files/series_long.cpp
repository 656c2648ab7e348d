// Several series in one file, one below the other or row by row in turn. See series_columns.h.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// A column, or two, whose words may name the series: the last time of each.
struct Candidate {
  std::size_t column, second;  // equal: one column
  std::unordered_map<std::string, int64_t> last = {};
  std::vector<std::string> words = {};  // in their order
  bool holds = true;                    // the times of all have one direction
  int64_t forward = 0;                  // of the first that changes; -1: its newest stand first
  std::string above = {};               // the last word; cells without one have it, too
  bool is_filled = false;
  bool is_number[2] = {true, true};  // all words of the column, of the second
  int64_t doubles = 0;               // rows with the time of the row before of their series
  std::string first_double = {};
  bool are_events = false;  // most times have one row
  bool is_panel = false;    // most series have a row at most times

  // The row's word; "": it has none.
  const std::string& word_of(const std::vector<std::string_view>& cells) {
    if (std::max(column, second) >= cells.size()) return above = "";
    if (column == second && cells[column].empty() && !above.empty())
      is_filled = true;
    else
      above = cells[column];
    if (column != second) above += fmt::format(" {}", cells[second]);
    return above;
  }
};

// Whether so many of the rows that share their time with others, also in their series, are there by accident.
bool are_few(int64_t doubles, int64_t repeated) {
  return doubles == 0 || (10 * doubles <= repeated && 50 * (doubles - 1) <= repeated);
}

// The first with the fewest doubles; nullptr: none holds.
const Candidate* best_of(const std::vector<Candidate>& candidates) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates)
    if (candidate.holds && (!best || candidate.doubles < best->doubles)) best = &candidate;
  return best;
}

std::string and_double(const Candidate& candidate) {
  if (candidate.doubles == 0) return "";
  return fmt::format("; {}{}", candidate.first_double,
                     candidate.doubles > 1 ? fmt::format(", the first of {} such", candidate.doubles) : "");
}

// Reads the file for the candidates. False: a row has no time, or the times ascend, so that there is one series.
bool read_for(std::vector<Candidate>& candidates, const SeriesText& file) {
  constexpr std::size_t most_series = 100'000;
  const SeriesColumns& columns = file.columns;
  const SeriesOptions& options = file.options;
  std::unordered_set<int64_t> times;
  int64_t rows = 0, before = 0;
  int64_t forward = 0;  // as the time first changes; -1: the newest stand first
  bool ascends = true;
  const auto is_number = [&](std::string_view word) {
    return says_missing(word) || written_number(word, {options.decimal, options.thousands});
  };
  CsvReader csv = file.at_first_row();
  const bool all_read = each_row(csv, [&] {
    const auto time = columns.time_in(cell_of(csv, columns.place(columns.time)));
    if (!time) return false;
    if (forward == 0 && rows > 0 && time->count != before) forward = time->count > before ? 1 : -1;
    ascends = ascends && (rows == 0 || forward * (time->count - before) > 0);
    before = time->count, ++rows;
    times.insert(before);
    for (Candidate& candidate : candidates) {
      if (!candidate.holds) continue;
      const auto [last, is_new] = candidate.last.emplace(candidate.word_of(csv.cells()), time->count);
      if (is_new) {
        candidate.words.push_back(last->first);
        for (const bool second : {false, true})
          if (const std::size_t at = second ? candidate.second : candidate.column; at < csv.cells().size())
            candidate.is_number[second] = candidate.is_number[second] && is_number(csv.cells()[at]);
      } else if (time->count == last->second && ++candidate.doubles == 1) {
        candidate.first_double =
            fmt::format("line {} has {} of '{}' again", csv.line(), to_text(*time), one_line(last->first));
      } else if (candidate.forward == 0 && time->count != last->second) {
        candidate.forward = time->count > last->second ? 1 : -1;
      }
      candidate.holds = (is_new || candidate.forward * (time->count - last->second) >= 0) &&
                        candidate.words.size() < most_series;
      last->second = time->count;
    }
    return true;
  });
  if (!all_read) return false;
  const int64_t different = std::ssize(times);
  const bool are_single = 2 * different > rows;  // most times have one row
  for (Candidate& candidate : candidates) {
    const auto count = static_cast<int64_t>(candidate.words.size());
    const bool is_pair = candidate.column != candidate.second;
    // Numbers are values where no other column has any, most times have one row, or each is there at few times.
    const bool are_values =
        candidates.size() == 1 || are_single || count * different > (is_pair ? 2 : 10) * rows;
    const bool has_numbers =
        (is_pair || columns.id < 0) && (candidate.is_number[0] || candidate.is_number[1]);
    candidate.are_events = are_single;
    candidate.holds = candidate.holds && are_few(candidate.doubles, rows - different) && count >= 2 &&
                      2 * count <= rows && !(is_pair && are_single) && !(are_values && has_numbers);
    candidate.is_panel = 2 * rows >= count * different;
  }
  return !ascends;
}

}  // namespace

void require_one_series(const SeriesText& file) {
  const SeriesColumns& columns = file.columns;
  const SeriesOptions& options = file.options;
  constexpr std::size_t most_columns = 16;
  if (columns.time < 0) return;
  require_time_in_one_column(file);
  const auto is_id = [&](std::size_t at) { return columns.id >= 0 && at == columns.place(columns.id); };
  const auto name_at = [&](std::size_t at) { return one_line(columns.names[at - columns.skipped]); };
  std::vector<std::size_t> places;
  for (int k = 0; k < static_cast<int>(std::min(columns.names.size(), most_columns)); ++k)
    if (k != columns.time) places.push_back(columns.place(k));
  std::vector<Candidate> candidates;
  for (const std::size_t at : places)
    if (columns.id < 0 || is_id(at)) candidates.push_back({at, at});
  if (!read_for(candidates, file)) return;
  const Candidate* found = best_of(candidates);
  if (found && columns.id >= 0) return;
  if (!found) {  // two columns
    candidates.clear();
    for (auto i = places.begin(); i != places.end(); ++i)
      for (auto k = i + 1; k != places.end(); ++k)
        if (columns.id < 0 || is_id(*i) || is_id(*k)) candidates.push_back({*i, *k});
    read_for(candidates, file);
    found = best_of(candidates);
    if (!found) return;
    throw InputError(fmt::format(
        "{}: columns '{}' and '{}' name the series together: join them into one, as '{}'{}{}",
        file.csv.origin(), name_at(found->column), name_at(found->second), one_line(found->words[0]),
        options.model.empty() ? ", and name it in data.id" : "", and_double(*found)));
  }
  const std::string& name = columns.names[found->column - columns.skipped];
  constexpr std::size_t most = 3;
  const std::size_t count = found->words.size();
  std::string words;
  for (std::size_t i = 0; i < std::min(most, count); ++i)
    words += fmt::format("{}{}", i ? ", " : "", one_line(found->words[i], 20));
  const std::string said = fmt::format("{}: {} series in one file, by column '{}' ({}{})", file.csv.origin(),
                                       count, one_line(name), words, count > most ? ", ..." : "");
  require_input(!found->is_filled, "{}; only the first row of each names it: fill the column down", said);
  require_input(options.model.empty(), "{}; the model of {} reads one", said, options.model);
  const std::string message =
      fmt::format("{}: {} reads them all, {} one of them{}", said, toml_line("data.id", name),
                  toml_line("data.only", name + "=" + found->words[0]), and_double(*found));
  if (found->doubles == 0 && found->is_panel) throw MendableFile(message, "id", name);
  throw InputError(
      message +
      (found->are_events
           ? "; if the rows are events of one series, put those of each day, week or month together first: their number or sum"
           : ""));
}

}  // namespace unroll

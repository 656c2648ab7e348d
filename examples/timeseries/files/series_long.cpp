// Several series in one file, one below the other or row by row in turn. See series_columns.h.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
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
  bool holds = true;                    // the times of each ascend
  std::string above = {};               // the last word; cells without one have it, too
  bool is_filled = false;
  bool is_number[2] = {true, true};  // all words of the column, of the second
  int64_t doubles = 0;               // rows with the time of the row before of their series
  std::string first_double = {};

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
bool read_for(std::vector<Candidate>& candidates, CsvReader csv, std::size_t time_at,
              const SeriesColumns& columns, const SeriesOptions& options) {
  constexpr std::size_t most_series = 100'000;
  std::unordered_set<int64_t> times;
  int64_t rows = 0, before = std::numeric_limits<int64_t>::min();
  bool ascends = true;
  const auto is_number = [&](std::string_view word) {
    return says_missing(word) || written_number(word, {options.decimal, options.thousands});
  };
  try {
    for (; csv.next(); ++rows) {
      const auto time = time_at < csv.cells().size() ? time_in(csv.cells()[time_at], columns) : std::nullopt;
      if (!time) return false;
      ascends = ascends && time->count > before;
      before = time->count;
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
        }
        candidate.holds = (is_new || time->count >= last->second) && candidate.words.size() < most_series;
        last->second = time->count;
      }
    }
  } catch (const InputError&) { return false; }  // reported when the rows are read
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
    candidate.holds = candidate.holds && are_few(candidate.doubles, rows - different) && count >= 2 &&
                      2 * count <= rows && !(is_pair && are_single) && !(are_values && has_numbers);
  }
  return !ascends;
}

}  // namespace

std::optional<std::string> several_series(std::string_view text, const SeriesColumns& columns,
                                          const CsvReader& read, const SeriesOptions& options) {
  constexpr std::size_t most_columns = 16;
  if (columns.time < 0) return std::nullopt;
  if (auto parts = time_in_parts(text, columns, read)) return parts;
  const auto time_at = static_cast<std::size_t>(columns.time + columns.skipped),
             skipped = static_cast<std::size_t>(columns.skipped);
  const auto is_id = [&](std::size_t at) { return static_cast<int>(at - skipped) == columns.id; };
  const auto name_at = [&](std::size_t at) { return one_line(columns.names[at - skipped]); };
  std::vector<Candidate> candidates;
  const std::size_t end = std::min(columns.names.size(), most_columns) + skipped;
  for (std::size_t i = skipped; i < end; ++i)
    if (i != time_at && (columns.id < 0 || is_id(i))) candidates.push_back({i, i});
  CsvReader csv(text, read.origin(), read.separator());
  csv.next();
  csv.keep(columns.names.size() + skipped);
  if (!read_for(candidates, csv, time_at, columns, options)) return std::nullopt;
  const Candidate* found = best_of(candidates);
  if (found && columns.id >= 0) return std::nullopt;
  if (!found) {  // two columns
    candidates.clear();
    for (std::size_t i = skipped; i < end; ++i)
      for (std::size_t k = i + 1; k < end; ++k)
        if (i != time_at && k != time_at && (columns.id < 0 || is_id(i) || is_id(k)))
          candidates.push_back({i, k});
    read_for(candidates, csv, time_at, columns, options);
    found = best_of(candidates);
    if (!found) return std::nullopt;
    return fmt::format("{}: columns '{}' and '{}' name the series together: join them into one, as '{}'{}{}",
                       read.origin(), name_at(found->column), name_at(found->second),
                       one_line(found->words[0]), options.model.empty() ? ", and name it in data.id" : "",
                       and_double(*found));
  }
  const std::string& name = columns.names[found->column - skipped];
  constexpr std::size_t most = 3;
  const std::size_t count = found->words.size();
  std::string words;
  for (std::size_t i = 0; i < std::min(most, count); ++i)
    words += fmt::format("{}{}", i ? ", " : "", one_line(found->words[i], 20));
  const std::string said = fmt::format("{}: {} series in one file, by column '{}' ({}{})", read.origin(),
                                       count, one_line(name), words, count > most ? ", ..." : "");
  if (found->is_filled)
    return fmt::format("{}; only the first row of each names it: fill the column down", said);
  if (!options.model.empty()) return fmt::format("{}; the model of {} reads one", said, options.model);
  return fmt::format("{}: {} reads them all, {} one of them{}", said, toml_line("data.id", name),
                     toml_line("data.only", name + "=" + found->words[0]), and_double(*found));
}

}  // namespace unroll

// Several series in one file, one below the other or row by row in turn. See series_columns.h.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "examples/timeseries/series/series_rows.h"
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

// The first with the fewest doubles, rather one of words than of numbers; nullptr: none holds.
const Candidate* best_of(const std::vector<Candidate>& candidates) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates)
    if (candidate.holds && (!best || candidate.doubles < best->doubles ||
                            (candidate.doubles == best->doubles && best->is_number[0] &&
                             !candidate.is_number[0] && candidate.words.size() == best->words.size())))
      best = &candidate;
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

// Throws MendableFile: the cells of two columns become one, in place of the first.
[[noreturn]] void join_columns(const CsvReader& csv, const std::string& message, std::size_t first,
                               std::size_t second, const std::string& called) {
  refuse_rows(message, fmt::format("columns '{}' name the series together, and are joined", called),
              csv.separator(), [=](std::vector<std::string>& cells, int64_t) {
                if (second >= cells.size()) return;
                cells[first] += " " + cells[second];
                cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(second));
              });
}

std::string first_words(const std::vector<std::string>& words) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, words.size()); ++i)
    text += fmt::format("{}{}", i ? ", " : "", one_line(words[i], 20));
  return text + (words.size() > most ? ", ..." : "");
}

// Whether the rows of the first series come at any time, as events do.
bool come_at_any_time(const SeriesText& file, const Candidate& candidate) {
  const SeriesColumns& columns = file.columns;
  std::vector<int64_t> at;
  CsvReader csv = file.at_first_row();
  each_row(csv, [&] {
    const auto time = columns.time_in(cell_of(csv, columns.place(columns.time)));
    if (time && time->form == TimeForm::date_time && cell_of(csv, candidate.column) == candidate.words[0])
      at.push_back(time->count);
  });
  constexpr std::size_t least = 8;
  if (at.size() < least) return false;
  if (at.front() > at.back()) std::ranges::reverse(at);
  const TimeStep step = find_step(TimeForm::date_time, at).step;
  return 10 * step.jitter > step.count;
}

}  // namespace

void require_joined_id(const CsvReader& csv, const std::vector<std::string>& names, int skipped,
                       const std::string& id) {
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t k = i + 1; k < names.size(); ++k)
      if (id == names[i] + " " + names[k])
        join_columns(csv, fmt::format("{}: there is no column '{}'", csv.origin(), one_line(id)),
                     i + static_cast<std::size_t>(skipped), k + static_cast<std::size_t>(skipped),
                     one_line(names[i]) + "' and '" + one_line(names[k]));
}

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
  std::vector<Candidate> pairs;
  if (!found || found->is_number[0]) {
    for (auto i = places.begin(); i != places.end(); ++i)
      for (auto k = i + 1; k != places.end(); ++k)
        if (columns.id < 0 || is_id(*i) || is_id(*k)) pairs.push_back({*i, *k});
    read_for(pairs, file);
    const Candidate* const two = best_of(pairs);
    if (!two && !found) return;
    const bool is_sure = two && columns.id < 0 && two->doubles == 0 && two->is_panel && !two->is_filled;
    if (!found || (is_sure && !two->is_number[0] && !two->is_number[1])) {
      const std::string message =
          fmt::format("{}: columns '{}' and '{}' name the series together: join them into one, as '{}'{}{}",
                      file.csv.origin(), name_at(two->column), name_at(two->second), one_line(two->words[0]),
                      options.model.empty() ? ", and name it in data.id" : "", and_double(*two));
      require_input(is_sure, "{}", message);
      join_columns(file.csv, message, two->column, two->second,
                   name_at(two->column) + "' and '" + name_at(two->second));
    }
  }
  const std::string& name = columns.names[found->column - columns.skipped];
  const std::string said = fmt::format("{}: {} series in one file, by column '{}' ({})", file.csv.origin(),
                                       found->words.size(), one_line(name), first_words(found->words));
  require_input(!found->is_filled, "{}; only the first row of each names it: fill the column down", said);
  require_input(options.model.empty(), "{}; the model of {} reads one", said, options.model);
  require_input(!found->are_events || !come_at_any_time(file, *found), "{}, with rows at any time: {}", said,
                events_to_series);
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

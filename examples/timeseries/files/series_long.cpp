// Detects several series in one file, one below the other or interleaved by row. See series_columns.h.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "examples/timeseries/files/series_columns.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// A column whose words may name the series, with the last time of each.
struct Candidate {
  std::size_t column;
  std::unordered_map<std::string, int64_t> last = {};
  std::vector<std::string> words = {};  // in order of appearance
  bool holds = true;                    // each series' times ascend
};

}  // namespace

std::optional<std::string> several_series(std::string_view text, const SeriesColumns& columns,
                                          const CsvReader& read, const SeriesOptions& options) {
  constexpr std::size_t most_columns = 16, most_series = 100'000;
  if (columns.time < 0 || columns.id >= 0) return std::nullopt;
  const auto time_at = static_cast<std::size_t>(columns.time + columns.skipped);
  std::vector<Candidate> candidates;
  for (std::size_t i = static_cast<std::size_t>(columns.skipped);
       i < columns.names.size() + static_cast<std::size_t>(columns.skipped) &&
       candidates.size() < most_columns;
       ++i)
    if (i != time_at) candidates.push_back({i});
  CsvReader csv(text, read.origin(), read.separator());
  csv.next();
  csv.keep(columns.names.size() + static_cast<std::size_t>(columns.skipped));
  int64_t rows = 0, before = std::numeric_limits<int64_t>::min();
  bool ascends = true;
  try {
    for (; csv.next(); ++rows) {
      const auto time = time_at < csv.cells().size() ? time_in(csv.cells()[time_at], columns) : std::nullopt;
      if (!time) return std::nullopt;
      ascends = ascends && time->count > before;
      before = time->count;
      for (Candidate& candidate : candidates) {
        if (!candidate.holds || candidate.column >= csv.cells().size()) continue;
        const auto [last, is_new] =
            candidate.last.emplace(std::string(csv.cells()[candidate.column]), time->count);
        if (is_new) candidate.words.push_back(last->first);
        candidate.holds = (is_new || time->count > last->second) && candidate.words.size() < most_series;
        last->second = time->count;
      }
    }
  } catch (const InputError&) { return std::nullopt; }  // reported when the rows are read
  if (ascends) return std::nullopt;
  for (const Candidate& candidate : candidates) {
    const std::size_t count = candidate.words.size();
    if (!candidate.holds || count < 2 || 2 * static_cast<int64_t>(count) > rows) continue;
    const std::string& name = columns.names[candidate.column - static_cast<std::size_t>(columns.skipped)];
    constexpr std::size_t most = 3;
    std::string words;
    for (std::size_t i = 0; i < std::min(most, count); ++i)
      words += fmt::format("{}{}", i ? ", " : "", one_line(candidate.words[i], 20));
    const std::string said = fmt::format("{}: {} series in one file, by column '{}' ({}{})", read.origin(),
                                         count, one_line(name), words, count > most ? ", ..." : "");
    if (!options.model.empty()) return fmt::format("{}; the model of {} reads one", said, options.model);
    return fmt::format("{}: {} reads them all, {} one of them", said, toml_line("data.id", name),
                       toml_line("data.only", name + "=" + candidate.words[0]));
  }
  return std::nullopt;
}

}  // namespace unroll

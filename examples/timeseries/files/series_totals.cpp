// Rows that are totals of others, as pivot tables have them. See series_columns.h.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// The words and numbers of a label, in small letters.
std::vector<std::string> words_of(std::string_view label) {
  std::vector<std::string> words;
  char kind = ' ';  // of the letter before
  for (const char c : lower_case(label)) {
    const bool is_digit = c >= '0' && c <= '9', is_letter = (c >= 'a' && c <= 'z') || (c & 0x80) != 0;
    const char now = is_digit ? '0' : is_letter ? 'a' : ' ';
    if (now != ' ' && now != kind) words.emplace_back();
    if (now != ' ') words.back() += c;
    kind = now;
  }
  return words;
}

// Words, each between blanks.
constexpr std::string_view sums =
    " total totals subtotal subtotals sum average avg mean gesamt summe gesamtsumme ergebnis gesamtergebnis zwischensumme "
    "mittelwert durchschnitt 合計 平均 somme moyenne suma promedio média totale somma ";
constexpr std::string_view beside_sums = " grand general général geral sub sous ";
constexpr std::string_view quarters_of_pivots = " q qtr trim t ";

bool is_among(std::string_view words, const std::string& word) {
  return words.find(fmt::format(" {} ", word)) != words.npos;
}

}  // namespace

// A word for a sum or mean, beside numbers and words such as grand. Total may have any words on one side, as of a place.
bool says_total(std::string_view label) {
  const std::vector<std::string> words = words_of(label);
  const auto is_sum = [](const std::string& word) { return is_among(sums, word); };
  const auto fits = [&](const std::string& word) {
    return is_sum(word) || is_among(beside_sums, word) || (word[0] >= '0' && word[0] <= '9');
  };
  return std::ranges::any_of(words, is_sum) &&
         (std::ranges::all_of(words, fits) || is_among(" total gesamt totale ", words.front()) ||
          is_among(" total ergebnis ", words.back()));
}

namespace {

// Q1, Qtr1
bool is_quarter(std::string_view label) {
  const std::vector<std::string> words = words_of(label);
  return words.size() == 2 && is_among(quarters_of_pivots, words[0]) && words[1].size() == 1 &&
         words[1][0] >= '1' && words[1][0] <= '4';
}

}  // namespace

void require_no_totals(const SeriesText& file) {
  const SeriesColumns& columns = file.columns;
  if (columns.only >= 0 || std::ranges::find(columns.chosen, 0) != columns.chosen.end()) return;
  using Rows = std::vector<std::pair<int64_t, std::string>>;  // line and label
  Rows totals, years, quarters;
  std::set<std::string> parts;  // other labels: a year has few
  int64_t rows = 0, others = 0;
  constexpr std::size_t most_parts = 12;
  CsvReader csv = file.at_first_row();
  each_row(csv, [&] {
    const std::string label(cell_of(csv, columns.place(0)));
    const auto time = parse_time(label, TimeForm::year);
    const bool is_year = time && time->form == TimeForm::year;
    if (Rows* const to = says_total(label)   ? &totals
                         : is_year           ? &years
                         : is_quarter(label) ? &quarters
                                             : nullptr) {
      to->emplace_back(csv.line(), label);
    } else if (++others; parts.size() <= most_parts) {
      parts.insert(label);
    }
    ++rows;
  });
  const bool has_months = parts.size() > 4 && parts.size() <= most_parts;
  const bool in_years =
      2 * std::ssize(years) <= rows - std::ssize(years) && (has_months || (others == 0 && !quarters.empty()));
  if (in_years) totals.insert(totals.end(), years.begin(), years.end());
  if (has_months && in_years) totals.insert(totals.end(), quarters.begin(), quarters.end());
  if (totals.empty() || 2 * std::ssize(totals) > rows) return;
  std::ranges::sort(totals);
  std::string lines;
  constexpr std::size_t most_said = 12;
  for (std::size_t k = 1; k < std::min(totals.size(), most_said); ++k)
    lines += fmt::format(", {}", totals[k].first);
  if (totals.size() > most_said) lines += ", ...";
  const bool lacks_year = in_years && !years.empty();
  const std::string message = fmt::format(
      "{}:{}: {}: '{}' holds a total of other rows: delete line{} {}{}{}", csv.origin(), totals[0].first,
      columns.called(0), one_line(totals[0].second), totals.size() > 1 ? "s" : "", totals[0].first, lines,
      lacks_year ? fmt::format(", and write the year into each row, as Jan {}", years[0].second) : "");
  std::set<int64_t> of_totals;
  for (const auto& [line, label] : totals) of_totals.insert(line);
  const std::string why = fmt::format("'{}' is a total", one_line(totals[0].second));
  if (!lacks_year) refuse_lines(message, std::move(of_totals), why);
  const std::map<int64_t, std::string> of_years(years.begin(), years.end());
  const auto edit = [of_totals, of_years](std::vector<std::string>& cells, int64_t line) {
    const auto below = of_years.upper_bound(line);
    if (of_totals.contains(line))
      cells.clear();
    else if (below != of_years.begin() && !cells.empty())
      cells[0] += ' ' + std::prev(below)->second;
  };
  refuse_rows(message,
              fmt::format("{} left out: {}; the year above is read with each row", lines_are(of_totals), why),
              csv.separator(), edit);
}

}  // namespace unroll

// Rows that are totals of others, as pivot tables have them, and numbers that are no values. See series_columns.h.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "data/lower_case.h"
#include "examples/timeseries/files/cells.h"
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
    "mittelwert durchschnitt 合計 總計 小計 合计 总计 小计 平均 합계 총계 소계 평균 รวม รวมปี รวมทั้งสิ้น ยอดรวม итого всего totalt suma summa totalsumma totaal eindtotaal subtotaal ialt yhteensä celkem összesen végösszeg toplam razem łącznie somme moyenne suma promedio média totale somma ";
constexpr std::string_view beside_sums = " grand general général geral sub sous końcowa genel за г год ";
constexpr std::string_view quarters_of_pivots = " q qtr trim t ";

bool is_among(std::string_view words, const std::string& word) {
  return words.find(fmt::format(" {} ", word)) != words.npos;
}

}  // namespace

// A word for a sum or mean, beside numbers and words such as grand. Total may have any words on one side, as of a place.
bool says_total(std::string_view label) {
  const std::vector<std::string> words = words_of(label);
  if (label.starts_with('*') && label.find_first_not_of("* 0123456789") == label.npos)
    return true;                                                                              // SAP's *2013
  if (label.ends_with("計") && label.find_first_of("0123456789") != label.npos) return true;  // 平成29年度計
  const auto is_sum = [](const std::string& word) {
    return is_among(sums, word) || word.ends_with("summe") || word.ends_with("計") || word.ends_with("计");
  };
  const auto fits = [&](const std::string& word) {
    return is_sum(word) || is_among(beside_sums, word) || (word[0] >= '0' && word[0] <= '9');
  };
  return std::ranges::any_of(words, is_sum) &&
         (std::ranges::all_of(words, fits) ||
          is_among(" total gesamt totale summe zwischensumme subtotal totaal ", words.front()) ||
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

void require_no_total_first(const CsvReader& at_first_row) {
  CsvReader below = at_first_row;
  const std::string_view label = cell_of(at_first_row, 0);
  if (!says_total(label) || !below.next() ||
      !(reads_as_date(cell_of(below, 0)) || dotted_month(cell_of(below, 0))))
    return;
  refuse_lines(fmt::format("{}:{}: '{}' holds a total of other rows: delete line {}", at_first_row.origin(),
                           at_first_row.line(), one_line(label), at_first_row.line()),
               {at_first_row.line()}, fmt::format("'{}' is a total", one_line(label)));
}

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

// Whether a number has nines or eights alone: two at least, three if it is above all others.
static bool stands_in(double value, bool lowest) {
  std::string digits = fmt::format("{}", std::abs(value));
  std::erase(digits, '.');
  return digits.size() > (lowest ? 1 : 2) && (digits[0] == '9' || digits[0] == '8') &&
         digits.find_first_not_of(digits[0]) == digits.npos;
}

void require_no_stand_ins(const SeriesText& file, const Series& series) {
  for (int channel = 0; channel < series.width(); ++channel) {
    if (channel == series.label) continue;
    for (const bool lowest : {true, false}) {
      std::vector<double> values;
      for (int64_t row = 0; row < series.rows(); ++row)
        if (const double value = series.at(row, channel); !std::isnan(value))
          values.push_back(lowest ? value : -value);
      if (values.size() < 8) continue;
      const double end = *std::ranges::min_element(values);
      const double value = lowest ? end : -end;
      const auto count = std::erase(values, end);
      if (!stands_in(end, lowest) || count < 2 || 5 * count > values.size() || (lowest && value > 0))
        continue;
      const auto [least, most] = std::ranges::minmax(values);
      const double range = most - least, beyond = least - end;
      // Sensors and counters end above. Beside one value throughout, -999 alone is none.
      if (range == 0 ? end > -999 || !lowest : beyond <= (lowest ? 1 : 3) * range) continue;
      const std::size_t place = file.columns.place(file.columns.chosen[channel]);
      const NumberMarks marks = {file.options.decimal, file.options.thousands};
      refuse_rows(
          fmt::format("{}: '{}' is {} in {} rows", series.origin, series.channels[channel], value, count),
          fmt::format("{} in {} is read as missing, {} times: the other values {}", value,
                      file.columns.called(file.columns.chosen[channel]), count,
                      range == 0
                          ? fmt::format("are {}", least)
                          : fmt::format("lie from {} to {}", lowest ? least : -most, lowest ? most : -least)),
          file.csv.separator(), [=](std::vector<std::string>& cells, int64_t) {
            if (place >= cells.size()) return;
            const auto number = written_number(cells[place], marks);
            if (number && number->value == value) cells[place].clear();
          });
    }
  }
}

void require_no_sums(const Series& series) {
  const int64_t last = series.rows() - 1;
  int of_sum = -1;  // a channel whose last value is much, too
  for (int channel = 0; channel < series.width(); ++channel) {
    double sum = 0, most = 0;
    for (int64_t row = 0; row < last; ++row)
      if (const double value = series.at(row, channel); !std::isnan(value))
        sum += value, most = std::max(most, std::abs(value));
    const double value = series.at(last, channel);
    if (std::abs(value - sum) > 1e-3 * std::abs(sum)) return;
    if (std::abs(value) > 3 * most) of_sum = channel;
  }
  if (of_sum >= 0)
    refuse_lines(
        fmt::format("{}:{}: '{}' is {}, the sum of the rows above it: delete the line, which holds totals",
                    series.origin, series.lines.back(), one_line(series.channels[of_sum]),
                    series.at(last, of_sum)),
        {series.lines.back()}, "the sum of the rows above it");
}

void require_no_events(const SeriesText& file, const Series& series) {
  const auto is_empty = [&](int64_t row) {
    for (int channel = 0; channel < series.width(); ++channel)
      if (!std::isnan(series.at(row, channel))) return false;
    return true;
  };
  int64_t last = series.rows() - 1;  // with a value
  while (last >= 0 && is_empty(last)) --last;
  // A row that was put in has the line of the row above it.
  if (last < 0 || last + 2 >= series.rows() || series.lines[last + 1] != series.lines[last]) return;
  std::set<int64_t> lines(series.lines.begin() + last + 2, series.lines.end());
  lines.erase(series.lines[last]);
  if (lines.empty()) return;
  std::vector<std::size_t> above(file.columns.width()), below(above);  // filled cells
  std::string example;
  CsvReader csv = file.at_first_row();
  each_row(csv, [&] {
    const bool is_here = lines.contains(csv.line());
    for (std::size_t i = 0; i < std::min(above.size(), csv.cells().size()); ++i)
      if (!says_missing(csv.cells()[i])) {
        ++(is_here ? below : above)[i];
        if (is_here && above[i] == 0 && example.empty()) example = csv.cells()[i];
      }
  });
  const std::string message =
      fmt::format("{}:{}: the row has no value, but '{}': if it is an event, delete it", series.origin,
                  *lines.begin(), one_line(example, 30));
  for (std::size_t i = 0; i < above.size(); ++i)
    if (above[i] == 0 && below[i] == lines.size())
      refuse_lines(message, std::move(lines), fmt::format("without a value, as '{}'", one_line(example, 30)));
}

}  // namespace unroll

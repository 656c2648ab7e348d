// See series_rows.h.
#include "examples/timeseries/series/series_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

void put_rows(Series& series, const NewRows& rows, double value) {
  for (SeriesMember& member : series.members)  // rows ascend
    for (int64_t* border : {&member.begin, &member.end})
      *border = std::lower_bound(rows.from.begin(), rows.from.end(), *border) - rows.from.begin();
  series.take_rows(rows.from);
  const auto width = static_cast<std::size_t>(series.width());
  for (const auto& [row, time] : rows.empty) {
    series.times.at[row] = time;
    std::fill_n(series.values.begin() + static_cast<int64_t>(row * width), width, value);
  }
}

std::string apart_text(const Series& series) {
  std::map<std::string, int> counts;
  for (int member = 0; member < series.count(); ++member) ++counts[apart_text(series.step_of(member))];
  std::vector<std::string> words;
  for (const auto& [apart, count] : counts) words.push_back(fmt::format("{} in {} series", apart, count));
  return words.size() == 1 ? counts.begin()->first : first_of(words);
}

std::string or_zero(const SeriesOptions& options) {
  if (!options.model.empty() || options.missing == Missing::zero) return "";
  return "; if what is not there means 0, data.missing = \"zero\" with data.gaps = \"fill\" reads it so";
}
std::string zero_without_rows(const SeriesOptions& options) {
  if (!options.model.empty() || options.missing == Missing::zero) return "";
  return "; data.missing = \"zero\" with data.gaps = \"fill\" then counts 0 for times without rows";
}
std::string or_zero(int64_t missing, int64_t of, const SeriesOptions& options) {
  constexpr int64_t least = 8, part = 10;  // a tenth of all
  return missing < std::max(least, of / part) ? "" : or_zero(options);
}

void cut_open_end(Series& series, const SeriesOptions& options) {
  if (options.open_end.empty()) return;
  std::vector<int> channels;
  for (const std::string& name : options.open_end) channels.push_back(series.channel(name));
  NewRows rows;
  rows.from.reserve(series.times.at.size());
  int64_t first = 0;
  for (int member = 0; member < series.count(); ++member) {
    const int64_t begin = series.begin_of(member);
    int64_t end = series.end_of(member);
    const auto is_open = [&](int64_t row) {
      return std::ranges::all_of(channels, [&](int channel) { return std::isnan(series.at(row, channel)); });
    };
    while (end > begin && is_open(end - 1)) --end;
    if (end == begin) end = series.end_of(member);  // no value is known; fill_in() reports this
    if (const int64_t open = series.end_of(member) - end; open > series.open_rows)
      series.open_rows = open, first = end;
    for (int64_t row = begin; row < end; ++row) rows.from.push_back(row);
  }
  if (series.open_rows == 0) return;
  series.notes.push_back(
      fmt::format("{} without a value of {} at the end: to be forecast, from line {} on (data.open_end)",
                  series.open_rows == 1 ? "a row" : fmt::format("{} rows", series.open_rows),
                  one_line(fmt::format("'{}'", fmt::join(options.open_end, "', '"))), series.lines[first]));
  put_rows(series, rows, std::nan(""));
}

void turn_around(Series& series) {
  std::vector<int64_t> from;
  for (int member = 0; member < series.count(); ++member)
    for (int64_t row = series.end_of(member); row-- > series.begin_of(member);) from.push_back(row);
  series.take_rows(from);
  series.notes.push_back("the newest row stands first: rows were turned around");
}

void fill_in(Series& series, const SeriesOptions& options) {
  const Missing missing = options.missing;
  const int width = series.width();
  const auto value = [&](int64_t row, int channel) -> double& {
    return series.values[row * width + channel];
  };
  int64_t filled = 0, first_row = series.rows();
  const auto fill = [&](int member, int channel) {
    const int64_t begin = series.begin_of(member), end = series.end_of(member);
    for (int64_t row = begin; row < end; ++row) {
      if (!std::isnan(value(row, channel))) continue;
      int64_t next = row;
      while (next < end && std::isnan(value(next, channel))) ++next;
      first_row = std::min(first_row, row), filled += next - row;
      if (missing == Missing::zero) {
        while (row < next) value(row++, channel) = 0;
        continue;
      }
      const auto beside = [&](bool there, std::string_view which) {
        require_input(
            there, "{}:{}: channel '{}': a value is missing, and there is none {} it{} to fill it in from",
            series.origin, series.lines[row], one_line(series.channels[channel]), which,
            series.members.empty() ? ""
                                   : fmt::format(" in series '{}'", one_line(series.members[member].name)));
      };
      const bool is_unknown = missing == Missing::mask && row == begin;
      if (!is_unknown) beside(row > begin, "before");
      if (is_unknown || missing == Missing::interpolate) beside(next < end, "after");
      for (int64_t i = row; i < next; ++i) {
        const double share = static_cast<double>(i - row + 1) / static_cast<double>(next - row + 1);
        value(i, channel) = is_unknown ? value(next, channel)
                            : missing == Missing::interpolate
                                ? (1 - share) * value(row - 1, channel) + share * value(next, channel)
                                : value(row - 1, channel);
        series.filled.resize(series.values.size());
        series.filled[i * width + channel] = is_unknown ? 2 : 1;
      }
    }
  };
  for (int channel = 0; channel < width; ++channel)
    for (int member = 0; member < series.count(); ++member) fill(member, channel);
  if (filled > 0) {  // a row that was put in has the line of the one before
    const bool is_new = first_row > 0 && series.lines[first_row] == series.lines[first_row - 1];
    const bool any_negative = std::ranges::any_of(series.values, [](double value) { return value < 0; });
    const char* const where = !is_new ? "in" : series.lines.front() > series.lines.back() ? "above" : "after";
    series.notes.push_back(fmt::format(
        "{} missing value{} filled in ({}); the first {} line {}{}", filled, plural(filled),
        missing == Missing::previous ? "the previous value"
        : missing == Missing::mask   ? "the previous value, and marked"
        : missing == Missing::zero   ? "0"
                                     : "interpolated",
        where, series.lines[first_row], any_negative ? "" : or_zero(filled, series.rows() * width, options)));
  }
}

void note_zeros_at_end(Series& series) {
  constexpr int64_t least_before = 8;
  for (int channel = 0; channel < series.width(); ++channel)
    for (int member = 0; member < series.count() && channel != series.label; ++member) {
      const int64_t begin = series.begin_of(member), last = series.end_of(member) - 1;
      int64_t first = last + 1, row = last;
      for (; row >= begin && series.at(row, channel) == 0; --row) first = row;
      if (first >= last || first - begin < least_before) continue;
      while (row >= begin && series.at(row, channel) != 0) --row;
      if (row >= begin) continue;
      const auto [from, to] = std::minmax(series.lines[first], series.lines[last]);
      return series.notes.push_back(fmt::format(
          "'{}' is 0 in its last {} rows{}, lines {} to {}, and in none before: if these are to come, delete the lines, "
          "and they are forecast",
          one_line(series.channels[channel]), last - first + 1,
          series.members.empty() ? "" : fmt::format(" of '{}'", one_line(series.name_of(member))), from, to));
    }
}

}  // namespace unroll

// See series.h.
#include "examples/timeseries/series/series.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {

int Series::channel(std::string_view name) const {
  const auto found = std::find(channels.begin(), channels.end(), name);
  require_input(found != channels.end(), "{}: there is no channel '{}'{}", origin, one_line(name),
                which_was_meant(name, channels));
  return static_cast<int>(found - channels.begin());
}

int Series::member_of(int64_t row) const {
  if (members.empty()) return 0;
  const auto after = std::partition_point(members.begin(), members.end(),
                                          [&](const SeriesMember& member) { return member.end <= row; });
  return static_cast<int>(std::min(after - members.begin(), std::ssize(members) - 1));
}

Series Series::part(int64_t begin, int64_t end) const {
  const auto rows_of = [&](const auto& all, int64_t each) {
    using Values = std::remove_cvref_t<decltype(all)>;
    return all.empty() ? Values() : Values(all.begin() + begin * each, all.begin() + end * each);
  };
  Series one;
  one.origin = origin, one.time_name = time_name, one.date_order = date_order, one.channels = channels;
  one.label = label, one.calendar = calendar;
  one.times = {.form = times.form,
               .compact = times.compact,
               .utc = times.utc,
               .at = rows_of(times.at, 1),
               .step = step_of(member_of(begin)),
               .offsets = rows_of(times.offsets, 1)};
  one.values = rows_of(values, width()), one.filled = rows_of(filled, width()), one.lines = rows_of(lines, 1);
  return one;
}

void Series::take_rows(const std::vector<int64_t>& from) {
  const auto taken = [&](auto& all, int64_t each) {
    if (all.empty()) return;
    std::remove_cvref_t<decltype(all)> result;
    result.reserve(from.size() * static_cast<std::size_t>(each));
    for (const int64_t row : from)
      result.insert(result.end(), all.begin() + row * each, all.begin() + (row + 1) * each);
    all = std::move(result);
  };
  taken(values, width()), taken(filled, width());
  taken(lines, 1), taken(times.at, 1), taken(times.offsets, 1);
}

void Series::insert_channels(int at, const std::vector<std::string>& names,
                             const std::vector<std::vector<double>>& columns) {
  const int before = width(), more = static_cast<int>(names.size());
  require(0 <= at && at <= before && columns.size() == names.size(),
          "series: {} columns of {} channels before channel {} of {}", columns.size(), more, at, before);
  for (const auto& column : columns)
    require(static_cast<int64_t>(column.size()) == rows(), "series: a column of {} values for {} rows",
            column.size(), rows());
  // [rows, before] -> [rows, before + more], `value(k, row)` that of new channel k
  const auto widened = [&](const auto& old, auto value) {
    std::remove_cvref_t<decltype(old)> result;
    result.reserve(rows() * (before + more));
    for (int64_t row = 0; row < rows(); ++row) {
      const auto first = old.begin() + row * before;
      result.insert(result.end(), first, first + at);
      for (std::size_t k = 0; k < columns.size(); ++k)
        result.push_back(value(k, static_cast<std::size_t>(row)));
      result.insert(result.end(), first + at, first + before);
    }
    return result;
  };
  values = widened(values, [&](std::size_t k, std::size_t row) { return columns[k][row]; });
  if (!filled.empty()) filled = widened(filled, [](std::size_t, std::size_t) { return uint8_t{0}; });
  channels.insert(channels.begin() + at, names.begin(), names.end());
}

std::string first_of(const std::vector<std::string>& names) {
  constexpr std::ptrdiff_t most = 5;
  return fmt::format("{}{}",
                     fmt::join(names.begin(), names.begin() + std::min(most, std::ssize(names)), ", "),
                     std::ssize(names) > most ? ", …" : "");
}

Series make_series(std::vector<std::string> names, std::vector<double> values) {
  require(!names.empty() && values.size() % names.size() == 0, "series: {} values for {} channels",
          values.size(), names.size());
  Series series;
  series.origin = "series";
  series.channels = std::move(names);
  series.values = std::move(values);
  series.times.at.resize(series.values.size() / series.channels.size());
  for (std::size_t i = 0; i < series.times.at.size(); ++i) series.times.at[i] = static_cast<int64_t>(i);
  return series;
}

// --- calendar features -------------------------------------------------------------------------------------

namespace {

// A position on a circle that takes `period` to pass.
struct Cycle {
  const char* name;
  double (*place)(const CalendarTime&);
  double period;
};
constexpr Cycle cycles[] = {
    {"minute", [](const CalendarTime& t) { return t.minute + t.second / 60.0; }, 60},
    {"hour", [](const CalendarTime& t) { return t.hour + t.minute / 60.0 + t.second / 3600.0; }, 24},
    {"weekday", [](const CalendarTime& t) { return double(t.weekday); }, 7},
    {"day", [](const CalendarTime& t) { return t.day - 1.0; }, 31},
    {"day_of_year", [](const CalendarTime& t) { return t.day_of_year - 1.0; }, 366},
    {"month", [](const CalendarTime& t) { return t.month - 1.0; }, 12},
};

// Channels to append to a series as features of its calendar.
struct Features {
  Series& series;
  std::vector<std::string> names = {};
  std::vector<std::vector<double>> columns = {};

  template <class Value>
  void add(const std::string& name, Value value) {
    for (const auto* all : {&series.channels, &names})
      require_input(std::ranges::find(*all, name) == all->end(), "{}: there is a channel '{}' already",
                    series.origin, one_line(name));
    names.push_back(name);
    columns.emplace_back();
    for (int64_t row = 0; row < series.rows(); ++row) columns.back().push_back(value(row));
  }
  void append() const {
    series.insert_channels(series.width(), names, columns);
    series.calendar += static_cast<int>(names.size());
  }
};

}  // namespace

void add_indicators(Series& series) {
  require(series.calendar == 0, "series: what is missing is marked before the calendar is added");
  Features features{series};
  for (int channel = 0; channel < series.width(); ++channel)
    if (channel != series.label)
      features.add(series.channels[channel] + " missing",
                   [&](int64_t row) { return series.is_filled(row, channel); });
  features.append();
}

void add_calendar(Series& series, const std::vector<std::string>& names) {
  if (names.empty()) return;
  require_input(series.times.form != TimeForm::number, "{}: there are no dates to take the {} from",
                series.origin, names.front());
  Features features{series};
  for (const std::string& name : names) {
    const auto cycle = std::ranges::find(cycles, name, &Cycle::name);
    if (cycle == std::end(cycles)) {
      std::vector<std::string> all;
      for (const Cycle& c : cycles) all.emplace_back(c.name);
      throw InputError(fmt::format("no calendar feature '{}'{}; there are {}", one_line(name),
                                   did_you_mean(nearest(name, all)), fmt::join(all, ", ")));
    }
    const auto angle = [&](int64_t row) {
      return 2 * std::numbers::pi * cycle->place(series.times.calendar(row)) / cycle->period;
    };
    features.add(name + "_sin", [&](int64_t row) { return std::sin(angle(row)); });
    features.add(name + "_cos", [&](int64_t row) { return std::cos(angle(row)); });
  }
  features.append();
}

std::vector<double> values_of(const Series& series, int channel, int64_t begin, int64_t end) {
  while (begin < end && series.is_filled(begin, channel)) ++begin;
  while (begin < end && series.is_filled(end - 1, channel)) --end;
  std::vector<double> values;
  for (int64_t row = begin; row < end; ++row) values.push_back(series.at(row, channel));
  return values;
}

}  // namespace unroll

// See bounds.h.
#include "examples/timeseries/series/bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "data/lower_case.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

// Whether the values have a zero that they may pass, as degrees have.
static bool is_a_temperature(const std::string& name) {
  const std::string small = lower_case(name);
  return small == "temp" ||
         std::ranges::any_of(std::array{"°", "℃", "℉", "temperat", "tempér", "気温"},
                             [&](const char* word) { return small.find(word) != small.npos; });
}

SeriesBounds::SeriesBounds(const Series& series, std::vector<int> targets, Options options)
    : series_(&series), targets_(std::move(targets)), options_(std::move(options)) {
  require(options_.asked.empty() || options_.asked.size() == 2, "bounds: {} numbers, not 2",
          options_.asked.size());
  require(options_.periods.empty() || options_.periods.size() == targets_.size(),
          "bounds: {} periods of {} targets", options_.periods.size(), targets_.size());
  for (int member = 0; member < series.count(); ++member)
    for (const int channel : targets_) {
      constexpr int64_t never = std::numeric_limits<int64_t>::max();
      const auto at = static_cast<std::size_t>(channel);
      // A range over several series says nothing about a single one.
      const bool is_known =
          series.members.empty() && at < options_.least.size() && options_.least[at] <= options_.most[at];
      Sides sides{.below = is_known && options_.least[at] < 0 ? -1 : never,
                  .above = is_known && options_.most[at] > 0 ? -1 : never};
      for (int64_t row = series.begin_of(member); row < series.end_of(member); ++row) {
        if (series.is_filled(row, channel)) continue;
        const double value = series.at(row, channel);
        if (value < 0) sides.below = std::min(sides.below, row);
        if (value > 0) sides.above = std::min(sides.above, row);
        sides.has_zero = sides.has_zero || value == 0;
      }
      if (is_a_temperature(series.channels[at])) sides = {.below = -1, .above = -1};
      sides_.push_back(sides);
    }
}

Bound SeriesBounds::at(int64_t origin, std::size_t target) const {
  if (!options_.asked.empty()) return {options_.asked.front(), options_.asked.back()};
  const auto member = static_cast<std::size_t>(series_->member_of(origin - 1));
  const auto& [below, above, has_zero] = sides_[member * targets_.size() + target];
  Bound bound;
  if (below >= origin && above < origin) bound.least = 0;
  if (above >= origin && below < origin) bound.most = 0;
  return bound;
}

void SeriesBounds::clamp(int64_t origin, std::vector<double>& values) const {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = at(origin, i % targets_.size()).clamp(values[i]);
}

double SeriesBounds::share_of(double value, int64_t row, int64_t origin, std::size_t target) const {
  constexpr int most_rows = 20, least_rows = 3;
  const int member = series_->member_of(origin - 1), channel = targets_[target];
  const int64_t begin = series_->begin_of(member);
  if (value == 0 && !sides_[static_cast<std::size_t>(member) * targets_.size() + target].has_zero) return 0;
  const auto share = [&](int64_t apart, int least) {
    int rows = 0, equal = 0;
    for (int64_t before = row - (row - origin + apart) / apart * apart; before >= begin && rows < most_rows;
         before -= apart) {
      if (series_->is_filled(before, channel)) continue;
      ++rows, equal += series_->at(before, channel) == value;
    }
    return rows < least ? -1.0 : static_cast<double>(equal) / rows;
  };
  const double of_period =
      share(options_.periods.empty() ? 1 : std::max<int64_t>(options_.periods[target], 1), least_rows);
  return of_period >= 0 ? of_period : std::max(share(1, 1), 0.0);
}

SeriesBounds::Ends SeriesBounds::around(const Place& place, double value, Ends interval, double rest) const {
  Ends ends{std::min(place.bound.clamp(interval.low), value),
            std::max(place.bound.clamp(interval.high), value)};
  for (const double often : {0.0, place.bound.least, place.bound.most})
    if (std::isfinite(often) && place.bound.clamp(often) == often &&
        (often < ends.low || often > ends.high) &&
        share_of(often, place.row, place.origin, place.target) > rest)
      ends = {std::min(ends.low, often), std::max(ends.high, often)};
  return ends;
}

std::string SeriesBounds::text(int64_t origin) const {
  if (!options_.asked.empty())
    return fmt::format("from {:g} to {:g} at most", options_.asked.front(), options_.asked.back());
  const Bound first = at(origin, 0);
  for (std::size_t t = 1; t < targets_.size(); ++t)
    if (at(origin, t) != first) return "on the side of 0 where all values of its series lie";
  if (first == Bound{}) return "";
  return first.least == 0 ? "not below 0" : "not above 0";
}

}  // namespace unroll

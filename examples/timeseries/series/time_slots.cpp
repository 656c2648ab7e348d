// See time_step.h.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/time_step.h"
#include "framework/check.h"

namespace unroll {
namespace {

using Unit = TimeStep::Unit;

constexpr int64_t one_week = 7 * one_day;
constexpr std::array<const char*, 7> weekdays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                 "Friday", "Saturday", "Sunday"};

// The number of a day, week or month, and the place in it: microseconds, or the day of the month.
struct SlotPlace {
  int64_t cycle, within;
};
SlotPlace place_of(TimeForm form, int64_t at, const TimeStep& step) {
  if (step.unit == Unit::month) {
    const MonthDay day = month_day(floor_div(at, day_unit(form)));
    return {day.month, day.day};
  }
  const int64_t since_monday = at * (one_day / day_unit(form)) + 3 * one_day;  // 1970 began on a Thursday
  const int64_t cycle = floor_div(since_monday, step.count);
  return {cycle, since_monday - cycle * step.count};
}

// The slot's place in a cycle. In a shorter month it is at most the last day.
int64_t within(const TimeStep& step, int64_t cycle, int64_t slot) {
  return step.unit == Unit::month ? std::min<int64_t>(slot, days_in_month(cycle)) : slot;
}

bool are_even(const TimeStep& step) {
  const auto& slots = step.slots;
  if (step.unit == Unit::month) return false;
  const int64_t apart = slots.front() + step.count - slots.back();
  for (std::size_t i = 1; i < slots.size(); ++i)
    if (slots[i] - slots[i - 1] != apart) return false;
  return true;
}

// The places of a day, a week or a month that have rows. None if there are too many, or one is taken only once.
std::vector<int64_t> places_in(TimeForm form, std::span<const int64_t> times, const TimeStep& step) {
  std::vector<int64_t> all, slots;
  int64_t longest = 0;  // the latest place; for months the largest day
  for (const int64_t t : times) longest = std::max(longest, place_of(form, t, step).within);
  for (const int64_t t : times) {
    const SlotPlace place = place_of(form, t, step);
    const bool is_end = step.unit == Unit::month && place.within == days_in_month(place.cycle);
    all.push_back(is_end ? longest : place.within);
  }
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i] == all[i - 1]) continue;
    if (i + 1 == all.size() || all[i + 1] != all[i]) return {};
    slots.push_back(all[i]);
  }
  constexpr std::size_t most_days = 6;
  const bool too_many = step.unit == Unit::month && (slots.size() > most_days || slots.rbegin()[1] > 27);
  return slots.size() < 2 || too_many ? std::vector<int64_t>{} : slots;
}

}  // namespace

std::string listed(const std::vector<std::string>& words) {
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

int64_t slot_of(TimeForm form, int64_t at, const TimeStep& step) {
  const SlotPlace place = place_of(form, at, step);
  const auto passed = std::count_if(step.slots.begin(), step.slots.end(), [&](int64_t slot) {
    return within(step, place.cycle, slot) <= place.within;
  });
  return place.cycle * std::ssize(step.slots) + passed - 1;
}

int64_t after_slots(TimeForm form, int64_t at, const TimeStep& step, int64_t places) {
  const int64_t n = std::ssize(step.slots);
  const int64_t days_of_cycle = step.unit == Unit::month ? 28 : step.count / one_day;
  require_input(places < 11'000'000 / days_of_cycle * n, "{} rows ahead are beyond the year 30000", places);
  const int64_t slot = slot_of(form, at, step) + places, cycle = floor_div(slot, n);
  const int64_t place = within(step, cycle, step.slots[slot - n * cycle]);
  if (step.unit == Unit::month)
    return days_of({cycle, static_cast<int>(place)}) * day_unit(form) +
           (form == TimeForm::date_time ? time_of_day(at) : 0);
  return floor_div(cycle * step.count + place - 3 * one_day, one_day / day_unit(form));
}

std::optional<TimeStep> find_slots(TimeForm form, std::span<const int64_t> times) {
  const auto rows = std::ssize(times);
  std::optional<TimeStep> best;
  std::vector<int64_t> apart;
  std::ranges::transform(times.subspan(1), times, std::back_inserter(apart), std::minus{});
  if (std::ranges::adjacent_find(apart, std::not_equal_to{}) == apart.end()) return best;  // evenly spaced
  const bool whole_days = std::ranges::all_of(
      times, [&](int64_t t) { return (t - times[0]) * (one_day / day_unit(form)) % one_day == 0; });
  int64_t most = (9 * (rows - 1) + 9) / 10 - 1;  // rows at the place after the previous row's
  std::vector<TimeStep> cycles = {{.unit = Unit::slots, .count = one_week}};
  if (whole_days)
    cycles.push_back({.unit = Unit::month, .count = 1, .day = TimeStep::Day::several});
  else
    cycles.insert(cycles.begin(), {.unit = Unit::slots, .count = one_day});
  for (TimeStep& step : cycles) {
    step.slots = places_in(form, times, step);
    if (step.slots.empty() || are_even(step)) continue;
    int64_t follow = 0;
    for (std::size_t i = 1; i < times.size(); ++i)
      follow += slot_of(form, times[i], step) == slot_of(form, times[i - 1], step) + 1;
    if (follow > most) most = follow, best = step;
  }
  return best;
}

std::string clock_text(int64_t t) {
  return fmt::format("{:02}:{:02}", t / one_hour, t / (one_hour / 60) % 60);
}

std::string slots_text(const TimeStep& step) {
  std::vector<std::string> words;
  if (step.unit == Unit::month) {
    for (const int64_t day : step.slots)
      words.push_back(day == 31 ? "last"
                                : fmt::format("{}{}", day,
                                              day % 10 == 1 && day != 11   ? "st"
                                              : day % 10 == 2 && day != 12 ? "nd"
                                              : day % 10 == 3 && day != 13 ? "rd"
                                                                           : "th"));
    return "on the " + listed(words) + " of the month";
  }
  const auto at = [&](int64_t slot) {
    const std::string day = step.count == one_week ? weekdays[slot / one_day] : "";
    return day + (day.empty() ? "" : " ") + clock_text(slot % one_day);
  };
  const bool whole_days =
      std::ranges::all_of(step.slots, [&](int64_t slot) { return (slot - step.slots[0]) % one_day == 0; });
  if (whole_days) {
    for (const int64_t slot : step.slots) words.emplace_back(weekdays[slot / one_day]);
    return "on " + listed(words);
  }
  return fmt::format("from {} to {}, {} times a {}", at(step.slots.front()), at(step.slots.back()),
                     step.slots.size(), step.count == one_week ? "week" : "day");
}

}  // namespace unroll

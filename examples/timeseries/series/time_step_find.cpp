// Finds the step between the times of a file. See time_step.h.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/time_step.h"
#include "examples/timeseries/series/times.h"

namespace unroll {
namespace {

using Unit = TimeStep::Unit;
using Day = TimeStep::Day;
using Counts = std::vector<int64_t>;

Counts differences_of(std::span<const int64_t> at) {
  Counts differences;
  for (std::size_t i = 1; i < at.size(); ++i) differences.push_back(at[i] - at[i - 1]);
  return differences;
}

// A difference between 2/3 and 3/2 of a step counts as one step. Others are gaps, or rows of another step.
bool is_near(int64_t difference, int64_t step) {
  const auto d = static_cast<double>(difference), s = static_cast<double>(step);
  return 3 * d >= 2 * s && 2 * d <= 3 * s;
}

// Mostly all counts are equal, so sorted already.
void sort_if_needed(Counts& counts) {
  if (!std::is_sorted(counts.begin(), counts.end())) std::sort(counts.begin(), counts.end());
}

struct Spacing {
  int64_t step = 0, jitter = 0;
  int64_t largest = 0;  // largest deviation of a difference near the step
};

// The mean of the differences near their median, as a multiple of `grain`. If at least half of all differences are
// equal, and as many steps of this length last as long as those near the median, within one step: this length.
Spacing spacing_of(Counts differences, int64_t grain) {
  sort_if_needed(differences);
  const int64_t median = differences[(differences.size() - 1) / 2];
  double sum = 0, count = 0;
  std::size_t run = 0, longest = 0;
  Spacing found;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    run = i > 0 && differences[i] == differences[i - 1] ? run + 1 : 1;
    if (run > longest) longest = run, found.step = differences[i];
    if (is_near(differences[i], median)) sum += static_cast<double>(differences[i]), ++count;
  }
  const auto step = static_cast<double>(found.step);
  if (2 * longest < differences.size() || std::abs(sum - count * step) >= step) {
    const auto grains = static_cast<int64_t>(std::llround(sum / count / static_cast<double>(grain)));
    found.step = std::max<int64_t>(grains, 1) * grain;
  }
  Counts off;
  for (const int64_t d : differences)
    if (is_near(d, found.step)) off.push_back(std::abs(d - found.step));
  if (off.empty()) return found;
  sort_if_needed(off);
  found.jitter = off[(9 * off.size() + 9) / 10 - 1];
  found.largest = off.back();
  return found;
}

bool are_whole_days(std::span<const int64_t> times) {
  return std::all_of(times.begin(), times.end(), [&](int64_t t) { return (t - times[0]) % one_day == 0; });
}

// The earlier of two times of day an hour apart, if rows stand at no others and change between them only a few
// times, like a zone's midnight in UTC. Else -1.
int64_t summer_time(std::span<const int64_t> at) {
  if (at.size() < 3) return -1;
  const int64_t first = time_of_day(at[0]);
  int64_t other = -1, changes = 0;
  for (std::size_t i = 1; i < at.size(); ++i) {
    const int64_t now = time_of_day(at[i]);
    changes += now != time_of_day(at[i - 1]);
    if (now == first) continue;
    if (other >= 0 && now != other) return -1;
    other = now;
  }
  if (other < 0 || changes > 2 + (at.back() - at[0]) / (150 * one_day)) return -1;
  if ((other + one_hour) % one_day == first) return other;
  return (first + one_hour) % one_day == other ? first : -1;
}

// Whether each time lies on the step's day of its month.
bool keep_to(std::span<const int64_t> at, const TimeStep& step) {
  return std::all_of(at.begin(), at.end(), [&](int64_t t) { return time_after(t, step, 0) == t; });
}

// Finds months of times on one day of the month, all at one time of day.
std::optional<FoundStep> find_months(std::span<const int64_t> at) {
  Counts months;
  int largest = 0;
  for (const int64_t t : at) {
    const MonthDay date = month_day(t);
    if (!months.empty() && date.month == months.back()) return std::nullopt;
    months.push_back(date.month);
    largest = std::max(largest, date.day);
  }
  const int64_t count = spacing_of(differences_of(months), 1).step;
  const auto step_on = [&](Day where, int of_month) {
    return TimeStep{.unit = Unit::month, .count = count, .day = where, .of_month = of_month};
  };
  const TimeStep on_day = step_on(Day::of_month, largest), at_end = step_on(Day::last, 0);
  std::vector<TimeStep> steps = {at_end, on_day, step_on(Day::last_business, 0),
                                 step_on(Day::first_business, 0)};
  // The third Friday, or the last one. Three rows may be four weeks apart by chance.
  const Counts differences = differences_of(at);
  if (at.size() >= 3 && std::ranges::count(differences, differences[0]) != std::ssize(differences))
    for (const int nth : {(month_day(at[0]).day + 6) / 7, 5})
      steps.push_back(step_on(Day::nth_weekday, 7 * nth + weekday_of(at[0])));
  const auto kept = std::ranges::find_if(steps, [&](const TimeStep& step) { return keep_to(at, step); });
  if (kept == steps.end()) return std::nullopt;
  FoundStep found{*kept};
  if (*kept != at_end || !keep_to(at, on_day)) return found;
  bool differ = false;
  for (int64_t k = 1; k <= 12 && k * on_day.count <= 1200; ++k)
    differ = differ || time_after(at.back(), on_day, k) != time_after(at.back(), at_end, k);
  if (differ)
    found.notes.push_back(fmt::format(
        "each row lies on the last day of its month, and none of these is longer than {} days: rows "
        "beyond the last are taken to keep to the end of the month, not to the {}th",
        largest, largest));
  return found;
}

// Whether times are all from Monday to Friday, in succession but for gaps, and span a weekend at least once.
bool are_business_days(std::span<const int64_t> at) {
  const TimeStep business{.unit = Unit::business_day, .count = 1};
  bool over = false;
  std::size_t one = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (weekday_of(at[i]) > 4) return false;
    if (i == 0 || steps_between(at[i - 1], at[i], business) != 1) continue;
    ++one;
    over = over || at[i] - at[i - 1] == 3 * one_day;
  }
  return over && 2 * one >= at.size() - 1;
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
std::vector<int64_t> places_in(std::span<const int64_t> times, const TimeStep& step) {
  std::vector<int64_t> all, slots;
  int64_t longest = 0;  // the latest place; for months the largest day
  for (const int64_t t : times) longest = std::max(longest, slot_place(t, step).within);
  for (const int64_t t : times) {
    const SlotPlace place = slot_place(t, step);
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

// Finds the places of times: each is taken at least twice, at least nine of ten rows are at the place after the
// previous row's, and the places are not evenly spaced. None if there are no such places.
std::optional<TimeStep> find_slots(std::span<const int64_t> times) {
  const auto rows = std::ssize(times);
  std::optional<TimeStep> best;
  const Counts apart = differences_of(times);
  if (std::ranges::adjacent_find(apart, std::not_equal_to{}) == apart.end()) return best;  // evenly spaced
  int64_t most = (9 * (rows - 1) + 9) / 10 - 1;  // rows at the place after the previous row's
  std::vector<TimeStep> cycles = {{.unit = Unit::slots, .count = 7 * one_day}};
  if (are_whole_days(times))
    cycles.push_back({.unit = Unit::month, .count = 1, .day = TimeStep::Day::several});
  else
    cycles.insert(cycles.begin(), {.unit = Unit::slots, .count = one_day});
  for (TimeStep& step : cycles) {
    step.slots = places_in(times, step);
    if (step.slots.empty() || are_even(step)) continue;
    int64_t follow = 0;
    for (std::size_t i = 1; i < times.size(); ++i) follow += steps_between(times[i - 1], times[i], step) == 1;
    if (follow > most) most = follow, best = step;
  }
  return best;
}

// Whether many times have fewer than five days of the week, as a school's kitchen has no Wednesday.
bool lacks_a_day_of_work(std::span<const int64_t> times) {
  constexpr std::size_t many = 16;
  std::set<int> days;
  for (const int64_t t : times)
    if (days.insert(weekday_of(t)).second && days.size() == 5) return false;
  return times.size() >= many;
}

// Finds a step of months or business days that all times follow.
std::optional<FoundStep> find_calendar_step(std::span<const int64_t> times) {
  if (const auto months = find_months(times)) return months;
  const bool are_of_business = are_business_days(times);
  const FoundStep business_day{{.unit = Unit::business_day, .count = 1}};
  if (are_of_business && !lacks_a_day_of_work(times)) return business_day;
  if (const auto slots = find_slots(times)) return FoundStep{*slots};
  return are_of_business ? std::optional(business_day) : std::nullopt;
}

// Times on the clock whose calendar they follow.
struct ByClock {
  Counts times;
  int64_t summer = -1, zone = 0;  // as in TimeStep
  bool whole_days = false;        // all are at one time of day
};

bool all_ascend(std::span<const int64_t> times) {
  return std::adjacent_find(times.begin(), times.end(), std::greater_equal<>()) == times.end();
}

// UTC times with offsets keep to the written clock if it shows one time of day, under one offset or two an hour apart.
std::optional<ByClock> by_written_clock(std::span<const int64_t> at, std::span<const int64_t> offsets) {
  if (offsets.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
  if (*most != *least && *most != *least + one_hour) return std::nullopt;
  ByClock found{.times = {at.begin(), at.end()}, .zone = *least, .whole_days = true};
  for (std::size_t i = 0; i < at.size(); ++i) found.times[i] += offsets[i];
  if (!are_whole_days(found.times) || !all_ascend(found.times)) return std::nullopt;
  if (*most != *least) found.summer = time_of_day(at[most - offsets.begin()]);
  return found;
}

// The clock of date-times without an offset, or in UTC.
ByClock by_seasons(std::span<const int64_t> at) {
  ByClock found{.times = {at.begin(), at.end()}, .summer = summer_time(at)};
  for (int64_t& t : found.times)
    if (found.summer >= 0 && time_of_day(t) == found.summer) t += one_hour;
  if (!all_ascend(found.times)) found = {.times = {at.begin(), at.end()}};
  found.whole_days = are_whole_days(found.times);
  return found;
}

// A step of so many units between most of the times, and what is said of the others.
FoundStep spaced(Unit unit, std::span<const int64_t> times, int64_t grain) {
  const Spacing spacing = spacing_of(differences_of(times), grain);
  FoundStep found{{.unit = unit, .count = spacing.step, .jitter = spacing.jitter}};
  // Rare and small deviations of stamps deserve no note; days that differ do.
  if (spacing.jitter == 0 && grain == 1 && unit == Unit::microsecond && 20 * spacing.largest <= spacing.step)
    return found;
  if (spacing.jitter > 0)
    found.notes.push_back(fmt::format("rows are {}", apart_text(found.step)));
  else if (spacing.largest > 0)
    found.notes.push_back(fmt::format("most rows are {}, but not all", apart_text(found.step)));
  return found;
}

}  // namespace

FoundStep find_step(TimeForm form, std::span<const int64_t> at, std::span<const int64_t> offsets) {
  if (at.size() < 2) return {};
  if (form == TimeForm::number) return spaced(Unit::number, at, 1);
  if (has_months_alone(form)) {
    Counts months;
    for (const int64_t t : at) months.push_back(month_day(t).month);
    return {{.unit = Unit::month, .count = spacing_of(differences_of(months), 1).step}};
  }
  const auto written = by_written_clock(at, offsets);
  ByClock clock = written ? *written : by_seasons(at);
  std::optional<FoundStep> found;
  if (clock.whole_days) found = find_calendar_step(clock.times);
  // A zone's midnight, written in UTC, is on the evening before.
  const int64_t to_midnight = one_day - time_of_day(clock.times[0]);
  if (!found && clock.whole_days && !written && 2 * to_midnight <= one_day) {
    Counts midnights = clock.times;
    for (int64_t& t : midnights) t += to_midnight;
    found = find_calendar_step(midnights);
    if (found) {
      clock.zone = to_midnight;
      found->notes.push_back(fmt::format(
          "rows stand at {}: taken for midnight in a zone {} ahead of UTC, by whose calendar they are {} apart; times with "
          "their offset (2020-01-06T00:00+{}) would say so",
          clock_text(one_day - to_midnight), clock_text(to_midnight), to_text(found->step),
          clock_text(to_midnight)));
    }
  }
  const Counts apart = differences_of(clock.times);
  const int64_t usual = spacing_of(apart, 1).step;
  const bool has_holes = std::ranges::any_of(apart, [&](int64_t d) { return !is_near(d, usual); });
  if (!found && !clock.whole_days && has_holes) {  // jittering stamps have no slots
    Counts shown(at.begin(), at.end());
    for (std::size_t i = 0; i < offsets.size(); ++i) shown[i] += offsets[i];
    const auto slots = all_ascend(shown) ? find_slots(shown) : std::nullopt;
    if (slots) found = FoundStep{*slots};
    if (slots && !offsets.empty()) clock.zone = offsets.back();
  }
  if (found)
    found->step.zone = clock.zone;
  else
    found = spaced(Unit::microsecond, clock.times, clock.whole_days ? one_day : 1);
  found->step.summer = clock.summer;
  if (clock.summer >= 0 && !written)
    found->notes.push_back(fmt::format(
        "rows stand at {} and, for a part of the year, at {}, as a zone's midnight does in UTC: they are taken as {} "
        "apart, and rows beyond the last keep to its {}",
        clock_text((clock.summer + one_hour) % one_day), clock_text(clock.summer), to_text(found->step),
        clock_text(time_of_day(at.back()))));
  return *found;
}

std::optional<TimeStep> same_step(TimeForm form, std::span<const int64_t> at, TimeStep model,
                                  const TimeStep& file) {
  if (form != TimeForm::date_time) model.summer = -1, model.zone = 0;  // dates have no clock
  const bool number = form == TimeForm::number, months = has_months_alone(form);
  if (months) model.day = TimeStep::Day::of_month, model.of_month = 0;
  const auto explained = [&](const TimeStep& step) {
    const bool needs_clock =
        std::ranges::any_of(step.slots, [](int64_t slot) { return slot % one_day != 0; });
    if (step.unit == Unit::slots && form == TimeForm::date && needs_clock) return int64_t{-1};
    if (number != (step.unit == Unit::number) || (months && step.unit != Unit::month) ||
        (form == TimeForm::date && step.unit == Unit::microsecond && step.count % one_day != 0))
      return int64_t{-1};
    int64_t count = 0;
    for (std::size_t i = 1; i < at.size(); ++i) count += time_after(at[i - 1], step, 1) == at[i];
    return count;
  };
  if (file.unit == Unit::unknown) return explained(model) < 0 ? std::nullopt : std::optional(model);
  if (model.unit == file.unit && model.slots == file.slots &&
      std::abs(model.count - file.count) <= std::max(model.jitter, file.jitter)) {
    TimeStep step = model;
    step.summer = file.summer, step.zone = file.zone;
    const bool on_days = model.unit == Unit::month;
    return !on_days || explained(step) >= explained(file) ? step : file;
  }
  if (explained(model) >= std::max<int64_t>(explained(file), 1)) return model;
  return std::nullopt;
}

}  // namespace unroll

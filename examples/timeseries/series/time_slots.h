// Rows at several places of a day, a week or a month, in turn: Monday, Wednesday and Friday; the 1st and the 15th; each hour from
// 9 to 17. TimeStep::slots has the places.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "examples/timeseries/series/time_step.h"

namespace unroll {

// The number of the place that a time lies at, or behind. Times are those of the clock whose calendar the rows keep to.
int64_t slot_of(TimeForm form, int64_t at, const TimeStep& step);
// The time so many places after one. InputError: beyond the year 30000.
int64_t after_slots(TimeForm form, int64_t at, const TimeStep& step, int64_t places);

// The places that times keep to: each is taken at least twice, nine of ten rows follow the place before theirs, and the places are
// not evenly spaced. None: there are no such.
std::optional<TimeStep> find_slots(TimeForm form, std::span<const int64_t> times);

// "09:00": microseconds since midnight.
std::string clock_text(int64_t t);
// "on Monday, Wednesday and Friday", "from 09:00 to 17:00, 9 times a day"
std::string slots_text(const TimeStep& step);

}  // namespace unroll

// Steps whose rows lie at several places of a day, a week or a month, in turn: Monday, Wednesday and Friday; the
// 1st and the 15th; each hour from 9 to 17. TimeStep::slots has the places.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "examples/timeseries/series/time_step.h"

namespace unroll {

// The number of the last place at or before a time. Times are on the clock whose calendar the rows follow.
int64_t slot_of(TimeForm form, int64_t at, const TimeStep& step);
// The time `places` places after `at`. Throws InputError beyond the year 30000.
int64_t after_slots(TimeForm form, int64_t at, const TimeStep& step, int64_t places);

// Finds the places of times: each is taken at least twice, at least nine of ten rows are at the place after the
// previous row's, and the places are not evenly spaced. None if there are no such places.
std::optional<TimeStep> find_slots(TimeForm form, std::span<const int64_t> times);

// "09:00": microseconds since midnight.
std::string clock_text(int64_t t);
// "on Monday, Wednesday and Friday", "from 09:00 to 17:00, 9 times a day"
std::string slots_text(const TimeStep& step);

}  // namespace unroll

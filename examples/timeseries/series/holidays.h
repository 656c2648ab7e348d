// Holidays that a file lists, as a feature of the calendar.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "examples/timeseries/series/series.h"

namespace unroll {

// Reads a text with one date a line, perhaps followed by a name: days since 1970. A first line without a digit is a header.
// Throws InputError, with the origin and line, if a line is no date or there are no dates.
std::set<int64_t> holidays_in(std::string_view text, const std::string& origin);

// Appends the channel "holiday", a calendar feature: 1 if the row's day is a holiday, else 0. If rows are more than a day
// apart, it counts the holidays from Monday to Friday in the row's step. Rows end their step if they lie at the end of their
// month, or are weeks apart on a Friday, Saturday or Sunday; else they begin it. Days follow the clock that the series'
// file shows. Notes say which rows end a step, which years have no holiday, and if no row is one. `file`: for messages.
//
// Throws InputError: the series has no dates, or has this channel; no holiday lies in a year of the rows.
void add_holidays(Series& series, const std::set<int64_t>& holidays, const std::string& file);

}  // namespace unroll

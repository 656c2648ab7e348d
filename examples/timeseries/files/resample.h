// Rows of irregular, repeated or unordered times, put together by steps of one length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "examples/timeseries/series/series.h"

namespace unroll {

// "15min", "1h", "2d", "1w", "1month", "1quarter", "1year": minutes and hours count from midnight UTC of 1970, weeks begin on
// Monday. None: it says no step.
struct ResampleStep {
  TimeForm form = TimeForm::date_time;  // of the steps' times
  int64_t count = 1;                    // so many of the form's units from one step to the next
  bool weeks = false;                   // days from Monday on
};
std::optional<ResampleStep> parse_resample(std::string_view text);
// Of a text that says none: what would, and the nearest one.
std::string why_no_step(const std::string& text);

// "1d": the step that rows of these times would be put together by, none of which is longer than theirs.
std::string resample_text(const Times& times);

// Puts the observed values of each step of options.resample into one row, which has the step's first time; a step without one is
// a row of NaN. A step may lack rows: of a channel whose times are evenly apart it is known how many. The first and the last step
// are left out if they lack any. Elsewhere a value of fewer than three in four of its rows is NaN, and a sum is scaled up to all
// of them. Notes say so. InputError, with file and line: times are numbers, or coarser than the step; the steps are more than a
// thousand times the rows, or a step has no value and the options fill none in.
void resample(Series& series, const SeriesOptions& options);

}  // namespace unroll

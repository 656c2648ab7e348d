// Puts rows of irregular, repeated or unordered times together by steps of one length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "examples/timeseries/series/series.h"

namespace unroll {

// "15min", "1h", "2d", "1w", "1month", "1quarter", "1year". Minutes and hours count from midnight UTC of 1970,
// weeks begin on Monday. None: the text is no step.
struct ResampleStep {
  TimeForm form = TimeForm::date_time;  // form of the steps' times
  int64_t count = 1;                    // length in the form's units
  bool weeks = false;                   // days, counted from a Monday
};
std::optional<ResampleStep> parse_resample(std::string_view text);
// For a text that is no step: which texts are, and the nearest one.
std::string why_no_step(const std::string& text);

// The step to suggest for rows of these times: "1d". It is at most as long as theirs.
std::string resample_text(const Times& times);

// Puts the observed values of each step of options.resample into one row at the step's first time. A step without
// values becomes a row of NaN.
//
// The first and the last step are dropped if they lack rows. The number of lacking rows is known only for channels
// with evenly spaced times. In other steps a value from fewer than three in four of its rows is NaN, and a sum of
// incomplete rows is scaled up to all of them. Notes say so.
//
// Throws InputError, with file and line. Times are numbers, or coarser than the step. There would be more than a
// thousand times as many rows. A step has no value and the options fill none in.
void resample(Series& series, const SeriesOptions& options);

}  // namespace unroll

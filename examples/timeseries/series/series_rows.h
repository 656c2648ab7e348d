// Finishes a series once all its rows are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/timeseries/series/series.h"

namespace unroll {

// Rows in place of a series' own: `from` has the old row of each. An old row may repeat for one without values, which takes
// over the offset, words and line: `empty` has the place and time of those.
struct NewRows {
  std::vector<int64_t> from;
  std::vector<std::pair<std::size_t, int64_t>> empty;
  void add_empty(int64_t row, int64_t time) { empty.emplace_back(from.size(), time), from.push_back(row); }
};
// Puts them into the series; the values of empty rows are `value`. Requires: `from` ascends.
void put_rows(Series& series, const NewRows& rows, double value);

// Finds the step between rows and checks that they are a step apart: else throws InputError with the line, or adds a
// note. Throws InputError, naming both, if it is not the step that the options ask for. A series that keeps to another step than
// the longest one gets it. Gaps::fill adds rows of NaN, and leaves out series that keep to no step; with Missing::zero of any
// number, and the step is one that fits all rows.
void settle_step(Series& series, const SeriesOptions& options);

// The step of the rows in which one of the channels has a value, if most rows have none and these keep to another than all. None: several series.
std::optional<TimeStep> step_of_values(const Series& series, const std::vector<int>& channels);
// Drops the rows without any value if there is such a step, with a note.
void cut_rows_of_others(Series& series);

// "a day apart", "a day apart in 3 series, a month apart in 1 series"
std::string apart_text(const Series& series);
constexpr const char* events_to_series =
    "rows of events become a series when those of each hour, day, week or month are put together: their number, sum or mean";

// The advice, if no model is there yet: what is missing may be 0. With counts: only if it is much.
std::string or_zero(const SeriesOptions& options);
std::string or_zero(int64_t missing, int64_t of, const SeriesOptions& options);
// The advice after that to put rows of events together: times without one may be 0.
std::string zero_without_rows(const SeriesOptions& options);

// Takes the times of the clock that the file shows if it is set within rows of an hour or less, so that days keep their season: the
// hour that is skipped lacks rows, and of one that comes twice the first counts.
void follow_clock(Series& series);
// Stamps of a logger that is late or early by a little each time: over more than an hour of it, days would lose their hours. Each row
// is taken at the nearest place of the steps that divide a day, or the next one if the row before has that. fill_gaps() puts in those
// that are passed; a row that is early by more than three quarters of a step is left out. `found`: the step of the rows; a model that
// has another one than that which divides the day keeps it.
void keep_to_day(Series& series, const TimeStep& found);

// Adds a note if the last row's day, or the months that begin with it, are not over at `now`, though those of the row before are: its
// value may be a part of a sum. A date later than `now` ends its row, as the last day of a month does. `now`: on the rows' clock.
void note_unfinished(Series& series, int64_t now);

// Drops rows as SeriesOptions::open_end says, and adds a note.
void cut_open_end(Series& series, const SeriesOptions& options);

// Reverses the rows of each series, for files with the newest row first.
void turn_around(Series& series);

// Fills in NaN values, marks them in `filled` but for Missing::zero, and adds a note. Throws InputError, with the line, if there is no
// value to fill in from.
void fill_in(Series& series, const SeriesOptions& options);

// Adds a note on the first channel whose last rows are 0 and none before: they may be to come.
void note_zeros_at_end(Series& series);

}  // namespace unroll

// Finishes a series once all its rows are read.
#pragma once

#include "examples/timeseries/series/series.h"

namespace unroll {

// Finds the step between rows and checks that they are a step apart: else throws InputError with the line, or adds a
// note. Throws InputError, naming both, if it is not the step that the options ask for. Gaps::fill adds rows of NaN.
void settle_step(Series& series, const SeriesOptions& options);

// Drops rows as SeriesOptions::open_end says, and adds a note.
void cut_open_end(Series& series, const SeriesOptions& options);

// Reverses the rows of each series, for files with the newest row first.
void turn_around(Series& series);

// Fills in NaN values, marks them in `filled`, and adds a note. Throws InputError, with the line, if there is no
// value to fill in from.
void fill_in(Series& series, Missing missing);

}  // namespace unroll

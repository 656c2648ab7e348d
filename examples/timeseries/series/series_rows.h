// The work that is left once all rows of a series have been read.
#pragma once

#include "examples/timeseries/series/series.h"

namespace unroll {

// Finds the step between rows, and looks for rows that are not a step apart: an InputError with the line, or a note.
// InputError, naming both, if it is not the step that the options ask for. Gaps::fill puts rows of NaN in.
void settle_step(Series& series, const SeriesOptions& options);

// Leaves out rows as SeriesOptions::open_end says, and adds a note.
void cut_open_end(Series& series, const SeriesOptions& options);

// Turns the rows of each series around, whose newest stands first.
void turn_around(Series& series);

// Fills in the values that are NaN, marks them in `filled`, and adds a note. InputError with the line where there is
// nothing to fill one in from.
void fill_in(Series& series, Missing missing);

}  // namespace unroll

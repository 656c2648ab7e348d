// Splits a series into training, validation and test parts: the rows that each predicts, and how far back its
// windows may look.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "examples/timeseries/series/series.h"

namespace unroll {

// Rows begin … end-1 are predicted; inputs are rows from `history` on. Rows before `begin` are seen as
// history only.
struct Span {
  int64_t begin = 0, end = 0, history = 0;
};
using Part = std::vector<Span>;  // ascending, without overlap
int64_t rows_of(const Part& part);
// int(rows · share), but not one less where share is the double just below what was meant (0.7 · 10).
int64_t share_of(int64_t rows, double share);
// The rest of a part with several series, each from a row of its own, with the same history.
Part from_rows(const Part& part, const Series& series, std::span<const int64_t> rows);
// The rows of a part that lie in [begin, end).
Part within(const Part& part, int64_t begin, int64_t end);
// Rows of the longest span; 0 if there is none.
int64_t longest_span(const Part& part);

struct SeriesSplit {
  Part train, valid, test;  // valid may be empty
};

// [0, train_end) trains, [train_end, valid_end) validates, [valid_end, test_end) tests (to the last row if
// test_end is 0); later rows are not used. Validation and test look back across their border; training does
// not see them. Throws InputError unless 0 < train_end <= valid_end < test_end <= rows.
SeriesSplit split_at_rows(int64_t rows, int64_t train_end, int64_t valid_end, int64_t test_end = 0);
// The first int(rows · train) rows train, those up to int(rows · (train + valid)) validate, the others test.
SeriesSplit split_by_fraction(int64_t rows, double train, double valid);
// Validation begins with the first row that is not before `valid_from`, test likewise. parse_time reads both texts,
// in the series' form (a month or a date also stands for its first moment). Throws InputError as above.
SeriesSplit split_by_time(const Series& series, std::string_view valid_from, std::string_view test_from);

// Splits each series of a file as if it were alone, with rows numbered from 0. Sets `left_out` to the series for which
// `split_one` throws InputError. Throws the first of these errors if no series is left.
SeriesSplit split_each(const Series& series, const std::function<SeriesSplit(int member)>& split_one,
                       std::vector<int>& left_out);

// Rolling origin: fold k of `folds` tests `test_rows` rows, validates on the `valid_rows` before them and trains on
// all rows before those. The last fold tests the last rows of the series. Throws InputError if no row is left to
// train on.
std::vector<SeriesSplit> rolling_origin(int64_t rows, int folds, int64_t test_rows, int64_t valid_rows);
// Contiguous blocks: fold k tests block k of `folds`, validates on the block before it (the last block for the
// first fold) and trains on the others. Training windows do not look across the borders of those two blocks.
std::vector<SeriesSplit> contiguous_blocks(int64_t rows, int folds);

}  // namespace unroll

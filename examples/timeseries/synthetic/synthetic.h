// Synthetic series, from which a forecaster learns before it sees a real one. They are drawn by seed, so a million need no file.
//
// A table of kinds (kinds.h) names the generators. A series is of one kind, or of two that are added or multiplied; then
// it is transformed, moved, scaled, rounded, and some values go missing. Parameters come from wide priors, which stand
// beside the code; none was fitted to a series.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace unroll {

struct SyntheticSeries {
  std::vector<float> values;  // [rows]; NaN where a value is missing
  // The season that a forecaster is told, in rows; 1: none. It is right in most series. Some have a season and tell 1, or
  // another one; some have none and tell that of their calendar, as a monthly random walk does.
  int64_t season = 1;
  std::string_view kind;  // the word in the table of kinds; of two, the first
};

// Series `index` of a seed, of the kinds for training. The result depends on the arguments alone: it is the same in any order and
// on any thread. The C library's exp, log and cos in double stand behind it, so another C library may change last bits.
// At least three values are there. Throws Error below 3 rows.
SyntheticSeries synthetic_series(uint64_t seed, int64_t index, int64_t rows);
// As above, of the kinds that are held out: training never draws them, and a test of a forecaster may.
SyntheticSeries held_out_series(uint64_t seed, int64_t index, int64_t rows);

}  // namespace unroll

// Series as the pretrained network reads them: segments of rows before a forecast's origin, and of rows to forecast. All values
// are taken relative to the series' own level and scale, so the unit of a series does not matter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/real.h"

namespace timeseries {

inline constexpr int segment_rows = 8;                     // rows that one step of the recurrent layers reads
inline constexpr int most_context = 512, most_ahead = 64;  // rows read, and rows forecast at once
// Numbers of a segment: those of each row, and those of the series and of the segment's place.
inline constexpr int facts_of_series = 14;
inline constexpr int context_width = 8 * segment_rows + facts_of_series;
inline constexpr int ahead_width = 13 * segment_rows + facts_of_series;

constexpr int segments_of(int64_t rows) { return static_cast<int>((rows + segment_rows - 1) / segment_rows); }

// Inputs of several series that have equal numbers of segments. The last row before the origin ends the last segment of the
// context; the first segment begins with padding, which counts as missing.
struct ForecastBatch {
  ForecastBatch(int context_segments, int ahead_segments, int batch);

  // Fills a series' place. values [rows], NaN: missing; they need as many segments as this batch has, and no more. A season
  // below 2, or of more rows than there are, is none. Returns false if the series has no scale: fewer than 3 values are
  // observed, or all are alike. Its inputs are then 0.
  bool put(int place, std::span<const double> values, int64_t season);
  // The index of a row ahead in what is [ahead_segments, batch, segment_rows].
  size_t at(int place, int64_t row) const {
    return static_cast<size_t>((row / segment_rows * batch + place) * segment_rows + row % segment_rows);
  }
  // The value in the series' unit of a number in its scale.
  double value(int place, double scaled) const { return level[place] + scale[place] * scaled; }

  int context_segments, ahead_segments, batch;
  std::vector<unroll::real> context;  // [context_segments, batch, context_width]
  std::vector<unroll::real> ahead;    // [ahead_segments, batch, ahead_width]
  // The value one season before each row to forecast, or the last one: [ahead_segments, batch, segment_rows].
  std::vector<unroll::real> base;
  std::vector<double> level, scale;  // [batch]
  std::vector<int64_t> season;       // [batch], rows; 1: none was told, or it is as long as the series
};

}  // namespace timeseries

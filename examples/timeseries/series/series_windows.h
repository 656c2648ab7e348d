// Windows over a part of a series, in batches.
//
//   rows   … 3 4 5 6 7 8 9 …      window 4, horizon 2: the window of origin 7
//              └─input─┘ └─target     reads rows 3 … 6 and predicts 7 and 8
//
// A window's origin is its first predicted row. All its predicted rows lie in one span of the part, and no row it
// reads is before the span's `history`. So rows of another part are never targets, and every row of the part with
// enough history is predicted. A span belongs to one series.
//
// A filled-in value (Series::filled) is no target: its weight is 0. A window whose targets were all filled in is
// left out. To detect, `lead` is 0: the label is the one of the last row read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "examples/timeseries/series/scaling.h"
#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/split.h"
#include "framework/tensor.h"

namespace unroll {

struct SeriesWindowOptions {
  int window = 24;  // rows read
  int horizon = 1;  // rows predicted
  int stride = 1;   // rows from a window's origin to the next one's; 1 to score every window
  int lead = 1;     // rows from the last one read to the first one predicted: 1 to forecast, 0 to detect
  // Empty inputs: all channels but the label. Empty targets: the label if there is one, else all but calendar features.
  std::vector<int> inputs = {}, targets = {};
  // Inputs that are also known for the predicted rows.
  std::vector<int> known = {};
};

struct SeriesBatch {
  // [window, batch, inputs], scaled. With known inputs [window + horizon, …]: the other inputs are 0 in the last
  // `horizon` rows.
  Tensor input;
  Tensor target;                     // [horizon, batch, targets], scaled
  Tensor weights;                    // like target: 0 where it was filled in, else 1; undefined: all are 1
  int64_t observed = 0;              // targets of weight 1
  std::span<const int64_t> origins;  // [batch]
};

class SeriesWindows {
 public:
  // Throws InputError, naming the part, if there is no window: it has too few rows (says how many it takes), or all
  // targets are missing. Also if an option is below its least value. Requires: the series outlives the windows.
  SeriesWindows(const Series& series, const Scaling& scaling, const Part& part, std::string_view part_name,
                const SeriesWindowOptions& options);

  const Series& series() const { return *series_; }
  const Scaling& scaling() const& { return scaling_; }
  Scaling scaling() const&& { return scaling_; }
  const SeriesWindowOptions& options() const& { return options_; }  // channels filled in
  SeriesWindowOptions options() const&& { return options_; }
  int64_t count() const { return static_cast<int64_t>(origins_.size()); }
  std::span<const int64_t> origins() const { return order_; }  // in the current order
  // The number of targets that do not count because they were filled in, including those of dropped windows.
  int64_t targets_left_out() const { return targets_left_out_; }

  // Shuffles the windows into the order of (seed, epoch), whatever theirs was. in_order() restores the order of time.
  void shuffle(uint64_t seed, uint32_t epoch);
  void in_order() { order_ = origins_; }

  // Batch k of ⌈count / size⌉; the last one may be smaller. Valid until the next batch is taken. Allocates nothing
  // while `size` stays the same.
  SeriesBatch batch(int64_t k, int size) { return batch(k, size, 0, windows_in(k, size)); }
  // Only windows [first, end) of batch k; at least one.
  SeriesBatch batch(int64_t k, int size, int first, int end);
  int64_t batches(int size) const { return (count() + size - 1) / size; }
  // The number of windows in batch k, and of its targets with weight 1.
  int windows_in(int64_t k, int size) const;
  int64_t observed_in(int64_t k, int size) const;

  // The input of the window with this origin, as a batch of one; the origin may lie past the last row, where there
  // is no target. Throws InputError if the window, or the rows of known inputs, do not lie in the series.
  Tensor input_before(int64_t origin) const { return input_before(origin, *series_, 0); }
  // Reads `rows` in place of the series' rows from `first` on.
  Tensor input_before(int64_t origin, const Series& rows, int64_t first) const;

 private:
  int read_rows() const { return options_.window + (options_.known.empty() ? 0 : options_.horizon); }
  // Row 0 of `rows` stands for row `first_row` of the series.
  void read(const Series& rows, int64_t first_row, int64_t origin, real* to, int64_t step) const;
  int filled_targets(int64_t origin) const;
  const Series* series_;
  Scaling scaling_;
  SeriesWindowOptions options_;
  std::vector<int64_t> origins_, order_;
  std::vector<uint8_t> is_known_;  // by input
  int64_t targets_left_out_ = 0;
  Tensor input_, target_, weights_;  // for batches of size_
  int size_ = 0;
};

}  // namespace unroll

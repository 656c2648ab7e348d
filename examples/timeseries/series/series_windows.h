// Windows over a part of a series, in batches.
//
//   rows   … 3 4 5 6 7 8 9 …      window 4, horizon 2: the window of origin 7
//              └─input─┘ └─target     reads rows 3 … 6 and predicts 7 and 8
//
// A window's origin is its first predicted row. All it predicts lies in one span of the part, all it reads is
// not before the span's `history`; so nothing of another part is ever a target, and every row of the part
// that has enough history is predicted. Of several series in one file, each span is one of a single series. A value that was
// filled in (Series::filled) is no target: its weight is 0, and a window all of whose targets were filled in is left out. To
// detect, `lead` is 0: the label is that of the last row read.
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
  int window = 24;    // rows read
  int horizon = 1;    // rows predicted
  int stride = 1;     // rows from a window's origin to the next one's; 1 to score every window
  int lead = 1;       // rows from the last one read to the first one predicted: 1 to forecast, 0 to detect
  int drop_last = 0;  // windows left out at the end of each span, as some tutorials do
  // Channels. None named: all of them are inputs but a label; and targets are the label, where there is one,
  // else all but calendar features.
  std::vector<int> inputs = {}, targets = {};
  // Inputs that are known of the rows to predict, too: to forecast, with a lead of 1.
  std::vector<int> known = {};
};

struct SeriesBatch {
  // [window, batch, inputs], scaled; where inputs are known ahead, [window + horizon, …], of whose last rows the others are 0.
  Tensor input;
  Tensor target;         // [horizon, batch, targets], scaled
  Tensor weights;        // of the target's shape: 0 where it was filled in, else 1; undefined: all are 1
  int64_t observed = 0;  // targets of weight 1
  std::span<const int64_t> origins;  // [batch]
};

class SeriesWindows {
 public:
  // InputError if there is no window, naming the part and how many rows it would take, or that all its targets are missing;
  // or an option below its least value. The series must outlive the windows.
  SeriesWindows(const Series& series, const Scaling& scaling, const Part& part, std::string_view part_name,
                const SeriesWindowOptions& options);

  const Series& series() const { return *series_; }
  const Scaling& scaling() const& { return scaling_; }
  Scaling scaling() const&& { return scaling_; }
  const SeriesWindowOptions& options() const& { return options_; }  // channels filled in
  SeriesWindowOptions options() const&& { return options_; }
  int64_t count() const { return static_cast<int64_t>(origins_.size()); }
  std::span<const int64_t> origins() const { return order_; }  // in the present order
  // How many targets are none because they were filled in; those of windows that are left out too.
  int64_t targets_left_out() const { return targets_left_out_; }

  // Puts the windows in the order of (seed, epoch), whatever their order was; or back into that of time.
  void shuffle(uint64_t seed, uint32_t epoch);
  void in_order() { order_ = origins_; }

  // Batch k of ⌈count / size⌉, the last one smaller: none is dropped. Valid until the next batch is taken;
  // nothing is allocated while `size` stays the same.
  SeriesBatch batch(int64_t k, int size) { return batch(k, size, 0, windows_in(k, size)); }
  // Of its windows those from first to end - 1 alone, at least one.
  SeriesBatch batch(int64_t k, int size, int first, int end);
  int64_t batches(int size) const { return (count() + size - 1) / size; }
  // Of batch k: its windows, and the targets of weight 1 among them.
  int windows_in(int64_t k, int size) const;
  int64_t observed_in(int64_t k, int size) const;

  // The input of any window, as in a batch of one, its origin given: to forecast beyond the last row, where
  // there is no target. InputError if it does not lie in the series, with the rows whose inputs are known ahead.
  Tensor input_before(int64_t origin) const;

 private:
  // Rows that an input has.
  int read_rows() const { return options_.window + (options_.known.empty() ? 0 : options_.horizon); }
  void read(int64_t origin, real* to, int64_t step) const;
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

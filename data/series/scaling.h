// Scaling of channels: y = (x - shift) / scale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/series/series.h"
#include "data/split.h"

namespace unroll {

enum class ScalingKind : uint8_t {
  none,
  standard,  // mean 0, standard deviation 1 (over n, not n - 1)
  minmax     // from 0 to 1
};

struct Scaling {
  std::vector<double> shift, scale;  // by channel; 0 and 1 for a label and calendar features

  double apply(double value, int channel) const { return (value - shift[at(channel)]) / scale[at(channel)]; }
  double undo(double value, int channel) const { return value * scale[at(channel)] + shift[at(channel)]; }

 private:
  static std::size_t at(int channel) { return static_cast<std::size_t>(channel); }
};

// Measured on the observed values of `part` (the training part; whole_series() is a leak): those that were filled in do
// not count. A channel that is constant there keeps its scale (1), and a line in `notes` says so. InputError: a channel
// without an observed value there.
Scaling fit_scaling(const Series& series, const Part& part, ScalingKind kind,
                    std::vector<std::string>& notes);
Part whole_series(const Series& series);

}  // namespace unroll

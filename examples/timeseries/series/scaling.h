// Scaling of channels: y = (x - shift) / scale. Several series are each scaled by themselves.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/split.h"

namespace unroll {

enum class ScalingKind : uint8_t {
  none,
  standard,  // mean 0, standard deviation 1 (over n, not n - 1)
  minmax     // from 0 to 1
};

// Takes values above 0, before scaling.
enum class Transform : uint8_t { none, log };

struct Scaling {
  std::vector<double> shift, scale;  // [series, channels]; 0 and 1 for a label and calendar features
  // Which channels' logarithms are scaled, and their shift and scale. All empty: none. Errors always count in units of
  // `scale`, which is measured on original values.
  std::vector<uint8_t> logs = {};
  std::vector<double> log_shift = {}, log_scale = {};
  int members = 1;  // series that share a file

  // The index of a series' channel in these vectors; the functions below take it.
  int place(int channel, int member) const {
    return member * (static_cast<int>(scale.size()) / members) + channel;
  }
  Scaling of(int member) const;
  bool is_log(int place) const { return !logs.empty() && logs[at(place)]; }
  double apply(double value, int place) const {
    return is_log(place) ? (std::log(value) - log_shift[at(place)]) / log_scale[at(place)]
                         : (value - shift[at(place)]) / scale[at(place)];
  }
  double undo(double value, int place) const {
    return is_log(place) ? std::exp(value * log_scale[at(place)] + log_shift[at(place)])
                         : value * scale[at(place)] + shift[at(place)];
  }

 private:
  static std::size_t at(int place) { return static_cast<std::size_t>(place); }
};

// Measures the scaling on observed values of `part`, the training part (whole_series() would leak). Each of several
// series is measured on its own rows of the part, or on all its rows if it has none there. A channel that is
// constant there keeps scale 1, and a line in `notes` says so.
//
// `transformed` names the channels whose logarithms are scaled, if `transform` says so; empty: all but the label and calendar
// features.
// Throws InputError: a channel has no observed value in the part, or a value whose logarithm is taken is not above 0.
Scaling fit_scaling(const Series& series, const Part& part, ScalingKind kind, std::vector<std::string>& notes,
                    Transform transform = Transform::none, const std::vector<int>& transformed = {});
// Throws InputError, with the line, if a value whose logarithm is taken is not above 0.
void require_positive(const Series& series, const Scaling& scaling);
Part whole_series(const Series& series);  // of each series, if there are several

}  // namespace unroll

// Scaling of channels: y = (x - shift) / scale. Several series are each scaled by themselves.
#pragma once

#include <algorithm>
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

struct ChannelScaling {
  // Errors always count in units of `scale`, which is measured on original values.
  double shift = 0, scale = 1;
  bool is_log = false;  // the logarithm is scaled, by these two
  double log_shift = 0, log_scale = 1;

  double used_shift() const { return is_log ? log_shift : shift; }
  double used_scale() const { return is_log ? log_scale : scale; }
  double apply(double value) const {
    return ((is_log ? std::log(value) : value) - used_shift()) / used_scale();
  }
  double undo(double value) const {
    const double scaled = value * used_scale() + used_shift();
    return is_log ? std::exp(scaled) : scaled;
  }
};

struct Scaling {
  std::vector<ChannelScaling> channels;  // [series, channels]; a label and calendar features stay as they are
  int members = 1;                       // series that share a file

  // The index of a series' channel; the functions below take it.
  int place(int channel, int member) const {
    return member * (static_cast<int>(channels.size()) / members) + channel;
  }
  const ChannelScaling& at(int place) const { return channels[place]; }
  double apply(double value, int place) const { return at(place).apply(value); }
  double undo(double value, int place) const { return at(place).undo(value); }
  Scaling of(int member) const {
    return {{channels.begin() + place(0, member), channels.begin() + place(0, member + 1)}};
  }
  bool has_logs() const { return std::ranges::any_of(channels, &ChannelScaling::is_log); }
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

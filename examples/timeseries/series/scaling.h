// Scaling of channels: y = (x - shift) / scale. Each of several series has its own.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/split.h"

namespace unroll {

// (x^λ - 1) / λ, and log x where λ is 0; and back, where what no x above 0 gives is 0.
double box_cox(double x, double lambda);
double inverse_box_cox(double y, double lambda);
// The λ of 0, 0.01, …, 1 by which the spread of a season's rows depends least on their mean (Guerrero 1993): the one of the least
// coefficient of variation of s / m^(1 - λ), s and m the deviation and mean of each `period` rows (two at least), counted from the
// end. None: fewer than three of them, or all are constant. Values are above 0.
std::optional<double> guerrero_lambda(std::span<const double> y, int64_t period);

enum class ScalingKind : uint8_t {
  none,
  standard,  // mean 0, standard deviation 1 (over n, not n - 1)
  minmax     // from 0 to 1
};

// Before that, of values above 0: their logarithm, or (x^λ - 1) / λ (Box and Cox 1964).
enum class Transform : uint8_t { none, log, box_cox };

struct Scaling {
  std::vector<double> shift, scale;  // [series, channels]; 0 and 1 for a label and calendar features
  // Of channels that are transformed first: λ, where 0 is the logarithm and NaN not at all; shift and scale of what it gives. All
  // empty: none is. Errors count in units of `scale` in any case, which is of the values as they are.
  std::vector<double> power = {}, inner_shift = {}, inner_scale = {};
  int members = 1;  // series that share a file

  // Where a channel of a series stands in them: what the functions below are given.
  int place(int channel, int member) const {
    return member * (static_cast<int>(scale.size()) / members) + channel;
  }
  // Of one of the series alone.
  Scaling of(int member) const;
  bool is_transformed(int place) const { return !power.empty() && !std::isnan(power[at(place)]); }
  double apply(double value, int place) const {
    if (!is_transformed(place)) return (value - shift[at(place)]) / scale[at(place)];
    return (box_cox(value, power[at(place)]) - inner_shift[at(place)]) / inner_scale[at(place)];
  }
  double undo(double value, int place) const {
    if (!is_transformed(place)) return value * scale[at(place)] + shift[at(place)];
    return inverse_box_cox(value * inner_scale[at(place)] + inner_shift[at(place)], power[at(place)]);
  }

 private:
  static std::size_t at(int place) { return static_cast<std::size_t>(place); }
};

// Measured on the observed values of `part` (the training part; whole_series() is a leak): those that were filled in do
// not count. A channel that is constant there keeps its scale (1), and a line in `notes` says so. InputError: a channel
// without an observed value there. A transform is of the channels that are named, or if none is of all but a label and calendar
// features, its λ measured on the part's longest span by guerrero_lambda(), 0 where that finds none; a note says λ. InputError: a value there is not above 0. Of several
// series each is measured by itself, on its rows of the part; one that has none there, on all of its rows.
Scaling fit_scaling(const Series& series, const Part& part, ScalingKind kind, std::vector<std::string>& notes,
                    Transform transform = Transform::none, int64_t period = 1,
                    const std::vector<int>& transformed = {});
// InputError, with the line: a value of the file is not above 0, and its channel is transformed.
void require_positive(const Series& series, const Scaling& scaling);
Part whole_series(const Series& series);  // of several, each

}  // namespace unroll

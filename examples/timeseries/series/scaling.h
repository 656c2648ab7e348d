// Scaling of channels: y = (x - shift) / scale. Several series are each scaled by themselves.
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

// (x^λ - 1) / λ, or log x if λ is 0; and its inverse, which is 0 where no x above 0 gives y.
double box_cox(double x, double lambda);
double inverse_box_cox(double y, double lambda);
// Guerrero's λ (1993), of 0, 0.01, …, 1: the one that makes a season's spread depend least on its mean. It has the
// least coefficient of variation of s / m^(1 - λ). s and m are deviation and mean of each `period` rows (at least
// 2), counted from the end. None: fewer than three seasons, or all are constant. Requires: values above 0.
std::optional<double> guerrero_lambda(std::span<const double> y, int64_t period);

enum class ScalingKind : uint8_t {
  none,
  standard,  // mean 0, standard deviation 1 (over n, not n - 1)
  minmax     // from 0 to 1
};

// A transform of values above 0, before scaling: the logarithm, or (x^λ - 1) / λ (Box and Cox 1964).
enum class Transform : uint8_t { none, log, box_cox };

struct Scaling {
  std::vector<double> shift, scale;  // [series, channels]; 0 and 1 for a label and calendar features
  // For transformed channels: λ (0: logarithm, NaN: not transformed), and shift and scale of the transformed values.
  // All empty: no channel is. Errors always count in units of `scale`, which is measured on original values.
  std::vector<double> power = {}, inner_shift = {}, inner_scale = {};
  int members = 1;  // series that share a file

  // The index of a series' channel in these vectors; the functions below take it.
  int place(int channel, int member) const {
    return member * (static_cast<int>(scale.size()) / members) + channel;
  }
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

// Measures the scaling on observed values of `part`, the training part (whole_series() would leak). Each of several
// series is measured on its own rows of the part, or on all its rows if it has none there. A channel that is
// constant there keeps scale 1, and a line in `notes` says so.
//
// `transformed` names the channels to transform; empty: all but the label and calendar features. Box-Cox: λ comes
// from guerrero_lambda() on the part's longest span, or is 0 if that finds none; a note says λ. Throws InputError:
// a channel has no observed value in the part, or a value to transform is not above 0.
Scaling fit_scaling(const Series& series, const Part& part, ScalingKind kind, std::vector<std::string>& notes,
                    Transform transform = Transform::none, int64_t period = 1,
                    const std::vector<int>& transformed = {});
// Throws InputError, with the line, if a value of a transformed channel is not above 0.
void require_positive(const Series& series, const Scaling& scaling);
Part whole_series(const Series& series);  // of each series, if there are several

}  // namespace unroll

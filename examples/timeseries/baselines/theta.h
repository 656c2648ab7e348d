// The Theta method (Assimakopoulos and Nikolopoulos 2000) as simple exponential smoothing with a drift (Hyndman and Billah
// 2003): the mean of a line through the rows and of their smoothing, after the season is taken out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace unroll {

struct ThetaModel {
  double alpha = 0.5, slope = 0;    // of the smoothing; of the line, per row
  double first = 0;                 // the level before the first row: that row itself
  std::vector<double> season = {};  // from the first row on; empty: none
  bool multiplies = false;          // the season; else it is added
};

// By least squares: α of the errors a row ahead, the slope of the rows. A season that a test of the autocorrelation at the
// period shows (at 90 %) is taken out by classical decomposition: it multiplies where all values are above 0. Rows that are
// marked as filled in are read, and no error of theirs counts. None: fewer than 4 rows, or none observed.
std::optional<ThetaModel> fit_theta(std::span<const double> y, std::span<const uint8_t> filled,
                                    int64_t period);

// The levels after each of the rows that it has been given.
class ThetaStates {
 public:
  explicit ThetaStates(ThetaModel model);
  int64_t rows() const { return static_cast<int64_t>(levels_.size()); }
  void add(double y);
  // The rows after the first `rows` of them, which must be 1 or more.
  void forecast(int64_t rows, std::span<double> to) const;

 private:
  double season(int64_t row) const;
  ThetaModel model_;
  std::vector<double> levels_;
};

}  // namespace unroll

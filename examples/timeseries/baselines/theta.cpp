// See theta.h.
#include "examples/timeseries/baselines/theta.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "framework/check.h"

namespace unroll {
namespace {

using Numbers = std::vector<double>;

double without(double y, double season, bool multiplies) { return multiplies ? y / season : y - season; }
double with(double y, double season, bool multiplies) { return multiplies ? y * season : y + season; }

// Tests n r² / (1 + 2 Σ r_k²) against 1.645², with the autocorrelation r at the period and r_k before it.
bool has_season(std::span<const double> y, int64_t period) {
  const auto m = static_cast<std::size_t>(period);
  if (period < 2 || y.size() < 2 * m) return false;
  const double n = static_cast<double>(y.size()), mean = std::accumulate(y.begin(), y.end(), 0.0) / n;
  const auto product = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t t = lag; t < y.size(); ++t) sum += (y[t] - mean) * (y[t - lag] - mean);
    return sum;
  };
  const double square = product(0);
  double before = 1;
  for (std::size_t lag = 1; lag < m; ++lag) {
    const double r = product(lag) / square;
    before += 2 * r * r;
  }
  const double r = product(m) / square;
  return n * r * r / before > 1.645 * 1.645;
}

// Smoothing by α from level 0 leaves r[t] = (1-α)^t first + share slope (1 - (1-α)^(t+1)) / α + e[t].
// Finds the best `first` and share, and returns their sum of squared errors.
double fit_rest(const FittedRows& rows, double alpha, ThetaModel& model) {
  const std::span y = rows.y;
  const auto each = [&](auto use) {
    double level = 0, fades = 1;
    for (std::size_t t = 0; t < y.size(); ++t) {
      const double off = y[t] - y[0];  // a level may be far above the spread
      const double before = fades;
      fades *= 1 - alpha;
      if (rows.counts(t)) use(before, model.slope * (1 - fades) / alpha, off - level);
      level += alpha * (off - level);
    }
  };
  double ww = 0, wd = 0, dd = 0, wr = 0, dr = 0;
  each(
      [&](double w, double d, double r) { ww += w * w, wd += w * d, dd += d * d, wr += w * r, dr += d * r; });
  const double determinant = ww * dd - wd * wd;
  model.share = determinant > 1e-12 * ww * dd ? std::clamp((ww * dr - wd * wr) / determinant, 0.0, 1.0) : 0;
  const double first = ww > 0 ? (wr - model.share * wd) / ww : 0;
  double squares = 0;
  each([&](double w, double d, double r) {
    const double error = r - w * first - model.share * d;
    squares += error * error;
  });
  model.alpha = alpha, model.first = y[0] + first;
  return squares;
}

// The best of 91 values of α, then nearer and nearer ones on both sides. Leaves the rest of the fit in `model`.
double fit_alpha(const FittedRows& rows, ThetaModel& model) {
  constexpr double lowest = 0.1;
  double least = fit_rest(rows, lowest, model);
  const auto attempt = [&](double alpha) {
    ThetaModel next{.slope = model.slope};
    const double squares = fit_rest(rows, std::clamp(alpha, lowest, 1.0), next);
    if (squares < least)
      least = squares, model.alpha = next.alpha, model.share = next.share, model.first = next.first;
  };
  for (int k = 11; k <= 100; ++k) attempt(k / 100.0);
  for (double step = 0.005; step > 1e-9; step /= 2) {
    const double middle = model.alpha;
    attempt(middle - step), attempt(middle + step);
  }
  return least;
}

}  // namespace

Numbers classical_season(const FittedRows& rows, int64_t period, bool multiplies) {
  const std::span y = rows.y;
  const auto m = static_cast<std::size_t>(period), half = m / 2;
  Numbers sums(m, 0), counts(m, 0);
  // An even period gives the ends of the average half weight.
  for (std::size_t t = half; t + half < y.size(); ++t) {
    if (!rows.counts(t)) continue;
    double level = 0;
    for (std::size_t k = t - half; k <= t + half; ++k)
      level += (m % 2 == 0 && (k == t - half || k == t + half) ? 0.5 : 1) * y[k];
    sums[t % m] += without(y[t], level / static_cast<double>(m), multiplies);
    ++counts[t % m];
  }
  for (std::size_t k = 0; k < m; ++k) {
    if (counts[k] == 0) return {};
    sums[k] /= counts[k];
  }
  const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(m);
  for (double& s : sums) s = multiplies ? s / mean : s - mean;
  return sums;
}

std::optional<ThetaModel> fit_theta(const FittedRows& rows, int64_t period) {
  const std::span y = rows.y;
  if (y.size() < 4) return std::nullopt;
  ThetaModel model;
  Numbers plain(y.begin(), y.end());
  if (has_season(y, period)) {
    model.multiplies = std::all_of(y.begin(), y.end(), [](double value) { return value > 0; });
    model.season = classical_season(rows, period, model.multiplies);
    for (std::size_t t = 0; t < plain.size() && !model.season.empty(); ++t)
      plain[t] = without(plain[t], model.season[t % model.season.size()], model.multiplies);
  }
  Numbers x, observed;
  for (std::size_t t = 0; t < plain.size(); ++t) {
    if (!rows.counts(t)) continue;
    x.insert(x.end(), {1, static_cast<double>(t)});
    observed.push_back(plain[t]);
  }
  if (observed.empty()) return std::nullopt;
  model.slope = least_squares(x, observed, 2)[1];
  const double n = static_cast<double>(observed.size());
  model.variance = fit_alpha({plain, rows.filled}, model) / std::max(n - 3, 1.0);
  return model;
}

double ThetaModel::season_of(std::size_t row) const {
  if (season.empty()) return multiplies ? 1 : 0;
  return season[row % season.size()];
}

double ThetaModel::next(std::span<const State> past, double y) const {
  const double plain = without(y, season_of(past.size() - 1), multiplies);
  return past.back() + alpha * (plain - past.back());
}

void ThetaModel::forecast(std::span<const State> past, std::span<double> to) const {
  const std::size_t rows = past.size() - 1;
  require(rows >= 1, "theta: a forecast from no rows");
  const double ahead = (1 - std::pow(1 - alpha, static_cast<double>(rows + 1))) / alpha;
  for (std::size_t h = 0; h < to.size(); ++h)
    to[h] =
        with(past.back() + share * slope * (static_cast<double>(h) + ahead), season_of(rows + h), multiplies);
}

void ThetaModel::deviations(std::span<const State> past, std::span<double> to) const {
  for (std::size_t h = 0; h < to.size(); ++h)
    to[h] = std::sqrt(variance * (1 + static_cast<double>(h) * alpha * alpha)) *
            (multiplies ? season_of(past.size() - 1 + h) : 1);
}

}  // namespace unroll

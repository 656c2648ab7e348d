#include "examples/timeseries/pretrained/window.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace timeseries {

namespace {

using unroll::real;

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

// Linear near 0, logarithmic far from it: one outlier does not drown a segment.
double squash(double z) { return 3 * std::asinh(z / 3); }

struct Mean {
  double sum = 0;
  int64_t count = 0;
  void add(double x) { sum += x, ++count; }
  double operator()() const { return count > 0 ? sum / static_cast<double>(count) : no_value; }
};

// All that the inputs take from one series.
struct SeriesFacts {
  SeriesFacts(std::span<const double> values, int64_t given_season)
      : x(values), rows(std::ssize(values)), told_season(std::max<int64_t>(given_season, 1)) {
    season = told_season < rows ? told_season : 1;
    find_spread();
    find_levels();
    find_scale();
    if (season > 1) find_shape();
  }

  double at(int64_t t) const { return t >= 0 && t < rows ? x[t] : no_value; }

  void find_spread() {
    Mean mean, zeros;
    for (const double v : x)
      if (!std::isnan(v)) mean.add(v), zeros.add(v == 0), last = v, all_positive &= v > 0;
    for (const double v : x)  // squares of values of 1e-200 would be 0
      if (!std::isnan(v)) deviation = std::hypot(deviation, v - mean());
    observed = mean.count;
    deviation /= std::sqrt(static_cast<double>(observed));
    share_of_zeros = zeros();
  }

  // The means of the last seasons, the last one first, and the slope between them.
  void find_levels() {
    for (int64_t k = 0; k < std::min<int64_t>(rows / season, 8); ++k) {
      Mean mean;
      for (int64_t t = rows - (k + 1) * season; t < rows - k * season; ++t)
        if (!std::isnan(at(t))) mean.add(at(t) - last);  // of values that are alike exactly theirs
      levels.push_back(last + mean());
    }
    level = std::isnan(levels[0]) ? last : levels[0];
    size_t oldest = levels.size() - 1;
    while (oldest > 0 && std::isnan(levels[oldest])) --oldest;
    if (oldest > 0 && !std::isnan(levels[0]))
      slope = (levels[0] - levels[oldest]) / static_cast<double>(oldest);  // of a season
  }

  // The mean absolute seasonal difference, or with fewer than 3 of them the mean absolute difference of values that follow each
  // other; at least a twentieth of the standard deviation.
  void find_scale() {
    Mean seasonal, steps;
    double before = no_value;
    for (int64_t t = 0; t < rows; ++t) {
      if (std::isnan(at(t))) continue;
      if (!std::isnan(at(t - season))) seasonal.add(std::abs(at(t) - at(t - season)));
      if (!std::isnan(before)) steps.add(std::abs(at(t) - before));
      before = at(t);
    }
    if (observed >= 3 && steps() > 0)
      scale = std::max(season > 1 && seasonal.count >= 3 ? seasonal() : steps(), deviation / 20);
  }

  // The mean deviation of each phase from its season's level, without the slope, and the mean share in it.
  void find_shape() {
    const size_t length = static_cast<size_t>(season);
    shape.assign(length, no_value), share.assign(length, no_value);
    for (int64_t j = 0; j < season; ++j) {
      Mean deviations, shares;
      for (size_t k = 0; k < levels.size(); ++k) {
        const double value = at(rows - static_cast<int64_t>(k + 1) * season + j);
        if (std::isnan(value) || std::isnan(levels[k])) continue;
        deviations.add(value - levels[k]);
        if (all_positive) shares.add(value / levels[k]);
      }
      const double along = slope * ((static_cast<double>(j) + 0.5) / static_cast<double>(season) - 0.5);
      shape[j] = deviations() - along;
      share[j] = all_positive ? level * (shares() - 1) - along : deviations() - along;
    }
  }

  int64_t phase(int64_t t) const {
    return ((t - rows) % season + season) % season;
  }  // 0: as that of the origin
  double shape_at(int64_t t) const { return season > 1 ? shape[phase(t)] : 0; }
  double share_at(int64_t t) const { return season > 1 ? share[phase(t)] : 0; }
  // The value so many seasons before a row to forecast, which has the same phase.
  double seasons_before(int64_t t, int64_t seasons) const {
    return season > 1 ? at(rows - seasons * season + phase(t)) : no_value;
  }
  double base_at(int64_t t) const {
    if (season == 1) return last;
    for (int64_t k = 1; k <= 3; ++k)
      if (const double value = seasons_before(t, k); !std::isnan(value)) return value;
    return std::isnan(shape_at(t)) ? level : level + shape_at(t);
  }

  std::span<const double> x;
  int64_t rows, told_season, season = 1, observed = 0;
  double last = 0, deviation = 0, share_of_zeros = 0, level = 0, slope = 0, scale = 0;
  bool all_positive = true;
  std::vector<double> levels, shape, share;
};

// Writes numbers one after the other; for one that is missing 0.
struct Writer {
  void number(double value) { *next++ = std::isnan(value) ? real(0) : static_cast<real>(value); }
  void squashed(double value) { number(squash(value)); }
  void is_there(double value) { *next++ = std::isnan(value) ? real(0) : real(1); }
  void phase(const SeriesFacts& s, int64_t t) {
    const double angle = 2 * std::numbers::pi * static_cast<double>((t - s.rows) % s.told_season) /
                         static_cast<double>(s.told_season);
    number(s.told_season > 1 ? std::sin(angle) : 0), number(s.told_season > 1 ? std::cos(angle) : 0);
  }
  real* next;
};

// place: of the segment, in [-1, 1); negative before the origin.
void write_facts(const SeriesFacts& s, double place, Writer& out) {
  const auto level = [&](size_t k) { return k < s.levels.size() ? s.levels[k] : no_value; };
  out.number(std::log(static_cast<double>(s.told_season)) / 4);
  out.number(s.season > 1);
  out.number(std::log(static_cast<double>(s.rows)) / 4);
  out.number(std::log(static_cast<double>(s.rows) / static_cast<double>(s.season)) / 4);
  out.number(static_cast<double>(s.observed) / static_cast<double>(s.rows));
  out.number(squash(std::clamp(-s.level / s.scale, -1e4, 1e4)) / 3);  // where 0 lies: no farther off than in training
  out.number(s.all_positive);
  out.number(s.share_of_zeros);
  out.number(std::log(s.deviation / s.scale) / 2);
  out.squashed((level(0) - level(1)) / s.scale);
  out.squashed((level(1) - level(2)) / s.scale);
  out.squashed(s.slope / s.scale);
  out.number(place);
  out.number(1 / (1 + 8 * std::abs(place)));
}

void write_row(const SeriesFacts& s, int64_t t, Writer& out) {
  const double value = s.at(t);
  out.squashed((value - s.level) / s.scale);
  out.squashed((value - s.level) / s.deviation);
  out.squashed((value - s.level - s.shape_at(t)) / s.scale);
  out.squashed((value - s.at(t - s.season)) / s.scale);
  out.is_there(value);
  out.is_there(value - s.at(t - s.season));
  out.phase(s, t);
}

void write_row_ahead(const SeriesFacts& s, int64_t t, Writer& out) {
  const double base = s.base_at(t), second = s.seasons_before(t, 2), third = s.seasons_before(t, 3);
  const double seasons = static_cast<double>((t - s.rows) / s.season + 1);
  out.squashed((base - s.level) / s.scale);
  out.squashed((base - s.level) / s.deviation);
  out.squashed((second - base) / s.scale);
  out.is_there(second);
  out.squashed((third - base) / s.scale);
  out.is_there(third);
  out.squashed((s.level + s.shape_at(t) - base) / s.scale);
  out.squashed((s.level + s.share_at(t) - base) / s.scale);
  out.squashed(s.slope * seasons / s.scale);
  out.number(static_cast<double>(t - s.rows + 1) / most_ahead);
  out.number(std::log(static_cast<double>(t - s.rows + 1)) / 4);
  out.phase(s, t);
}

}  // namespace

ForecastBatch::ForecastBatch(int context_count, int ahead_count, int series)
    : context_segments(context_count),
      ahead_segments(ahead_count),
      batch(series),
      context(static_cast<size_t>(context_count) * series * context_width),
      ahead(static_cast<size_t>(ahead_count) * series * ahead_width),
      base(static_cast<size_t>(ahead_count) * series * segment_rows),
      level(static_cast<size_t>(series)),
      scale(static_cast<size_t>(series)),
      season(static_cast<size_t>(series)) {}

bool ForecastBatch::put(int place, std::span<const double> values, int64_t told_season) {
  const SeriesFacts s(values, told_season);
  level[place] = s.level, scale[place] = s.scale;
  season[place] = s.season;
  if (s.scale <= 0) return false;
  const auto at = [&](std::vector<real>& numbers, int segment, int width) {
    return numbers.data() + (static_cast<size_t>(segment) * batch + place) * width;
  };
  for (int k = 0; k < context_segments; ++k) {
    Writer out{at(context, k, context_width)};
    const int64_t first = s.rows - int64_t{context_segments - k} * segment_rows;
    for (int64_t t = first; t < first + segment_rows; ++t) write_row(s, t, out);
    write_facts(s, (k - context_segments) / (1.0 * most_context / segment_rows), out);
  }
  for (int k = 0; k < ahead_segments; ++k) {
    Writer out{at(ahead, k, ahead_width)};
    real* const bases = at(base, k, segment_rows);
    for (int i = 0; i < segment_rows; ++i) {
      const int64_t t = s.rows + k * segment_rows + i;
      bases[i] = static_cast<real>((s.base_at(t) - s.level) / s.scale);
      write_row_ahead(s, t, out);
    }
    write_facts(s, k / (1.0 * most_ahead / segment_rows), out);
  }
  return true;
}

}  // namespace timeseries

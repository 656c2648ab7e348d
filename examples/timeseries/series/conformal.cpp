// See conformal.h.
#include "examples/timeseries/series/conformal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "framework/check.h"

namespace unroll {

ConformalInterval::ConformalInterval(const SeriesWindows& windows, Options options)
    : series_(&windows.series()),
      targets_(windows.options().targets),
      scaling_(windows.scaling()),
      window_(windows.options().window),
      options_(std::move(options)),
      bounds_(windows.series(), targets_, options_.bounds) {
  require_input(options_.level > 0 && options_.level < 1, "interval: a level of {} is not between 0 and 1",
                options_.level);
  require(options_.steps >= 1, "interval: {} steps", options_.steps);
  errors_.resize(static_cast<std::size_t>(options_.steps) * targets_.size());
}

// A window's standard deviation roughly predicts how wrong its forecasts will be. Its cube root suits series that grow
// and series that do not. A window that hardly moves says little, so a tenth of the training rows' spread is the least.
double ConformalInterval::unit_of(int64_t origin, std::size_t target) const {
  const int channel = targets_[target];
  const int member = series_->member_of(origin - 1);
  const int64_t begin = std::max(series_->begin_of(member), origin - window_);
  double mean = 0, squares = 0, n = 0;
  for (int64_t row = begin; row < origin; ++row) n += !series_->is_filled(row, channel);
  for (int64_t row = begin; row < origin; ++row)
    if (!series_->is_filled(row, channel)) mean += series_->at(row, channel) / n;
  for (int64_t row = begin; row < origin; ++row) {
    if (series_->is_filled(row, channel)) continue;
    const double off = series_->at(row, channel) - mean;
    squares += off * off / n;
  }
  const double scale = scaling_.at(scaling_.place(channel, member)).scale;
  return scale * std::cbrt(std::max(std::sqrt(squares) / scale, 0.1));
}

void ConformalInterval::Errors::leave(std::deque<Error>::iterator error) {
  sorted.erase(std::lower_bound(sorted.begin(), sorted.end(), error->value));
  chose -= error->chose;
  known.erase(error);
}

void ConformalInterval::Errors::take(const Error& error, int64_t most) {
  if (!error.chose && chose > 0) {
    leave(std::find_if(known.begin(), known.end(), [](const Error& e) { return e.chose; }));
  } else if (static_cast<int64_t>(known.size()) >= most) {
    leave(known.begin());
  }
  known.push_back(error);
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), error.value), error.value);
  chose += error.chose;
}

double ConformalInterval::Errors::quantile(double level) const {
  const auto n = static_cast<int64_t>(sorted.size());
  const auto k = static_cast<int64_t>(std::ceil(level * static_cast<double>(n + 1) - 1e-9));
  return n < least_errors || k > n ? std::numeric_limits<double>::quiet_NaN()
                                   : sorted[std::max<int64_t>(k, 1) - 1];
}

template <class Use>
void ConformalInterval::for_each_value(int64_t origin, std::span<const double> low,
                                       std::span<const double> high, Use use) {
  require(low.size() == errors_.size() && high.size() == errors_.size(),
          "interval: {} and {} values for {} steps of {} targets", low.size(), high.size(), options_.steps,
          targets_.size());
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    const double unit = unit_of(origin, t);
    Place place{.origin = origin, .row = origin, .target = t, .bound = bounds_.at(origin, t)};
    for (std::size_t i = t; i < errors_.size(); i += targets_.size(), ++place.row) use(i, place, unit);
  }
}

void ConformalInterval::take_known(int64_t origin) {
  for (Errors& errors : errors_)
    for (; !errors.to_come.empty() && errors.to_come.front().row < origin; errors.to_come.pop_front())
      errors.take(errors.to_come.front());
}

double ConformalInterval::reach(std::size_t i) const {
  const auto& sorted = errors_[i].sorted;
  const double found = errors_[i].quantile(options_.level);
  if (!std::isnan(found) || !options_.has_quantiles) return found;
  return static_cast<int64_t>(sorted.size()) < least_errors ? 0 : std::max(sorted.back(), 0.0);
}

void ConformalInterval::widen(int64_t origin, std::span<double> values, std::span<double> low,
                              std::span<double> high, std::span<const double> further) {
  take_known(origin);
  for_each_value(origin, low, high, [&](std::size_t i, const Place& place, double unit) {
    const double by = unit * (reach(i) + (further.empty() ? 0 : further[i]));  // NaN: there is no interval
    values[i] = place.bound.clamp(values[i]);
    Ends found{place.bound.clamp(low[i]) - by, place.bound.clamp(high[i]) + by};
    // Quantiles narrowed past each other meet at the forecast.
    if (found.low > found.high) found = {values[i], values[i]};
    found = bounds_.around(place, values[i], found, 1 - options_.level);
    if (!(found.low < found.high)) found.low = found.high = std::numeric_limits<double>::quiet_NaN();
    low[i] = found.low, high[i] = found.high;
  });
}

std::vector<double> ConformalInterval::errors_of(int64_t origin, std::span<const double> low,
                                                 std::span<const double> high) {
  std::vector<double> errors(errors_.size(), std::numeric_limits<double>::quiet_NaN());
  for_each_value(origin, low, high, [&](std::size_t i, const Place& place, double unit) {
    const int channel = targets_[place.target];
    if (series_->is_filled(place.row, channel)) return;
    const double truth = series_->at(place.row, channel);
    errors[i] = std::max(place.bound.clamp(low[i]) - truth, truth - place.bound.clamp(high[i])) / unit;
  });
  return errors;
}

void ConformalInterval::learn(int64_t origin, std::span<const double> low, std::span<const double> high,
                              bool chose) {
  const std::vector<double> errors = errors_of(origin, low, high);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!std::isfinite(errors[i])) continue;
    const int64_t row = origin + static_cast<int64_t>(i / targets_.size());
    // Validation rows drawn at random stand among the test rows.
    auto& to_come = errors_[i].to_come;
    const auto later = [](int64_t before, const Error& e) { return before < e.row; };
    to_come.insert(std::upper_bound(to_come.begin(), to_come.end(), row, later), {row, errors[i], chose});
  }
}

std::vector<double> ConformalInterval::p_values(int64_t origin, std::span<const double> errors) {
  require(errors.size() == errors_.size(), "interval: {} errors for {} steps and targets", errors.size(),
          errors_.size());
  take_known(origin);
  std::vector<double> result;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const auto& sorted = errors_[i].sorted;
    const auto less = std::lower_bound(sorted.begin(), sorted.end(), errors[i]) - sorted.begin();
    const auto n = static_cast<double>(sorted.size());
    result.push_back(std::isnan(errors[i]) || n < least_errors
                         ? std::numeric_limits<double>::quiet_NaN()
                         : (1 + n - static_cast<double>(less)) / (1 + n));
  }
  return result;
}

void ConformalInterval::know(std::span<const double> errors, bool chose) {
  require(errors.size() == errors_.size(), "interval: {} errors for {} steps and targets", errors.size(),
          errors_.size());
  for (std::size_t i = 0; i < errors.size(); ++i)
    if (std::isfinite(errors[i]))
      errors_[i].take({-1, errors[i], chose}, is_pooled() ? most_errors_of_all : most_errors);
}

int64_t ConformalInterval::needed() const {
  const auto of_level = static_cast<int64_t>(std::ceil(options_.level / (1 - options_.level) - 1e-9));
  return std::max(least_errors, of_level);
}

bool ConformalInterval::is_known() const {
  return std::all_of(errors_.begin(), errors_.end(), [](const Errors& errors) {
    return static_cast<int64_t>(errors.known.size()) >= least_errors;
  });
}

ConformalInterval::Known ConformalInterval::known() const {
  const auto fewest = std::min_element(errors_.begin(), errors_.end(), [](const Errors& a, const Errors& b) {
    return a.known.size() < b.known.size();
  });
  return {fewest->chose, static_cast<int64_t>(fewest->known.size()) - fewest->chose};
}

}  // namespace unroll

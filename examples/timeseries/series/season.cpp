// See season.h.
#include "examples/timeseries/series/season.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"

namespace unroll {
namespace {

constexpr double least_strength = 0.2, least_of_week = 0.1, least_of_few = 0.5, near_largest = 0.8;

// Whether the rows are too few for a moving average, so that the trend is a line.
bool is_few(std::span<const double> y, int64_t period) {
  return 2 * static_cast<int64_t>(y.size()) < 5 * period;
}

struct Decomposed {
  std::vector<double> seasonal = {}, rest = {};  // only rows that have a trend
  int64_t first = 0;                             // the first of these rows
};

// Classical decomposition. None: fewer rows than two periods.
std::optional<Decomposed> decompose(std::span<const double> y, int64_t period) {
  const auto n = static_cast<int64_t>(y.size());
  if (n < 2 * period || period < 2) return std::nullopt;
  const int64_t half = is_few(y, period) ? 0 : period / 2;
  Decomposed found{.first = half};
  std::vector<double> off;  // from the trend
  double change = 0;        // from one period to the next
  for (auto t = static_cast<std::size_t>(period); t < y.size(); ++t)
    change += (y[t] - y[t - static_cast<std::size_t>(period)]) / static_cast<double>(n - period);
  for (int64_t t = half; t + half < n; ++t) {
    if (half == 0) {
      off.push_back(y[t] - change * static_cast<double>(t) / static_cast<double>(period));
      continue;
    }
    double sum = 0;
    for (int64_t k = t - half; k <= t + half; ++k) {
      const bool is_end = period % 2 == 0 && (k == t - half || k == t + half);
      sum += y[k] * (is_end ? 0.5 : 1);
    }
    off.push_back(y[t] - sum / static_cast<double>(period));
  }
  std::vector<double> sums(period), counts(sums.size());
  const auto place = [&](std::size_t i) { return i % static_cast<std::size_t>(period); };
  for (std::size_t i = 0; i < off.size(); ++i) sums[place(i)] += off[i], ++counts[place(i)];
  for (std::size_t i = 0; i < off.size(); ++i) {
    found.seasonal.push_back(sums[place(i)] / counts[place(i)]);
    found.rest.push_back(off[i] - found.seasonal.back());
  }
  return found;
}

std::vector<double> without_season(std::span<const double> y, int64_t period) {
  std::vector<double> rest(y.begin(), y.end());
  const auto found = decompose(y, period);
  if (!found) return rest;
  for (int64_t t = 0; t < static_cast<int64_t>(y.size()); ++t) {
    const int64_t place = ((t - found->first) % period + period) % period;
    rest[t] -= found->seasonal[place];
  }
  return rest;
}

std::string name_of(int64_t period, const TimeStep& step) {
  constexpr const char* names[] = {"an hour", "a day", "a week", "a month", "a year"};
  constexpr int64_t lengths[] = {one_hour, one_day, 7 * one_day};
  const auto of = static_cast<std::size_t>(calendar_period(period, step));
  const bool is_off = step.unit == TimeStep::Unit::microsecond && of < std::size(lengths) &&
                      std::abs(period * step.count - lengths[of]) > step.jitter;
  return fmt::format("{}{} of {} rows", is_off ? "nearly " : "", names[of], period);
}

Season by_calendar(std::span<const double> y, const TimeStep& step, const std::vector<int64_t>& periods) {
  Season season;
  std::vector<std::string> weak;
  std::vector<double> rest(y.begin(), y.end());
  for (const int64_t period : periods) {
    if (period <= std::ssize(y) && std::ssize(y) < 2 * period)
      season.longer = fmt::format("; {} takes {} rows to be found, and {} are looked at",
                                  name_of(period, step), 2 * period, y.size());
    const double strength = strength_of_season(rest, period);
    if (std::isnan(strength)) continue;
    const bool is_week_of_days = season.period > 1 && calendar_period(period, step) == CalendarPeriod::week;
    if (strength < (is_few(y, period) ? least_of_few : is_week_of_days ? least_of_week : least_strength)) {
      weak.push_back(fmt::format("{} has {:.2f}{}", name_of(period, step), strength,
                                 is_few(y, period) ? ", and so few rows need 0.5" : ""));
      continue;
    }
    season.why +=
        fmt::format("{}{}: strength {:.2f}", season.why.empty() ? "" : ", ", name_of(period, step), strength);
    if (season.period > 1) {
      season.second_period = period;
      return season;
    }
    season.period = period;
    rest = without_season(y, period);
  }
  if (season.period == 1)
    season.why = weak.empty()
                     ? "too few rows for a calendar's"
                     : fmt::format("none of strength {} or more: {}", least_strength, fmt::join(weak, ", "));
  return season;
}

Season by_autocorrelation(std::span<const double> y) {
  std::vector<double> change;
  for (std::size_t t = 1; t < y.size(); ++t) change.push_back(y[t] - y[t - 1]);
  const std::size_t n = change.size(), most = std::min<std::size_t>(n / 3, 1000);
  const double variance_of_all = variance(change);
  if (most < 3 || !(variance_of_all > 0)) return {.why = "too few rows, or rows that do not change"};
  double mean = 0;
  for (const double c : change) mean += c / static_cast<double>(n);
  std::vector<double> correlation(most + 1);
  for (std::size_t lag = 0; lag <= most; ++lag) {
    double sum = 0;
    for (std::size_t t = lag; t < n; ++t) sum += (change[t] - mean) * (change[t - lag] - mean);
    correlation[lag] = sum / static_cast<double>(n) / variance_of_all;
  }
  const auto is_peak = [&](std::size_t lag) {
    return correlation[lag] > correlation[lag - 1] && correlation[lag] >= correlation[lag + 1];
  };
  // Smooth rows are alike at each lag before the first negative correlation.
  std::size_t least = 1;
  while (least < most && correlation[least] >= 0) ++least;
  least = std::max<std::size_t>(least, 2);
  double largest = 0;
  for (std::size_t lag = least; lag < most; ++lag)
    if (is_peak(lag)) largest = std::max(largest, correlation[lag]);
  const double least_correlation = std::max(0.3, 2 / std::sqrt(static_cast<double>(n)));
  if (largest < least_correlation)
    return {.why =
                fmt::format("no autocorrelation of the differences of {:.2g} or more: the largest is {:.2f}",
                            least_correlation, largest)};
  // Multiples of the season correlate as well, and a neighbour may by noise.
  std::size_t first = least;
  while (!is_peak(first) || correlation[first] < near_largest * largest) ++first;
  std::size_t best = first;
  for (std::size_t lag = first; lag < most && 2 * lag < 3 * first; ++lag)
    if (correlation[lag] > correlation[best]) best = lag;
  // A broad peak is nearest to the season where its multiples correlate most.
  const std::size_t broad = best / 12, multiples = std::min<std::size_t>(4, most / (best + broad));
  const auto of_multiples = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t k = 1; k <= multiples; ++k) sum += correlation[k * lag];
    return sum;
  };
  const std::size_t highest = best;
  for (std::size_t lag = highest - broad; lag <= highest + broad; ++lag)
    if (of_multiples(lag) > of_multiples(best)) best = lag;
  return {.period = static_cast<int64_t>(best),
          .why = fmt::format("autocorrelation of the differences {:.2f}", correlation[best])};
}

// The means of each eighth of all periods, less those of the period around it: noise has a smaller part in them than in rows.
class Eighths {
 public:
  explicit Eighths(std::span<const double> y) : sums_{0}, rounding_(1e-20 * variance(y)) {
    for (const double v : y) sums_.push_back(sums_.back() + v - y[0]);
  }

  struct Found {
    double strength = 0;  // of the season, as strength_of_season has it; 0: noise has it by chance
    double season = 0;    // its variance
  };
  // The strength is 0 below 0.2, and where the mean by place explains no more of the variance than once in 3,333 times by chance: of
  // one wave of noise over k periods, whose height and phase are free in each, more than x with the probability (1 - x)^(k - 1).
  Found of(int64_t period) const {
    const int64_t n = std::ssize(sums_) - 1, parts = std::min<int64_t>(period, 8);
    const auto before = [&](int64_t halves) {  // of the rows: the middle of a part may lie between two
      const int64_t row = halves / 2;
      return halves % 2 == 0 ? sums_[row] : (sums_[row] + sums_[row + 1]) / 2;
    };
    const auto mean = [&](int64_t begin, int64_t end) {
      return (before(end) - before(begin)) / static_cast<double>(end - begin) * 2;
    };
    std::vector<double> all, places(parts), counts(parts);
    for (int64_t k = 0; k < n / period * parts; ++k) {
      const int64_t begin = k * period / parts, end = (k + 1) * period / parts;
      const int64_t around = begin + end - period;
      if (around < 0 || around + 2 * period > 2 * n) continue;
      all.push_back(mean(2 * begin, 2 * end) - mean(around, around + 2 * period));
      places[k % parts] += all.back(), ++counts[k % parts];
    }
    const double variance_of_all = variance(all), count = static_cast<double>(all.size());
    if (!(variance_of_all > rounding_) || std::ssize(all) < 3 * parts) return {};
    double share = 0;
    for (int64_t i = 0; i < parts; ++i) share += places[i] * places[i] / counts[i] / count / variance_of_all;
    const double chance = static_cast<double>(parts - 1) / (count - 1);
    const double strength = (share - chance) / (1 - chance), periods = static_cast<double>(n / period);
    if (strength < least_strength || share < 1 - std::pow(0.0003, 1 / (periods - 1))) return {};
    return {strength, strength * variance_of_all};
  }

 private:
  std::vector<double> sums_;  // of the rows before
  double rounding_;           // a variance that is no more than this
};

// The season of the levels: the shortest period whose season has 0.8 of the variance of that of the strongest one.
Season by_levels(std::span<const double> y) {
  constexpr int64_t shortest = 4, fewest = 4, longest = 1000;  // rows; periods; rows
  const Eighths eighths(y);
  std::vector<Eighths::Found> all(shortest);
  for (int64_t period = shortest; period <= std::min(std::ssize(y) / fewest, longest); ++period)
    all.push_back(eighths.of(period));
  const auto strongest = std::ranges::max_element(all, {}, &Eighths::Found::strength);
  if (strongest->strength == 0) return {};
  auto best = std::ranges::find_if(
      all, [&](const auto& found) { return found.season >= near_largest * strongest->season; });
  // Its neighbours have almost as much.
  const auto near = std::min(std::ssize(all) - (best - all.begin()), (best - all.begin()) / 10 + 2);
  best = std::ranges::max_element(best, best + near, {}, &Eighths::Found::strength);
  return {.period = best - all.begin(),
          .why = fmt::format("strength {:.2f} of the means of its eighths", best->strength)};
}

// By the differences, if the other season is neither stronger nor a part as strong; and a second one of seven, as a week has days.
Season by_values(std::span<const double> y) {
  Season season = by_autocorrelation(y), smooth = by_levels(y);
  const double noise = season.period > smooth.period && season.period % smooth.period == 0 ? -0.02 : 0.02;
  if (smooth.period > 1 && (season.period == 1 || strength_of_season(y, smooth.period) >
                                                      strength_of_season(y, season.period) + noise))
    season = smooth;
  const double week = season.period > 1 && 28 * season.period <= std::ssize(y)
                          ? Eighths(without_season(y, season.period)).of(7 * season.period).strength
                          : 0;
  if (week > 0) {
    season.second_period = 7 * season.period;
    season.why += fmt::format(", seven of them: strength {:.2f}", week);
  }
  return season;
}

}  // namespace

CalendarPeriod calendar_period(int64_t period, const TimeStep& step) {
  using enum CalendarPeriod;
  const auto slots = std::ssize(step.slots);
  if (step.unit == TimeStep::Unit::month) return slots > 0 && period == slots ? month : year;
  if (slots > 0) return (step.count == one_day) == (period == slots) ? day : week;
  if (step.unit == TimeStep::Unit::business_day) return week;
  const double days =
      static_cast<double>(period) * static_cast<double>(step.count) / static_cast<double>(one_day);
  return days > 200 ? year : std::lround(days) == 7 ? week : std::lround(days) == 1 ? day : hour;
}

double variance(std::span<const double> values) {
  double mean = 0, squares = 0;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean) / n;
  return squares;
}

std::string to_text(const Season& season) {
  if (season.period == 1) return "none";
  return season.second_period == 0 ? fmt::format("{} rows", season.period)
                                   : fmt::format("{} and {} rows", season.period, season.second_period);
}

std::vector<int64_t> calendar_periods(const TimeStep& step, int64_t rows) {
  std::vector<int64_t> periods;
  const auto drifts_little = [&](int64_t period, int64_t off, int64_t whole) {
    const double periods_of_all = static_cast<double>(rows) / static_cast<double>(period);
    return off == 0 || (10 * step.jitter <= step.count &&
                        periods_of_all * static_cast<double>(std::abs(off)) <=
                            static_cast<double>(whole) / 24 + static_cast<double>(step.jitter));
  };
  const auto add = [&](int64_t whole, int64_t part) {
    const int64_t period = part > 0 ? (whole + part / 2) / part : 0;
    if (period >= 2 && drifts_little(period, period * part - whole, whole)) periods.push_back(period);
  };
  const auto slots = std::ssize(step.slots);
  switch (step.unit) {
    case TimeStep::Unit::slots: {
      const auto of_first_day = std::ranges::count_if(
          step.slots, [&](int64_t slot) { return slot / one_day == step.slots.front() / one_day; });
      if (step.count == one_day) return {slots, 7 * slots};
      if (of_first_day < slots) add(slots, slots / of_first_day);
      periods.push_back(slots);
      break;
    }
    case TimeStep::Unit::month:
      if (slots > 0) return {slots, 12 * slots};
      add(12, step.count);
      break;
    case TimeStep::Unit::business_day:
      add(5, step.count);
      break;
    case TimeStep::Unit::microsecond:
      for (const int64_t whole : {one_hour, one_day, 7 * one_day}) add(whole, step.count);
      if (drifts_little(365, 365 * (step.count - one_day), 365 * one_day)) periods.push_back(365);
      if (drifts_little(52, 52 * (step.count - 7 * one_day), 365 * one_day)) periods.push_back(52);
      if (drifts_little(26, 26 * (step.count - 14 * one_day), 365 * one_day)) periods.push_back(26);
      break;
    case TimeStep::Unit::unknown:
    case TimeStep::Unit::number:
      break;
  }
  return periods;
}

double strength_of_season(std::span<const double> y, int64_t period) {
  const auto found = decompose(y, period);
  if (!found) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> both;
  for (std::size_t i = 0; i < found->rest.size(); ++i) both.push_back(found->seasonal[i] + found->rest[i]);
  const double all = variance(both);
  if (!(all > 1e-20 * variance(y)))
    return std::numeric_limits<double>::quiet_NaN();  // nothing is left but rounding
  // The mean of k values of noise has 1 / k of its variance.
  const double by_chance = static_cast<double>(period) / static_cast<double>(both.size());
  return (1 - variance(found->rest) / all - by_chance) / (1 - by_chance);
}

Season find_season(std::span<const double> y, const TimeStep& step) {
  const std::vector<int64_t> periods = calendar_periods(step, std::ssize(y));
  return periods.empty() ? by_values(y) : by_calendar(y, step, periods);
}

Season season_of_most(const std::vector<std::vector<double>>& all, const TimeStep& step, bool are_some) {
  struct Found {
    Season season;
    std::size_t times = 0;
  };
  std::vector<Found> found;
  Season none;
  std::size_t changing = 0;
  for (const std::vector<double>& y : all) {
    Season season = find_season(std::span(y), step);
    const bool changes = std::adjacent_find(y.begin(), y.end(), std::not_equal_to<>()) != y.end();
    changing += changes;
    if (season.period == 1 && (changes || none.why.empty())) none = season;
    if (season.period == 1) continue;
    auto same = std::find_if(found.begin(), found.end(), [&](const Found& other) {
      return other.season.period == season.period && other.season.second_period == season.second_period;
    });
    if (same == found.end()) same = found.insert(same, {std::move(season), 0});
    ++same->times;
  }
  const auto most = std::max_element(found.begin(), found.end(),
                                     [](const Found& a, const Found& b) { return a.times < b.times; });
  const bool has = most != found.end() && 4 * most->times >= changing;
  Season season = has ? most->season : none;
  if (all.size() > 1)
    season.why +=
        has ? fmt::format("; {} of {}{} have it", most->times, all.size(), are_some ? " looked at" : "")
            : fmt::format("; the same for most of {} columns or series", all.size());
  season.why += season.longer;
  return season;
}

}  // namespace unroll

// Round numbers at an axis, and curves with fewer points.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "training/report/chart.h"

namespace unroll {

DrawnRange range_of_y(const Chart& chart, bool with_band) {
  DrawnRange range;
  for (const ChartSeries& series : chart.series) range.add(series.y);
  if (with_band && chart.band) range.add(chart.band->low), range.add(chart.band->high);
  return range;
}

DrawnRange range_of_x(const Chart& chart, double from) {
  DrawnRange range;
  range.add(from);
  for (const ChartSeries& series : chart.series) range.add(series.x);
  return range;
}

std::vector<double> round_ticks(double low, double high, int about) {
  const double rough = (high - low) / std::max(about, 1), power = std::pow(10, std::floor(std::log10(rough)));
  const double distance = power * (rough / power < 1.5   ? 1
                                   : rough / power < 3.5 ? 2
                                   : rough / power < 7.5 ? 5
                                                         : 10);
  std::vector<double> ticks;
  // Multiplies the distance instead of summing it: 0.3 and not 0.30000000000000004; -0 becomes 0. On an axis too short
  // for doubles to tell ticks apart, adding 1 to n would do nothing: return no ticks.
  const double first = std::ceil(low / distance - 1e-9), last = high / distance + 1e-9;
  if (!(std::abs(first) < 0x1p50 && last - first < 4.0 * std::max(about, 1) + 4)) return ticks;
  for (double n = first; n <= last; ++n) ticks.push_back(n == 0 ? 0 : n * distance);
  return ticks;
}

std::vector<double> round_log_ticks(double low, double high, int about) {
  const std::vector<std::vector<double>> per_decade = {
      {1}, {1, 3}, {1, 2, 5}, {1, 1.5, 2, 3, 5, 7}, {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8}};
  std::vector<double> ticks;
  for (const auto& leading : per_decade) {
    std::vector<double> denser;
    for (double power = std::pow(10, std::floor(std::log10(low))); 0 < power && power <= high; power *= 10)
      for (const double digit : leading)
        if (digit * power >= low && digit * power <= high) denser.push_back(digit * power);
    if (static_cast<int>(denser.size()) > about + 2) break;
    ticks = denser;
  }
  // Within a fraction of a decade a logarithm is nearly straight.
  return ticks.size() < 4 ? round_ticks(low, high, about) : ticks;
}

int digits_for(double size, double apart, int least) {
  const auto place = [](double x) { return static_cast<int>(std::floor(std::log10(x))); };
  if (!(size > 0) || !(apart > 0) || !std::isfinite(size) || !std::isfinite(apart)) return least;
  return std::clamp(place(size) - place(apart) + 1, least, 15);
}

std::string tick_text(double value, double apart) {
  const double size = std::abs(value);
  const int digits = digits_for(size, apart, 6);
  struct Unit {
    double size;
    const char* name;
  };
  for (const auto& [unit, name] : {Unit{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}})
    if (size >= unit && size < 1e15) return fmt::format("{:.{}g}{}", value / unit, digits, name);
  return fmt::format("{:.{}g}", value, digits);
}

std::vector<std::string> short_texts(std::vector<std::string> texts) {
  const auto has_no_seconds = [](const std::string& text) {
    return std::ranges::count(text, ':') == 2 && text.ends_with(":00");
  };
  if (std::ranges::all_of(texts, has_no_seconds))
    for (std::string& text : texts) text.resize(text.size() - 3);
  return texts;
}

ChartSeries thinned(ChartSeries series, std::size_t at_most) {
  const std::size_t size = series.x.size();
  if (size <= at_most) return series;
  const auto means = [&](const std::vector<double>& values) {
    std::vector<double> result;
    for (std::size_t k = 0; k < at_most; ++k) {
      const std::size_t begin = k * size / at_most, end = (k + 1) * size / at_most;
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i) sum += values[i];
      result.push_back(sum / static_cast<double>(end - begin));
    }
    return result;
  };
  series.x = means(series.x);
  series.y = means(series.y);
  return series;
}

}  // namespace unroll

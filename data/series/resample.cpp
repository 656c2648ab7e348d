// See resample.h.
#include "data/series/resample.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "data/series/calendar.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// The number of the step that a time lies in, and the time at which a step begins.
int64_t step_of(const ResampleStep& step, const Time& time) {
  const int64_t count = in_form(time, step.form).count;
  return step.weeks ? floor_div(count + 3, 7 * step.count) : floor_div(count, step.count);
}
int64_t begin_of(const ResampleStep& step, int64_t number) {
  return step.weeks ? number * 7 * step.count - 3 : number * step.count;
}

double together(Together rule, const std::vector<double>& values) {
  switch (rule) {
    case Together::mean:
      return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    case Together::sum:
      return std::accumulate(values.begin(), values.end(), 0.0);
    case Together::first:
      return values.front();
    case Together::last:
      return values.back();
    case Together::least:
      return *std::min_element(values.begin(), values.end());
    case Together::most:
      return *std::max_element(values.begin(), values.end());
  }
  return 0;
}

}  // namespace

std::optional<ResampleStep> parse_resample(std::string_view text) {
  int64_t count = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit = text.substr(static_cast<std::size_t>(stopped - text.data()));
  constexpr int64_t most = 10'000;
  if (error != std::errc() || count < 1 || count > most) return {};
  if (unit == "s") return ResampleStep{TimeForm::date_time, count * one_second};
  if (unit == "min") return ResampleStep{TimeForm::date_time, count * 60 * one_second};
  if (unit == "h") return ResampleStep{TimeForm::date_time, count * one_hour};
  if (unit == "d") return ResampleStep{TimeForm::date, count};
  if (unit == "w") return ResampleStep{TimeForm::date, count, true};
  if (unit == "month") return ResampleStep{TimeForm::month, count};
  if (unit == "quarter") return ResampleStep{TimeForm::quarter, 3 * count};
  if (unit == "year") return ResampleStep{TimeForm::year, 12 * count};
  return {};
}

std::string why_no_step(const std::string& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::vector<std::string> steps;
  for (const char* unit : {"s", "min", "h", "d", "w", "month", "quarter", "year"})
    steps.push_back((digits == 0 ? "1" : text.substr(0, digits)) + unit);
  return fmt::format(
      "\"{}\" is no step: a whole number up to 10000 and one of s, min, h, d, w, month, quarter, year, as in "
      "\"15min\"{}",
      one_line(text), which_was_meant(text, steps));
}

void resample(Series& series, const SeriesOptions& options) {
  if (options.resample.empty()) return;
  const auto step = parse_resample(options.resample);
  require(step.has_value(), "resample: '{}' is no step", options.resample);
  Times& times = series.times;
  require_input(times.form != TimeForm::number,
                "{}: data.resample = \"{}\" needs a column of dates, and rows are numbered here",
                series.origin, options.resample);
  require_input(step->form <= times.form, "{}:{}: the times are coarser than data.resample = \"{}\"",
                series.origin, series.lines.front(), options.resample);
  const std::size_t rows = times.at.size(), width = static_cast<std::size_t>(series.width());
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return times.at[a] < times.at[b]; });
  const auto number = [&](std::size_t row) {
    return step_of(*step, {.form = times.form, .count = times.at[row]});
  };
  const int64_t first = number(order.front()), count = number(order.back()) - first + 1;
  const auto most = static_cast<int64_t>(1000 * rows + 1000);
  require_input(count <= most, "{}: data.resample = \"{}\" makes {} rows of {}: a longer step is meant",
                series.origin, options.resample, count, rows);
  constexpr double missing = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values(static_cast<std::size_t>(count) * width, missing);
  std::vector<int64_t> at, lines;
  std::vector<double> observed;
  std::size_t begin = 0, empty = 0;
  for (int64_t k = 0; k < count; ++k) {
    std::size_t end = begin;
    while (end < rows && number(order[end]) == first + k) ++end;
    at.push_back(begin_of(*step, first + k));
    lines.push_back(series.lines[order[std::min(begin, rows - 1)]]);
    bool is_empty = false;
    for (std::size_t channel = 0; channel < width; ++channel) {
      observed.clear();
      for (std::size_t i = begin; i < end; ++i)
        if (const double value = series.values[order[i] * width + channel]; !std::isnan(value))
          observed.push_back(value);
      if (!observed.empty())
        values[static_cast<std::size_t>(k) * width + channel] = together(options.together, observed);
      is_empty = is_empty || observed.empty();
      require_input(!observed.empty() || options.missing != Missing::error,
                    "{}:{}: channel '{}' has no value in {}{}", series.origin, lines.back(),
                    one_line(series.channels[channel]), to_text({.form = step->form, .count = at.back()}),
                    options.model.empty()
                        ? "; data.missing = \"previous\", \"mask\" or \"interpolate\" fills it in"
                        : "");
    }
    empty += is_empty;
    begin = end;
  }
  series.notes.push_back(fmt::format("{} rows put together by steps of {}: {} rows{}; the last may lack some",
                                     rows, options.resample, count,
                                     empty ? fmt::format(", {} of them without a value", empty) : ""));
  series.values = std::move(values), series.lines = std::move(lines);
  times.at = std::move(at), times.form = step->form, times.compact = false;
  if (times.form != TimeForm::date_time) times.utc = false;
  times.offsets.clear();
}

}  // namespace unroll

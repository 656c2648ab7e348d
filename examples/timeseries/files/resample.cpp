// See resample.h.
#include "examples/timeseries/files/resample.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// The number of a time's step, and the time at which a step begins.
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
  const std::string_view unit = text.substr(stopped - text.data());
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

namespace {

// The rows of a file, grouped by steps that are numbered from 0.
struct Rows {
  ResampleStep step;
  TimeForm form;                   // form of the file's times
  int64_t first = 0;               // the number of step 0
  std::vector<std::size_t> order;  // rows by time; equal times in the file's order
  std::vector<std::size_t> begin;  // by step and one more: its first index in `order`

  std::size_t count() const { return begin.size() - 1; }
  Time time_of(std::size_t k) const {
    return {.form = step.form, .count = begin_of(step, first + static_cast<int64_t>(k))};
  }
  std::string text(std::size_t k) const { return to_text(time_of(k)); }
  int64_t at(std::size_t k) const {
    return in_form(time_of(k), form).count;
  }  // the step's beginning, in the file's form
};

Rows rows_by_step(const Series& series, const SeriesOptions& options, const ResampleStep& step) {
  const Times& times = series.times;
  const std::size_t rows = times.at.size();
  Rows found{.step = step, .form = times.form, .order = {}, .begin = {}};
  found.order.resize(rows);
  std::iota(found.order.begin(), found.order.end(), std::size_t{0});
  std::stable_sort(found.order.begin(), found.order.end(),
                   [&](std::size_t a, std::size_t b) { return times.at[a] < times.at[b]; });
  const auto number = [&](std::size_t i) {
    return step_of(step, {.form = times.form, .count = times.at[found.order[i]]});
  };
  found.first = number(0);
  const int64_t count = number(rows - 1) - found.first + 1;
  const auto most = static_cast<int64_t>(1000 * rows + 1000);
  require_input(count <= most, "{}: data.resample = \"{}\" makes {} rows of {}: a longer step is meant",
                series.origin, options.resample, count, rows);
  std::size_t i = 0;
  for (int64_t k = 0; k < count; ++k) {
    found.begin.push_back(i);
    while (i < rows && number(i) == found.first + k) ++i;
  }
  found.begin.push_back(rows);
  return found;
}

// Whether the first, or the last, step is cut off, for uneven times: the stretch without a time at its outer end is
// longer than in 19 of 20 other steps. `step_of_time` ascends.
bool is_cut_off(const Rows& rows, const std::vector<int64_t>& at,
                const std::vector<std::size_t>& step_of_time, bool is_last) {
  std::vector<double> others;
  const auto bare = [&](std::size_t i) {
    const int64_t from = rows.at(step_of_time[i]), to = rows.at(step_of_time[i] + 1);
    return static_cast<double>(is_last ? to - at[i] : at[i] - from) / static_cast<double>(to - from);
  };
  for (std::size_t i = 1; i < at.size(); ++i)
    if (const std::size_t before = step_of_time[i - 1], now = step_of_time[i]; before != now)
      if ((is_last ? before : rows.count() - 1 - now) > 0) others.push_back(bare(is_last ? i - 1 : i));
  if (others.size() < 4) return false;
  const auto most = others.begin() + std::ssize(others) * 19 / 20;
  std::nth_element(others.begin(), most, others.end());
  return bare(is_last ? at.size() - 1 : 0) > *most + 1e-9;
}

// Counts the values that each step has, and lacks, of one channel. Nothing counts as lacking if times are uneven,
// or are business days or several days of a month: some of their steps rightly have no row.
class Observed {
 public:
  Observed(const Rows& rows, const std::vector<int64_t>& at, const std::vector<std::size_t>& step_of_time)
      : has(rows.count()), lacks(rows.count()), even(count_lacking(rows, at, step_of_time)) {
    for (const std::size_t k : step_of_time) ++has[k];
    const auto is_cut = [&](bool is_last) {
      return even ? (is_last ? lacks.back() : lacks.front()) > 0
                  : is_cut_off(rows, at, step_of_time, is_last);
    };
    cut_first = has.front() > 0 && is_cut(false), cut_last = has.back() > 0 && is_cut(true);
  }

  std::vector<int64_t> has, lacks;  // by step
  bool even;
  bool cut_first = false, cut_last = false;

 private:
  bool count_lacking(const Rows& rows, const std::vector<int64_t>& at,
                     const std::vector<std::size_t>& step_of_time) {
    if (at.size() < 3) return false;
    const TimeStep step = find_step(rows.form, at).step;
    if ((step.unit != TimeStep::Unit::microsecond && step.unit != TimeStep::Unit::month) ||
        !step.slots.empty())
      return false;
    const auto between = [&](int64_t a, int64_t b) { return steps_between(rows.form, a, b, step); };
    const auto near = [](double steps) { return 3 * steps >= 2 && 2 * steps <= 3; };
    std::size_t uneven = 0;
    for (std::size_t i = 1; i < at.size(); ++i) uneven += !near(between(at[i - 1], at[i]));
    if (20 * uneven > at.size()) return false;
    // Times in a step before its first value, and after its last one.
    const double off = step.jitter == 0 ? 1e-6 : 0.5;
    const auto lack = [&](std::size_t k, double times) {
      lacks[k] += std::max<int64_t>(0, static_cast<int64_t>(times));
    };
    const auto before = [&](std::size_t i) {
      const double steps = between(rows.at(step_of_time[i]), at[i]);
      lack(step_of_time[i], std::floor(steps + (step.jitter == 0 ? off : -off)));
    };
    const auto after = [&](std::size_t i) {
      lack(step_of_time[i], std::ceil(between(at[i], rows.at(step_of_time[i] + 1)) - off) - 1);
    };
    before(0), after(at.size() - 1);
    for (std::size_t i = 1; i < at.size(); ++i) {
      const double steps = between(at[i - 1], at[i]);
      if (near(steps)) continue;
      if (step_of_time[i - 1] == step_of_time[i])
        lack(step_of_time[i], std::round(steps) - 1);
      else
        after(i - 1), before(i);
    }
    return true;
  }
};

// A step's value of a channel that lacks rows.
struct Incomplete {
  std::size_t step = 0, channel = 0;
  int64_t has = 0, of = 0;
  bool too_few() const { return 4 * has < 3 * of; }  // too few for a value of the step
};

struct Steps {
  std::vector<double> values = {};  // [steps, channels]; NaN: no value, or from too few rows
  std::vector<Incomplete> incomplete = {};
  bool even = true;                              // all channels have even times
  bool lacks_first = false, lacks_last = false;  // in any channel
};

Steps put_together(const Rows& rows, const Series& series, Together rule) {
  const auto width = static_cast<std::size_t>(series.width()), count = rows.begin.size() - 1;
  Steps steps{.values = std::vector<double>(count * width, std::numeric_limits<double>::quiet_NaN())};
  std::vector<int64_t> at, at_before;
  std::vector<std::size_t> step_of_time;
  std::optional<Observed> observed;
  std::vector<double> values;
  for (std::size_t channel = 0; channel < width; ++channel) {
    const auto value = [&](std::size_t i) { return series.values[rows.order[i] * width + channel]; };
    at.swap(at_before), at.clear(), step_of_time.clear();
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t i = rows.begin[k]; i < rows.begin[k + 1]; ++i)
        if (const int64_t time = series.times.at[rows.order[i]];
            !std::isnan(value(i)) && (at.empty() || at.back() != time))
          at.push_back(time), step_of_time.push_back(k);
    if (!observed || at != at_before) observed.emplace(rows, at, step_of_time);
    steps.even &= observed->even;
    steps.lacks_first |= observed->cut_first, steps.lacks_last |= observed->cut_last;
    for (std::size_t k = 0; k < count; ++k) {
      const Incomplete of_step{k, channel, observed->has[k], observed->has[k] + observed->lacks[k]};
      if (of_step.has == 0) continue;
      if (of_step.has < of_step.of) steps.incomplete.push_back(of_step);
      if (of_step.too_few()) continue;
      values.clear();
      for (std::size_t i = rows.begin[k]; i < rows.begin[k + 1]; ++i)
        if (!std::isnan(value(i))) values.push_back(value(i));
      steps.values[k * width + channel] = together(rule, values);
      if (rule == Together::sum && of_step.has < of_step.of)  // scaled up in proportion
        steps.values[k * width + channel] *=
            static_cast<double>(of_step.of) / static_cast<double>(of_step.has);
    }
  }
  return steps;
}

struct Kept {
  std::size_t begin, end;
};

// Throws InputError if a value is missing and the options fill none in.
void require_values(const Steps& steps, const Kept& kept, const Rows& rows, const Series& series,
                    const SeriesOptions& options) {
  if (options.missing != Missing::error) return;
  const auto width = static_cast<std::size_t>(series.width());
  for (std::size_t i = kept.begin * width; i < kept.end * width; ++i) {
    if (!std::isnan(steps.values[i])) continue;
    const std::size_t k = i / width, channel = i % width;
    const auto few =
        std::find_if(steps.incomplete.begin(), steps.incomplete.end(),
                     [&](const Incomplete& value) { return value.step == k && value.channel == channel; });
    throw InputError(fmt::format(
        "{}:{}: channel '{}' has {} in {}{}", series.origin,
        series.lines[rows.order[std::min(rows.begin[k], rows.order.size() - 1)]],
        one_line(series.channels[channel]),
        few == steps.incomplete.end() ? "no value" : fmt::format("{} of {} values", few->has, few->of),
        rows.text(k),
        options.model.empty() ? "; data.missing = \"previous\", \"mask\" or \"interpolate\" fills it in"
                              : ""));
  }
}

std::vector<std::string> notes_of(const Steps& steps, const Kept& kept, const Rows& rows, std::size_t width,
                                  const SeriesOptions& options) {
  std::size_t empty = 0;
  for (std::size_t k = kept.begin; k < kept.end; ++k)
    empty += std::any_of(steps.values.begin() + static_cast<std::ptrdiff_t>(k * width),
                         steps.values.begin() + static_cast<std::ptrdiff_t>((k + 1) * width),
                         [](double value) { return std::isnan(value); });
  std::string note = fmt::format("{} rows put together by steps of {}: {} rows", rows.order.size(),
                                 options.resample, kept.end - kept.begin);
  if (empty > 0) note += fmt::format(", {} of them without a value", empty);
  if (steps.lacks_first) note += fmt::format("; the first step, {}, lacks rows: left out", rows.text(0));
  if (steps.lacks_last) note += fmt::format("; the last step, {}, lacks rows: left out", rows.text(kept.end));
  if (!steps.even && !steps.lacks_last) note += "; the last may lack some";
  std::vector<std::string> notes = {note};
  for (const bool too_few : {true, false}) {
    const Incomplete* first = nullptr;
    int64_t count = 0;
    for (const Incomplete& value : steps.incomplete) {
      if (value.too_few() != too_few || value.step < kept.begin || value.step >= kept.end) continue;
      if (!first || value.step < first->step) first = &value;
      ++count;
    }
    if (!first) continue;
    notes.push_back(fmt::format("{} value{} of steps of {} that lack rows {}; the first, of {}, has {} of {}",
                                count, count == 1 ? "" : "s", options.resample,
                                too_few ? "count as missing, having fewer than three in four"
                                : options.together == Together::sum ? "are scaled to the whole step"
                                                                    : "are of the rows that are there",
                                rows.text(first->step), first->has, first->of));
  }
  return notes;
}

}  // namespace

std::string resample_text(const Times& times) {
  const TimeStep step = find_step(times.form, times.at, times.offsets).step;
  std::vector<std::pair<int64_t, const char*>> units = {
      {7 * one_day, "w"}, {one_day, "d"}, {one_hour, "h"}, {60 * one_second, "min"}, {one_second, "s"}};
  const bool months = step.unit == TimeStep::Unit::month;
  if (months) units = {{12, "year"}, {3, "quarter"}, {1, "month"}};
  if ((months || step.unit == TimeStep::Unit::microsecond) && step.slots.empty())
    for (const auto& [count, name] : units)
      if (step.count % count == 0) return fmt::format("{}{}", step.count / count, name);
  return times.form == TimeForm::date_time ? "1h" : times.form == TimeForm::date ? "1d" : "1month";
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
  // Days and months follow the clock that the file shows.
  for (std::size_t i = 0; i < times.offsets.size() && step->form != TimeForm::date_time; ++i)
    times.at[i] += times.offsets[i];
  const Rows rows = rows_by_step(series, options, *step);
  const Steps steps = put_together(rows, series, options.together);
  const auto width = static_cast<std::size_t>(series.width());
  const Kept kept{.begin = steps.lacks_first, .end = rows.begin.size() - 1 - steps.lacks_last};
  require_input(kept.begin < kept.end, "{}: no step of data.resample = \"{}\" has all of its rows",
                series.origin, options.resample);
  require_values(steps, kept, rows, series, options);
  for (std::string& note : notes_of(steps, kept, rows, width, options))
    series.notes.push_back(std::move(note));
  series.values.assign(steps.values.begin() + static_cast<std::ptrdiff_t>(kept.begin * width),
                       steps.values.begin() + static_cast<std::ptrdiff_t>(kept.end * width));
  std::vector<int64_t> at, lines;
  for (std::size_t k = kept.begin; k < kept.end; ++k) {
    at.push_back(rows.time_of(k).count);
    lines.push_back(series.lines[rows.order[std::min(rows.begin[k], rows.order.size() - 1)]]);
  }
  series.lines = std::move(lines);
  times.at = std::move(at), times.form = step->form, times.compact = false;
  if (times.form != TimeForm::date_time) times.utc = false;
  times.offsets.clear();
}

}  // namespace unroll

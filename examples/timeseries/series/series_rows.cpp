// See series_rows.h.
#include "examples/timeseries/series/series_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

void put_rows(Series& series, const NewRows& rows, double value) {
  for (SeriesMember& member : series.members)  // rows ascend
    for (int64_t* border : {&member.begin, &member.end})
      *border = std::lower_bound(rows.from.begin(), rows.from.end(), *border) - rows.from.begin();
  series.take_rows(rows.from);
  const auto width = static_cast<std::size_t>(series.width());
  for (const auto& [row, time] : rows.empty) {
    series.times.at[row] = time;
    std::fill_n(series.values.begin() + static_cast<int64_t>(row * width), width, value);
  }
}

namespace {

// The number of the series with the most rows.
int longest_series(const Series& series) {
  int longest = 0;
  for (int k = 1; k < series.count(); ++k)
    if (series.end_of(k) - series.begin_of(k) > series.end_of(longest) - series.begin_of(longest))
      longest = k;
  return longest;
}

constexpr int64_t most_new = 100;  // rows without values by row that has them, where these are to be 0

bool adds_zeros(const SeriesOptions& options) {
  return options.gaps == Gaps::fill && options.missing == Missing::zero;
}

// Calls use(row) for each row that has one before it in its series.
template <class Use>
void each_following(const Series& series, const Use& use) {
  for (int member = 0; member < series.count(); ++member)
    for (int64_t row = series.begin_of(member) + 1; row < series.end_of(member); ++row) use(row);
}

// Whether all rows are a whole number of steps apart.
bool all_keep_to(const Series& series, const TimeStep& step) {
  bool whole = true;
  const std::vector<int64_t>& at = series.times.at;
  each_following(series, [&](int64_t row) {
    const double steps = steps_between(at[row - 1], at[row], step);
    whole = whole && steps >= 0.99 && std::abs(steps - std::round(steps)) < 0.01;
  });
  return whole;
}

// Takes the model's step if the file's rows fit it; where gaps are to be 0, if they lie on its grid.
void take_step_of_model(Series& series, std::span<const int64_t> at, const SeriesOptions& options) {
  Times& times = series.times;
  const TimeStep& model = *options.step;
  const bool on_grid = adds_zeros(options) && model.unit == times.step.unit && all_keep_to(series, model);
  const auto step = on_grid ? std::optional(model) : same_step(times.form, at, model, times.step);
  require_input(step.has_value(), "{}{} rows are {}, those of {} {}", options.model,
                options.model.empty() ? "the first file's" : ": the model's", apart_text(model),
                series.origin, apart_text(times.step));
  times.step = *step;
}

// The longest step of which all differences are multiples, if months, days, hours or numbers are not evenly spaced. Stamps that
// jitter a little, and times written with offsets, keep the step that was found.
void take_common_step(Series& series) {
  Times& times = series.times;
  const TimeStep& found = times.step;
  const bool is_month = found.unit == TimeStep::Unit::month && found.slots.empty();
  if (!is_month && found.unit != TimeStep::Unit::microsecond && found.unit != TimeStep::Unit::number) return;
  if (!times.offsets.empty() || found.summer >= 0 || (found.jitter > 0 && 10 * found.jitter <= found.count))
    return;
  TimeStep one = found;
  one.count = 1;
  int64_t common = 0;
  double steps = 0;  // of 100,000 series in microseconds: beyond 64 bits
  each_following(series, [&](int64_t row) {
    const int64_t a = times.at[row - 1], b = times.at[row];
    const int64_t apart = is_month ? std::llround(steps_between(a, b, one)) : b - a;
    common = std::gcd(common, apart), steps += static_cast<double>(apart);
  });
  if (common > 0 && steps / static_cast<double>(common) <= static_cast<double>(most_new * series.rows()))
    times.step.count = common, times.step.jitter = 0;
}

// The advice where much is missing and no model is there yet: all of it may be 0.
std::string or_zero(int64_t missing, int64_t of, const SeriesOptions& options) {
  constexpr int64_t least = 8, part = 10;  // a tenth of all
  if (!options.model.empty() || options.missing == Missing::zero || missing < std::max(least, of / part))
    return "";
  return "; if what is not there means 0, data.missing = \"zero\" with data.gaps = \"fill\" reads it so";
}

// Adds a row for each step without one, if these are few, or are to be 0. Many gaps are a pattern of the rows, and stay.
void fill_gaps(Series& series, bool any_number) {
  constexpr int64_t rows_by_gap = 20, rows_by_new = 4;
  constexpr double most_off = 1.0 / 3;
  const Times& times = series.times;
  NewRows rows;
  rows.from.reserve(times.at.size());
  const int64_t most = (any_number ? most_new : 1) * series.rows();
  int64_t gaps = 0, line = 0;
  for (int member = 0; member < series.count() && std::ssize(rows.from) <= series.rows() + most; ++member)
    for (int64_t row = series.begin_of(member); row < series.end_of(member); ++row) {
      const int64_t now = times.at[row];
      if (row > series.begin_of(member)) {
        const int64_t before = times.at[row - 1];
        const double steps = steps_between(before, now, times.step);
        const double whole = std::round(steps);
        if (whole >= 2 && whole <= static_cast<double>(most) && std::abs(steps - whole) <= most_off) {
          if (++gaps == 1) line = series.lines[row];
          for (int64_t k = 1; k < static_cast<int64_t>(whole); ++k)
            rows.add_empty(row - 1, time_after(before, times.step, k));
        }
      }
      rows.from.push_back(row);
    }
  const int64_t added = std::ssize(rows.from) - series.rows();
  const bool are_many = rows_by_gap * (gaps - 1) > series.rows() || rows_by_new * added > series.rows();
  if (added == 0 || added > most || (are_many && !any_number)) return;
  put_rows(series, rows, std::nan(""));
  series.added_rows = added;
  series.notes.push_back(fmt::format(
      "{} row{} that the file lacks {} put in, without values (data.gaps = \"fill\"); the first above line {}",
      added, added == 1 ? "" : "s", added == 1 ? "is" : "are", line));
}

// Throws InputError, or adds a note, if rows are not a step apart.
void check_gaps(Series& series, const SeriesOptions& options) {
  const Times& times = series.times;
  // Slots of a day follow the clock that the file shows.
  const auto shown = [&](int64_t row) {
    return times.step.unit == TimeStep::Unit::slots && row < std::ssize(times.offsets)
               ? times.at[row] + times.offsets[row] - times.step.zone
               : times.at[row];
  };
  int64_t uneven = 0, line = 0;
  std::string first;
  bool is_gap = false;
  each_following(series, [&](int64_t row) {
    const int64_t before = shown(row - 1), now = shown(row);
    const double steps = steps_between(before, now, times.step);
    if ((3 * steps >= 2 && 2 * steps <= 3) || ++uneven > 1) return;
    const bool clock = times.form == TimeForm::date_time && !times.utc && times.step.count <= one_hour &&
                       now - before == times.step.count + one_hour;
    first =
        fmt::format("{} after {}, where rows are {}{}", difference_text(times.form, before, now, times.step),
                    times.text(row - 1), apart_text(times.step),
                    clock ? "; where clocks are set forward, times with an offset (+01:00) have no gap" : "");
    line = series.lines[row], is_gap = steps > 1;
  });
  if (uneven == 0) return;
  // Such stamps are at any time of the day.
  const bool of_events = times.form == TimeForm::date_time && times.step.count < one_day &&
                         10 * times.step.jitter > times.step.count && 4 * uneven > series.rows();
  const std::string zero =
      of_events
          ? "; rows of events become a series when those of each hour or day are put together: their sum, mean or number"
          : or_zero(uneven, series.rows(), options);
  require_input(options.gaps == Gaps::allow, "{}:{}: {}{}{}{}{}", series.origin, line,
                is_gap ? "a gap of " : "", first,
                options.model.empty() ? "; data.gaps = \"allow\" takes the rows as they come" : "",
                options.model.empty() && options.gaps == Gaps::error ? ", \"fill\" puts rows in" : "", zero);
  series.notes.push_back(fmt::format("{} gap{} in the times; the first, line {}: {}{}", uneven,
                                     uneven == 1 ? "" : "s", line, first, zero));
}

}  // namespace

void cut_open_end(Series& series, const SeriesOptions& options) {
  if (options.open_end.empty()) return;
  std::vector<int> channels;
  for (const std::string& name : options.open_end) channels.push_back(series.channel(name));
  NewRows rows;
  rows.from.reserve(series.times.at.size());
  int64_t first = 0;
  for (int member = 0; member < series.count(); ++member) {
    const int64_t begin = series.begin_of(member);
    int64_t end = series.end_of(member);
    const auto is_open = [&](int64_t row) {
      return std::ranges::all_of(channels, [&](int channel) { return std::isnan(series.at(row, channel)); });
    };
    while (end > begin && is_open(end - 1)) --end;
    if (end == begin) end = series.end_of(member);  // no value is known; fill_in() reports this
    if (const int64_t open = series.end_of(member) - end; open > series.open_rows)
      series.open_rows = open, first = end;
    for (int64_t row = begin; row < end; ++row) rows.from.push_back(row);
  }
  if (series.open_rows == 0) return;
  series.notes.push_back(
      fmt::format("{} without a value of {} at the end: to be forecast, from line {} on (data.open_end)",
                  series.open_rows == 1 ? "a row" : fmt::format("{} rows", series.open_rows),
                  one_line(fmt::format("'{}'", fmt::join(options.open_end, "', '"))), series.lines[first]));
  put_rows(series, rows, std::nan(""));
}

// Takes the times of the clock that the file shows if it is set within rows of an hour or less, so that days keep their season: the
// hour that is skipped lacks rows, and of one that comes twice the first counts.
static void follow_clock(Series& series) {
  Times& times = series.times;
  const auto& offsets = times.offsets;
  if (!series.members.empty() || offsets.empty()) return;
  const auto [least, most] = std::ranges::minmax(offsets);
  if (least == most || most - least > one_hour) return;
  const TimeStep step = find_step(times.form, times.at, offsets).step;
  if (step.unit != TimeStep::Unit::microsecond || step.count > one_hour ||
      times.at.back() - times.at.front() < 4 * one_day)
    return;
  std::vector<int64_t> from, at;
  for (int64_t row = 0; row < series.rows(); ++row)
    if (const int64_t now = times.at[row] + offsets[row]; at.empty() || now > at.back())
      from.push_back(row), at.push_back(now);
  series.notes.push_back(fmt::format(
      "clocks are set within the rows: times are read without offsets, so that days keep their hours; {} rows of an "
      "hour that comes twice are left out",
      series.rows() - std::ssize(from)));
  series.take_rows(from);
  times.at = at, times.offsets.clear(), times.utc = false, series.follows_clock = true;
}

// Stamps of a logger that is late or early by a little each time: over more than an hour of it, days would lose their hours. Each row
// is taken at the nearest place of the steps that divide a day, or the next one if the row before has that. fill_gaps() puts in those
// that are passed; a row that is early by more than three quarters of a step is left out.
static void keep_to_day(Series& series) {
  Times& times = series.times;
  TimeStep& step = times.step;
  if (step.unit != TimeStep::Unit::microsecond || !series.members.empty() || 10 * step.jitter > step.count ||
      2 * step.count > one_day)
    return;
  const int64_t places = (one_day + step.count / 2) / step.count, even = one_day / places;
  const int64_t off = std::abs(step.count - even);
  if (one_day % places != 0 || off > step.jitter || off * series.rows() <= one_hour) return;
  std::vector<int64_t> from, at;
  for (int64_t row = 0, next = 0; row < series.rows(); ++row) {
    const int64_t since = times.at[row] - times.at[0];
    if (4 * (next * even - since) > 3 * even) continue;
    const int64_t place = std::max(next, floor_div(since + even / 2, even));
    from.push_back(row), at.push_back(times.at[0] + place * even), next = place + 1;
  }
  series.notes.push_back(fmt::format(
      "rows are {}: each is read at the nearest {}, so that days keep their hours; {} are left out",
      apart_text(step), to_text(TimeStep{.unit = step.unit, .count = even}),
      series.rows() - std::ssize(from)));
  series.take_rows(from);
  times.at = at, step.count = even, step.jitter = 0, series.follows_clock = true;
}

void settle_step(Series& series, const SeriesOptions& options) {
  Times& times = series.times;
  if (series.time_name.empty()) return;
  if (options.gaps == Gaps::fill) follow_clock(series);
  const int longest = longest_series(series);
  const auto begin = static_cast<std::size_t>(series.begin_of(longest)),
             rows = static_cast<std::size_t>(series.end_of(longest)) - begin;
  const auto at = std::span(std::as_const(times.at)).subspan(begin, rows);
  const auto offsets = std::span(std::as_const(times.offsets));
  const FoundStep found = find_step(times.form, at, offsets.empty() ? offsets : offsets.subspan(begin, rows));
  times.step = found.step;
  if (adds_zeros(options) && !options.step) take_common_step(series);
  if (options.step && options.step->unit != TimeStep::Unit::unknown) {
    take_step_of_model(series, at, options);
  } else if (!options.step && !options.model.empty() && times.step.unit != TimeStep::Unit::unknown) {
    series.notes.push_back(fmt::format("{} does not say how far apart its rows are: taken from {}, {}",
                                       options.model, series.origin, to_text(times.step)));
  }
  if (options.gaps == Gaps::fill && !options.step) keep_to_day(series);
  if (times.step == found.step)
    series.notes.insert(series.notes.end(), found.notes.begin(), found.notes.end());
  const bool rough = times.step.unit == TimeStep::Unit::microsecond && times.step.count % one_day == 0 &&
                     4 * times.step.jitter > times.step.count;
  require_input(
      !rough || options.gaps == Gaps::allow || !options.model.empty(),
      "{}: the dates keep to no rule: rows are {}, so no row beyond the last has a date; put rows together by "
      "steps of one length, as by weeks; data.gaps = \"allow\" takes them as they come{}",
      series.origin, apart_text(times.step), rough ? or_zero(series.rows(), series.rows(), options) : "");
  if (options.gaps == Gaps::fill) fill_gaps(series, adds_zeros(options));
  check_gaps(series, options);
}

void turn_around(Series& series) {
  std::vector<int64_t> from;
  for (int member = 0; member < series.count(); ++member)
    for (int64_t row = series.end_of(member); row-- > series.begin_of(member);) from.push_back(row);
  series.take_rows(from);
  series.notes.push_back("the newest row stands first: rows were turned around");
}

void fill_in(Series& series, const SeriesOptions& options) {
  const Missing missing = options.missing;
  const int width = series.width();
  const auto value = [&](int64_t row, int channel) -> double& {
    return series.values[row * width + channel];
  };
  int64_t filled = 0, first_row = series.rows();
  const auto fill = [&](int member, int channel) {
    const int64_t begin = series.begin_of(member), end = series.end_of(member);
    for (int64_t row = begin; row < end; ++row) {
      if (!std::isnan(value(row, channel))) continue;
      int64_t next = row;
      while (next < end && std::isnan(value(next, channel))) ++next;
      first_row = std::min(first_row, row), filled += next - row;
      if (missing == Missing::zero) {
        while (row < next) value(row++, channel) = 0;
        continue;
      }
      const auto beside = [&](bool there, std::string_view which) {
        require_input(
            there, "{}:{}: channel '{}': a value is missing, and there is none {} it{} to fill it in from",
            series.origin, series.lines[row], one_line(series.channels[channel]), which,
            series.members.empty() ? ""
                                   : fmt::format(" in series '{}'", one_line(series.members[member].name)));
      };
      const bool is_unknown = missing == Missing::mask && row == begin;
      if (!is_unknown) beside(row > begin, "before");
      if (is_unknown || missing == Missing::interpolate) beside(next < end, "after");
      for (int64_t i = row; i < next; ++i) {
        const double share = static_cast<double>(i - row + 1) / static_cast<double>(next - row + 1);
        value(i, channel) = is_unknown ? value(next, channel)
                            : missing == Missing::interpolate
                                ? (1 - share) * value(row - 1, channel) + share * value(next, channel)
                                : value(row - 1, channel);
        series.filled.resize(series.values.size());
        series.filled[i * width + channel] = is_unknown ? 2 : 1;
      }
    }
  };
  for (int channel = 0; channel < width; ++channel)
    for (int member = 0; member < series.count(); ++member) fill(member, channel);
  if (filled > 0) {  // a row that was put in has the line of the one before
    const bool is_new = first_row > 0 && series.lines[first_row] == series.lines[first_row - 1];
    const bool any_negative = std::ranges::any_of(series.values, [](double value) { return value < 0; });
    const char* const where = !is_new ? "in" : series.lines.front() > series.lines.back() ? "above" : "after";
    series.notes.push_back(fmt::format(
        "{} missing value{} filled in ({}); the first {} line {}{}", filled, filled == 1 ? "" : "s",
        missing == Missing::previous ? "the previous value"
        : missing == Missing::mask   ? "the previous value, and marked"
        : missing == Missing::zero   ? "0"
                                     : "interpolated",
        where, series.lines[first_row], any_negative ? "" : or_zero(filled, series.rows() * width, options)));
  }
}

void note_zeros_at_end(Series& series) {
  constexpr int64_t least_before = 8;
  for (int channel = 0; channel < series.width(); ++channel)
    for (int member = 0; member < series.count() && channel != series.label; ++member) {
      const int64_t begin = series.begin_of(member), last = series.end_of(member) - 1;
      int64_t first = last + 1, row = last;
      for (; row >= begin && series.at(row, channel) == 0; --row) first = row;
      if (first >= last || first - begin < least_before) continue;
      while (row >= begin && series.at(row, channel) != 0) --row;
      if (row >= begin) continue;
      const auto [from, to] = std::minmax(series.lines[first], series.lines[last]);
      return series.notes.push_back(fmt::format(
          "'{}' is 0 in its last {} rows{}, lines {} to {}, and in none before: if these are to come, delete the lines, "
          "and they are forecast",
          one_line(series.channels[channel]), last - first + 1,
          series.members.empty() ? "" : fmt::format(" of '{}'", one_line(series.name_of(member))), from, to));
    }
}

}  // namespace unroll

// The step between the rows of each series: found, and rows that it lacks put in. See series_rows.h.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/series_rows.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

namespace {

// One gap and one for 20 rows, for 10 business days or days of a week, of which holidays are none: more are a pattern of the rows.
bool are_few(int64_t gaps, int64_t rows, const TimeStep& step) {
  const bool has_holidays = step.unit == TimeStep::Unit::business_day ||
                            (step.unit == TimeStep::Unit::slots && step.count == 7 * one_day);
  return (has_holidays ? 10 : 20) * (gaps - 1) <= rows;
}

// Days further off their mean than a quarter of it.
bool is_rough(const TimeStep& step) {
  return step.unit == TimeStep::Unit::microsecond && step.count % one_day == 0 &&
         4 * step.jitter > step.count;
}

FoundStep step_found(const Series& series, int member) {
  const Times& times = series.times;
  const auto begin = static_cast<std::size_t>(series.begin_of(member)),
             rows = static_cast<std::size_t>(series.end_of(member)) - begin;
  const auto offsets = std::span(times.offsets);
  return find_step(times.form, std::span(times.at).subspan(begin, rows),
                   offsets.empty() ? offsets : offsets.subspan(begin, rows));
}

bool has_places(const TimeStep& step) {
  return step.unit == TimeStep::Unit::business_day || step.unit == TimeStep::Unit::month ||
         !step.slots.empty();
}
// Slots of a day follow the clock that the file shows.
int64_t shown(const Times& times, int64_t row, const TimeStep& step) {
  return step.unit == TimeStep::Unit::slots && row < std::ssize(times.offsets)
             ? times.at[row] + times.offsets[row] - step.zone
             : times.at[row];
}
double steps_before(const Series& series, int64_t row, const TimeStep& step) {
  return steps_between(shown(series.times, row - 1, step), shown(series.times, row, step), step);
}
bool is_one(double steps) { return 3 * steps >= 2 && 2 * steps <= 3; }

// Rows that are not a step from the one before.
int64_t uneven_rows(const Series& series, int member, const TimeStep& step) {
  int64_t count = 0;
  for (int64_t row = series.begin_of(member) + 1; row < series.end_of(member); ++row)
    count += !is_one(steps_before(series, row, step));
  return count;
}
// Rows at none of the places of a week or a month.
int64_t misplaced_rows(const Series& series, int member, const TimeStep& step) {
  int64_t count = 0;
  for (int64_t row = series.begin_of(member); row < series.end_of(member) && has_places(step); ++row) {
    const int64_t at = shown(series.times, row, step);
    count += time_after(at, step, 0) != at;
  }
  return count;
}
int64_t rows_against(const Series& series, int member, const TimeStep& step) {
  return uneven_rows(series, member, step) + misplaced_rows(series, member, step);
}

// Whether the rows of a series show the step by themselves.
bool keeps_to(const Series& series, int member, const TimeStep& step) {
  const int64_t rows = series.end_of(member) - series.begin_of(member);
  if (rows < 4 || step.unit == TimeStep::Unit::unknown || is_rough(step)) return false;
  const int64_t uneven = rows_against(series, member, step);
  return 8 * uneven <= rows && are_few(uneven, rows, step);
}

// The longest series that keeps to a step, or the longest of all.
std::pair<int, FoundStep> leading_series(const Series& series) {
  std::vector<int> order(static_cast<std::size_t>(series.count()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](int k) { return series.end_of(k) - series.begin_of(k); });
  const std::pair longest(order[0], step_found(series, order[0]));
  if (order.size() == 1 || keeps_to(series, order[0], longest.second.step)) return longest;
  for (const int member : order)
    if (FoundStep found = step_found(series, member); keeps_to(series, member, found.step))
      return {member, std::move(found)};
  return longest;
}

constexpr int64_t most_new = 100;  // rows without values by row that has them, where these are to be 0

bool adds_zeros(const SeriesOptions& options) {
  return options.gaps == Gaps::fill && options.missing == Missing::zero;
}

// Calls use(row, member) for each row that has one before it in its series.
template <class Use>
void each_following(const Series& series, const Use& use) {
  for (int member = 0; member < series.count(); ++member)
    for (int64_t row = series.begin_of(member) + 1; row < series.end_of(member); ++row) use(row, member);
}

// Whether all rows are a whole number of steps apart.
bool all_keep_to(const Series& series, const TimeStep& step) {
  bool whole = true;
  const std::vector<int64_t>& at = series.times.at;
  each_following(series, [&](int64_t row, int) {
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

// The longest step of which all differences are multiples, if months, days, hours or numbers are not evenly spaced, or some rows
// lie at none of the places of a week or a month. Stamps that jitter a little, and times written with offsets, keep the step that was found.
void take_common_step(Series& series) {
  Times& times = series.times;
  const TimeStep found = times.step;
  if (found.unit == TimeStep::Unit::unknown || !times.offsets.empty() || found.summer >= 0 ||
      (found.jitter > 0 && 10 * found.jitter <= found.count))
    return;
  const auto take = [&](TimeStep one, bool is_month) {
    int64_t common = 0;
    double steps = 0;  // of 100,000 series in microseconds: beyond 64 bits
    bool is_whole = true;
    each_following(series, [&](int64_t row, int) {
      const int64_t a = times.at[row - 1], b = times.at[row];
      const int64_t apart = is_month ? std::llround(steps_between(a, b, one)) : b - a;
      is_whole = is_whole && apart > 0, common = std::gcd(common, apart), steps += static_cast<double>(apart);
    });
    if (!is_whole || common == 0 ||
        steps / static_cast<double>(common) > static_cast<double>(most_new * series.rows()))
      return false;
    one.count = common, times.step = std::move(one);
    return true;
  };
  TimeStep month = found;
  month.count = 1;
  if (found.unit == TimeStep::Unit::month && found.slots.empty() && take(std::move(month), true)) return;
  int64_t misplaced = 0;
  for (int member = 0; member < series.count(); ++member) misplaced += misplaced_rows(series, member, found);
  if (has_places(found) && misplaced == 0) return;
  const auto unit = found.unit == TimeStep::Unit::number ? found.unit : TimeStep::Unit::microsecond;
  take({.unit = unit, .count = 1}, false);
}

// A series whose rows are no rows of the common step gets the step that they keep to, if there is one. It gets its own in any case
// if rows are taken as they come, and only another day of the month if rows that are not there are 0.
void take_own_steps(Series& series, const SeriesOptions& options) {
  const TimeStep& common = series.times.step;
  for (int k = 0; k < std::ssize(series.members); ++k) {
    SeriesMember& member = series.members[k];
    if (are_few(rows_against(series, k, common), member.end - member.begin, common)) continue;
    TimeStep own = step_found(series, k).step;
    if (options.gaps != Gaps::allow && !keeps_to(series, k, own)) continue;
    if (adds_zeros(options) && (own.unit != common.unit || own.unit != TimeStep::Unit::month)) continue;
    if (adds_zeros(options)) own.count = common.count;
    if (own == common) continue;
    require_input(!options.step, "{}{} rows are {}, those of '{}' in {} {}", options.model,
                  options.model.empty() ? "the first file's" : ": the model's", apart_text(common),
                  one_line(member.name), series.origin, apart_text(own));
    member.step = own;
  }
}

// Adds a row for each step without one, if these are few, or are to be 0: few of all series, or of one, in few gaps of which most
// rows are there. Many gaps are a pattern of the rows, and stay.
void fill_gaps(Series& series, bool any_number) {
  constexpr int64_t rows_by_new = 4;
  constexpr double most_off = 1.0 / 3;
  const Times& times = series.times;
  const int64_t most = (any_number ? most_new : 1) * series.rows();
  // Calls use(row, steps) for each gap above a row of a series.
  const auto each_gap = [&](int member, const auto& use) {
    for (int64_t row = series.begin_of(member) + 1; row < series.end_of(member); ++row) {
      const double steps = steps_before(series, row, series.step_of(member)), whole = std::round(steps);
      if (whole >= 2 && whole <= static_cast<double>(most) && std::abs(steps - whole) <= most_off)
        use(row, static_cast<int64_t>(whole));
    }
  };
  std::vector<std::pair<int64_t, int64_t>> found;  // by series: gaps, and the rows that they lack
  int64_t gaps = 0, lacking = 0;
  for (int member = 0; member < series.count(); ++member) {
    auto& [of_series, rows] = found.emplace_back();
    each_gap(member, [&](int64_t, int64_t steps) { ++of_series, rows += steps - 1; });
    gaps += of_series, lacking += rows;
  }
  if (lacking > most) return;
  const bool fills_all =
      any_number || (are_few(gaps, series.rows(), times.step) && rows_by_new * lacking <= series.rows());
  NewRows rows;
  rows.from.reserve(times.at.size());
  int64_t line = 0;
  for (int member = 0; member < series.count(); ++member) {
    const int64_t count = series.end_of(member) - series.begin_of(member);
    const auto [of_series, lacked] = found[static_cast<std::size_t>(member)];
    int64_t next = series.begin_of(member);
    if (fills_all || (are_few(of_series, count, series.step_of(member)) && lacked < count))
      each_gap(member, [&](int64_t row, int64_t steps) {
        if (line == 0)
          line = std::max(series.lines[row], series.lines[row - 1]);  // the newest may stand first
        while (next < row) rows.from.push_back(next++);
        const TimeStep& step = series.step_of(member);
        const int64_t before = shown(times, row - 1, step), to_clock = times.at[row - 1] - before;
        for (int64_t k = 1; k < steps; ++k) rows.add_empty(row - 1, time_after(before, step, k) + to_clock);
      });
    while (next < series.end_of(member)) rows.from.push_back(next++);
  }
  const int64_t added = std::ssize(rows.empty);
  if (added == 0) return;
  put_rows(series, rows, std::nan(""));
  series.added_rows = added;
  series.notes.push_back(fmt::format(
      "{} row{} that the file lacks {} put in, without values (data.gaps = \"fill\"); the first above line {}",
      added, plural(added), added == 1 ? "is" : "are", line));
}

// Leaves out the series that keep to no step, if others do, with a note.
void leave_out_irregular(Series& series, const SeriesOptions& options) {
  NewRows rows;
  std::vector<SeriesMember> kept;
  std::vector<std::string> names;
  for (int k = 0; k < std::ssize(series.members); ++k) {
    const SeriesMember& member = series.members[k];
    if (uneven_rows(series, k, series.step_of(k)) > 0) {
      names.push_back(fmt::format("'{}'", one_line(member.name)));
      continue;
    }
    kept.push_back(member);
    for (int64_t row = member.begin; row < member.end; ++row) rows.from.push_back(row);
  }
  if (names.empty() || kept.empty()) return;
  series.members = std::move(kept), series.left_out = series.rows() - std::ssize(rows.from);
  put_rows(series, rows, 0);
  series.notes.push_back(fmt::format(
      "{} of {} series left out, for rows that keep to no step of time have no next one: {}; put the rows of each week or month of such a "
      "series together first: their sum, mean or number{}",
      names.size(), names.size() + series.members.size(), first_of(names), or_zero(options)));
}

// Throws InputError, or adds a note, if rows are not a step apart.
void check_gaps(Series& series, const SeriesOptions& options) {
  const Times& times = series.times;
  int64_t uneven = 0, line = 0;
  std::string first;
  bool is_gap = false;
  each_following(series, [&](int64_t row, int member) {
    const TimeStep& step = series.step_of(member);
    const double steps = steps_before(series, row, step);
    if (is_one(steps) || ++uneven > 1) return;
    int64_t before = shown(times, row - 1, step);
    const int64_t now = shown(times, row, step);
    const bool clock = times.form == TimeForm::date_time && !times.utc && step.count <= one_hour &&
                       now - before == step.count + one_hour;
    // Days of a rule are counted where there is no row.
    if (steps > 1 && has_places(step) && step.unit != TimeStep::Unit::month)
      before = time_after(before, step, 1);
    first =
        fmt::format("{} after {}, where rows{} are {}{}", difference_text(times.form, before, now, step),
                    times.text(row - 1),
                    series.members.empty() ? "" : fmt::format(" of '{}'", one_line(series.name_of(member))),
                    apart_text(step),
                    clock ? "; where clocks are set forward, times with an offset (+01:00) have no gap" : "");
    line = series.lines[row], is_gap = steps > 1;
  });
  if (uneven == 0) return;
  // Such stamps are at any time of the day.
  const bool of_events = times.form == TimeForm::date_time && times.step.count < one_day &&
                         10 * times.step.jitter > times.step.count && 4 * uneven > series.rows();
  require_input(!of_events || options.gaps == Gaps::allow || !options.mend, "{}:{}: {}{}; {}", series.origin,
                line, is_gap ? "a gap of " : "", first, events_to_series);
  const std::string zero = of_events ? fmt::format("; {}{}", events_to_series, zero_without_rows(options))
                                     : or_zero(uneven, series.rows(), options);
  const char* const fill =
      options.gaps == Gaps::error ? ", \"fill\" puts rows in"
      : is_gap
          ? "; \"fill\" puts rows in if gaps come once in 20 rows, or in 10 business days, at most and lack fewer rows than there are"
          : "; \"fill\" does not mend rows that are too near";
  require_input(options.gaps == Gaps::allow, "{}:{}: {}{}{}{}{}", series.origin, line,
                is_gap ? "a gap of " : "", first,
                options.model.empty() ? "; data.gaps = \"allow\" takes the rows as they come" : "",
                options.model.empty() ? fill : "", zero);
  series.notes.push_back(fmt::format("{} gap{} in the times; the first, line {}: {}{}", uneven,
                                     plural(uneven), line, first, zero));
}

}  // namespace

std::optional<TimeStep> step_of_values(const Series& series, const std::vector<int>& channels) {
  const Times& times = series.times;
  if (!series.members.empty() || series.time_name.empty()) return {};
  Series observed;
  observed.times.form = times.form;
  for (int64_t row = 0; row < series.rows(); ++row)
    if (std::ranges::any_of(channels, [&](int channel) {
          return !std::isnan(series.at(row, channel)) && !series.is_filled(row, channel);
        })) {
      observed.times.at.push_back(times.at[row]);
      if (row < std::ssize(times.offsets)) observed.times.offsets.push_back(times.offsets[row]);
    }
  if (2 * observed.rows() > series.rows()) return {};
  TimeStep step = step_found(observed, 0).step;
  const bool is_own = keeps_to(observed, 0, step) && step != step_found(series, 0).step;
  return is_own ? std::optional(std::move(step)) : std::nullopt;
}

void cut_rows_of_others(Series& series) {
  std::vector<int> all(static_cast<std::size_t>(series.width()));
  std::iota(all.begin(), all.end(), 0);
  if (series.label >= 0 || !step_of_values(series, all)) return;
  NewRows rows;
  for (int64_t row = 0; row < series.rows(); ++row)
    if (std::ranges::any_of(all, [&](int channel) { return !std::isnan(series.at(row, channel)); }))
      rows.from.push_back(row);
  series.notes.push_back(fmt::format(
      "rows without a value are left out, for those of the {} with one keep to a step of their own",
      rows.from.size()));
  series.left_out = series.rows() - std::ssize(rows.from);
  put_rows(series, rows, 0);
}

void settle_step(Series& series, const SeriesOptions& options) {
  Times& times = series.times;
  if (series.time_name.empty()) return;
  if (options.gaps == Gaps::fill) follow_clock(series);
  const auto [leading, found] = leading_series(series);
  times.step = found.step;
  if (adds_zeros(options) && !options.step) take_common_step(series);
  if (options.step && options.step->unit != TimeStep::Unit::unknown) {
    const int64_t begin = series.begin_of(leading);
    const auto at = std::span(std::as_const(times.at))
                        .subspan(static_cast<std::size_t>(begin),
                                 static_cast<std::size_t>(series.end_of(leading) - begin));
    take_step_of_model(series, at, options);
  } else if (!options.step && !options.model.empty() && times.step.unit != TimeStep::Unit::unknown) {
    series.notes.push_back(fmt::format("{} does not say how far apart its rows are: taken from {}, {}",
                                       options.model, series.origin, to_text(times.step)));
  }
  if (options.gaps == Gaps::fill) keep_to_day(series, found.step);
  if (times.step == found.step)
    series.notes.insert(series.notes.end(), found.notes.begin(), found.notes.end());
  require_input(
      !is_rough(times.step) || options.gaps == Gaps::allow || !options.model.empty(),
      "{}: the dates keep to no rule: rows are {}, so no row beyond the last has a date; put rows together by "
      "steps of one length, as by weeks; data.gaps = \"allow\" takes them as they come{}",
      series.origin, apart_text(times.step), or_zero(options));
  take_own_steps(series, options);
  if (options.gaps == Gaps::fill)
    fill_gaps(series, adds_zeros(options)), leave_out_irregular(series, options);
  check_gaps(series, options);
}

}  // namespace unroll

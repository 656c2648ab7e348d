// See holidays.h.
#include "examples/timeseries/series/holidays.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/csv.h"
#include "examples/timeseries/series/calendar.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// The days [begin, end) since 1970 that a row covers.
struct DaysOfRow {
  int64_t begin, end;
};

class RowDays {
 public:
  explicit RowDays(const Times& times) : times_(times), step_(times.step) {
    const bool weeks = step_.unit == TimeStep::Unit::microsecond && step_.count % (7 * one_day) == 0;
    const bool ends = step_.unit == TimeStep::Unit::month &&
                      (step_.day == TimeStep::Day::last || step_.day == TimeStep::Day::last_business);
    is_end_ = ends || (weeks && weekday_of(day_of(times.time(0))) >= 4);
  }
  // Rows at the end of their month or week cover the days before them, as exports label them.
  bool is_end() const { return is_end_; }
  DaysOfRow of(int64_t row) const {
    Time time = times_.time(row);
    const int64_t day = day_of(time);
    if (step_.unit == TimeStep::Unit::unknown || is_single(step_)) return {day, day + 1};
    time.count = time_after(time.form, time.count, step_, is_end_ ? -1 : 1);
    return is_end_ ? DaysOfRow{day_of(time) + 1, day + 1} : DaysOfRow{day, std::max(day_of(time), day + 1)};
  }

 private:
  static bool is_single(const TimeStep& step) {
    return step.unit == TimeStep::Unit::business_day || step.unit == TimeStep::Unit::slots;
  }
  // The day on the clock that the file shows. A zone's midnight written in UTC counts as the day that begins there.
  int64_t day_of(Time time) const {
    if (times_.offsets.empty()) time.count += to_midnight(time.form, time.count, step_);
    return in_form(time, TimeForm::date).count;
  }
  const Times& times_;
  const TimeStep& step_;
  bool is_end_ = false;
};

std::string text_of(int64_t day) { return to_text({.form = TimeForm::date, .count = day}); }

// Reports years without a listed date, and a column that is always 0.
void note_missing(Series& series, const std::set<int64_t>& holidays, const std::string& file, DaysOfRow all,
                  bool has_any) {
  const auto year_of = [](int64_t day) { return floor_div(month_day(day).month, 12); };
  const int64_t first = year_of(all.begin), last = year_of(all.end - 1);
  const std::string rows =
      fmt::format("{}'s rows ({} to {})", series.origin, text_of(all.begin), text_of(all.end - 1));
  std::set<int64_t> years;
  for (const int64_t day : holidays) years.insert(year_of(day));
  std::vector<int64_t> without;
  for (int64_t year = first; year <= last; ++year)
    if (!years.contains(year)) without.push_back(year);
  require_input(static_cast<int64_t>(without.size()) <= last - first,
                "{}: none of its {} dates ({} to {}) lies in a year of {} (data.holidays)", file,
                holidays.size(), text_of(*holidays.begin()), text_of(*holidays.rbegin()), rows);
  if (!without.empty())
    series.notes.push_back(fmt::format("{} has no date of {}: no row of {} is a holiday (data.holidays)",
                                       file, fmt::join(without, ", "),
                                       without.size() == 1 ? "that year" : "these years"));
  if (!has_any)
    series.notes.push_back(fmt::format("none of {} is a holiday of {} (data.holidays)", rows, file));
}

int64_t working_days_in(const std::set<int64_t>& holidays, DaysOfRow days) {
  constexpr int saturday = 5;
  return std::count_if(holidays.lower_bound(days.begin), holidays.lower_bound(days.end),
                       [](int64_t day) { return weekday_of(day) < saturday; });
}

}  // namespace

std::set<int64_t> holidays_in(std::string_view text, const std::string& origin) {
  const std::size_t end =
      std::min(text.find_first_of(",;\t"), text.size());  // the separator; a name may follow the date
  CsvReader csv(text, origin, end < text.size() ? text[end] : ',');
  std::set<int64_t> days;
  while (csv.next()) {
    const std::string_view cell = csv.cells().front();
    if (cell.empty()) continue;
    // A header has no digit. A first line with one must be a date.
    if (csv.line() == 1 && cell.find_first_of("0123456789") == cell.npos) continue;
    const auto time = parse_time(cell);
    const bool is_day =
        time && (time->form == TimeForm::date ||
                 (time->form == TimeForm::date_time && time_of_day(time->count + time->offset) == 0));
    require_input(is_day, "{}:{}: '{}' is not a date, as 2024-12-24 is", origin, csv.line(), one_line(cell));
    days.insert(in_form(*time, TimeForm::date).count);
  }
  require_input(!days.empty(), "{}: there is no date in it", origin);
  return days;
}

void add_holidays(Series& series, const std::set<int64_t>& holidays, const std::string& file) {
  const Times& times = series.times;
  require_input(times.form != TimeForm::number, "{}: there are no dates to find holidays by (data.holidays)",
                series.origin);
  require_input(std::ranges::find(series.channels, "holiday") == series.channels.end(),
                "{}: there is a channel 'holiday' already (data.holidays)", series.origin);
  const RowDays days(times);
  DaysOfRow all = days.of(0);
  std::vector<double> values;
  values.reserve(series.rows());
  for (int64_t row = 0; row < series.rows(); ++row) {
    const DaysOfRow of = days.of(row);
    values.push_back(of.end - of.begin == 1 ? holidays.contains(of.begin)
                                            : static_cast<double>(working_days_in(holidays, of)));
    all = {std::min(all.begin, of.begin), std::max(all.end, of.end)};
  }
  note_missing(series, holidays, file, all,
               std::ranges::any_of(values, [](double value) { return value > 0; }));
  if (days.is_end()) {
    const DaysOfRow first = days.of(0);
    series.notes.push_back(
        fmt::format("rows stand at the end of their {}: the holidays of {} are those from {} to {}",
                    times.step.unit == TimeStep::Unit::month ? "month" : "week", times.text(0),
                    text_of(first.begin), text_of(first.end - 1)));
  }
  series.insert_channels(series.width(), {"holiday"}, {values});
  ++series.calendar;
}

}  // namespace unroll

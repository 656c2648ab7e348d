// Times of series, and what a calendar makes of them.
#include "data/series.h"

#include <cmath>

#include "data/scaling.h"
#include "data/series_windows.h"
#include "tests/counting_series.h"

using namespace unroll;

namespace {

std::string text_of(std::string_view text) {
  const auto time = parse_time(text);
  return time ? to_text(*time) : "no time";
}

}  // namespace

TEST_CASE("times are read in their forms, and in no other") {
  for (const std::string text : {"1749", "-5", "2017-03", "2016-02-29", "0001-01-01", "2016-07-01 23:59:59",
                                 "1969-12-31 23:59:59", "2020-01-01 00:00:00.250000"})
    CHECK(text_of(text) == text);
  CHECK(text_of("2016-07-01T05:06") == "2016-07-01 05:06:00");
  CHECK(text_of("2016-07-01T05:06:07Z") == "2016-07-01 05:06:07");
  CHECK(text_of("2016-07-01 05:06:07.5Z") == "2016-07-01 05:06:07.500000");
  for (const std::string text : {"",
                                 "x",
                                 "2.5",
                                 "+3",
                                 "99999999999999999999",
                                 "9000000000000000000",
                                 "2017-13",
                                 "2017-00",
                                 "2017-1",
                                 "2017-02-29",
                                 "2017-02-30",
                                 "2017-3-1",
                                 "17-03-01",
                                 "2017/03/01",
                                 "2017-03-01 24:00",
                                 "2017-03-01 12",
                                 "2017-03-01 12:60",
                                 "2017-03-01 12:00:60",
                                 "2017-03-01 12:00:00.",
                                 "2017-03-01 12:00+02:00",
                                 "2017-03-01 12:00:00.1234567",
                                 "2017-03-01x",
                                 "2017-03-01  12:00",
                                 "2017-0 ",
                                 "-017-03"})
    CHECK_MESSAGE(text_of(text) == "no time", text);
  CHECK(parse_time("1970-01-02")->count == 1);
  CHECK(parse_time("1970-01-01 00:00:01")->count == 1'000'000);
}

TEST_CASE("a calendar knows weekdays and days of the year, also before 1970") {
  Times times;
  times.form = TimeForm::date_time;
  times.at = {parse_time("1968-12-31 22:30:15")->count, parse_time("2016-07-01 01:00")->count};
  const CalendarTime old = times.calendar(0), now = times.calendar(1);
  CHECK(old.year == 1968);
  CHECK(old.weekday == 1);  // a Tuesday
  CHECK(old.day_of_year == 366);
  CHECK(std::tuple(old.hour, old.minute, old.second) == std::tuple(22, 30, 15));
  CHECK(now.weekday == 4);  // a Friday
  CHECK(std::tuple(now.month, now.day, now.hour) == std::tuple(7, 1, 1));
  CHECK(lacks(error_of([] { (void)Times{.at = {0, 1}}.calendar(0); }), {"numbered"}) == "");
  const Times coarse{.form = TimeForm::date_time, .at = {0}, .step = int64_t{1} << 60};
  CHECK(lacks(error_of([&] { (void)coarse.time(5); }), {"row 5 is too far ahead"}) == "");
  CHECK(lacks(error_of([&] { (void)coarse.text(3); }), {"beyond the year 30000"}) == "");
}

namespace {

// The times of so many rows beyond the last, asked for one by one and, as rows are added, again and again.
std::string rows_after(const std::vector<std::string>& dates, int count) {
  std::string text = "t,x\n", all, added;
  for (const std::string& date : dates) text += date + ",1\n";
  Times times = parse_series(text, "x.csv", {.gaps = Gaps::allow}).times;
  const int64_t rows = static_cast<int64_t>(dates.size());
  for (int k = 0; k < count; ++k) all += (k ? ", " : "") + times.text(rows + k);
  for (int k = 0; k < count; ++k) {
    added += (k ? ", " : "") + times.text(rows + k);
    times.at.push_back(times.time(rows + k).count);
  }
  return all == added ? all : all + ", but added one by one: " + added;
}

}  // namespace

TEST_CASE("rows beyond the last keep to their day of the month") {
  CHECK(rows_after({"2014-11-01", "2014-12-01"}, 3) == "2015-01-01, 2015-02-01, 2015-03-01");
  CHECK(rows_after({"2014-12-28", "2015-01-28"}, 2) == "2015-02-28, 2015-03-28");
  CHECK(rows_after({"2014-12-01 00:00:00", "2015-01-01 00:00:00"}, 3) ==
        "2015-02-01 00:00:00, 2015-03-01 00:00:00, 2015-04-01 00:00:00");
  CHECK(rows_after({"1969-11-05 06:30:00.5", "1969-12-05 06:30:00.5"}, 2) ==
        "1970-01-05 06:30:00.500000, 1970-02-05 06:30:00.500000");
  // Month ends, also those of a February with 28 and with 29 days.
  CHECK(rows_after({"2014-11-30", "2014-12-31"}, 4) == "2015-01-31, 2015-02-28, 2015-03-31, 2015-04-30");
  CHECK(rows_after({"2015-12-31", "2016-01-31", "2016-02-29"}, 2) == "2016-03-31, 2016-04-30");
  CHECK(rows_after({"2015-02-28", "2015-03-31"}, 12).ends_with("2016-01-31, 2016-02-29, 2016-03-31"));
  CHECK(rows_after({"2015-12-31 23:59:59", "2016-01-31 23:59:59"}, 2) ==
        "2016-02-29 23:59:59, 2016-03-31 23:59:59");
  CHECK(rows_after({"2014-02-28", "2015-02-28"}, 2) ==
        "2016-02-29, 2017-02-28");  // years that end with February
  // Quarters and years.
  CHECK(rows_after({"2024-07-01", "2024-10-01"}, 3) == "2025-01-01, 2025-04-01, 2025-07-01");
  CHECK(rows_after({"2024-06-30", "2024-09-30"}, 3) == "2024-12-31, 2025-03-31, 2025-06-30");
  CHECK(rows_after({"2011-12-31", "2012-12-31"}, 5) ==
        "2013-12-31, 2014-12-31, 2015-12-31, 2016-12-31, 2017-12-31");
  CHECK(rows_after({"2010-03-01", "2011-03-01", "2012-03-01"}, 1) == "2013-03-01");
  CHECK(rows_after({"2020-01-01", "2020-02-01", "2020-04-01", "2020-05-01"}, 1) ==
        "2020-06-01");  // with a gap
}

TEST_CASE("rows that keep to no day of the month are a step apart") {
  CHECK(rows_after({"2020-01-30", "2020-01-31"}, 2) == "2020-02-01, 2020-02-02");
  CHECK(rows_after({"2020-01-31", "2020-02-01"}, 2) == "2020-02-02, 2020-02-03");
  CHECK(rows_after({"2020-01-01", "2020-02-01", "2020-02-02", "2020-02-03"}, 1) == "2020-02-04");
  CHECK(rows_after({"2020-01-15", "2020-02-15", "2020-03-16", "2020-04-16"}, 1) == "2020-05-17");
  CHECK(rows_after({"2020-01-30", "2020-03-30"}, 1) == "2020-05-29");  // no February has a 30th
  CHECK(rows_after({"2020-01-01 00:00", "2020-02-01 01:00"}, 1) == "2020-03-03 02:00:00");
  const Times late{.form = TimeForm::date, .at = {parse_time("9999-12-31")->count}, .step = 1, .months = 12};
  CHECK(late.text(1) == "10000-12-31");
  CHECK(lacks(error_of([&] { (void)late.time(30'000); }), {"row 30000 is beyond the year 30000"}) == "");
}

TEST_CASE("what a calendar says of rows beyond the last follows from their dates") {
  Series series = parse_series("t,x\n2014-10-31,5\n2014-11-30,6\n2014-12-31,7\n", "x.csv");
  for (int k = 0; k < 4; ++k) {
    series.times.at.push_back(series.times.time(series.rows()).count);
    series.values.push_back(0);
  }
  add_calendar(series, {"month"});
  for (int64_t row = 0; row < 7; ++row) {
    const double angle = 2 * std::acos(-1.0) * static_cast<double>((9 + row) % 12) / 12;
    CHECK(series.at(row, 1) == doctest::Approx(std::sin(angle)).scale(1));
    CHECK(series.at(row, 2) == doctest::Approx(std::cos(angle)).scale(1));
  }
}

TEST_CASE("calendar features are points of a circle, and not scaled") {
  Series series = parse_series("t,x\n2020-01-31 23:00,5\n2020-02-01 00:00,7\n2020-02-01 06:00,9\n", "x.csv",
                               {.gaps = Gaps::allow});
  add_calendar(series, {"hour", "month", "trend"});
  CHECK(series.channels ==
        std::vector<std::string>{"x", "hour_sin", "hour_cos", "month_sin", "month_cos", "trend"});
  CHECK(series.calendar == 5);
  CHECK(series.at(2, 0) == 9);
  CHECK(series.at(1, 1) == doctest::Approx(0).scale(1));
  CHECK(series.at(1, 2) == doctest::Approx(1));
  CHECK(series.at(2, 1) == doctest::Approx(1));  // six o'clock: a quarter of the day
  CHECK(series.at(0, 3) == doctest::Approx(0).scale(1));
  CHECK(series.at(1, 3) == doctest::Approx(0.5));  // February: a twelfth of the year
  CHECK(series.at(0, 5) == 0);
  CHECK(series.at(1, 5) == doctest::Approx(1 / 8766.0).epsilon(0.01));
  Series later = parse_series("t,x\n2021-01-01,5\n2021-01-02,7\n", "x.csv");
  add_calendar(later, {"trend"}, *parse_time("2020-01-01"));
  CHECK(later.at(0, 1) == 1);  // a year, and a day's part of one
  CHECK(later.at(1, 1) == 1 + 1 / 365.25);
  std::vector<std::string> notes;
  const Scaling scaling = fit_scaling(series, whole_series(series), ScalingKind::standard, notes);
  CHECK(scaling.apply(0.25, 1) == 0.25);
  const SeriesWindows windows(series, scaling, whole_series(series), "train", {.window = 1});
  CHECK(windows.options().inputs.size() == 6);
  CHECK(windows.options().targets == std::vector<int>{0});

  CHECK(lacks(input_error_of([&] { add_calendar(series, {"weekdy"}); }),
              {"'weekdy'", "did you mean 'weekday'?"}) == "");
  CHECK(lacks(input_error_of([&] { add_calendar(series, {"hour"}); }), {"'hour_sin' already"}) == "");
  Series numbered = counting(3);
  CHECK(lacks(input_error_of([&] { add_calendar(numbered, {"hour"}); }), {"no dates"}) == "");
}

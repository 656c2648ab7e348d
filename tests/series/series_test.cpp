// Times of series, and what a calendar makes of them.
#include "examples/timeseries/series/series.h"

#include <cmath>

#include "examples/timeseries/series/scaling.h"
#include "examples/timeseries/series/series_windows.h"
#include "tests/series/counting_series.h"

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
  CHECK(text_of("2017/03/01") == "2017-03-01");
  CHECK(text_of("2017/03") == "2017-03");
  CHECK(text_of("2017-02-28 24:00") == "2017-03-01 00:00:00");
  CHECK(text_of("2017/03/01 12:30:00") == "2017-03-01 12:30:00");
  // With an offset from UTC they are counted in UTC, and written as their clock shows them.
  CHECK(text_of("2016-07-01T05:06:07Z") == "2016-07-01 05:06:07Z");
  CHECK(text_of("2016-07-01 05:06:07.5Z") == "2016-07-01 05:06:07.500000Z");
  CHECK(text_of("2016-07-01T05:06:07+00:00") == "2016-07-01 05:06:07Z");
  CHECK(text_of("2016-07-01T00:30:00+02:00") == "2016-07-01 00:30:00+02:00");
  CHECK(text_of("2015-12-31T23:00-0330") == "2015-12-31 23:00:00-03:30");
  CHECK(parse_time("2016-07-01T00:30+02:00")->count == parse_time("2016-06-30T22:30Z")->count);
  CHECK(text_of("2016-07-01 00:30:00.25+02") == "2016-07-01 00:30:00.250000+02:00");
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
                                 "17-03-01",
                                 "2017/03-01",
                                 "2017-03/01",
                                 "2017-03-01 24:01",
                                 "2017-03-01 1",
                                 "2017-03-01 12:60",
                                 "2017-03-01 12:00:60",
                                 "2017-03-01 12:00:00.",
                                 "2017-03-01 12:00:00.00000001",
                                 "2017-03-01 12:00+2:00",
                                 "2017-03-01 12:00+02:60",
                                 "2017-03-01 12:00+24:00",
                                 "2017-03-01 12:00+02:00Z",
                                 "2017-03-01+02:00",
                                 "0001-01-01 00:30+01:00",
                                 "9999-12-31 23:30-01:00",
                                 "2017-03-01 12:00:00.1234567",
                                 "2017-03-01x",
                                 "2017-03-01  12:00",
                                 "2017-0 ",
                                 "-017-03"})
    CHECK_MESSAGE(text_of(text) == "no time", text);
  CHECK(parse_time("1970-01-02")->count == one_day);
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
  const Times coarse{.form = TimeForm::date_time,
                     .at = {0},
                     .step = {.unit = TimeStep::Unit::microsecond, .count = int64_t{1} << 60}};
  CHECK(lacks(input_error_of([&] { (void)coarse.time(6); }), {"6 rows are too far ahead"}) == "");
  CHECK(lacks(input_error_of([&] { (void)coarse.text(2); }), {"2 rows after", "end beyond 9999-12-31"}) ==
        "");
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

TEST_CASE("a label is not scaled, nor called constant") {
  const Series series = parse_series("x,fault\n5,0\n7,0\n9,1\n11,1\n", "x.csv", {.label = "fault"});
  for (const ScalingKind kind : {ScalingKind::standard, ScalingKind::minmax}) {
    std::vector<std::string> notes;
    const Scaling scaling = fit_scaling(series, whole_series(series), kind, notes);
    CHECK(scaling.channels[0].scale > 1);
    CHECK(scaling.channels[1].shift == 0);
    CHECK(scaling.channels[1].scale == 1);
    fit_scaling(series, {{0, 2, 0}}, kind, notes);  // rows without a fault
    CHECK(notes.empty());
  }
}

TEST_CASE("calendar features are points of a circle, and not scaled") {
  Series series = parse_series("t,x\n2020-01-31 23:00,5\n2020-02-01 00:00,7\n2020-02-01 06:00,9\n", "x.csv",
                               {.gaps = Gaps::allow});
  add_calendar(series, {"hour", "month"});
  CHECK(series.channels == std::vector<std::string>{"x", "hour_sin", "hour_cos", "month_sin", "month_cos"});
  CHECK(series.calendar == 4);
  CHECK(series.at(2, 0) == 9);
  CHECK(series.at(1, 1) == doctest::Approx(0).scale(1));
  CHECK(series.at(1, 2) == doctest::Approx(1));
  CHECK(series.at(2, 1) == doctest::Approx(1));  // six o'clock: a quarter of the day
  CHECK(series.at(0, 3) == doctest::Approx(0).scale(1));
  CHECK(series.at(1, 3) == doctest::Approx(0.5));  // February: a twelfth of the year
  std::vector<std::string> notes;
  const Scaling scaling = fit_scaling(series, whole_series(series), ScalingKind::standard, notes);
  CHECK(scaling.apply(0.25, 1) == 0.25);
  const SeriesWindows windows(series, scaling, whole_series(series), "train", {.window = 1});
  CHECK(windows.options().inputs.size() == 5);
  CHECK(windows.options().targets == std::vector<int>{0});

  CHECK(lacks(input_error_of([&] { add_calendar(series, {"weekdy"}); }),
              {"'weekdy'", "did you mean 'weekday'?"}) == "");
  CHECK(lacks(input_error_of([&] { add_calendar(series, {"hour"}); }), {"'hour_sin' already"}) == "");
  Series numbered = counting(3);
  CHECK(lacks(input_error_of([&] { add_calendar(numbered, {"hour"}); }), {"no dates"}) == "");
}

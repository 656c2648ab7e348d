// Times of series, and what a calendar makes of them.
#include "examples/timeseries/series/series.h"

#include <array>
#include <cmath>

#include "examples/timeseries/series/scaling.h"
#include "examples/timeseries/series/series_windows.h"
#include "tests/series/counting_series.h"
#include "tests/series/mended.h"

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

TEST_CASE("each calendar feature is the place of a moment in its hour, day, week, month or year") {
  Series series =
      parse_series("t,x\n2020-02-29 22:30:15,5\n2021-02-28 22:30:15,7\n", "x.csv", {.gaps = Gaps::allow});
  const double minute = 30.25 / 60, hour = (22 + minute) / 24;
  const std::vector<std::pair<std::string, double>> all = {{"minute", minute},   {"hour", hour},
                                                           {"weekday", 5.0 / 7},  // a Saturday
                                                           {"day", 28.0 / 31},   {"day_of_year", 59.0 / 366},
                                                           {"month", 1.0 / 12}};
  for (const auto& [name, place] : all) {
    const int channel = series.width();
    add_calendar(series, {name});
    CHECK_MESSAGE(series.at(0, channel) == doctest::Approx(std::sin(2 * std::acos(-1.0) * place)), name);
    CHECK_MESSAGE(series.at(0, channel + 1) == doctest::Approx(std::cos(2 * std::acos(-1.0) * place)), name);
  }
  CHECK(series.calendar == 12);
}

TEST_CASE("a part of a series has its rows of all that the series has by row, and its names") {
  Series series = parse_series(
      "t,x,fault\n05/03/2020 01:00+02:00,1,0\n05/03/2020 02:00+02:00,,1\n05/03/2020 04:00+03:00,3,1\n",
      "x.csv",
      {.date_order = DateOrder::day_first,
       .label = "fault",
       .missing = Missing::previous,
       .gaps = Gaps::allow});
  add_calendar(series, {"hour"});
  const Series part = series.part(1, 3);
  CHECK(part.channels == series.channels);
  CHECK((part.label == 1 && part.calendar == 2 && part.date_order == DateOrder::day_first));
  CHECK(part.lines == std::vector<int64_t>{3, 4});
  for (int64_t row = 0; row < 2; ++row) {
    CHECK(part.times.text(row) == series.times.text(row + 1));
    for (int channel = 0; channel < series.width(); ++channel) {
      CHECK(part.at(row, channel) == series.at(row + 1, channel));
      CHECK(part.is_filled(row, channel) == series.is_filled(row + 1, channel));
    }
  }
}

TEST_CASE("beside parts of a day or week, totals and flags are left out, and what is neither is repeated") {
  using namespace series_mended;
  Notes hours, clocks, weekdays = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  for (int k = 0; k < 24; ++k)
    hours.push_back(fmt::format("H{:02}", k + 1)), clocks.push_back(fmt::format("{:02}:00", k));
  const Notes of_work(weekdays.begin(), weekdays.begin() + 5);
  for (const auto& kind :
       {std::pair("hour", hours), {"time of day", clocks}, {"day", weekdays}, {"day", of_work}})
    for (int beside = 0; beside < 16; ++beside) {  // a sum, a channel, a total, and flags
      const std::string each = kind.first;
      const Notes& names = kind.second;
      const bool sum = beside & 1, level = beside & 2, total = beside & 4, flags = beside & 8,
                 are_days = each == "day";
      if (flags && names != hours) continue;
      CAPTURE(names[0]);
      CAPTURE(beside);
      const int count = static_cast<int>(names.size());
      const auto value = [](int row, int k) { return 10 + (row * 5 + k * 7) % 23; };
      std::string header = fmt::format("day{}{},{}", sum ? ",Sum" : "", level ? ",level" : "",
                                       fmt::join(names, ",")),
                  done = fmt::format("each {} ('{}' to '{}') is read as a row of its own", each, names[0],
                                     names.back());
      for (int k = 1; flags && k <= 24; ++k) header += fmt::format(",V{:02}", k);
      if (sum) done += ", without 'Sum'";
      if (total) header += ",Total", done += ", without 'Total'";
      if (flags) done += ", without the columns 'V01' to 'V24'";
      check_mended(rows(header, 14,
                        [&](int row) {
                          std::string cells = dated(are_days ? 7 * row : row);
                          if (sum) cells += fmt::format(",{}", 500 + row * 13 % 50);
                          if (level) cells += fmt::format(",{}", 700 + row * 5 % 11);
                          for (int k = 0; k < count; ++k) cells += fmt::format(",{}", value(row, k));
                          for (int k = 0; flags && k < 24; ++k) cells += fmt::format(",{}", k % 3);
                          return total ? cells + fmt::format(",{}", 900 - row) : cells;
                        }),
                   rows(level ? "day,level,value" : "day,value", 14 * count,
                        [&](int at) {
                          const int row = at / count, k = at % count;
                          return fmt::format("{}{},{}",
                                             are_days ? dated(7 * row + k)
                                                      : hour(24 * row + k + (names == hours), "2021-01-04"),
                                             level ? fmt::format(",{}", 700 + row * 5 % 11) : "",
                                             value(row, k));
                        }),
                   {}, {done + counted});
    }
}

TEST_CASE(
    "totals beside a month's days and beside a year's months are left out though they change, in any order of rows") {
  using namespace series_mended;
  for (const bool first : {true, false}) {  // where the total stands
    std::string days = first ? "Year,Month,Total" : "Year,Month";
    for (int k = 1; k <= 31; ++k) days += fmt::format(",{}", k);
    constexpr std::array counts = {31, 28, 31}, begins = {0, 31, 59};
    days = rows(days + (first ? ",level" : ",level,Total"), 3, [&](int row) {
      std::string cells = fmt::format("2021,{}{}", row + 1, first ? fmt::format(",{}", 50 + row) : "");
      for (int k = 0; k < 31; ++k)
        cells += k < counts[static_cast<std::size_t>(row)]
                     ? fmt::format(",{}", week(begins[static_cast<std::size_t>(row)] + k))
                     : ",";
      return cells + fmt::format(",{}{}", 700 + row, first ? "" : fmt::format(",{}", 50 + row));
    });
    check_mended(days + "Total,,9,9,9\n",
                 rows("date,level,value", 90,
                      [](int row) {
                        return fmt::format("{},{},{}", dated(row - 3),
                                           row < 31   ? 700
                                           : row < 59 ? 701
                                                      : 702,
                                           week(row));
                      }),
                 {}, {});
  }
  const auto plain = rows(
      "time,value", 24, [](int k) { return fmt::format("{} Q{},{}", 2014 + k / 4, k % 4 + 1, 10 + k % 7); });
  std::string down = "Year,Q1,Q2,Q3,Q4,Total 2014-2019\n", across = "Part";
  for (int year = 5; year >= 0; --year) {
    down += std::to_string(2014 + year);
    for (int part = 0; part < 4; ++part) down += fmt::format(",{}", 10 + (4 * year + part) % 7);
    down += fmt::format(",{}\n", 40 + year), across += fmt::format(",{}", 2014 + year);
  }
  across += ",Total 2014-2019\n";
  for (int part = 0; part < 4; ++part) {
    across += fmt::format("Q{}", part + 1);
    for (int year = 5; year >= 0; --year) across += fmt::format(",{}", 10 + (4 * year + part) % 7);
    across += fmt::format(",{}\n", 60 + part);
  }
  const std::string note =
      "each quarter of a year is read as a row of its own; column 'Total 2014-2019' is left out; line ";
  check_mended(down + "Total 2014-2019,80,90,70,60\n", plain, {},
               {fmt::format("{}8 is left out{}", note, counted)});
  check_mended(across + "Total 2014-2019,9,9,9,9,9,9,9\n", plain, {},
               {fmt::format("{}6 is left out{}", note, counted)});
}

TEST_CASE(
    "a table on its side is read without totals, remarks, and words that are alike or count the lines") {
  using namespace series_mended;
  std::string side = "code,source,unit,item";
  for (int k = 0; k < 12; ++k) side += fmt::format(",2014-{:02}", k + 1);
  side += ",Total";
  for (const int line : {0, 1}) {
    side += fmt::format("\n{},office,t,{}", line + 1, line == 0 ? "in" : "out");
    for (int k = 0; k < 12; ++k) side += fmt::format(",{}", 100 * line + k);
    side += fmt::format(",{}", 1200 * line + 66);
  }
  check_mended(
      side + "\n3,office,t,none,,,,,,,,,,,,,\n",
      rows("time,in,out", 12, [](int k) { return fmt::format("2014-{:02},{},{}", k + 1, k, 100 + k); }), {},
      {fmt::format(
          "each column of a time is read as a row of its own; column 'Total' is left out; line 4 is left out: without a value{}",
          counted)});
}

TEST_CASE("a time in three columns is joined wherever they stand, and lies in no column then") {
  using namespace series_mended;
  const auto parts = [](const char* names, const char* form) {
    return rows(names, 90, [=](int row) {
      const CalendarTime at = calendar_of(*parse_time(dated(row)));
      return fmt::format(fmt::runtime(form), at.year, at.month, at.day, week(row), row % 5);
    });
  };
  const std::string plain =
      rows("Year,x,y", 90, [](int row) { return fmt::format("{},{},{}", dated(row), week(row), row % 5); });
  check_mended(parts("Year,Month,Day,x,y", "{0},{1},{2},{3},{4}"), plain, {}, {});
  check_mended(parts("Year,Day,Month,x,y", "{0},{2},{1},{3},{4}"), plain, {}, {});
  check_mended(parts("Year,Month,x,Day,y", "{0},{1},{3},{2},{4}"), plain, {}, {});
}

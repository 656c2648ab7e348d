// Steps of time: found in a file's stamps, said in words, continued beyond the last row, compared and written down.
#include "examples/timeseries/series/time_step.h"

#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/split.h"
#include "tests/series/steps.h"
#include "tests/support.h"

using namespace unroll;

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

// 2020 is a leap year: January has 31 days, February 29, April 30.
TEST_CASE("rows on the 29th, 30th or 31st lie on the last day of a month that is shorter") {
  CHECK(rows_after({"2019-12-30", "2020-01-30"}, 4) == "2020-02-29, 2020-03-30, 2020-04-30, 2020-05-30");
  CHECK(rows_after({"2020-01-30", "2020-02-29"}, 2) == "2020-03-30, 2020-04-30");
  CHECK(rows_after({"2020-12-29", "2021-01-29", "2021-02-28"}, 2) == "2021-03-29, 2021-04-29");
  CHECK(rows_after({"2020-12-31", "2021-01-31"}, 3) == "2021-02-28, 2021-03-31, 2021-04-30");
  CHECK(rows_after({"2020-01-30", "2020-03-30"}, 2) == "2020-05-30, 2020-07-30");
  CHECK(rows_after({"2020-08-30", "2020-11-30"}, 2) == "2021-02-28, 2021-05-30");  // quarters
  CHECK(rows_after({"2020-01-30 08:00", "2020-02-29 08:00"}, 1) == "2020-03-30 08:00:00");
  CHECK(rows_after({"20191230", "20200130"}, 3) == "20200229, 20200330, 20200430");
}

// 2020-01-31 is a Friday, 2020-02-28 too; 2020-03-31 a Tuesday, 2020-05-31 a Sunday: the last Friday of May is the 29th.
// 2020-08-01 is a Saturday: the first Monday of August is the 3rd.
TEST_CASE("rows on the last or first business day of the month") {
  CHECK(rows_after({"2020-01-31", "2020-02-28", "2020-03-31"}, 3) == "2020-04-30, 2020-05-29, 2020-06-30");
  CHECK(rows_after({"2019-11-29", "2020-02-28"}, 2) == "2020-05-29, 2020-08-31");  // quarters
  CHECK(rows_after({"2020-06-01", "2020-07-01", "2020-08-03"}, 2) == "2020-09-01, 2020-10-01");
}

// 2020-01-03 is a Friday.
TEST_CASE("business days: from Monday to Friday, over a weekend at least once") {
  const std::vector<std::string> week = {"2020-01-02", "2020-01-03", "2020-01-06",
                                         "2020-01-07", "2020-01-08", "2020-01-09"};
  CHECK(step_of(week) == "a business day");
  CHECK(rows_after(week, 3) == "2020-01-10, 2020-01-13, 2020-01-14");
  CHECK(rows_after({"2020-01-02 16:00", "2020-01-03 16:00", "2020-01-06 16:00", "2020-01-07 16:00"}, 4) ==
        "2020-01-08 16:00:00, 2020-01-09 16:00:00, 2020-01-10 16:00:00, 2020-01-13 16:00:00");
  // A weekend that is not passed is none, Mondays alone are weeks, and Saturdays no business days.
  CHECK(step_of({"2020-01-06", "2020-01-07", "2020-01-08"}) == "a day");
  CHECK(rows_after({"2020-01-03", "2020-01-10", "2020-01-17"}, 1) == "2020-01-24");
  CHECK(step_of({"2020-01-03", "2020-01-10", "2020-01-17"}) == "a week");
  CHECK(step_of({"2020-01-02", "2020-01-03", "2020-01-04", "2020-01-06"}) == "a day");
  // After a Saturday or a Sunday, which count as the Friday before, comes Monday.
  const int64_t friday = *date_of(2020, 1, 3);
  for (const int64_t days : {0, 1, 2})
    CHECK(time_after(friday + days * one_day, {.unit = TimeStep::Unit::business_day, .count = 1}, 1) ==
          friday + 3 * one_day);
}

// Weekdays and days of the month as the calendar of 2021 and 2022 has them: 2022-01-03 is a Monday.
TEST_CASE("rows at several places of a week, a month or a day go on at the next place") {
  const std::vector<std::string> thrice = {"2022-01-03", "2022-01-05", "2022-01-07",
                                           "2022-01-10", "2022-01-12", "2022-01-14"};
  CHECK(step_of(thrice) == "on Monday, Wednesday and Friday");
  CHECK(rows_after(thrice, 4) == "2022-01-17, 2022-01-19, 2022-01-21, 2022-01-24");
  // A shop that is closed on Sundays.
  std::vector<std::string> open;
  for (int day = 3; day < 22; ++day)
    if (day % 7 != 2) open.push_back(fmt::format("2022-01-{:02}", day));
  CHECK(rows_after(open, 2) == "2022-01-22, 2022-01-24");
  CHECK(rows_after({"2022-01-01", "2022-01-15", "2022-02-01", "2022-02-15"}, 3) ==
        "2022-03-01, 2022-03-15, 2022-04-01");
  CHECK(rows_after({"2022-01-15", "2022-01-31", "2022-02-15", "2022-02-28"}, 4) ==
        "2022-03-15, 2022-03-31, 2022-04-15, 2022-04-30");
  CHECK(rows_after({"2022-01-01 06:30", "2022-01-15 06:30", "2022-02-01 06:30", "2022-02-15 06:30"}, 2) ==
        "2022-03-01 06:30:00, 2022-03-15 06:30:00");
  CHECK(rows_after({"2022-01-01", "2022-01-11", "2022-01-21", "2022-02-01", "2022-02-11", "2022-02-21"}, 2) ==
        "2022-03-01, 2022-03-11");
  // The third Friday, and the last one.
  CHECK(rows_after({"2021-06-18", "2021-07-16", "2021-08-20"}, 2) == "2021-09-17, 2021-10-15");
  CHECK(rows_after({"2021-04-30", "2021-05-28", "2021-06-25", "2021-07-30"}, 3) ==
        "2021-08-27, 2021-09-24, 2021-10-29");
  CHECK(rows_after({"2020-01-06", "2020-02-03", "2020-03-02"}, 1) == "2020-03-30");  // four weeks
  const auto hours = [](const std::vector<int>& days, const std::string& offset) {
    std::vector<std::string> times;
    for (const int day : days)
      for (int hour = 9; hour <= 17; ++hour)
        times.push_back(fmt::format("2022-01-{:02} {:02}:00{}", day, hour, offset));
    return times;
  };
  CHECK(rows_after(hours({6, 7}, ""), 2) == "2022-01-08 09:00:00, 2022-01-08 10:00:00");
  CHECK(step_of(hours({6, 7}, "")) == "from 09:00 to 17:00, 9 times a day");
  const std::vector<int> weeks = {3, 4, 5, 6, 7, 10, 11, 12, 13, 14};
  CHECK(rows_after(hours(weeks, ""), 1) == "2022-01-17 09:00:00");  // from Monday to Friday
  CHECK(rows_after(hours(weeks, "+05:30"), 1) == "2022-01-17 09:00:00+05:30");
  // A place that is left out is a gap, and days without a rule have no successors.
  auto gap = thrice;
  for (const char* day : {"2022-01-17", "2022-01-19", "2022-01-21", "2022-01-24", "2022-01-28"})
    gap.emplace_back(day);
  const auto refusal = [](const std::vector<std::string>& dates) {
    std::string text = "t,x\n";
    for (const std::string& date : dates) text += date + ",1\n";
    return input_error_of([&] { parse_series(text, "x.csv"); });
  };
  CHECK(lacks(refusal(gap),
              {"x.csv:12: a gap of a row after 2022-01-24", "on Monday, Wednesday and Friday"}) == "");
  CHECK(lacks(refusal({"2022-01-03", "2022-01-05", "2022-01-08", "2022-01-09", "2022-01-11", "2022-01-14"}),
              {"keep to no rule", "steps of one length", "data.gaps = \"allow\""}) == "");
}

TEST_CASE("a file whose newest row stands first is turned around, and that is said") {
  const Series back = parse_series("t,x\n2022-01-03,3\n2022-01-02,2\n2022-01-01,1\n", "x.csv");
  CHECK(back.values == std::vector<double>{1, 2, 3});
  CHECK(back.times.text(3) == "2022-01-04");
  CHECK(back.lines == std::vector<int64_t>{4, 3, 2});
  CHECK(back.notes == std::vector<std::string>{"the newest row stands first: rows were turned around"});
  const Series both = parse_series("t,s,x\n2022-01-02,a,2\n2022-01-01,a,1\n2022-01-02,b,4\n2022-01-01,b,3\n",
                                   "x.csv", {.id = "s"});
  CHECK(both.values == std::vector<double>{1, 2, 3, 4});
  // Day and month are read in the order that makes the rows descend.
  CHECK(parse_series("t,x\n02/01/2022,2\n01/01/2022,1\n31/12/2021,0\n", "x.csv").times.text(0) ==
        "2021-12-31");
  CHECK(
      lacks(input_error_of([] { parse_series("t,x\n2022-01-03,3\n2022-01-01,2\n2022-01-02,1\n", "x.csv"); }),
            {"x.csv:4: column 1 ('t'): 2022-01-02 comes after 2022-01-01", "the newest first"}) == "");
}

TEST_CASE("rows that keep to no day of the month are a step apart") {
  CHECK(rows_after({"2020-01-30", "2020-01-31"}, 2) == "2020-02-01, 2020-02-02");
  CHECK(rows_after({"2020-01-31", "2020-02-01"}, 2) == "2020-02-02, 2020-02-03");
  CHECK(rows_after({"2020-01-01", "2020-02-01", "2020-02-02", "2020-02-03"}, 1) == "2020-02-04");
  CHECK(rows_after({"2020-01-15", "2020-02-15", "2020-03-16", "2020-04-16"}, 1) == "2020-05-17");
  CHECK(rows_after({"2020-01-01 00:00", "2020-02-01 01:00"}, 1) == "2020-03-03 02:00:00");
  const Times late{.form = TimeForm::date,
                   .at = {parse_time("9999-12-31")->count},
                   .step = {.unit = TimeStep::Unit::month, .count = 12, .day = TimeStep::Day::last}};
  CHECK(input_error_of([&] { (void)late.text(1); }) ==
        "1 row after 9999-12-31 lies beyond 9999-12-31, the last time that is read");
  const Times hours{.form = TimeForm::date_time,
                    .at = {parse_time("9999-12-31 22:00")->count},
                    .step = {.unit = TimeStep::Unit::microsecond, .count = 3'600'000'000}};
  CHECK(hours.text(1) == "9999-12-31 23:00:00");
  CHECK(lacks(input_error_of([&] { (void)hours.text(2); }),
              {"2 rows after 9999-12-31 22:00:00 end beyond"}) == "");
  const Times years{.form = TimeForm::year,
                    .at = {*date_of(9998, 1, 1)},
                    .step = {.unit = TimeStep::Unit::month, .count = 12}};
  CHECK(years.text(1) == "9999");
  CHECK(lacks(error_of([&] { (void)late.time(30'000); }), {"30000 rows ahead are beyond the year 30000"}) ==
        "");
  const Times one{.form = TimeForm::date, .at = {0}, .step = {}};
  CHECK(lacks(error_of([&] { (void)one.time(1); }), {"the step from row to row is not known"}) == "");
}

TEST_CASE("whole numbers that are dates have the successors of dates") {
  CHECK(rows_after({"20011230", "20011231"}, 2) == "20020101, 20020102");
  CHECK(rows_after({"200111", "200112", "200201"}, 2) == "200202, 200203");
  CHECK(rows_after({"20011231", "20020131"}, 2) == "20020228, 20020331");
  const auto form = [](const std::vector<int64_t>& numbers, const char* name) {
    return form_of_numbers(numbers, name, numbers.size());
  };
  CHECK(form({20011231, 20020101}, "x") == TimeForm::date);
  CHECK(form({20011231, 20011232}, "date") == TimeForm::number);
  CHECK(form({20010229}, "date") == TimeForm::number);  // 2001 is no leap year
  CHECK(form({200111, 200112, 200201}, "x") == TimeForm::month);
  CHECK(form({200110, 200111}, "x") == TimeForm::number);
  CHECK(form({200110, 200111}, "YearMonth") == TimeForm::month);
  CHECK(form({200112, 200113}, "month") == TimeForm::number);
  CHECK(form({20143, 20144, 20151}, "x") == TimeForm::quarter);
  CHECK(form({20142, 20143, 20144}, "quarter") == TimeForm::number);
  CHECK(form({20144, 20151, 20155}, "quarter") == TimeForm::number);
  CHECK(form({202052, 202053, 202101}, "x") == TimeForm::date);
  CHECK(form({202152, 202153, 202201}, "x") == TimeForm::number);  // 2021 has 52 weeks
  CHECK(form({202411, 202412, 202413}, "Week") == TimeForm::date);
  CHECK(form({202411, 202412, 202413}, "x") == TimeForm::number);
  CHECK(rows_after({"20143", "20144", "20151"}, 2) == "2015-Q2, 2015-Q3");
  CHECK(rows_after({"202051", "202052", "202053", "202101"}, 1) == "2021-01-11");
  CHECK(form({1900, 1901, 1903}, "Year") == TimeForm::year);
  CHECK(form({1900, 1905, 1910}, "date") == TimeForm::year);
  CHECK(form({1900, 1901, 1903}, "date") == TimeForm::number);
  CHECK(form({1900, 1901, 1902}, "x") == TimeForm::number);
  CHECK(form({1499, 1500}, "year") == TimeForm::number);
  CHECK(form({2199, 2200}, "year") == TimeForm::year);
  CHECK(form({2200, 2201}, "year") == TimeForm::number);
  // Years have a calendar, and a split may name a year or a month of dates.
  const Series years = parse_series("year,x\n1900,5\n1905,6\n1910,7\n", "x.csv");
  CHECK(years.times.calendar(1).year == 1905);
  CHECK(years.times.text(4) == "1920");
  CHECK(to_text(years.times.step) == "5 years");
  const Series days =
      parse_series("d,x\n20191231,5\n20200101,6\n20200201,7\n", "x.csv", {.gaps = Gaps::allow});
  CHECK(split_by_time(days, "2020", "20200201").valid.front().begin == 1);
  CHECK(split_by_time(days, "2020-01", "202002").test.front().begin == 2);
}

TEST_CASE("a step of time in words") {
  CHECK(step_of({"2020-01", "2020-02"}) == "a month");
  CHECK(step_of({"2020-01", "2020-04"}) == "a quarter");
  CHECK(step_of({"2019-12-31", "2020-12-31"}) == "a year");
  CHECK(step_of({"2020-01-01 00:00", "2020-01-01 01:00"}) == "an hour");
  CHECK(step_of({"2020-01-01 00:00", "2020-01-01 00:15"}) == "15 minutes");
  CHECK(step_of({"2020-01-01 00:00:00", "2020-01-01 00:00:01.5"}) == "1.5 s");
  CHECK(step_of({"3", "7", "11"}) == "4");
}

// Stamps that are off by 2, 5, 3, 4, 6 and 1 s of a minute each, in turn: their differences are 63, 58, 61, 62, 55 and 61 s,
// 1 s of which no two are the half. Their mean from the first row to the last, six minutes later, is a minute.
TEST_CASE("a step of stamps that jitter is their mean, and the jitter is said") {
  std::string text = "t,x\n";
  constexpr int off[] = {2, 5, 3, 4, 6, 1};
  for (int i = 0; i <= 60; ++i)
    text += fmt::format("2020-01-01 {:02}:{:02}:{:02},1\n", i / 60, i % 60, off[i % 6]);
  const Series series = parse_series(text, "x.csv");
  CHECK(series.times.step.count == 60'000'000);
  CHECK(series.times.step.jitter == 5'000'000);  // 55 s is the furthest, a sixth of them
  CHECK(series.notes == std::vector<std::string>{"rows are 60 s apart, give or take 5 s"});
  CHECK(series.times.text(61) == "2020-01-01 01:01:02");
}

TEST_CASE("two rates in one file are no step") {
  std::string text = "t,x\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("2020-01-01 {:02}:00,1\n", i);
  const std::string both = text + "2020-01-01 19:30,1\n2020-01-01 20:00,1\n";
  CHECK(input_error_of([&] { parse_series(both, "x.csv"); }) ==
        "x.csv:22: 30 minutes after 2020-01-01 19:00:00, where rows are an hour apart; data.gaps = \"allow\" "
        "takes the rows as they come, \"fill\" puts rows in");
  const Series allowed = parse_series(both, "x.csv", {.gaps = Gaps::allow});
  REQUIRE(allowed.notes.size() == 1);
  CHECK(lacks(allowed.notes[0], {"2 gaps", "line 22: 30 minutes after 2020-01-01 19:00:00"}) == "");
  // The 1st and the 15th of each month: 14 days and 17, 16 or 13.
  const Series halves =
      parse_series("t,x\n2021-01-01,1\n2021-01-15,1\n2021-02-01,1\n2021-02-15,1\n2021-03-01,1\n", "x.csv");
  CHECK(halves.notes.empty());
  CHECK(halves.times.text(5) == "2021-03-15");
}

TEST_CASE("what cannot be decided is said: the month's end or its 30th") {
  const auto notes = [](const std::string& text) { return parse_series(text, "x.csv").notes; };
  const auto both = notes("t,x\n2020-04-30,1\n2020-06-30,2\n2020-08-31,3\n");
  CHECK(both.empty());  // August has a 31st
  const auto april = notes("t,x\n2020-04-30,1\n2020-06-30,2\n");
  REQUIRE(april.size() == 1);
  CHECK(lacks(april[0], {"none of these is longer than 30 days", "the end of the month, not to the 30th"}) ==
        "");
  CHECK(notes("t,x\n0001-04-30,1\n9999-04-30,2\n").empty());  // the next would be beyond all years
  CHECK(notes("t,x\n2014-02-28,1\n2015-02-28,2\n").size() == 1);
  CHECK(notes("t,x\n2015-02-28,1\n2016-02-29,2\n").empty());  // each February's last is the 29th, or the 28th
}

TEST_CASE("a step can be written down and read again") {
  for (const std::vector<std::string>& dates : std::vector<std::vector<std::string>>{
           {"2019-12-30", "2020-01-30"},
           {"2020-01-31", "2020-02-28", "2020-03-31"},
           {"2020-01-02", "2020-01-03", "2020-01-06"},
           {"2020-01-01 00:00", "2020-01-01 01:00"},
           {"1", "4"},
           {"2020-01", "2020-04"},
           {"2021-03-26T23:00Z", "2021-03-27T23:00Z", "2021-03-28T22:00Z"},
           {"2020-01-02T00:00-03:00", "2020-01-03T00:00-03:00", "2020-01-06T00:00-03:00"},
           {"2020-01-31T00:00+09:00", "2020-02-29T00:00+09:00"},
           {"2020-01-06", "2020-01-08", "2020-01-13", "2020-01-15"},
           {"2020-01-01", "2020-01-15", "2020-02-01", "2020-02-15"},
           {"2021-01-15", "2021-02-19", "2021-03-19", "2021-04-16"},
           {"2020-01-06 09:00", "2020-01-06 10:00", "2020-01-07 09:00", "2020-01-07 10:00"}}) {
    std::string text = "t,x\n";
    for (const std::string& date : dates) text += date + ",1\n";
    const TimeStep step = parse_series(text, "x.csv", {.time = "t"}).times.step;
    CAPTURE(step_code(step));
    CHECK(parse_step(step_code(step)) == step);
  }
  CHECK(parse_step(step_code(TimeStep{})) == TimeStep{});
  for (const char* code :
       {"", "month", "month 0 last 0 -1", "month 1 sometime 0 -1", "month 1 of_month 32 -1", "number -3 0 -1",
        "week 1 0 -1", "microsecond 1 0 -1 5", "microsecond x 0 -1", "microsecond 2305843009213693953 0 -1",
        "month 12001 last 0 -1", "month 1 last 0 -1 86400000001", "business_day 1 0 -1 x",
        "slots 86400000000 0 -1 0 5", "slots 86400000000 0 -1 0 5 5",
        "slots 86400000000 0 -1 0 5 86400000000", "slots 7 0 -1 0 1 2", "month 1 several 0 -1 0 1 32",
        "month 1 nth_weekday 42 -1"})
    CHECK_MESSAGE(!parse_step(code), code);
}

TEST_CASE("rows of another step than asked for are refused, of the same step taken") {
  const auto read = [](const std::vector<std::string>& dates, const TimeStep& step) {
    std::string text = "t,x\n";
    for (const std::string& date : dates) text += date + ",1\n";
    return parse_series(text, "x.csv", {.time = "t", .step = step, .model = "m.safetensors"}).times;
  };
  const auto refusal = [&](const std::vector<std::string>& dates, const TimeStep& step) {
    return input_error_of([&] { read(dates, step); });
  };
  using Unit = TimeStep::Unit;
  constexpr int64_t second = 1'000'000, hour = 3600 * second, day = 24 * hour;
  const TimeStep daily{.unit = Unit::microsecond, .count = day},
      business{.unit = Unit::business_day, .count = 1},
      monthly{.unit = Unit::month, .count = 1, .day = TimeStep::Day::of_month, .of_month = 30},
      jitter{.unit = Unit::microsecond, .count = 60 * second, .jitter = 5 * second};
  CHECK(refusal({"2020-01-01 00:00", "2020-01-01 01:00"}, daily) ==
        "m.safetensors: the model's rows are a day apart, those of x.csv an hour apart");
  CHECK(refusal({"2020-01-01", "2020-01-08"}, daily) ==
        "m.safetensors: the model's rows are a day apart, those of x.csv a week apart");
  CHECK(refusal({"2020-01", "2020-02"}, daily) ==
        "m.safetensors: the model's rows are a day apart, those of x.csv a month apart");
  CHECK(refusal({"1", "2"}, daily) ==
        "m.safetensors: the model's rows are a day apart, those of x.csv numbers 1 apart");
  CHECK(lacks(refusal({"2020-01-03", "2020-01-04", "2020-01-05"}, business),
              {"a business day apart", "a day apart"}) == "");
  CHECK(lacks(refusal({"2020-01-02", "2020-01-03", "2020-01-06"}, daily),
              {"a day apart", "a business day apart"}) == "");
  CHECK(lacks(refusal({"2020-01-01 00:00:00", "2020-01-01 00:01:06"}, jitter),
              {"60 s apart, give or take 5 s", "66 s apart"}) == "");
  // Days written with their time; a week without a weekend; a minute that is off by no more than the jitter; one row.
  CHECK(read({"2020-01-01 00:00", "2020-01-02 00:00"}, daily).text(2) == "2020-01-03 00:00:00");
  CHECK(read({"2020-01-09", "2020-01-10"}, business).text(2) == "2020-01-13");  // a Friday, then a Monday
  CHECK(read({"2020-01-01 00:00:00", "2020-01-01 00:01:04"}, jitter).text(2) == "2020-01-01 00:02:04");
  CHECK(read({"2020-01-30"}, monthly).text(1) == "2020-02-29");
  CHECK(read({"2020-02-29"}, monthly).text(1) == "2020-03-30");
  CHECK(read({"2020-04-30", "2020-05-30"}, monthly).text(9) == "2021-01-30");
  // As long as the model's, on a day of its own.
  CHECK(read({"2020-04-01", "2020-05-01"}, monthly).text(2) == "2020-06-01");
}

TEST_CASE("times of a step that jitters have the resolution of the file, and its jitter one digit") {
  // Steps of 61, 60, 62, 63 and 60 s last 61.2 s in the mean.
  std::vector<std::string> seconds, halves;
  for (const char* time : {"00:00", "01:01", "02:01", "03:03", "04:06", "05:06"}) {
    seconds.push_back(fmt::format("2020-01-01 00:{}", time));
    halves.push_back(seconds.back() + ".5");
  }
  CHECK(rows_after(seconds, 2) == "2020-01-01 00:06:07, 2020-01-01 00:07:08");
  CHECK(rows_after(halves, 1) == "2020-01-01 00:06:07.700000");
  CHECK(rows_after({"2020-01-01 07:03", "2020-01-02 07:08", "2020-01-03 07:05", "2020-01-04 07:01"}, 1) ==
        "2020-01-05 07:00:00");
  CHECK(apart_text({.unit = TimeStep::Unit::microsecond, .count = 60 * one_hour, .jitter = 20 * one_hour}) ==
        "60 hours apart, give or take 20 hours");
}

TEST_CASE("steps of places in a month, and what differs from a step, are said in words") {
  const TimeStep days{.unit = TimeStep::Unit::month,
                      .count = 1,
                      .day = TimeStep::Day::several,
                      .slots = {1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31}};
  CHECK(to_text(days) ==
        "on the 1st, 2nd, 3rd, 4th, 11th, 12th, 13th, 21st, 22nd, 23rd and last of the month");
  const TimeStep quarter{.unit = TimeStep::Unit::month, .count = 3, .of_month = 1};
  const auto at = [](const char* text) { return parse_time(text)->count; };
  CHECK(difference_text(TimeForm::date, at("2020-01-01"), at("2020-07-01"), quarter) == "6 months");
  CHECK(difference_text(TimeForm::date, at("2020-01-01"), at("2021-01-01"), quarter) == "a year");
  Times numbers;
  for (int k = 0; k < 22; ++k) numbers.at.push_back(10 * k + (k > 20));
  CHECK(find_step(TimeForm::number, numbers.at).notes ==
        std::vector<std::string>{"most rows are numbers 10 apart, but not all"});
  // The last Friday, which is the fourth of most months.
  CHECK(rows_after({"2020-02-28", "2020-03-27", "2020-04-24", "2020-05-29"}, 2) == "2020-06-26, 2020-07-31");
}

TEST_CASE("a model's step goes on by the clock of the file") {
  constexpr int64_t hour = 3'600'000'000;
  const TimeStep model{.unit = TimeStep::Unit::business_day, .count = 1};
  TimeStep file = model;
  file.zone = 2 * hour, file.summer = 22 * hour;
  const std::vector<int64_t> at = {parse_time("2020-06-01T22:00Z")->count,
                                   parse_time("2020-06-02T22:00Z")->count};
  const auto step = same_step(TimeForm::date_time, at, model, file);
  REQUIRE(step);
  CHECK((step->zone == 2 * hour && step->summer == 22 * hour));
}

TEST_CASE("a column named as years may have a tenth of other numbers") {
  std::vector<int64_t> years;
  for (int k = 0; k < 20; ++k) years.push_back(2000 + k);
  years[7] = 20077;
  CHECK(form_of_numbers(years, "year", 20) == TimeForm::year);
  years[12] = 20127, years[15] = 20157;
  CHECK(form_of_numbers(years, "year", 20) == TimeForm::number);
}

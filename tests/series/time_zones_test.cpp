// Steps of times that a zone's clock shows: midnight in UTC, summer time, offsets.
#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/split.h"
#include "examples/timeseries/series/time_step.h"
#include "tests/series/steps.h"
#include "tests/support.h"

using namespace unroll;

// In Berlin clocks go from one hour to two ahead of UTC on 2021-03-28 at 01:00 UTC, and back on 2021-10-31 at 01:00 UTC.
TEST_CASE("a zone's midnight in UTC, and clocks that are set forward and back") {
  const std::vector<std::string> midnights = {"2021-03-26T23:00Z", "2021-03-27T23:00Z", "2021-03-28T22:00Z",
                                              "2021-03-29T22:00Z"};
  CHECK(rows_after(midnights, 2) == "2021-03-30 22:00:00Z, 2021-03-31 22:00:00Z");
  CHECK(step_of(midnights) == "a day");
  // The first of each month: midnight of the 1st of April was on the 31st of March at 22:00.
  CHECK(rows_after({"2021-01-31T23:00Z", "2021-02-28T23:00Z", "2021-03-31T22:00Z", "2021-04-30T22:00Z"}, 2) ==
        "2021-05-31 22:00:00Z, 2021-06-30 22:00:00Z");
  // In London, in summer, the day before: the 1st of April began on the 31st of March at 23:00.
  CHECK(rows_after({"2021-02-01T00:00Z", "2021-03-01T00:00Z", "2021-03-31T23:00Z", "2021-04-30T23:00Z"}, 2) ==
        "2021-05-31 23:00:00Z, 2021-06-30 23:00:00Z");
  // In Auckland, in winter, at noon of the day before, which for a Monday is a Sunday.
  std::vector<std::string> working;
  for (const int day : {6, 7, 8, 9, 10, 13, 14, 15, 16, 17})
    working.push_back(fmt::format("2021-06-{:02}T12:00Z", day));
  CHECK(rows_after(working, 2) == "2021-06-20 12:00:00Z, 2021-06-21 12:00:00Z");
  const Series said =
      parse_series("t,x\n2021-03-26 23:00,1\n2021-03-27 23:00,2\n2021-03-28 22:00,3\n", "x.csv");
  REQUIRE(said.notes.size() == 1);
  CHECK(lacks(said.notes[0], {"23:00", "at 22:00", "midnight", "a day apart", "keep to its 22:00"}) == "");

  const auto refusal = [](const std::string& text) {
    return input_error_of([&] { parse_series(text, "x.csv"); });
  };
  const std::string
      spring = "t,x\n2021-03-28 00:00,1\n2021-03-28 01:00,2\n2021-03-28 03:00,3\n2021-03-28 04:00,3\n",
      autumn = "t,x\n2021-10-31 01:00,1\n2021-10-31 02:00,2\n2021-10-31 02:00,3\n";
  CHECK(lacks(refusal(spring),
              {"x.csv:4: a gap of 2 hours", "an hour apart", "clocks are set forward", "offset"}) == "");
  CHECK(
      lacks(refusal(
                "t,x\n2021-03-28T00:00Z,1\n2021-03-28T01:00Z,2\n2021-03-28T03:00Z,3\n2021-03-28T04:00Z,3\n"),
            {"clocks"}) != "");  // UTC has no such gap
  CHECK(lacks(refusal(autumn), {"x.csv:4", "stands there twice", "clocks are set back", "+01:00"}) == "");
  CHECK(lacks(refusal("t,x\n2021-10-31 02:00,1\n2021-10-31 02:30,2\n2021-10-31 02:00,3\n"),
              {"clocks are set back"}) == "");
  // With offsets both are whole.
  const Series whole = parse_series(
      "t,x\n2021-03-28T00:00+01:00,1\n2021-03-28T01:00+01:00,2\n2021-03-28T03:00+02:00,3\n", "x.csv");
  CHECK(whole.times.text(2) == "2021-03-28 03:00:00+02:00");
  CHECK(whole.times.text(3) == "2021-03-28 04:00:00+02:00");
  const Series london = parse_series(
      "t,x\n2021-03-27T23:00+00:00,1\n2021-03-28T00:00+00:00,1\n2021-03-28T02:00+01:00,1\n2021-03-28T03:00+01:00,1\n",
      "x.csv");  // the first have none to speak of
  CHECK(london.times.text(1) == "2021-03-28 00:00:00Z");
  CHECK(london.times.text(2) == "2021-03-28 02:00:00+01:00");
  CHECK(london.times.text(4) == "2021-03-28 04:00:00+01:00");
  CHECK(whole.notes ==
        std::vector<std::string>{"the times have offsets from UTC: rows beyond the last keep its +02:00"});
  const Series twice = parse_series(
      "t,x\n2021-10-31T02:00+02:00,1\n2021-10-31T02:00+01:00,2\n2021-10-31T03:00+01:00,3\n", "x.csv");
  CHECK(twice.times.text(1) == "2021-10-31 02:00:00+01:00");
  CHECK(lacks(refusal("t,x\n2021-10-31T02:00Z,1\n2021-10-31T03:00,2\n"),
              {"x.csv:3", "has no offset from UTC, and the times above it have one"}) == "");
}

TEST_CASE("a row that is put in has the offset of the row before it, and those behind it keep theirs") {
  std::string text = "t,x\n";
  for (const char* time : {"30T22:00+02:00", "30T23:00+02:00", "31T01:00+02:00", "31T02:00+02:00",
                           "31T02:00+01:00", "31T03:00+01:00", "31T04:00+01:00"})
    text += fmt::format("2021-10-{},1\n", time);
  const Series filled = parse_series(text, "x.csv", {.missing = Missing::previous, .gaps = Gaps::fill});
  REQUIRE(filled.rows() == 8);
  CHECK(filled.times.text(2) == "2021-10-31 00:00:00+02:00");
  CHECK(filled.times.text(4) == "2021-10-31 02:00:00+02:00");
  CHECK(filled.times.text(5) == "2021-10-31 02:00:00+01:00");
  // Rows of several series in turn are sorted, with their offsets.
  const Series sorted = parse_series(
      "t,id,x\n2021-10-31T02:00+02:00,a,1\n2021-10-31T02:00+02:00,b,1\n2021-10-31T02:00+01:00,a,1\n"
      "2021-10-31T02:00+01:00,b,1\n2021-10-31T03:00+01:00,a,1\n2021-10-31T03:00+01:00,b,1\n",
      "x.csv", {.id = "id"});
  CHECK(sorted.times.text(1) == "2021-10-31 02:00:00+01:00");
  CHECK(sorted.times.text(3) == "2021-10-31 02:00:00+02:00");
}

// Clocks of Berlin are set on 2021-03-28 and 2021-10-31 at 01:00 UTC. Each hour's value is the hour that its clock shows.
TEST_CASE("a day keeps its hours where clocks are set, if rows that are missing may be put in") {
  for (const bool spring : {true, false}) {
    const int64_t hour = 3'600'000'000,
                  set = parse_time(spring ? "2021-03-28 01:00" : "2021-10-31 01:00")->count;
    std::string text = "t,x\n";
    for (int k = -60; k < 60; ++k) {
      const Time time{.form = TimeForm::date_time,
                      .count = set + k * hour,
                      .utc = true,
                      .offset = (spring == (k >= 0) ? 2 : 1) * hour};
      text += fmt::format("{},{}\n", to_text(time), calendar_of(time).hour);
    }
    const Series series = parse_series(text, "x.csv", {.missing = Missing::interpolate, .gaps = Gaps::fill});
    REQUIRE(series.rows() == (spring ? 121 : 119));
    CHECK(series.times.text(0) == (spring ? "2021-03-25 14:00:00" : "2021-10-28 15:00:00"));
    for (int64_t row = 0; row < series.rows(); ++row)
      CHECK(series.at(row, 0) == (row + (spring ? 14 : 15)) % 24);
    CHECK(series.notes.front().ends_with(spring ? "so that days keep their hours"
                                                : "; 1 rows of an hour that comes twice are left out"));
    CHECK(parse_series(text, "x.csv").times.offsets.size() == 120);
  }
}

// A logger's stamps are 1 s late each time, or early, give or take 1 s. Each row's value is the hour that its stamp shows.
TEST_CASE("a day keeps its rows where stamps drift, if rows that are missing may be put in") {
  for (const int64_t off : {1, -1}) {
    const int64_t second = 1'000'000, first = parse_time("2026-03-02 00:05:07")->count;
    std::string text = "t,x\n";
    for (int64_t k = 0, at = first; k < 7000; ++k, at += (600 + off + (k % 3 - 1)) * second)
      text += fmt::format("{},{}\n", to_text({.form = TimeForm::date_time, .count = at}),
                          at / (3600 * second) % 24);
    const Series series = parse_series(text, "x.csv", {.missing = Missing::interpolate, .gaps = Gaps::fill});
    // 7,000 s are 11.7 steps. The row that passes half a step, or three quarters, is the first of each.
    REQUIRE(series.rows() == (off == 1 ? 7012 : 6989));
    CHECK(series.times.step == TimeStep{.unit = TimeStep::Unit::microsecond, .count = 600 * second});
    CHECK(series.times.text(144) == "2026-03-03 00:05:07");
    CHECK(series.times.text(7020) == "2026-04-19 18:05:07");
    // Rows at 05:07 may be 307 s or more early: 143 of 600 are, or none.
    int64_t other = 0;
    for (int64_t row = 0; row < series.rows(); ++row)
      other += !series.is_filled(row, 0) && series.at(row, 0) != series.times.calendar(row).hour;
    CHECK(other <= series.rows() / 20);
    CHECK(lacks(series.notes.front(),
                {"at the nearest 10 minutes", off == 1 ? "; 0 are left out" : "; 11 are left out"}) == "");
    CHECK(parse_series(text, "x.csv").times.step.jitter == second);
  }
}

// Monday 2020-03-23 to Friday 2020-04-03 in Berlin, whose clocks are set forward on Sunday the 29th; in New York and Tokyo without
// a change; and month ends.
TEST_CASE("days of business and of the month are told by the clock of the offset that is written") {
  const auto midnights = [](const std::vector<std::string>& days, const std::string& winter,
                            const std::string& summer, const std::string& from) {
    std::vector<std::string> times;
    for (const std::string& day : days) times.push_back(day + "T00:00" + (day < from ? winter : summer));
    return times;
  };
  const std::vector<std::string> weeks = {"2020-03-23", "2020-03-24", "2020-03-25", "2020-03-26",
                                          "2020-03-27", "2020-03-30", "2020-03-31", "2020-04-01",
                                          "2020-04-02", "2020-04-03"};
  const auto berlin = midnights(weeks, "+01:00", "+02:00", "2020-03-29");
  CHECK(step_of(berlin) == "a business day");
  // Monday's and Tuesday's midnight.
  CHECK(rows_after(berlin, 2) == "2020-04-06 00:00:00+02:00, 2020-04-07 00:00:00+02:00");
  CHECK(rows_after(midnights(weeks, "+09:00", "", "x"), 1) == "2020-04-06 00:00:00+09:00");
  CHECK(rows_after(midnights(weeks, "-04:00", "", "x"), 1) == "2020-04-06 00:00:00-04:00");
  const std::vector<std::string> ends = {"2020-01-31", "2020-02-29", "2020-03-31", "2020-04-30"};
  CHECK(step_of(midnights(ends, "+01:00", "+02:00", "2020-03-29")) == "a month");
  CHECK(rows_after(midnights(ends, "+01:00", "+02:00", "2020-03-29"), 2) ==
        "2020-05-31 00:00:00+02:00, 2020-06-30 00:00:00+02:00");
  CHECK(rows_after({"2021-03-01T00:00+01:00", "2021-04-01T00:00+02:00"}, 1) == "2021-05-01 00:00:00+02:00");
  // The clock that is written stands at midnight alone: what it is in UTC needs no word.
  std::string days = "t,x\n";
  for (const char* day : {"27", "28"}) days += fmt::format("2021-03-{}T00:00+01:00,1\n", day);
  for (const char* day : {"29", "30"}) days += fmt::format("2021-03-{}T00:00+02:00,1\n", day);
  for (const std::string& note : parse_series(days, "x.csv").notes)
    CHECK_MESSAGE(note.find("rows stand at") == std::string::npos, note);
  // An offset that is another each day is no zone's.
  CHECK(step_of({"2020-01-02T00:00+01:00", "2020-01-03T00:00+03:00", "2020-01-04T00:00+05:00"}) ==
        "22 hours");
  // A holiday is a gap of a business day.
  auto holiday = berlin;
  holiday.erase(holiday.begin() + 7);
  std::string text = "t,x\n";
  for (const std::string& time : holiday) text += time + ",1\n";
  CHECK(lacks(input_error_of([&] { parse_series(text, "x.csv"); }),
              {"x.csv:9: a gap of a business day after 2020-03-31 00:00:00+02:00", "a business day apart"}) ==
        "");
}

TEST_CASE(
    "days of business and of the month by a zone's midnight without its offset are a guess, and that is said") {
  const auto series_of = [](const std::vector<std::string>& times) {
    std::string text = "t,x\n";
    for (const std::string& time : times) text += time + ",1\n";
    return parse_series(text, "x.csv");
  };
  // Monday the 6th to Wednesday the 15th of January 2020 in Berlin.
  const Series days =
      series_of({"2020-01-05T23:00Z", "2020-01-06T23:00Z", "2020-01-07T23:00Z", "2020-01-08T23:00Z",
                 "2020-01-09T23:00Z", "2020-01-12T23:00Z", "2020-01-13T23:00Z", "2020-01-14T23:00Z"});
  CHECK(to_text(days.times.step) == "a business day");
  CHECK(days.times.text(8) == "2020-01-15 23:00:00Z");
  CHECK(days.times.text(10) == "2020-01-19 23:00:00Z");
  CHECK(
      days.notes ==
      std::vector<std::string>{
          "rows stand at 23:00: taken for midnight in a zone 01:00 ahead of UTC, by whose calendar they are a business "
          "day apart; times with their offset (2020-01-06T00:00+01:00) would say so"});
  const Series ends = series_of({"2021-01-30 18:30", "2021-02-27 18:30", "2021-03-30 18:30"});  // in India
  CHECK(ends.times.text(3) == "2021-04-29 18:30:00");
  REQUIRE(ends.notes.size() == 1);
  CHECK(lacks(ends.notes[0], {"18:30", "05:30 ahead of UTC", "a month apart"}) == "");
  // In summer too: month ends in Berlin.
  const Series both =
      series_of({"2021-01-30T23:00Z", "2021-02-27T23:00Z", "2021-03-30T22:00Z", "2021-04-29T22:00Z"});
  CHECK(both.times.text(4) == "2021-05-30 22:00:00Z");
  CHECK(both.notes.size() == 2);
  // No note if no zone makes working days of them.
  CHECK(series_of({"2020-01-05T23:00Z", "2020-01-06T23:00Z", "2020-01-07T23:00Z"}).notes.empty());
}

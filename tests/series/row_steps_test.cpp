// The step between the rows of each series: of several in one file, and over rows that a file lacks.
#include <fmt/format.h>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/series_rows.h"
#include "tests/support.h"

using namespace unroll;

namespace {

const int64_t monday = *date_of(2024, 1, 1);  // the first of a month, too
std::string date(int64_t day) { return to_text({.form = TimeForm::date, .count = monday + day * one_day}); }
int weekday(int64_t day) { return static_cast<int>(day % 7); }
int day_of_month(int64_t day) { return month_day(monday + day * one_day).day; }

// Rows of series `id` on the days that `has` names.
template <class Has>
std::string rows_of(const std::string& id, int days, const Has& has) {
  std::string csv;
  for (int day = 0; day < days; ++day)
    if (has(day)) csv += fmt::format("{},{},{}\n", id, date(day), day);
  return csv;
}
Series parse(const std::string& csv, SeriesOptions options = {}) {
  options.id = "id";
  return parse_series("id,date,x\n" + csv, "x.csv", options);
}
const SeriesOptions fill{.missing = Missing::previous, .gaps = Gaps::fill};

// The step of a series, and its first row beyond the last.
std::string next_of(const Series& series, int member) {
  const Series one = series.alone(member);
  return to_text(series.step_of(member)) + ": " + one.times.text(one.rows());
}

const auto each_day = [](int) { return true; };
const auto on_5th = [](int day) { return day_of_month(day) == 5; };
const auto on_20th = [](int day) { return day_of_month(day) == 20; };
const auto at_work = [](int day) { return weekday(day) < 5; };
const auto on_sunday = [](int day) { return weekday(day) == 6; };
// Days of no rule: squares.
const auto at_times = [](int day) {
  int root = 0;
  while (root * root < day) ++root;
  return root * root == day;
};

}  // namespace

TEST_CASE("of several series each goes on by the step that its own rows keep to") {
  for (const Gaps gaps : {Gaps::error, Gaps::allow, Gaps::fill}) {
    const SeriesOptions options{.missing = Missing::previous, .gaps = gaps};
    const Series series = parse(rows_of("pay", 300, on_5th) + rows_of("shop", 300, each_day) +
                                    rows_of("work", 300, at_work) + rows_of("week", 300, on_sunday),
                                options);
    CHECK(to_text(series.times.step) == "a day");
    CHECK(next_of(series, 0) == "a month: 2024-11-05");
    CHECK(next_of(series, 1) == "a day: 2024-10-27");
    CHECK(next_of(series, 2) == "a business day: 2024-10-28");
    CHECK(next_of(series, 3) == "a week: 2024-10-27");
    CHECK(series.added_rows == 0);
  }
  // Ten of days, of whose rows those that a month's would lack were few.
  std::string many;
  for (int k = 0; k < 10; ++k) many += rows_of(fmt::format("s{}", k), 300, each_day);
  const Series diluted = parse(many + rows_of("pay", 300, on_5th), fill);
  CHECK(diluted.added_rows == 0);
  CHECK(next_of(diluted, 10) == "a month: 2024-11-05");
  // Months on two days; also if no row means 0.
  SeriesOptions zero = fill;
  zero.missing = Missing::zero;
  for (const SeriesOptions& options : {SeriesOptions(), fill, zero}) {
    const Series months = parse(rows_of("a", 700, on_5th) + rows_of("b", 700, on_20th), options);
    CHECK(next_of(months, 0) == "a month: 2025-12-05");
    CHECK(next_of(months, 1) == "a month: 2025-12-20");
  }
  // A few rows of another series' step, or with a gap, are a gap of the common one.
  const std::string some = rows_of("b", 40, [](int day) { return day < 20 || day > 22; });
  CHECK(parse(rows_of("a", 40, each_day) + some, fill).added_rows == 3);
  CHECK(lacks(input_error_of([&] { parse(rows_of("a", 40, each_day) + some); }),
              {"x.csv:62: a gap of 4 days after 2024-01-20, where rows of 'b' are a day apart"}) == "");
}

TEST_CASE("series that keep to no step are left out where gaps are filled, and named") {
  const std::string pay = rows_of("pay", 700, on_5th), events = rows_of("events", 700, at_times);
  const std::string more = rows_of("more", 700, [](int day) { return at_times(day + 3); });
  const Series series = parse(events + pay + more, fill);
  REQUIRE(series.count() == 1);
  CHECK(series.name_of(0) == "pay");
  CHECK(series.left_out == 52);  // rows: 27 and 25
  // A model reads the file as training did.
  SeriesOptions of_model = fill;
  of_model.model = "m.safetensors", of_model.usual_time = "date", of_model.step = series.times.step;
  const Series again = parse(events + pay + more, of_model);
  REQUIRE(again.count() == 1);
  CHECK(again.name_of(0) == "pay");
  CHECK(again.left_out == 52);
  CHECK(next_of(series, 0) == "a month: 2025-12-05");
  CHECK(series.at(0, 0) == 4);
  CHECK(series.at(series.rows() - 1, 0) == 674);  // 5 November 2025
  CHECK(lacks(series.notes.back(),
              {"2 of 3 series left out", "'events', 'more'", "week or month", "their sum"}) == "");
  CHECK(lacks(input_error_of([&] { parse(pay + events); }), {"where rows of 'events' are"}) == "");
  CHECK(lacks(input_error_of([&] { parse(events + more, fill); }), {"keep to no rule"}) == "");
}

TEST_CASE("where no row means 0, series of places in a week and of months are read by days") {
  SeriesOptions zero = fill;
  zero.missing = Missing::zero;
  const auto shopping = [](int day) { return weekday(day) == 2 || weekday(day) == 5; };
  const Series series = parse(rows_of("shop", 300, shopping) + rows_of("pay", 300, on_5th), zero);
  CHECK(to_text(series.times.step) == "a day");
  REQUIRE(series.end_of(1) - series.begin_of(1) == 275);  // from 5 January to 5 October
  for (int64_t row = 0; row < 275; ++row) {
    const int64_t day = 4 + row;
    CHECK(series.at(series.begin_of(1) + row, 0) == (on_5th(static_cast<int>(day)) ? day : 0));
  }
  CHECK(series.filled.empty());
  // Rows that keep to the places are read by them.
  CHECK(to_text(parse(rows_of("shop", 300, shopping), zero).times.step) == "on Wednesday and Saturday");
}

TEST_CASE("holidays of a day and of weeks are put in, so that each row keeps its place in the week") {
  // School days: two weeks, a Monday and six weeks are free.
  const auto at_school = [](int day) {
    return weekday(day) < 5 && !(42 <= day && day < 56) && day != 91 && !(140 <= day && day < 182);
  };
  std::string csv = "date,x\n";
  int64_t rows = 0;
  for (int day = 0; day < 224; ++day)
    if (at_school(day)) csv += fmt::format("{},{}\n", date(day), weekday(day)), ++rows;
  const Series series = parse_series(csv, "x.csv", fill);
  REQUIRE(rows == 119);
  REQUIRE(series.rows() == 160);
  CHECK(series.added_rows == 41);
  for (int64_t row = 0; row < 160; ++row) {
    const int64_t day = row / 5 * 7 + row % 5;
    CHECK(series.times.text(row) == date(day));
    CHECK(series.is_filled(row, 0) == !at_school(static_cast<int>(day)));
    if (!series.is_filled(row, 0)) CHECK(series.at(row, 0) == static_cast<double>(row % 5));
  }
  CHECK(lacks(input_error_of([&] { parse_series(csv, "x.csv"); }),
              {"x.csv:32: a gap of 10 business days after 2024-02-09", "\"fill\" puts rows in"}) == "");
  // Not if more rows are missing than there are: the message says so.
  std::string short_terms = "date,x\n";
  for (int day = 0; day < 224; ++day)
    if (weekday(day) < 5 && (day < 42 || day >= 140)) short_terms += date(day) + ",1\n";
  CHECK(parse_series(short_terms, "x.csv", fill).added_rows == 70);
  std::string holidays = "date,x\n";
  for (int day = 0; day < 224; ++day)
    if (weekday(day) < 5 && (day < 42 || day >= 182)) holidays += date(day) + ",1\n";
  CHECK(lacks(input_error_of([&] { parse_series(holidays, "x.csv", fill); }),
              {"a gap of 100 business days",
               "data.gaps = \"allow\" takes the rows as they come; \"fill\" puts rows in if",
               "fewer rows than there are"}) == "");
}

TEST_CASE("rows between the places of a step are said to be near, not a gap of 0 rows") {
  const auto shopping = [](int day) { return weekday(day) == 2 || weekday(day) == 5; };
  const auto also = [&](int day) { return shopping(day) || day == 73; };
  CHECK(lacks(input_error_of([&] { parse(rows_of("a", 280, shopping) + rows_of("b", 140, also)); }),
              {"a day after 2024-03-13, where rows of 'b' are on Wednesday and Saturday"}) == "");
}

TEST_CASE("rows without a value are left out if those with one keep to a step of their own") {
  std::string csv = "date,rent\n", random = csv;
  for (int day = 0; day < 300; ++day) {
    csv += date(day) + (on_5th(day) ? fmt::format(",{}\n", day) : ",\n");
    random += date(day) + (day == 0 || at_times(day) ? ",1\n" : ",\n");
  }
  for (const Missing missing : {Missing::previous, Missing::mask}) {
    const Series series = parse_series(csv, "x.csv", {.missing = missing});
    CHECK(series.rows() == 10);
    CHECK(series.at(0, 0) == 4);
    CHECK(series.filled.empty());
    CHECK(series.times.text(10) == "2024-11-05");
    CHECK(lacks(series.notes.at(0), {"rows without a value are left out", "the 10 with one"}) == "");
  }
  CHECK(parse_series(csv, "x.csv", {.missing = Missing::zero}).rows() == 300);
  CHECK(parse_series(random, "x.csv", {.missing = Missing::previous}).rows() == 300);
}

TEST_CASE("stamps that drift are read by the steps of a day in each series, and by a model as by training") {
  // 'a' is 600.6 s apart, 'b' begins 5 minutes later, and 'c' has exact hours.
  constexpr int64_t second = 1'000'000;
  std::string csv = "id,t,x\n";
  const auto add = [&](const char* id, int rows, int64_t from, int64_t tenths) {
    for (int64_t k = 0; k < rows; ++k)
      csv += fmt::format("{},{},1\n", id,
                         to_text({.form = TimeForm::date_time,
                                  .count = monday + from * second +
                                           (tenths * k / 10 + (tenths % 10 > 0) * (k % 3)) * second}));
  };
  add("a", 7000, 0, 6006), add("b", 7000, 300, 6006), add("c", 1000, 0, 36000);
  SeriesOptions options = fill, of_model = fill;
  options.id = of_model.id = "id";
  const Series series = parse_series(csv, "x.csv", options);
  const TimeStep ten{.unit = TimeStep::Unit::microsecond, .count = 600 * second};
  CHECK(series.times.step == ten);
  for (const int member : {0, 1}) {
    CHECK(series.end_of(member) - series.begin_of(member) == 7007);  // 4,200 s are 7 steps
    for (int64_t row = series.begin_of(member); row < series.end_of(member); ++row)
      REQUIRE((series.times.at[row] - monday) % (600 * second) == member * 300 * second);
  }
  CHECK(to_text(series.step_of(2)) == "an hour");
  CHECK(series.times.text(series.begin_of(2) + 999) == "2024-02-11 15:00:00");
  // The model's step of a day's part, and one that is none.
  const std::string alone = csv.substr(0, csv.find("b,"));
  of_model.model = "m.safetensors", of_model.usual_time = "t", of_model.step = ten;
  const Series by_model = parse_series(alone, "x.csv", of_model);
  CHECK(by_model.times.at == series.alone(0).times.at);
  CHECK(lacks(fmt::format("{}", fmt::join(by_model.notes, "; ")),
              {"each is read at the nearest 10 minutes"}) == "");
  of_model.step = TimeStep{.unit = ten.unit, .count = 601 * second, .jitter = 2 * second};
  CHECK(parse_series(alone, "x.csv", of_model).times.step == *of_model.step);
}

TEST_CASE("over a change of clocks hours of business lack only the row that is not there") {
  std::string csv = "t,x\n";
  for (int day = 60; day < 160; ++day)  // summer time from 31 March 2024
    for (int hour = 9; hour < 18; ++hour)
      if (day != 100 || hour != 12)
        csv += fmt::format("{}T{:02}:00{},{}\n", date(day), hour, day < 90 ? "+01:00" : "+02:00", hour);
  const Series series = parse_series(csv, "x.csv", fill);
  CHECK(series.added_rows == 1);
  REQUIRE(series.rows() == 900);
  for (int64_t row = 0; row < 900; ++row)
    CHECK(series.times.text(row) ==
          fmt::format("{} {:02}:00:00{}", date(60 + row / 9), 9 + row % 9, row < 270 ? "+01:00" : "+02:00"));
}

TEST_CASE("a note names the last row if its day or months are not over") {
  const auto notes = [](const std::string& rows, const std::string& now, const std::string& id = "") {
    Series series =
        parse_series((id.empty() ? "t,x\n" : "id,t,x\n") + rows, "x.csv", {.time = "t", .id = id});
    series.notes.clear();
    note_unfinished(series, parse_time(now)->count);
    return series.notes.empty() ? "" : series.notes.front();
  };
  // Rows, the first and the last moment at which the last one is not over, and one at which it is.
  const std::vector<std::array<std::string, 4>> all = {
      {"2024-01,1\n2024-02,1\n2024-03,1\n", "2024-03-01", "2024-03-31 23:59", "2024-04-01"},
      {"2024-01-01,1\n2024-02-01,1\n2024-03-01,1\n", "2024-03-01", "2024-03-31 23:59", "2024-04-01"},
      {"2024-01-31,1\n2024-02-29,1\n2024-03-31,1\n", "2024-03-01", "2024-03-31 23:59", "2024-04-01"},
      {"2024-Q1,1\n2024-Q2,1\n2024-Q3,1\n", "2024-07-01", "2024-09-30", "2024-10-01"},
      {"2022,1\n2023,1\n2024,1\n", "2024-01-01", "2024-12-31", "2025-01-01"},
      {"2024-03-01,1\n2024-03-02,1\n2024-03-03,1\n", "2024-03-03", "2024-03-03 23:59", "2024-03-04"},
      {"2024-03-03,1\n2024-03-10,1\n2024-03-17,1\n", "2024-03-11", "2024-03-17 23:59", "2024-03-18"},
      {"2024-03-01T00:00+02:00,1\n2024-03-02T00:00+02:00,1\n2024-03-03T00:00+02:00,1\n", "2024-03-03",
       "2024-03-03 23:59", "2024-03-04"}};
  for (const auto& [rows, first, last, after] : all) {
    CAPTURE(rows);
    for (const std::string& now : {first, last})
      CHECK(lacks(notes(rows, now), {"the last row (", "line 4) is of a time that is not over"}) == "");
    CHECK(notes(rows, after) == "");
    CHECK(notes(rows, "2001-01-01") == "");  // all are to come
  }
  CHECK(notes("2024-03-01 22:00,1\n2024-03-01 23:00,1\n2024-03-02 00:00,1\n", "2024-03-02 01:00") == "");
  CHECK(notes("1,1\n2,1\n3,1\n", "2024-03-02") == "");
  CHECK(lacks(notes("a,2024-02,1\na,2024-03,1\nb,2024-01,1\nb,2024-02,1\n", "2024-03-15", "id"),
              {"the last row of 'a' (2024-03, line 3)"}) == "");
}

TEST_CASE("where no row means 0, months on a day of their own have the common number of months") {
  SeriesOptions zero = fill;
  zero.missing = Missing::zero;
  const auto every_other = [](int day) {
    return on_20th(day) && month_day(monday + day * one_day).month % 2 == 0;
  };
  const Series series = parse(rows_of("a", 700, on_5th) + rows_of("b", 700, every_other), zero);
  CHECK(next_of(series, 0) == "a month: 2025-12-05");
  CHECK(series.end_of(1) - series.begin_of(1) == 23);  // from January to November of the next year
  CHECK(next_of(series, 1) == "a month: 2025-12-20");
}

TEST_CASE("rows that are taken as they come have their own step, even of no rule") {
  const Series series = parse(rows_of("shop", 300, each_day) + rows_of("events", 300, at_times),
                              {.missing = Missing::previous, .gaps = Gaps::allow});
  CHECK(series.step_of(1) != series.times.step);
}

TEST_CASE("a note says where the first row was put in, whichever row the file has first") {
  std::vector<std::string> lines;
  for (int day = 0; day < 30; ++day)
    if (day != 9) lines.push_back(fmt::format("{},{}\n", date(day), day + 1));
  for (const bool newest_first : {false, true}) {
    if (newest_first) std::ranges::reverse(lines);
    const Series series = parse_series(fmt::format("date,x\n{}", fmt::join(lines, "")), "x.csv", fill);
    CHECK(series.added_rows == 1);
    const std::string notes = fmt::format("{}", fmt::join(series.notes, "; "));
    CHECK(lacks(notes, {newest_first ? "the first above line 22;" : "the first above line 11;",
                        newest_first ? "the first above line 22" : "the first after line 10"}) == "");
  }
}

TEST_CASE(
    "zeros at the end are said with their lines, whichever row the file has first, and not of a label") {
  std::vector<std::string> lines;
  for (int day = 0; day < 20; ++day)
    lines.push_back(fmt::format("{},{},{}\n", date(day), day < 17 ? 5 : 0, day < 9 ? 1 : 0));
  for (const bool newest_first : {false, true}) {
    if (newest_first) std::ranges::reverse(lines);
    Series series =
        parse_series(fmt::format("date,x,on\n{}", fmt::join(lines, "")), "x.csv", {.label = "on"});
    series.notes.clear();
    note_zeros_at_end(series);
    REQUIRE(series.notes.size() == 1);
    CHECK(lacks(series.notes[0],
                {"'x' is 0 in its last 3 rows", newest_first ? "lines 2 to 4," : "lines 19 to 21,"}) == "");
    for (int64_t row = 0; row < 20; ++row) series.values[static_cast<size_t>(2 * row)] = 5;
    series.notes.clear();
    note_zeros_at_end(series);
    CHECK(series.notes.empty());
  }
}

TEST_CASE("what is missing may be 0 where no value lies below it") {
  for (const int least : {1, -1}) {
    std::string csv = "date,x\n";
    for (int day = 0; day < 30; ++day)
      csv += fmt::format("{},{}\n", date(day), day % 3 == 1 ? "" : std::to_string(day ? 9 : least));
    const std::string notes = fmt::format("{}", fmt::join(parse_series(csv, "x.csv", fill).notes, "; "));
    CHECK((notes.find("if what is not there means 0") != notes.npos) == (least > 0));
  }
}

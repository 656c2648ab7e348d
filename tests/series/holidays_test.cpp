// Holidays of a file, and how they become a channel.
#include "examples/timeseries/series/holidays.h"

#include "data/text_file.h"
#include "examples/timeseries/series/calendar.h"
#include "tests/folder.h"
#include "tests/support.h"

using namespace unroll;

namespace {

// Germany's of 2022 from Christmas on, and of 2023; Christmas and New Year of other countries are among them.
const std::string german =
    "2022-12-25\n2022-12-26\n2023-01-01\n2023-04-07\n2023-04-10\n2023-05-01\n2023-05-18\n2023-05-29\n2023-10-03\n"
    "2023-12-25\n2023-12-26\n2024-01-01\n";
void add_days(Series& series, const std::string& text = german) {
  add_holidays(series, holidays_in(text, "off.csv"), "off.csv");
}

Series series_of(const std::vector<std::string>& times) {
  std::string csv = "t,y\n";
  for (const std::string& time : times) csv += time + ",1\n";
  return parse_series(csv, "x.csv");
}
std::vector<double> marked(const std::vector<std::string>& times, const std::string& text = german) {
  Series series = series_of(times);
  add_days(series, text);
  std::vector<double> values;
  for (int64_t row = 0; row < series.rows(); ++row) values.push_back(series.at(row, 1));
  return values;
}

}  // namespace

TEST_CASE("rows are marked by their day, longer steps by how many working days they lose") {
  CHECK(marked({"2023-12-24", "2023-12-25", "2023-12-26", "2023-12-27"}) == std::vector<double>{0, 1, 1, 0});
  CHECK(marked({"2023-12-31 22:00", "2023-12-31 23:00", "2024-01-01 00:00", "2024-01-01 01:00"}) ==
        std::vector<double>{0, 0, 1, 1});
  CHECK(marked({"2023-12-22", "2023-12-25", "2023-12-26", "2023-12-27"}) == std::vector<double>{0, 1, 1, 0});
  // Weeks that begin on Monday: in the week of Christmas 2022 only the Monday is off work; the Sunday before never
  // was a working day.
  CHECK(marked({"2022-12-12", "2022-12-19", "2022-12-26"}) == std::vector<double>{0, 0, 1});
  CHECK(marked({"2023-04", "2023-05", "2023-06"}) == std::vector<double>{2, 3, 0});
  Series series = series_of({"2023-04", "2023-05"});
  add_days(series);
  CHECK(series.channels == std::vector<std::string>{"y", "holiday"});
  CHECK(series.calendar == 1);
}

TEST_CASE("a file loses none of its dates, and what is no date is said") {
  CHECK(marked({"2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02"},
               "day,why\n2024-02-29,stocktaking\n\n\"2024-03-01\"\r\n") == std::vector<double>{0, 1, 1, 0});
  const std::vector<std::string> days = {"2022-12-24", "2022-12-25", "2022-12-26"};
  const Folder folder;
  const std::string marks = folder.write("mark.csv",
                                         "\xef\xbb\xbf"
                                         "2022-12-25\r\n2022-12-26\r\n");
  CHECK(marked(days, read_file(marks)) == std::vector<double>{0, 1, 1});
  CHECK(marked(days, "day;why\n2022-12-25 00:00:00;Christmas\n") == std::vector<double>{0, 1, 0});
  const auto error = [&](const std::string& text) { return input_error_of([&] { marked(days, text); }); };
  for (const std::string first : {"2022-25-12", "2022-02-30", "25.12.2022", "44920", "2024-02"})
    CHECK(lacks(error(first + "\n2022-12-26\n"), {"off.csv:1: '" + first + "' is not a date"}) == "");
  CHECK(lacks(error("2024-02-29\nsoon\n"), {"off.csv:2: 'soon' is not a date"}) == "");
  CHECK(lacks(error("day\n"), {"off.csv: there is no date in it"}) == "");
  CHECK(lacks(error("2021-12-25\n2021-12-26\n"),
              {"off.csv: none of its 2 dates (2021-12-25 to 2021-12-26)", "2022-12-24 to 2022-12-26"}) == "");
  Series numbered = make_series({"y"}, {1, 2});
  CHECK(lacks(input_error_of([&] { add_days(numbered); }), {"no dates to find holidays by"}) == "");
}

TEST_CASE("a year without a date and a series without a holiday are said") {
  Series next = series_of({"2022-12-31", "2023-01-01"});
  add_days(next, "2022-12-31\n");
  REQUIRE(next.notes.size() == 1);
  CHECK(lacks(next.notes[0], {"off.csv has no date of 2023"}) == "");
  Series none = series_of({"2022-12-01", "2022-12-02"});
  add_days(none);
  REQUIRE(none.notes.size() == 1);
  CHECK(lacks(none.notes[0], {"none of x.csv's rows", "is a holiday of off.csv"}) == "");
}

// Germany's from Monday to Friday: in 2023 the 7th and 10th of April, the 1st, 18th and 29th of May, none in June.
TEST_CASE("rows at the end of their month or week count the holidays before them") {
  CHECK(marked({"2023-03-31", "2023-04-30", "2023-05-31", "2023-06-30"}) == std::vector<double>{0, 2, 3, 0});
  CHECK(marked({"2023-03-31", "2023-04-28", "2023-05-31", "2023-06-30"}) ==  // business days
        std::vector<double>{0, 2, 3, 0});
  CHECK(marked({"2023-04-01", "2023-05-01", "2023-06-01"}) == std::vector<double>{2, 3, 0});
  CHECK(marked({"2023-04-02", "2023-04-09", "2023-04-16"}) == std::vector<double>{0, 1, 1});  // Sundays
  CHECK(marked({"2023-04-03", "2023-04-10", "2023-04-17"}) == std::vector<double>{1, 1, 0});  // Mondays
  Series series = series_of({"2023-04-02", "2023-04-09"});
  add_days(series);
  REQUIRE(series.notes.size() == 1);
  CHECK(lacks(series.notes[0], {"at the end of their week", "2023-04-02", "from 2023-03-27 to 2023-04-02"}) ==
        "");
}

TEST_CASE("a holiday is the day of the clock that the file shows") {
  CHECK(marked({"2023-12-24T23:00+01:00", "2023-12-25T00:00+01:00", "2023-12-25T01:00+01:00"}) ==
        std::vector<double>{0, 1, 1});
  CHECK(marked({"2023-12-24T23:00-08:00", "2023-12-25T00:00-08:00"}) == std::vector<double>{0, 1});
  for (const char* offset : {"+01:00", "-08:00", "+05:30"}) {  // business days, and weeks
    std::vector<std::string> days, weeks;
    for (const int day : {20, 21, 22, 25, 26, 27})
      days.push_back(fmt::format("2023-12-{}T00:00{}", day, offset));
    for (const int day : {11, 18, 25}) weeks.push_back(fmt::format("2023-12-{}T00:00{}", day, offset));
    CAPTURE(offset);
    CHECK(marked(days) == std::vector<double>{0, 0, 0, 1, 1, 0});
    CHECK(marked(weeks) == std::vector<double>{0, 0, 2});
  }
  // Midnights of Berlin in UTC, across the change of clocks; the 7th of April 2023 is Good Friday.
  CHECK(marked({"2023-03-24T23:00Z", "2023-03-25T23:00Z", "2023-03-26T22:00Z"}) ==
        std::vector<double>{0, 0, 0});
  CHECK(marked({"2023-03-25T23:00Z", "2023-04-05T22:00Z", "2023-04-16T22:00Z"}) ==
        std::vector<double>{0, 2, 0});
  Series hours = series_of({"2023-12-25T22:00+01:00", "2023-12-25T23:00+01:00", "2023-12-26T00:00+01:00"});
  add_calendar(hours, {"hour"});
  CHECK(hours.at(2, 1) == 0);  // sine of midnight
  CHECK(hours.at(2, 2) == 1);
}

// Public holidays by rules, beside those that the package `holidays` records; and days of a file.
#include "examples/timeseries/series/holidays.h"

#include "examples/timeseries/series/calendar.h"
#include "tests/folder.h"
#include "tests/reference.h"

using namespace unroll;

namespace {

std::string text_of(std::string_view country, int year) {
  std::string text;
  for (const int64_t day : holidays_of(country, year)) {
    const MonthDay at = month_day(day);
    text += fmt::format("{}{:02}{:02}", text.empty() ? "" : " ", at.month % 12 + 1, at.day);
  }
  return text;
}

Series series_of(const std::vector<std::string>& times) {
  std::string csv = "t,y\n";
  for (const std::string& time : times) csv += time + ",1\n";
  return parse_series(csv, "x.csv");
}
std::vector<double> marked(const std::vector<std::string>& times, const std::string& holidays) {
  Series series = series_of(times);
  add_holidays(series, holidays);
  std::vector<double> values;
  for (int64_t row = 0; row < series.rows(); ++row) values.push_back(series.at(row, 1));
  return values;
}

}  // namespace

TEST_CASE("the holidays of each country from 2000 to 2030 are those that the package records") {
  const Json& recorded = reference("holidays.json");
  CHECK(recorded.size() == holiday_countries().size());
  for (const std::string& country : holiday_countries())
    for (int year = 2000; year <= 2030; ++year) {
      CAPTURE(country);
      CAPTURE(year);
      CHECK(text_of(country, year) == recorded[country][std::to_string(year)].get<std::string>());
    }
}

TEST_CASE("Easter lies between the 22nd of March and the 25th of April") {
  CHECK(easter_of(1818) == days_of(1818, 3, 22));
  CHECK(easter_of(2038) == days_of(2038, 4, 25));
  CHECK(easter_of(2000) == days_of(2000, 4, 23));
  for (int year = 1900; year < 2200; ++year) CHECK(weekday_of(easter_of(year)) == 6);
}

TEST_CASE("rows are marked by their day, longer steps by how many working days they lose") {
  CHECK(marked({"2023-12-24", "2023-12-25", "2023-12-26", "2023-12-27"}, "DE") ==
        std::vector<double>{0, 1, 1, 0});
  CHECK(marked({"2023-12-31 22:00", "2023-12-31 23:00", "2024-01-01 00:00", "2024-01-01 01:00"}, "US") ==
        std::vector<double>{0, 0, 1, 1});
  CHECK(marked({"2023-12-22", "2023-12-25", "2023-12-26", "2023-12-27"}, "GB") ==
        std::vector<double>{0, 1, 1, 0});
  // Weeks that begin on Monday: in the week of Christmas 2022 only the Monday is off work; the Sunday before never
  // was a working day.
  CHECK(marked({"2022-12-12", "2022-12-19", "2022-12-26"}, "AT") == std::vector<double>{0, 0, 1});
  CHECK(marked({"2023-04", "2023-05", "2023-06"}, "DE") == std::vector<double>{2, 3, 0});
  Series series = series_of({"2023-04", "2023-05"});
  add_holidays(series, "DE");
  CHECK(series.channels == std::vector<std::string>{"y", "holiday"});
  CHECK(series.calendar == 1);
}

TEST_CASE("holidays of any number of days are as many as day by day, whatever was counted before") {
  const Folder folder;
  const std::string file = folder.write("closed.csv", "2021-12-31\n2022-01-01\n2022-01-03\n");
  for (const std::string& which : {std::string("US"), std::string("GB"), file}) {
    const Holidays holidays(which), alone(which);
    for (const auto& [from, to] : std::vector<std::pair<int, int>>{
             {2021, 2023}, {2022, 2022}, {2023, 2026}, {2019, 2020}, {1999, 2024}, {2030, 2031}}) {
      const int64_t begin = days_of(from, 6, 1), end = days_of(to, 7, 5);
      int64_t count = 0;
      for (int64_t day = begin; day < end; ++day) count += weekday_of(day) < 5 && alone.has(day);
      CHECK(holidays.working_days_in(begin, end) == count);
    }
    CHECK(holidays.working_days_in(days_of(2022, 1, 3), days_of(2022, 1, 3)) == 0);
  }
}

TEST_CASE("a file lists days; what is no date, and what is no country, is said") {
  const Folder folder;
  const std::string file =
      folder.write("closed.csv", "day,why\n2024-02-29,stocktaking\n\n\"2024-03-01\"\r\n");
  CHECK(marked({"2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02"}, file) ==
        std::vector<double>{0, 1, 1, 0});
  const auto error = [&](const std::string& holidays) {
    return input_error_of([&] { marked({"2024-02-28", "2024-02-29"}, holidays); });
  };
  CHECK(lacks(error("DEE"), {"data.holidays = \"DEE\"", "no such country", "did you mean"}) == "");
  CHECK(lacks(error(folder.write("bad.csv", "2024-02-29\nsoon\n")), {"bad.csv:2: 'soon' is not a date"}) ==
        "");
  CHECK(lacks(error(folder.write("month.csv", "2024-02\n")), {"month.csv:1: '2024-02' is not a date"}) == "");
  CHECK(lacks(error(folder.write("none.csv", "day\n")), {"none.csv: there is no date in it"}) == "");
  CHECK(lacks(error((folder / "nowhere.csv").string()), {"nowhere.csv"}) == "");
  Series numbered = make_series({"y"}, {1, 2});
  CHECK(lacks(input_error_of([&] { add_holidays(numbered, "DE"); }), {"no dates to find holidays by"}) == "");
}

TEST_CASE("a file of holidays loses none of its dates, and none of its years is missing unsaid") {
  const Folder folder;
  const std::vector<std::string> days = {"2022-12-24", "2022-12-25", "2022-12-26"};
  const auto error = [&](const std::string& text) {
    return input_error_of([&] { marked(days, folder.write("off.csv", text)); });
  };
  CHECK(marked(days, folder.write("mark.csv",
                                  "\xef\xbb\xbf"
                                  "2022-12-25\r\n2022-12-26\r\n")) == std::vector<double>{0, 1, 1});
  CHECK(marked(days, folder.write("times.csv", "day;why\n2022-12-25 00:00:00;Christmas\n")) ==
        std::vector<double>{0, 1, 0});
  for (const std::string first : {"2022-25-12", "2022-02-30", "25.12.2022", "44920"})
    CHECK(lacks(error(first + "\n2022-12-26\n"), {"off.csv:1: '" + first + "' is not a date"}) == "");
  CHECK(lacks(error("2021-12-25\n2021-12-26\n"),
              {"off.csv: none of its 2 dates (2021-12-25 to 2021-12-26)", "2022-12-24 to 2022-12-26"}) == "");
  Series next = series_of({"2022-12-31", "2023-01-01"});
  add_holidays(next, folder.write("last.csv", "2022-12-31\n"));
  REQUIRE(next.notes.size() == 1);
  CHECK(lacks(next.notes[0], {"last.csv has no date of 2023"}) == "");
  Series none = series_of({"2022-12-01", "2022-12-02"});
  add_holidays(none, "DE");
  REQUIRE(none.notes.size() == 1);
  CHECK(lacks(none.notes[0], {"none of x.csv's rows", "is a holiday of DE"}) == "");
}

// Germany's from Monday to Friday: in 2023 the 7th and 10th of April, the 1st, 18th and 29th of May, none in June.
TEST_CASE("rows at the end of their month or week count the holidays before them") {
  CHECK(marked({"2023-03-31", "2023-04-30", "2023-05-31", "2023-06-30"}, "DE") ==
        std::vector<double>{0, 2, 3, 0});
  CHECK(marked({"2023-03-31", "2023-04-28", "2023-05-31", "2023-06-30"}, "DE") ==  // business days
        std::vector<double>{0, 2, 3, 0});
  CHECK(marked({"2023-04-01", "2023-05-01", "2023-06-01"}, "DE") == std::vector<double>{2, 3, 0});
  CHECK(marked({"2023-04-02", "2023-04-09", "2023-04-16"}, "DE") == std::vector<double>{0, 1, 1});  // Sundays
  CHECK(marked({"2023-04-03", "2023-04-10", "2023-04-17"}, "DE") == std::vector<double>{1, 1, 0});  // Mondays
  Series series = series_of({"2023-04-02", "2023-04-09"});
  add_holidays(series, "DE");
  REQUIRE(series.notes.size() == 1);
  CHECK(lacks(series.notes[0], {"at the end of their week", "2023-04-02", "from 2023-03-27 to 2023-04-02"}) ==
        "");
}

TEST_CASE("a holiday is the day of the clock that the file shows") {
  CHECK(marked({"2023-12-24T23:00+01:00", "2023-12-25T00:00+01:00", "2023-12-25T01:00+01:00"}, "DE") ==
        std::vector<double>{0, 1, 1});
  CHECK(marked({"2023-12-24T23:00-08:00", "2023-12-25T00:00-08:00"}, "US") == std::vector<double>{0, 1});
  for (const char* offset : {"+01:00", "-08:00", "+05:30"}) {  // business days, and weeks
    std::vector<std::string> days, weeks;
    for (const int day : {20, 21, 22, 25, 26, 27})
      days.push_back(fmt::format("2023-12-{}T00:00{}", day, offset));
    for (const int day : {11, 18, 25}) weeks.push_back(fmt::format("2023-12-{}T00:00{}", day, offset));
    CAPTURE(offset);
    CHECK(marked(days, "DE") == std::vector<double>{0, 0, 0, 1, 1, 0});
    CHECK(marked(weeks, "DE") == std::vector<double>{0, 0, 2});
  }
  // Midnights of Berlin in UTC, across the change of clocks; the 7th of April 2023 is Good Friday.
  CHECK(marked({"2023-03-24T23:00Z", "2023-03-25T23:00Z", "2023-03-26T22:00Z"}, "DE") ==
        std::vector<double>{0, 0, 0});
  CHECK(marked({"2023-03-25T23:00Z", "2023-04-05T22:00Z", "2023-04-16T22:00Z"}, "DE") ==
        std::vector<double>{0, 2, 0});
  Series hours = series_of({"2023-12-25T22:00+01:00", "2023-12-25T23:00+01:00", "2023-12-26T00:00+01:00"});
  add_calendar(hours, {"hour"});
  CHECK(hours.at(2, 1) == 0);  // sine of midnight
  CHECK(hours.at(2, 2) == 1);
}

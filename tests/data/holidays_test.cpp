// Public holidays by rules, beside those that the package `holidays` records; and days of a file.
#include "data/series/holidays.h"

#include "data/series/calendar.h"
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
  // Of weeks from Monday: in that of Christmas 2022 the Monday alone, the Sunday before was none.
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

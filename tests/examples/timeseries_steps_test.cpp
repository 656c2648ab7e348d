// Files whose rows are days of school or of a bank's accounts: each series is forecast by the step of its own rows.
#include "tests/examples/everyday.h"
#include "tests/examples/timeseries.h"

using namespace unroll;
using namespace everyday;

namespace {

std::string text(int row) {  // of day(row): 2021-01-04, a Monday, and on
  const CalendarTime d = day(row);
  return fmt::format("{}-{:02}-{:02}", d.year, d.month, d.day);
}
// The lines that begin so, as far as the forecast.
std::string lines_with(const ProgramRun& run, const std::string& begin) {
  REQUIRE_MESSAGE(run.code == 0, run.err);
  std::string found;
  for (const std::string& line : lines_of(run.out))
    if (line.starts_with(begin))
      found += line.substr(0, line.find(',', line.find(',', begin.size()) + 1)) + " ";
  return found;
}
std::string refused(const ProgramRun& run) {
  CHECK_MESSAGE((run.code == 2 && lines_of(run.err).size() == 1), run.err);
  return lines_of(run.err).at(0);
}

}  // namespace

TEST_CASE(
    "school days with holidays are forecast by their week, with no option, and by each that is advised") {
  const Folder folder;
  std::string csv = "date,present\n";
  for (int row = 0; row < 364; ++row) {
    const bool holiday = (49 <= row && row < 54) || row == 77 || (140 <= row && row < 182);
    if (row % 7 < 5 && !holiday) csv += fmt::format("{},{}\n", text(row), week(row));
  }
  folder.write("x.csv", csv);
  const std::string right =
      "2022-01-03,10 2022-01-04,11 2022-01-05,12 2022-01-06,13 2022-01-07,14 2022-01-10,10 ";
  for (const Words& more :
       {Words{}, set({"data.gaps=fill"}), set({"data.gaps=fill", "data.missing=interpolate"})}) {
    const ProgramRun run = started(Words{"forecast", "x.csv", "--steps", "6"} + more, folder.path());
    CHECK(lines_with(run, "2022-") == right);
    CHECK_MESSAGE(run.err.find("season  5 rows: a week of 5 rows") != std::string::npos, run.err);
    CHECK((run.err.find("gaps    36 rows that the file lacks are put in") != std::string::npos) ==
          more.empty());
  }
}

TEST_CASE("a bank's rows by their words: a salary goes on by months, food by its days, events are left out") {
  const Folder folder;
  std::string csv = "date,what,amount\n";
  for (int row = 0; row < 420; ++row) {
    if (day(row).day == 10) csv += text(row) + ",pay,7800\n";
    if (row % 7 == 2 || row % 7 == 5) csv += text(row) + (row % 7 == 2 ? ",food,85\n" : ",food,190\n");
    for (int root = 1; root * root <= row; ++root)
      if (root * root == row) csv += text(row) + ",fuel,60\n";
  }
  folder.write("x.csv", csv);
  const Words id = set({"data.id=what"});
  const auto forecast = [&](const Words& more) {
    return started(Words{"forecast", "x.csv", "--steps", "2"} + more, folder.path());
  };
  const std::string pay = "pay,2022-03-10,7800 pay,2022-04-10,7800 ",
                    food = "food,2022-03-02,85 food,2022-03-05,190 ";
  for (const bool allows : {false, true}) {
    const ProgramRun run = forecast(id + (allows ? set({"data.gaps=allow"}) : Words{}));
    CHECK(lines_with(run, "pay,") == pay);
    CHECK(lines_with(run, "food,") == food);
    CHECK(lines_with(run, "fuel,").empty() != allows);
    CHECK_MESSAGE((run.err.find("have no next one: 'fuel'; put") != std::string::npos) != allows, run.err);
    CHECK_MESSAGE(run.err.find("a month apart in 1 series") != std::string::npos, run.err);
    CHECK_MESSAGE(run.err.find("ends at") == std::string::npos, run.err);  // no row of the salary is late
  }
  // By days, what is not there is 0.
  const ProgramRun days = forecast(id + set({"data.gaps=fill", "data.missing=zero"}));
  CHECK(lines_with(days, "food,").starts_with("food,2022-02-27,"));
  CHECK(lines_with(days, "pay,").starts_with("pay,2022-02-11,"));
  CHECK_MESSAGE(days.err.find("rows are a day apart (") != std::string::npos, days.err);
  CHECK(lacks(refused(started({"forecast", "x.csv"}, folder.path())),
              {"data.id = \"what\" reads them all", "if the rows are events of one series",
               "their sum or number"}) == "");
  CHECK(lacks(refused(started(Words{"train", "x.csv", "--out", "run"} + id, folder.path())),
              {"rows of 'pay' are a month apart, those of other series on Wednesday and Saturday",
               "read one series: data.only = \"what=pay\""}) == "");
}

TEST_CASE("a column with values by months beside one by days is forecast by itself") {
  const Folder folder;
  folder.write("x.csv", rows("date,sales,rent", 400, [](int row) {
                 return fmt::format("{},{},{}", text(row), week(row),
                                    day(row).day == 5 ? fmt::format("{}", 800 + row % 2) : "");
               }));
  const auto forecast = [&](const Words& more) {
    return started(Words{"forecast", "x.csv", "--steps", "2"} + more, folder.path());
  };
  const ProgramRun run = forecast({});
  CHECK(lines_with(run, "2022-") == "2022-02-08,11 2022-02-09,12 ");
  CHECK_MESSAGE(run.err.find("left out: 'rent' has values a month apart") != std::string::npos, run.err);
  const std::string rent = lines_with(forecast({"--column", "rent"}), "2022-");
  CHECK_MESSAGE((rent.starts_with("2022-03-05,800") && rent.find(" 2022-04-05,800") != std::string::npos),
                rent);
  CHECK(lacks(refused(forecast({"--column", "rent", "--column", "sales"})),
              {"'rent' has values a month apart, where rows are a day apart: --column NAME forecasts one"}) ==
        "");
}

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
  CHECK_MESSAGE(days.err.find("rows are a day apart: 1214 in all, from 2021-01-05 to 2022-02-26 (") !=
                    std::string::npos,
                days.err);
  CHECK(lacks(refused(started({"forecast", "x.csv"}, folder.path())),
              {"data.id = \"what\" reads them all", "if the rows are events of one series",
               "their number or sum"}) == "");
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

TEST_CASE("a model reads stamps that drift, and series of no rule beside others, as training did") {
  const Folder folder;
  std::string drift = "t,x\n", several = "what,date,x\n";
  const int64_t second = 1'000'000, first = parse_time("2021-03-01 00:05:07")->count;
  for (int64_t k = 0, at = first; k < 7000; ++k, at += (601 + k % 3 - 1) * second)
    drift += fmt::format("{},{}\n", to_text({.form = TimeForm::date_time, .count = at}),
                         at / (3600 * second) % 24);
  for (int row = 0; row < 1200; ++row) {
    if (day(row).day == 10) several += fmt::format("pay,{},{}\n", text(row), 7800 + week(row));
    for (int root = 1; root * root <= row; ++root)
      if (root * root == row) several += fmt::format("fuel,{},60\n", text(row));
  }
  folder.write("drift.csv", drift), folder.write("several.csv", several);
  folder.write("linear.toml",
               linear_model("window = 4\nhorizon = 3\ngaps = \"fill\"\nmissing = \"previous\"\n",
                            "epochs = 1\nkeep = \"last\"\n"));
  const std::vector<std::array<std::string, 3>> files = {
      {"drift.csv", "", "each is read at the nearest 10 minutes"},
      {"several.csv", "what",
       "1 of 2 series left out, for rows that keep to no step of time have no next one: 'fuel'"}};
  for (const auto& [file, id, note] : files) {
    const Words more = id.empty() ? Words{} : set({"data.id=" + id}), ask = {"--csv", file, "--steps", "2"};
    timeseries_out(Words{"train", "linear.toml", "--csv", file, "--out", "of_" + file} + more, folder.path());
    const ProgramRun by_model =
                         started(Words{"forecast", "of_" + file + "/last.safetensors"} + ask, folder.path()),
                     alone = started(Words{"forecast", file, "--steps", "2"} + more, folder.path());
    for (const ProgramRun& run : {by_model, alone}) {
      REQUIRE_MESSAGE(run.code == 0, run.err);
      CHECK_MESSAGE(run.err.find(note) != std::string::npos, run.err);
    }
    const auto times = [&](const ProgramRun& run) {
      std::string found;
      for (const std::string& line : lines_of(run.out))
        if (size_t end = line.find(','); line.find("20") != line.npos)
          found += line.substr(0, id.empty() ? end : line.find(',', end + 1)) + " ";
      return found;
    };
    CHECK(times(by_model) == times(alone));
    CHECK(times(alone) ==
          (id.empty() ? "2021-04-18 16:45:07 2021-04-18 16:55:07 " : "pay,2024-05-10 pay,2024-06-10 "));
  }
}

TEST_CASE("a series by months ends early once its next row was due, not before") {
  const Folder folder;
  for (const int rows : {60, 69}) {  // to 4 and 13 March
    std::string csv = "what,date,x\n";
    for (int row = -150; row < rows; ++row) {
      csv += fmt::format("food,{},{}\n", text(row), week(row));
      if (day(row).day == 10 && row < 40) csv += text(row).insert(0, "pay,") + ",7800\n";
    }
    folder.write("x.csv", csv);
    const ProgramRun run =
        started(Words{"forecast", "x.csv", "--steps", "2"} + set({"data.id=what"}), folder.path());
    CHECK(lines_with(run, "pay,") == "pay,2021-03-10,7800 pay,2021-04-10,7800 ");
    CHECK_MESSAGE((run.err.find("'pay' ends at 2021-02-10, a month before the last") != std::string::npos) ==
                      (rows == 69),
                  run.err);
  }
}

TEST_CASE("a kitchen without Wednesdays, closed in the holidays, is forecast on its own days") {
  const Folder folder;
  std::string csv = "day,meals\n";
  int rows = 0, last = 0;
  for (int k = 0; rows < 200; ++k) {  // 5 weeks open, two closed
    const int weekday = k % 7;
    if (weekday == 2 || weekday > 4 || k / 7 % 7 > 4) continue;
    csv += fmt::format("{},{}\n", text(k), 200 + 10 * weekday), ++rows, last = k;
  }
  folder.write("x.csv", csv);
  const ProgramRun run = started({"forecast", "x.csv", "--steps", "4"}, folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK_MESSAGE(run.err.find("rows are on Monday, Tuesday, Thursday and Friday: ") != std::string::npos,
                run.err);
  const std::vector<std::string> lines = lines_of(run.out);
  REQUIRE(lines.size() == 5);
  size_t line = 0;
  for (int k = last + 1; line < 4; ++k) {
    if (k % 7 == 2 || k % 7 > 4) continue;
    const std::string begin = text(k) + ",", &found = lines[++line];
    CHECK_MESSAGE(found.starts_with(begin), found);
    CHECK_MESSAGE(std::abs(std::stod(found.substr(begin.size())) - (200 + 10 * (k % 7))) < 1, found);
  }
}

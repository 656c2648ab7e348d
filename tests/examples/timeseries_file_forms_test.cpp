// A series without a recipe: how its file is read, and what is said of that.
#include "examples/timeseries/series/times.h"
#include "framework/random.h"
#include "tests/examples/monthly.h"
#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

std::string error_of(const Words& words, const fs::path& folder) {
  const ProgramRun run = started(words, folder);
  CHECK(run.code != 0);
  CHECK_MESSAGE(lines_of(run.err).size() == 1, run.err);
  return run.err;
}

// Seasonal naive makes no error on rows that repeat each week, so it has all weight: forecasts are derived by hand.
const Words season = set({"data.period=7"});

// So many days, the week's seventh row after the one before it in value: rows repeat each week.
std::string week(int day) { return fmt::format("{}", 10 + day % 7); }

std::string date(int day) {
  return to_text({.form = TimeForm::date, .count = parse_time("2021-03-01")->count + day * one_day});
}

template <class Cell>
std::string days(int count, const Cell& cell, const std::string& separator = ",") {
  std::string csv = "date" + separator + "x\n";
  for (int day = 0; day < count; ++day) csv += date(day) + separator + cell(day) + "\n";
  return csv;
}

ProgramRun forecast_of(const Folder& folder, const std::string& csv, const Words& more = {}) {
  folder.write("x.csv", csv);
  const ProgramRun run = started(Words{"forecast", "x.csv"} + season + more, folder.path());
  CHECK_MESSAGE(run.code == 0, run.err);
  return run;
}

// Forecasts of the first target, by row.
std::vector<std::string> forecasts_in(const ProgramRun& run) {
  std::vector<std::string> all = lines_of(run.out);
  if (!all.empty()) all.erase(all.begin());
  for (std::string& line : all) line = line.substr(0, line.find(',', line.find(',') + 1));
  return all;
}

std::vector<std::string> weeks_from(int day, int steps) {
  std::vector<std::string> all;
  for (int k = 0; k < steps; ++k) all.push_back(date(day + k) + "," + week(day + k));
  return all;
}

}  // namespace

TEST_CASE("numbers are read as the file writes them, and that is said") {
  const Folder folder;
  const auto thousands = [](int day) {
    return fmt::format("\"{}\"", day % 7 == 6 ? "1,495" : "95" + std::to_string(day % 7));
  };
  ProgramRun run = forecast_of(folder, days(84, thousands), {"--steps", "7"});
  CHECK(forecasts_in(run).back() == date(90) + ",1495");
  CHECK_MESSAGE(run.err.find("numbers with ',' between groups of three digits") != std::string::npos,
                run.err);
  // Between semicolons it may be 1.495.
  folder.write("either.csv", days(
                                 84, [&](int day) { return thousands(day); }, ";"));
  CHECK(error_of({"forecast", "either.csv"}, folder.path()) ==
        "timeseries: either.csv: '1,495' may be 1.495 or 1495, and no cell of its column tells which: "
        "--set data.decimal=, reads the first, --set data.decimal=. the second\n");
  CHECK(
      forecasts_in(forecast_of(folder, days(84, thousands, ";"), {"--steps", "7", "--set", "data.decimal=."}))
          .back() == date(90) + ",1495");
  CHECK(
      forecasts_in(forecast_of(folder, days(84, thousands, ";"), {"--steps", "7", "--set", "data.decimal=,"}))
          .back() == date(90) + ",1.495");
  for (const std::string form : {"\"$1,2{}.50\"", "12{}.5%", "({}.5)"}) {
    const auto cell = [&](int day) { return fmt::format(fmt::runtime(form), week(day)); };
    run = forecast_of(folder, days(84, cell), {"--steps", "1"});
    const std::string value = form[0] == '(' ? "-" + week(84) + ".5" : "12" + week(84) + ".5";
    CHECK(forecasts_in(run) == std::vector{date(84) + "," + value});
    CHECK_MESSAGE(run.err.find("numbers are read without their marks, '") != std::string::npos, run.err);
  }
}

TEST_CASE("a column that is not read shows its first cell that is no number") {
  const Folder folder;
  const auto cell = [](int day) { return day == 9 ? "None" : week(day); };
  const auto beside = [&](int day) { return cell(day) + "," + week(day); };
  for (const std::string& csv : {days(40, cell), days(84, beside).replace(5, 1, "x,y")}) {
    folder.write("x.csv", csv);
    CHECK(error_of(Words{"forecast", "x.csv"} + set({"data.mend=false"}), folder.path())
              .find("x.csv:11: column 2 ('x'): 'None' is not a number; the cells above it are numbers") !=
          std::string::npos);
  }
}

TEST_CASE("a first column of numbers that ascend is the time, or left out, and no target") {
  const Folder folder;
  const auto rows = [](auto first) {
    std::string csv = "t,x\n";
    for (int row = 0; row < 84; ++row) csv += fmt::format("{},{}\n", first(row), week(row));
    return csv;
  };
  ProgramRun run = forecast_of(folder, rows([](int row) { return 44562 + row; }), {"--steps", "2"});
  CHECK(lines_of(run.out)[0].starts_with("time,x"));
  CHECK(forecasts_in(run) == std::vector<std::string>{"44646,10", "44647,11"});
  run = forecast_of(folder, rows([](int row) { return row * 0.5; }), {"--steps", "2"});
  CHECK(forecasts_in(run) == std::vector<std::string>{"84,10", "85,11"});
  CHECK_MESSAGE(
      run.err.find("left out: t (numbers that ascend by equal steps, as times do)") != std::string::npos,
      run.err);
  run = forecast_of(folder, rows([](int row) { return row * row; }), {"--steps", "1"});
  CHECK_MESSAGE(run.err.find("--set data.time=t makes it the time") != std::string::npos, run.err);
}

TEST_CASE("missing values at the beginning, a hole, and rows that are to be forecast are read, and said") {
  const Folder folder;
  const auto says = [](const ProgramRun& run, const std::string& part) {
    CHECK_MESSAGE(run.err.find(part) != std::string::npos, part, "\n", run.err);
  };
  ProgramRun run =
      forecast_of(folder, days(84, [](int day) { return day < 5 ? "" : week(day); }), {"--steps", "7"});
  CHECK(forecasts_in(run) == weeks_from(84, 7));
  says(run, "missing the value before, or before the first one the mean");
  std::string hole = "date,x\n";
  for (int day = 0; day < 140; ++day)
    if (day < 70 || day >= 85) hole += date(day) + "," + week(day) + "\n";  // two weeks and a day
  run = forecast_of(folder, hole, {"--steps", "7"});
  CHECK(forecasts_in(run) == weeks_from(140, 7));
  says(run, "gaps    15 rows that the file lacks are put in");
  run = forecast_of(folder, days(84, [](int day) { return day < 80 ? week(day) : ""; }));
  CHECK(forecasts_in(run) == weeks_from(80, 4));
  says(run, "ahead   4 rows at the end are to be forecast");
  // The recipe that is written down reads the file so, too.
  (void)timeseries_out(Words{"train", "x.csv", "--out", "run"} + set({"training.epochs=1"}), folder.path());
  CHECK(forecasts_in(started({"forecast", "run/best.safetensors"}, folder.path()))
            .front()
            .starts_with(date(80)));
  // A single one may be a value that is late.
  run = forecast_of(folder, days(85, [](int day) { return day < 84 ? week(day) : ""; }));
  CHECK(forecasts_in(run) == weeks_from(84, 7));
  says(run, "ahead   a row at the end is to be forecast");
  says(run, "steps   7: a season");
}

TEST_CASE("what cannot be guessed is refused in one line, with the option") {
  const Folder folder;
  folder.write("shop.csv", monthly(120));
  folder.write("words.csv", "a,b\nx,y\nz,w\n");
  folder.write("gap.csv", "date,x\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n2020-01-09,4\n2020-01-10,5\n");
  const auto check = [&](const Words& words, const std::string& part) {
    const std::string error = error_of(words, folder.path());
    CHECK_MESSAGE(error.find(part) != std::string::npos, part, "\n", error);
  };
  check({"forecast", "shop.csv", "--column", "sale"}, "did you mean 'sales'?");
  check({"forecast", "shop.csv", "--column", "sales", "--column", "sales"}, "given twice");
  check(
      {"forecast", "words.csv"},
      "no column of numbers to forecast; it has a (text, 'x' in line 2 is no number), b (text, 'y' in line 2");
  check({"forecast", "none.csv"}, "none.csv");
  check({"forecast", "gap.csv"}, "; as an option: --set data.gaps=allow");
  check({"forecast", "shop.csv", "--set", "model.hidden=4"},
        "no network is trained for it, so 'model.hidden' has no effect");
  check({"forecast", "shop.csv", "--set", "data.resample=1d"}, "'data.resample' is no key any more: rows of");
  check({"anomalies", "shop.csv", "--set", "data.perid=7"}, "did you mean 'data.period'?");
  check({"forecast", "shop.csv", "--members", "ets,thetta"}, "did you mean 'theta'?");
  check({"forecast", "shop.csv", "--future", "shop.csv"},
        "nothing says which of its columns are known ahead");
  check({"forecast", "shop.csv", "--set", R"(ensemble.members=["last"])"},
        "'ensemble.members' is no key any more");
  check({"forecast", "shop.csv", "--csv", "shop.csv"}, "stands in the model's place already");
  check({"train", "airline", "--column", "sales"}, "--column is for a series without a recipe");
  check({"train", "airline", "--steps", "3"}, "data.horizon");
}

TEST_CASE("each series and each column of a bare file has its own season, as in a file of its own") {
  const Folder folder;
  std::string tall = "shop,month,sales\n", wide = "month,plain,waves\n",
              alone[2] = {"month,sales\n", "month,sales\n"};
  RandomStream random(1, "seasons");
  for (int t = 0; t < 84; ++t) {
    const std::string month = fmt::format("{}-{:02}", 2015 + t / 12, t % 12 + 1);
    const double plain = 100 + 2 * random.uniform(), waves = 50 + 20 * (t % 12 < 6) + 2 * random.uniform();
    wide += fmt::format("{},{:.2f},{:.2f}\n", month, plain, waves);
    alone[0] += fmt::format("{},{:.2f}\n", month, plain),
        alone[1] += fmt::format("{},{:.2f}\n", month, waves);
  }
  for (const int k : {0, 1})
    for (const std::string& line : lines_of(alone[k]))
      if (!line.starts_with("month")) tall += (k == 0 ? "plain," : "waves,") + line + "\n";
  folder.write("tall.csv", tall), folder.write("wide.csv", wide);
  folder.write("plain.csv", alone[0]), folder.write("waves.csv", alone[1]);
  const auto rows = [&](const std::string& file, const Words& more, const std::string& note) {
    const ProgramRun run = started(Words{"forecast", file, "--steps", "2"} + more, folder.path());
    CHECK_MESSAGE(run.err.find(note) != std::string::npos, run.err);
    return lines_of(run.out);
  };
  const auto plain = rows("plain.csv", {}, "season  none"), waves = rows("waves.csv", {}, "season  12 rows");
  const auto of_tall = rows("tall.csv", set({"data.id=shop"}),
                            "note    each series has its own season: 12 rows in 1, none in 1");
  const auto of_wide =
      rows("wide.csv", {}, "note    each column has its own season: 12 rows in 1, none in 1");
  for (const size_t h : {1, 2}) {
    CHECK(of_tall.at(h) == "plain," + plain.at(h));
    CHECK(of_tall.at(h + 2) == "waves," + waves.at(h));
    CHECK(of_wide.at(h) == plain.at(h) + waves.at(h).substr(7));
  }
  // Also of one that is named, whose rows do not say the name.
  for (const char* const shop : {"plain", "waves"}) {
    const auto one = rows("tall.csv", set({"data.id=shop"}) + Words{"--series", shop},
                          *shop == 'p' ? "note    the season of 'plain' is: none" : "Members of the mean");
    CHECK(std::string(shop) + "," + one.at(1) == of_tall.at(*shop == 'p' ? 1 : 3));
  }
  std::string waves_twice = "shop,month,sales\n";
  for (const char* shop : {"a,", "b,"})
    for (const std::string& line : lines_of(alone[1]))
      if (!line.starts_with("month")) waves_twice += shop + line + "\n";
  folder.write("twice.csv", waves_twice);
  CHECK(rows("twice.csv", set({"data.id=shop"}), "Members of the mean").size() == 5);
  // A season that the user names is that of all.
  const auto told = rows("wide.csv", set({"data.period=12"}), "Members of the mean");
  CHECK(told.at(1) == rows("plain.csv", set({"data.period=12"}), "Members").at(1) + waves.at(1).substr(7));
}

TEST_CASE("a bare file of several series: the error says how, and each is forecast") {
  const Folder folder;
  std::string both = "shop,month,sales\n";
  for (const char* shop : {"north", "south"})
    for (const std::string& line : lines_of(monthly(120)))
      if (!line.starts_with("month"))
        both +=
            std::string(shop) + "," + line.substr(0, 7) + "," + line.substr(14, line.rfind(',') - 14) + "\n";
  folder.write("shops.csv", both);
  const std::string error =
      error_of(Words{"forecast", "shops.csv"} + set({"data.mend=false"}), folder.path());
  CHECK_MESSAGE(error.find("as an option: --set data.id=shop") != std::string::npos, error);
  const Words words = set({"data.id=shop"});
  const ProgramRun run = started(Words{"forecast", "shops.csv", "--steps", "3"} + words, folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  for (const std::string part :
       {"series  2 by column 'shop': guesses rest on '", "season  12 rows: ", "Members of the mean",
        "seasonal naive", "interval: 80 %, as wide as its members expect, times "})
    CHECK_MESSAGE(run.err.find(part) != std::string::npos, part, "\n", run.err);
  const auto lines = lines_of(run.out);
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "shop,time,sales,sales_low,sales_high");
  CHECK(lines[6].starts_with("south,2000-03,"));
  // A series that stays as it is says nothing of the season of the others.
  std::string closed = "shop,month,sales\n";
  for (const std::string& line : lines_of(monthly(120)))
    if (!line.starts_with("month")) closed += "closed," + line.substr(0, 7) + ",5\n";
  folder.write("closed.csv", closed + both.substr(both.find('\n') + 1));
  const ProgramRun first = started(Words{"forecast", "closed.csv", "--steps", "3"} + words, folder.path());
  CHECK_MESSAGE(first.err.find("season  12 rows: ") != std::string::npos, first.err);
  CHECK_MESSAGE(first.err.find("2 of 3 have it") != std::string::npos, first.err);
  // Rows that never change are forecast as they are, with an interval of no width.
  CHECK(lines_of(first.out).at(1) == "closed,2000-01,5,5,5");
  const ProgramRun one =
      started(Words{"forecast", "closed.csv", "--steps", "3", "--series", "north"} + words, folder.path());
  CHECK(lines_of(one.out).at(1).substr(8) == lines_of(first.out).at(4).substr(14));
  timeseries_out(Words{"train", "shops.csv", "--steps", "3", "--out", "run"} + words +
                     set({"training.epochs=2", "model.hidden=4"}),
                 folder.path());
  timeseries_out({"train", "run/recipe.toml", "--out", "again"}, folder.path());
  for (const char* name : {"head.weight", "gru.weight_ih_l0"})
    CHECK(SafetensorsFile(folder / "run/best.safetensors").load(name).to_host() ==
          SafetensorsFile(folder / "again/best.safetensors").load(name).to_host());
}

TEST_CASE("three rows are forecast with an interval, however many steps; fewer are refused with the number") {
  const Folder folder;
  std::string csv = "date,sales\n";
  for (int rows = 1; rows <= 9; ++rows) {
    csv += fmt::format("2020-01-0{},{}\n", rows, 100 + rows * rows);
    folder.write("short.csv", csv);
    for (const int steps : {1, 7}) {
      CAPTURE(rows);
      CAPTURE(steps);
      const Words words = {"forecast", "short.csv", "--steps", std::to_string(steps)};
      if (rows < 3) {
        CHECK(lacks(lines_of(error_of(words, folder.path())).at(0),
                    {"short.csv: ", fmt::format("{} row", rows), "takes 3"}) == "");
        continue;
      }
      const ProgramRun run = started(words, folder.path());
      REQUIRE_MESSAGE(run.code == 0, run.err);
      const auto lines = lines_of(run.out);
      REQUIRE(std::ssize(lines) == 1 + steps);
      for (size_t k = 1; k < lines.size(); ++k) {
        double middle = 0, low = 0, high = 0;
        REQUIRE(std::sscanf(lines[k].c_str(), "%*[^,],%lf,%lf,%lf", &middle, &low, &high) == 3);
        CHECK((low < middle && middle < high));
      }
    }
  }
}

TEST_CASE(
    "guesses for several series rest on the one of median length, and rows are counted in all of them") {
  const Folder folder;
  std::string shops = "shop,t,x\n";
  for (const auto& [name, count, first] : {std::tuple{"a", 30, 5}, {"b", 60, 0}, {"c", 40, 30}})
    for (int row = 0; row < count; ++row)
      shops += fmt::format(
          "{},{},{}\n", name,
          to_text({TimeForm::date, parse_time("2021-01-04")->count + (row + first) * one_day}), 10 + row % 7);
  folder.write("shops.csv", shops);
  const ProgramRun run =
      started(Words{"forecast", "shops.csv", "--steps", "2", "--members", "last,seasonal"} +
                  set({"data.id=shop", "data.period=7"}),
              folder.path());
  CHECK_MESSAGE(run.err.find("series  3 by column 'shop': guesses rest on 'c', of median length (") !=
                    std::string::npos,
                run.err);
  CHECK_MESSAGE(
      run.err.find("rows are a day apart: 130 in all, from 2021-01-04 to 2021-03-14 (") != std::string::npos,
      run.err);
}

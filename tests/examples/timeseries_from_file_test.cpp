// A bare CSV file to a forecast, and to a model with the recipe that made it.
#include <atomic>
#include <thread>

#include "examples/timeseries/series/times.h"
#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

// So small an ensemble that it takes a moment; everything else is guessed.
const Words quick = set({"training.epochs=2", "model.hidden=4", "ensemble.folds=2",
                         R"(ensemble.members=["cell=gru", "architecture=linear", "seasonal", "theta"])"});

std::string monthly(int rows) {
  RandomStream random(1, "monthly");
  std::string csv = "month,shop,sales,left\n";
  for (int i = 0; i < rows; ++i)
    csv += fmt::format("{}-{:02},north,{:.3f},{:.3f}\n", 1990 + i / 12, i % 12 + 1,
                       100 + i + 20 * std::sin(i * 2 * 3.14159265 / 12) + random.uniform(), random.uniform());
  return csv;
}

std::string error_of(const Words& words, const fs::path& folder) {
  const ProgramRun run = started(words, folder);
  CHECK(run.code != 0);
  CHECK_MESSAGE(lines_of(run.err).size() == 1, run.err);
  return run.err;
}

}  // namespace

TEST_CASE(
    "a bare file is forecast in one command, and each guess is said with the option that overrides it") {
  const Folder folder;
  folder.write("shop.csv", monthly(120));
  const ProgramRun run = started(Words{"forecast", "shop.csv", "--column", "sales", "--steps", "5", "--plot",
                                       "next.svg", "--out", "next.csv"} +
                                     quick,
                                 folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  for (const std::string part : {"time    column 'month': rows are a month apart (--set data.time=NAME)",
                                 "season  12 rows: a year of 12 rows: strength ", "(--set data.period=N)",
                                 "window  20 rows: ", "(--set data.window=N)", "budget  60 s, about ", "by the sizes",
                                 "nothing is cut", "Folds: weights and errors of members",
                                 "interval: 80 %, by the errors of the last ", "of the folds' "})
    CHECK_MESSAGE(run.err.find(part) != std::string::npos, part, "\n", run.err);
  const std::vector<std::string> lines = lines_of(read_text(folder / "next.csv"));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "time,sales,sales_low,sales_high");
  CHECK(lines[1].starts_with("2000-01,"));
  CHECK(read_text(folder / "next.svg").find("<svg") != std::string::npos);
  CHECK(!fs::exists(folder / "runs"));  // nothing else is left
}

TEST_CASE("two or three years of months are forecast with their season and an interval") {
  // Each year is 60 above the one before, and the season is 20 high: without either a forecast is off by as much.
  const auto value = [](int i) { return 500 + 5 * i + 200 * std::sin(i * 2 * 3.14159265 / 12); };
  for (const int rows : {24, 30, 36}) {
    const Folder folder;
    RandomStream random(1, "years");
    std::string csv = "month,sales\n";
    for (int i = 0; i < rows; ++i)
      csv += fmt::format("{}-{:02},{:.3f}\n", 2019 + i / 12, i % 12 + 1, value(i) + 4 * random.uniform() - 2);
    folder.write("shop.csv", csv);
    const ProgramRun run = started(Words{"forecast", "shop.csv", "--steps", "12"} + set({"training.epochs=2"}),
                                   folder.path());
    REQUIRE_MESSAGE(run.code == 0, rows, ": ", run.err);
    CHECK_MESSAGE(run.err.find("season  12 rows: a year of 12 rows: strength ") != std::string::npos, run.err);
    CHECK_MESSAGE(run.err.find("interval: 80 %, by the errors of ") != std::string::npos, run.err);
    const auto lines = lines_of(run.out);
    REQUIRE(lines.size() == 13);
    double squares = 0;
    int within = 0;
    for (int k = 0; k < 12; ++k) {
      double forecast = 0, low = 0, high = 0;
      char comma = 0;
      std::istringstream cells(lines[static_cast<size_t>(k) + 1].substr(8));
      cells >> forecast >> comma >> low >> comma >> high;
      CHECK_MESSAGE((low < forecast && forecast < high), lines[static_cast<size_t>(k) + 1]);
      squares += std::pow(forecast - value(rows + k), 2) / 12;
      within += low <= value(rows + k) && value(rows + k) <= high;
    }
    // The last value is off by 200 or so, and the same month of the year before by 60.
    CHECK_MESSAGE(std::sqrt(squares) < 60, rows, ": ", run.out, run.err);
    CHECK_MESSAGE(within >= 6, rows, ": ", run.out, run.err);
  }
}

TEST_CASE("the keys that the guess names have an effect: a baseline is a member as its key says") {
  const Folder folder;
  folder.write("shop.csv", monthly(120));
  const Words small = set({"training.epochs=1", "ensemble.folds=1", "data.period=30"});
  const auto members = [&](const Words& more) {
    const ProgramRun run = started(
        Words{"forecast", "shop.csv", "--column", "sales", "--steps", "3"} + small + more, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    return run.err.substr(run.err.find("Folds: weights and errors of members"));
  };
  const std::string plain = members({});
  CHECK_MESSAGE(plain.find("\nETS ") == std::string::npos, plain);
  CHECK_MESSAGE(plain.find("\nTheta ") != std::string::npos, plain);
  const std::string with = members(set({"data.ets=true"}) + Words{"--budget", "1s"});
  CHECK_MESSAGE(with.find("\nETS ") != std::string::npos, with);
  const std::string without =
      members(set({"data.theta=false", "data.ridge=false", "data.autoregression=0"}));
  for (const char* name : {"\nTheta ", "\nridge regression", "\nautoregression"})
    CHECK_MESSAGE(without.find(name) == std::string::npos, without);
  const ProgramRun seven = started(
      Words{"forecast", "shop.csv", "--column", "sales"} + small + set({"data.horizon=7"}), folder.path());
  CHECK(lines_of(output_of(seven)).size() == 8);
}

TEST_CASE("a busy machine cuts the ensemble to the same budget as an idle one") {
  const Folder folder;
  folder.write("shop.csv", monthly(120));
  const auto budget = [&] {
    const ProgramRun run = started(Words{"forecast", "shop.csv", "--column", "sales", "--steps", "3", "--budget", "1s"} +
                                       set({"model.hidden=4"}),
                                   folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    const size_t at = run.err.find("budget  1 s, about ");
    REQUIRE_MESSAGE(at != std::string::npos, run.err);
    return run.err.substr(at, run.err.find('\n', at) - at) + run.out;
  };
  const std::string idle = budget();
  CHECK_MESSAGE(idle.find("in place of") != std::string::npos, idle);
  std::atomic<bool> stop = false;
  std::vector<std::jthread> others;
  for (int k = 0; k < 8; ++k)
    others.emplace_back([&] {
      while (!stop) continue;
    });
  const std::string busy = budget();
  stop = true;
  CHECK(busy == idle);
}

TEST_CASE("without --column every column of numbers is forecast, and what is left out is named") {
  const Folder folder;
  folder.write("shop.csv", monthly(120));
  const ProgramRun run = started(Words{"forecast", "shop.csv", "--steps", "2"} + quick, folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(lines_of(run.out)[0] == "time,sales,sales_low,sales_high,left,left_low,left_high");
  CHECK_MESSAGE(
      run.err.find("columns 2 of 3: left out: shop (text, 'north' in line 2 is no number) (--column NAME)") !=
          std::string::npos,
      run.err);
}

TEST_CASE("the recipe that is written down trains the same model again, and repeats the forecast") {
  const Folder folder;
  folder.write("shop.csv", monthly(150));
  const auto out = timeseries_out(
      Words{"train", "shop.csv", "--column", "sales", "--steps", "4", "--out", "first"} + quick,
      folder.path());
  CHECK_MESSAGE(out.find("the model") != std::string::npos, out);
  fs::copy_file(folder / "first/recipe.toml", folder / "again.toml");
  (void)timeseries_out({"train", "again.toml", "--out", "second"}, folder.path());
  const SafetensorsFile a(folder / "first/last.safetensors"), b(folder / "second/last.safetensors");
  CHECK(a.metadata().at("ensemble") == b.metadata().at("ensemble"));
  for (const std::string name : {"member1.gru.weight_hh_l0", "member1.head.weight", "member2.linear.weight"})
    CHECK(same_bits(a.load(name), b.load(name)));
  CHECK(timeseries_out({"forecast", "first/last.safetensors"}, folder.path()) ==
        timeseries_out({"forecast", "second/last.safetensors"}, folder.path()));
}

TEST_CASE("files of other forms: semicolons, missing values, no times") {
  const Folder folder;
  std::string semicolons = "t;x\n", holes = "date,x\n", bare = "x\n";
  for (int i = 0; i < 90; ++i) {
    semicolons += fmt::format("20{:02}-{:02}-01;{}.5\n", 10 + i / 12, i % 12 + 1, i % 7);
    holes += fmt::format("20{:02}-{:02}-01,{}\n", 10 + i / 12, i % 12 + 1,
                         i == 20 ? "" : fmt::format("{}", i % 5));
    bare += fmt::format("{}\n", i % 6);
  }
  folder.write("a.csv", semicolons), folder.write("b.csv", holes), folder.write("c.csv", bare);
  const Words no_season = set({"training.epochs=1", "model.hidden=4", "ensemble.folds=2",
                               R"(ensemble.members=["architecture=linear", "last"])"});
  for (const char* name : {"a.csv", "b.csv", "c.csv"}) {
    const ProgramRun run = started(Words{"forecast", name, "--steps", "2"} + no_season, folder.path());
    CHECK_MESSAGE(run.code == 0, name, ": ", run.err);
  }
  const ProgramRun run = started(Words{"forecast", "b.csv", "--steps", "2"} + no_season, folder.path());
  CHECK_MESSAGE(run.err.find("missing the value before") != std::string::npos, run.err);
}

TEST_CASE("packed, by standard input, and with decimal commas: the same forecast") {
  const Folder folder;
  const std::string points = monthly(90);
  std::string commas = points;
  std::ranges::replace(commas, ',', ';'), std::ranges::replace(commas, '.', ',');
  folder.write("points.csv", points), folder.write("commas.csv", commas);
  const auto shell = [&](const std::string& line) {
    std::string options = " --column sales --steps 2";
    for (const std::string& word : quick) options += " '" + word + "'";
    return run_program("/bin/bash", {"-c", "P=" + program_named("timeseries") + "; " + line + options},
                       folder.path());
  };
  const std::string expected = output_of(shell("$P forecast points.csv"));
  const ProgramRun run = shell("$P forecast commas.csv");
  CHECK(output_of(run) == expected);
  CHECK_MESSAGE(
      run.err.find("numbers with decimal commas: more cells are numbers so (--set data.decimal=.)") !=
          std::string::npos,
      run.err);
  CHECK(output_of(shell("cat points.csv | $P forecast -")) == expected);
  const ProgramRun packed = shell("gzip -c points.csv > p.csv.gz; $P forecast p.csv.gz");
  if (packed.err.find("no zlib") == std::string::npos) CHECK(output_of(packed) == expected);
  // A model of standard input is trained, and its recipe names no file.
  const ProgramRun trained = shell("cat points.csv | $P train - --out run");
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  CHECK_MESSAGE(trained.out.find(" --csv -\n") != std::string::npos, trained.out);
  CHECK(read_text(folder / "run/recipe.toml").find("file = \"\"") != std::string::npos);
  const ProgramRun empty = shell("$P forecast - < /dev/null");
  CHECK(empty.code == 2);
  CHECK_MESSAGE(empty.err.find("standard input: the file is empty") != std::string::npos, empty.err);
}

namespace {

// The seasonal baseline makes no error on rows that repeat each week, so it has all weight: forecasts are derived by hand.
const Words baselines = set({"training.epochs=1", "model.hidden=4", "ensemble.folds=2", "data.period=7",
                             R"(ensemble.members=["architecture=linear", "seasonal"])"});

// So many days, the week's seventh row after the one before it in value: rows repeat each week.
std::string week(int day) { return fmt::format("{}", 10 + day % 7); }
std::string date(int day) {
  return to_text({.form = TimeForm::date, .count = parse_time("2021-03-01")->count + day});
}
template <class Cell>
std::string days(int count, const Cell& cell, const std::string& separator = ",") {
  std::string csv = "date" + separator + "x\n";
  for (int day = 0; day < count; ++day) csv += date(day) + separator + cell(day) + "\n";
  return csv;
}

ProgramRun forecast_of(const Folder& folder, const std::string& csv, const Words& more = {}) {
  folder.write("x.csv", csv);
  const ProgramRun run = started(Words{"forecast", "x.csv"} + baselines + more, folder.path());
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
  CHECK(
      error_of({"forecast", "either.csv"}, folder.path()) ==
      "timeseries: either.csv: '1,495' may be 1.495 or 1495, and no cell tells which: --set data.decimal=, or .\n");
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
    CHECK_MESSAGE(run.err.find("numbers are read without the marks around them, '") != std::string::npos,
                  run.err);
  }
}

TEST_CASE("a column that is not read shows its first cell that is no number") {
  const Folder folder;
  const auto cell = [](int day) { return day == 9 ? "None" : week(day); };
  folder.write("x.csv", days(40, cell));
  CHECK(error_of({"forecast", "x.csv"}, folder.path())
            .find("x.csv:11: column 2 ('x'): 'None' is not a number; the cells above it are numbers") !=
        std::string::npos);
  const ProgramRun run = forecast_of(
      folder, days(84, [&](int day) { return cell(day) + "," + week(day); }).replace(5, 1, "x,y"));
  CHECK_MESSAGE(
      run.err.find(
          "columns 1 of 2: left out: x ('None' in line 11 is no number: forecast if the cell is one, or is left "
          "empty)") != std::string::npos,
      run.err);
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
  (void)timeseries_out(Words{"train", "x.csv", "--out", "run"} + baselines, folder.path());
  CHECK(forecasts_in(started({"forecast", "run/last.safetensors"}, folder.path())) == weeks_from(80, 4));
}

TEST_CASE("what cannot be guessed is refused in one line, with the option") {
  const Folder folder;
  folder.write("shop.csv", monthly(120));
  folder.write("words.csv", "a,b\nx,y\nz,w\n");
  folder.write("short.csv", "x\n1\n2\n3\n4\n");
  folder.write("gap.csv", "date,x\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n2020-01-09,4\n2020-01-10,5\n");
  const auto check = [&](const Words& words, const std::string& part) {
    const std::string error = error_of(words, folder.path());
    CHECK_MESSAGE(error.find(part) != std::string::npos, part, "\n", error);
  };
  check({"forecast", "shop.csv", "--column", "sale"}, "did you mean 'sales'?");
  check({"forecast", "shop.csv", "--column", "sales", "--column", "sales"}, "given twice");
  check({"forecast", "words.csv"}, "no column of numbers to forecast; it has a, b");
  check({"forecast", "none.csv"}, "none.csv");
  check({"forecast", "gap.csv"}, "; as an option: --set data.gaps=allow");
  check({"forecast", "shop.csv", "--column", "sales", "--budget", "soon"},
        "--budget 'soon': a time is expected, as in 60s, 5m or 1h");
  check({"forecast", "shop.csv", "--column", "sales", "--budget", "0.1s"}, "at least a second");
  check({"forecast", "shop.csv", "--csv", "shop.csv"}, "stands in the model's place already");
  check({"train", "airline", "--column", "sales"}, "--column is for a series without a recipe");
  check({"train", "airline", "--steps", "3"}, "data.horizon");
  const std::string member = error_of({"train", "airline", "--set", "data.valid_rows=0", "--set",
                                       "training.keep=last", "--set", R"(ensemble.members=["cell=none"])"},
                                      folder.path());
  CHECK_MESSAGE(member.find("has 'cell=none' in it: ") != std::string::npos, member);
  const ProgramRun few = started({"forecast", "short.csv"}, folder.path());
  CHECK(few.code != 0);
}

TEST_CASE("a bare file of several series: the error says how, and one network forecasts them all") {
  const Folder folder;
  std::string both = "shop,month,sales\n";
  for (const char* shop : {"north", "south"})
    for (const std::string& line : lines_of(monthly(120)))
      if (!line.starts_with("month"))
        both +=
            std::string(shop) + "," + line.substr(0, 7) + "," + line.substr(14, line.rfind(',') - 14) + "\n";
  folder.write("shops.csv", both);
  const std::string error = error_of({"forecast", "shops.csv"}, folder.path());
  CHECK_MESSAGE(error.find("as an option: --set data.id=shop") != std::string::npos, error);
  const Words words = set({"data.id=shop", "training.epochs=2", "model.hidden=4"});
  const ProgramRun run = started(Words{"forecast", "shops.csv", "--steps", "3"} + words, folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  for (const std::string part :
       {"series  2 by column 'shop': lengths are those of '", "parts   3 rows each to validate and to test",
        "model   one GRU over segments", "season  12 rows: ", "interval: 80 %, by the errors of"})
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
  const ProgramRun first = started(
      Words{"forecast", "closed.csv", "--steps", "3"} + words + set({"training.epochs=1"}), folder.path());
  CHECK_MESSAGE(first.err.find("season  12 rows: ") != std::string::npos, first.err);
  CHECK_MESSAGE(first.err.find("2 of 3 have it") != std::string::npos, first.err);
  timeseries_out(Words{"train", "shops.csv", "--steps", "3", "--out", "run"} + words, folder.path());
  timeseries_out({"train", "run/recipe.toml", "--out", "again"}, folder.path());
  for (const char* name : {"head.weight", "gru.weight_ih_l0"})
    CHECK(SafetensorsFile(folder / "run/best.safetensors").load(name).to_host() ==
          SafetensorsFile(folder / "again/best.safetensors").load(name).to_host());
}

TEST_CASE("five rows are forecast, however many steps; fewer are refused with the number that it takes") {
  const Folder folder;
  std::string csv = "date,sales\n";
  for (int rows = 1; rows <= 9; ++rows) {
    csv += fmt::format("2020-01-0{},{}\n", rows, 100 + rows * rows);
    folder.write("short.csv", csv);
    for (const int steps : {1, 7}) {
      CAPTURE(rows);
      CAPTURE(steps);
      const Words words = {"forecast", "short.csv", "--budget", "1s", "--steps", std::to_string(steps)};
      if (rows < 5) {
        CHECK(lacks(lines_of(error_of(words, folder.path())).at(0),
                    {"short.csv: ", fmt::format("{} row", rows), "takes 5"}) == "");
        continue;
      }
      const ProgramRun run = started(words, folder.path());
      REQUIRE_MESSAGE(run.code == 0, run.err);
      CHECK(std::ssize(lines_of(run.out)) == 1 + steps);
    }
  }
}

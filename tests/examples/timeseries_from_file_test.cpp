// A bare CSV file to a forecast, and to a model with the recipe that made it.
#include <atomic>
#include <thread>

#include "examples/timeseries/series/times.h"
#include "tests/examples/monthly.h"
#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

// So small an ensemble that it takes a moment; everything else is guessed.
const Words quick = set({"training.epochs=2", "model.hidden=4", "ensemble.folds=2",
                         R"(ensemble.members=["cell=gru", "architecture=linear", "seasonal", "theta"])"});

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

// A bare CSV file to a forecast, and to a model with the recipe that made it.
#include "examples/timeseries/baselines/combination.h"
#include "examples/timeseries/series/times.h"
#include "tests/examples/monthly.h"
#include "tests/examples/timeseries.h"
#include "tests/look_page.h"
#include "training/files/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

TEST_CASE(
    "a bare file is forecast in one command, and each guess is said with the option that overrides it") {
  const Folder folder;
  folder.write("shop.csv", monthly(120));
  const ProgramRun run = started(Words{"forecast", "shop.csv", "--column", "sales", "--steps", "5", "--plot",
                                       "next.svg", "--out", "next.csv"},
                                 folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  for (const std::string part :
       {"time    column 'month': rows are a month apart: 120 from 1990-01 to 1999-12 (--set data.time=NAME)",
        "season  12 rows: a year of 12 rows: strength ", "(--set data.period=N)", "Members of the mean",
        "seasonal naive (12)", "ETS", "Theta", "CES", "ridge regression (", "20 forecasts of folds.",
        "interval: 80 %, as wide as its members expect, times "})
    CHECK_MESSAGE(run.err.find(part) != std::string::npos, part, "\n", run.err);
  const std::vector<std::string> lines = lines_of(read_text(folder / "next.csv"));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "time,sales,sales_low,sales_high");
  CHECK(lines[1].starts_with("2000-01,"));
  CHECK(read_text(folder / "next.svg").find("<svg") != std::string::npos);
  CHECK(!fs::exists(folder / "runs"));  // nothing else is left
  // No clock has a say, nor has the number of threads.
  for (const char* threads : {"1", "2"})
    CHECK(timeseries_out({"forecast", "shop.csv", "--column", "sales", "--steps", "5", "--threads", threads},
                         folder.path()) == read_text(folder / "next.csv"));
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
    const ProgramRun run = started({"forecast", "shop.csv", "--steps", "12"}, folder.path());
    REQUIRE_MESSAGE(run.code == 0, rows, ": ", run.err);
    CHECK_MESSAGE(run.err.find("season  12 rows: a year of 12 rows: strength ") != std::string::npos,
                  run.err);
    CHECK_MESSAGE(run.err.find("interval: 80 %, ") != std::string::npos, run.err);
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

TEST_CASE("--json has weights and errors of the members, which the mean is made of; --members names them") {
  const Folder folder;
  folder.write("shop.csv", monthly(120));
  const Words words = {"forecast", "shop.csv", "--column", "sales", "--steps", "3"};
  const auto of = [&](const std::string& members) {
    return timeseries_json(words + Words{"--members", members}, folder.path())
        .at(0)
        .at("forecast")
        .at("sales");
  };
  const auto both = of("theta,seasonal"), one = of("theta"), other = of("seasonal");
  REQUIRE(both.at("members").size() == 2);
  // In the order of the table, whatever the order of the words.
  CHECK(both.at("members")[0].at("name") == "seasonal naive (12)");
  const double first = both.at("members")[0].at("weight"), second = both.at("members")[1].at("weight");
  CHECK(first + second == doctest::Approx(1));
  CHECK(both.at("folds").at("windows") == 22);  // 24 rows of folds, 3 steps
  CHECK(both.at("members")[0].at("rmse") == both.at("seasonal_naive_rmse"));
  for (int h = 0; h < 3; ++h) {
    std::vector<WeightedValue> all = {{other.at("values")[h], first}, {one.at("values")[h], second}};
    CHECK(both.at("values")[h].get<double>() == doctest::Approx(trimmed_mean(all)));
  }
  const std::string printed = timeseries_out(words, folder.path());
  CHECK(lines_of(printed).size() == 4);
  // Beside --json the table is in the file.
  (void)timeseries_json(words + Words{"--out", "next.csv"}, folder.path());
  CHECK(read_text(folder / "next.csv") == printed);
}

TEST_CASE("one of several series is drawn from its own first row on, as if it stood alone") {
  const Folder folder;
  std::string several = "shop,t,y\n", alone = "t,y\n";
  for (int shop = 0; shop < 3; ++shop)
    for (int t = 0; t < 20; ++t) {
      const std::string row = fmt::format("{},{}\n", t, 100 * shop + t * t % 11);
      several += fmt::format("s{},{}", shop, row);
      if (shop == 1) alone += row;
    }
  folder.write("several.csv", several), folder.write("alone.csv", alone);
  const auto drawn = [&](const Words& words) {
    std::filesystem::remove(folder / "next.svg");
    (void)timeseries_out(Words{"forecast"} + words + Words{"--steps", "2", "--plot", "next.svg"} +
                             set({"data.period=1", "data.time=t"}),
                         folder.path());
    return read_text(folder / "next.svg");
  };
  std::string of_one = drawn(Words{"several.csv", "--series", "s1"} + set({"data.id=shop"}));
  const std::string name = "s1: ";
  size_t named = 0;
  for (size_t at = of_one.find(name); at != of_one.npos; at = of_one.find(name), ++named)
    of_one.erase(at, name.size());
  CHECK(named > 0);
  CHECK(of_one == drawn({"alone.csv"}));
}

TEST_CASE(
    "that 0 bounds a forecast is warned of where the program found the bound, not where it was asked for") {
  const Folder folder;
  std::string csv = "x\n";
  for (int i = 0; i < 60; ++i) csv += fmt::format("{}\n", 500 - 8 * i + i % 3);
  folder.write("falls.csv", csv);
  const auto warned = [&](const Words& more) {
    const ProgramRun run = started(
        Words{"forecast", "falls.csv", "--steps", "12"} + set({"data.period=1"}) + more, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    return run.err.find("'x' is forecast as 0 in ") != std::string::npos;
  };
  CHECK(warned({}));
  CHECK_FALSE(warned(set({"data.bounds=[0.0, 1000.0]"})));
}

TEST_CASE("without --column every column of numbers is forecast, and what is left out is named") {
  const Folder folder;
  folder.write("shop.csv", monthly(120));
  const ProgramRun run = started({"forecast", "shop.csv", "--steps", "2"}, folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(lines_of(run.out)[0] == "time,sales,sales_low,sales_high,left,left_low,left_high");
  CHECK_MESSAGE(
      run.err.find("columns 2 of 3: left out: shop (text, 'north' in line 2 is no number) (--column NAME)") !=
          std::string::npos,
      run.err);
}

TEST_CASE("the key that brings ETS back brings it, and is refused where nothing reads it") {
  const Folder folder;
  folder.write("shop.csv", monthly(120));
  const Words train = Words{"train", "shop.csv", "--column", "sales", "--steps", "3"} +
                      set({"training.epochs=1", "model.hidden=4", "data.period=30"});
  const std::string without = timeseries_out(train + Words{"--out", "a"}, folder.path());
  CHECK_MESSAGE(without.find("a season of more than 24 rows has too many states (--set data.ets=true)") !=
                    std::string::npos,
                without);
  const auto has_row = [](const std::string& out) {  // below what was guessed
    return out.find("\nETS ", out.find("model   one GRU over segments")) != std::string::npos;
  };
  CHECK_FALSE(has_row(without));
  const std::string with =
      timeseries_out(train + set({"data.ets=true"}) + Words{"--out", "b"}, folder.path());
  CHECK_MESSAGE(has_row(with), with);
  const ProgramRun run = started(Words{"forecast", "shop.csv"} + set({"data.ets=true"}), folder.path());
  CHECK(run.code == 2);
  CHECK_MESSAGE(run.err.find("'data.ets' has no effect") != std::string::npos, run.err);
}

TEST_CASE("the recipe that is written down trains the same model again, and repeats the forecast") {
  const Folder folder;
  folder.write("shop.csv", monthly(150));
  const auto out =
      timeseries_out(Words{"train", "shop.csv", "--column", "sales", "--steps", "4", "--out", "first"} +
                         set({"training.epochs=2", "model.hidden=4"}),
                     folder.path());
  for (const std::string part :
       {"the model", "ETS", "Theta", "CES", "combination", "model   one GRU over segments"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, part, "\n", out);
  // A segment divides the window into nearly 12.
  const std::string recipe = read_text(folder / "first/recipe.toml");
  const auto number = [&](const std::string& key) {
    return std::stoi(recipe.substr(recipe.find("\n" + key + " = ") + key.size() + 4));
  };
  const int window = number("window");
  int nearest = 1;
  for (int s = 1; s <= window; ++s)
    if (window % s == 0 &&
        std::abs(std::log(window / 12.0 / s)) < std::abs(std::log(window / 12.0 / nearest)))
      nearest = s;
  CHECK(window == 20);
  CHECK(number("segment") == nearest);
  fs::copy_file(folder / "first/recipe.toml", folder / "again.toml");
  (void)timeseries_out({"train", "again.toml", "--out", "second"}, folder.path());
  const SafetensorsFile a(folder / "first/best.safetensors"), b(folder / "second/best.safetensors");
  for (const std::string name : {"gru.weight_hh_l0", "head.weight"})
    CHECK(same_bits(a.load(name), b.load(name)));
  CHECK(timeseries_out({"forecast", "first/best.safetensors"}, folder.path()) ==
        timeseries_out({"forecast", "second/best.safetensors"}, folder.path()));
}

TEST_CASE("an interval without a width is none, and a value that is often there lies within") {
  const Folder folder;
  RandomStream random(4, "bounds");
  std::string falls = "x\n", closed = "x\n";
  for (int i = 0; i < 40; ++i) falls += fmt::format("{:.3f}\n", 100 - 2.49 * i + 0.2 * random.uniform());
  for (int i = 0; i < 140; ++i) {  // on three of ten seventh days nothing is sold
    const double sold = 100 + 2 * random.uniform();
    closed += fmt::format("{:.2f}\n", i % 7 == 6 && i / 7 % 10 < 3 ? 0 : sold);
  }
  folder.write("falls.csv", falls), folder.write("closed.csv", closed);
  const auto rows = [&](const Words& words) {
    return lines_of(timeseries_out(Words{"forecast"} + words, folder.path()));
  };
  const auto below = rows({"falls.csv", "--steps", "9"});
  for (size_t k = 5; k < below.size(); ++k) CHECK_MESSAGE(below[k].ends_with(",0,,"), below[k]);
  const auto week = rows(Words{"closed.csv", "--steps", "7"} + set({"data.period=7"}));
  REQUIRE(week.size() == 8);
  for (size_t k = 1; k < 8; ++k) {
    double low = 0, high = 0;
    REQUIRE(std::sscanf(week[k].c_str(), "%*[^,],%*[^,],%lf,%lf", &low, &high) == 2);
    CHECK_MESSAGE((k == 7 ? low == 0 : low > 50), week[k]);
  }
}

TEST_CASE("each column is forecast by its own rows and bounds, and the members are as many series allow") {
  const Folder folder;
  RandomStream random(6, "columns");
  std::string both = "up,down\n", alone = "down\n", many = "id,t,a,b\n";
  for (int i = 0; i < 80; ++i) {
    const double up = 20 + i % 5 + random.uniform(), down = -(3 + i % 3 + random.uniform());
    both += fmt::format("{:.3f},{}\n", up, i < 30 ? "" : fmt::format("{:.3f}", down));
    if (i >= 30) alone += fmt::format("{:.3f}\n", down);
  }
  folder.write("both.csv", both), folder.write("alone.csv", alone);
  const auto lines = [&](const std::string& file) {
    return lines_of(
        timeseries_out(Words{"forecast", file, "--steps", "3"} + set({"data.period=1"}), folder.path()));
  };
  const auto two = lines("both.csv"), one = lines("alone.csv");
  REQUIRE(two.size() == 4);
  REQUIRE(one.size() == 4);
  for (size_t k = 1; k < 4; ++k) {
    const std::string cells = one[k].substr(one[k].find(','));
    CHECK(cells.starts_with(",-"));
    CHECK_MESSAGE(two[k].ends_with(cells), two[k], " ", one[k]);  // it begins late, and lies below 0
  }
  for (int series = 0; series < 51; ++series)
    for (int t = 0; t < 6; ++t) many += fmt::format("s{},{},{},{}\n", series, t, t * t % 7, t * 5 % 4);
  folder.write("many.csv", many);
  const Words ids = set({"data.id=id", "data.time=t", "data.period=1"});
  const std::string left_out = "are left out of more than 100 series";
  const auto said = [&](const Words& more) {
    const ProgramRun run = started(Words{"forecast", "many.csv"} + ids + more, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    return run.err;
  };
  CHECK(said({}).find(left_out) != std::string::npos);  // 51 series of two columns
  CHECK(said({"--column", "a"}).find(left_out) == std::string::npos);
}

TEST_CASE(
    "many series are forecast to the same bits by any number of threads, and what is said keeps its order") {
  const Folder folder;
  RandomStream random(8, "series");
  std::string many = "id,t,y\n";
  for (int series = 0; series < 150; ++series)
    for (int t = 0; t < (series % 40 == 7 ? 2 : 20 + series % 3); ++t)
      many += fmt::format("s{},{},{:.3f}\n", series, t, 10 + t % 4 + 3 * random.uniform());
  folder.write("many.csv", many);
  const auto run = [&](const char* threads) {
    const ProgramRun found = started(Words{"forecast", "many.csv", "--steps", "4", "--threads", threads} +
                                         set({"data.id=id", "data.time=t", "data.period=4"}),
                                     folder.path());
    REQUIRE_MESSAGE(found.code == 0, found.err);
    return found;
  };
  const ProgramRun one = run("1"), two = run("2");
  CHECK(one.out == two.out);
  CHECK(one.err == two.err);
  CHECK(lines_of(one.out).size() == 1 + 146 * 4);
  CHECK_MESSAGE(one.err.find("'s7', 's47', 's87', 's127'") != std::string::npos, one.err);
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
  for (const char* name : {"a.csv", "b.csv", "c.csv"}) {
    const ProgramRun run = started({"forecast", name, "--steps", "2"}, folder.path());
    CHECK_MESSAGE(run.code == 0, name, ": ", run.err);
  }
  const ProgramRun run = started({"forecast", "b.csv", "--steps", "2"}, folder.path());
  CHECK_MESSAGE(run.err.find("missing the value before") != std::string::npos, run.err);
}

TEST_CASE("packed, by standard input, and with decimal commas: the same forecast") {
  const Folder folder;
  const std::string points = monthly(90);
  std::string commas = points;
  std::ranges::replace(commas, ',', ';'), std::ranges::replace(commas, '.', ',');
  folder.write("points.csv", points), folder.write("commas.csv", commas);
  const auto shell = [&](const std::string& line) {
    return run_program("/bin/bash",
                       {"-c", "P=" + program_named("timeseries") + "; " + line + " --column sales --steps 2"},
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
  const ProgramRun trained = shell("cat points.csv | $P train - --out run --set training.epochs=1");
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  CHECK_MESSAGE(trained.out.find(" --csv -\n") != std::string::npos, trained.out);
  CHECK(read_text(folder / "run/recipe.toml").find("file = \"\"") != std::string::npos);
  const ProgramRun empty = shell("$P forecast - < /dev/null");
  CHECK(empty.code == 2);
  CHECK_MESSAGE(empty.err.find("standard input: the file is empty") != std::string::npos, empty.err);
}

namespace {

nlohmann::json looked_at(const Words& words, const Folder& folder) {
  fs::remove(folder / "look.html");
  (void)timeseries_out(Words{"look"} + words + set({"data.period=9"}), folder.path());
  return models_in(read_text(folder / "look.html")).at(0);
}

}  // namespace

TEST_CASE("look at one of several series in a file, at a time of its own: as if it stood alone") {
  const Folder folder;
  std::string several = "shop,date,load\n", alone = "date,load\n";
  for (int i = 0; i < 200; ++i) {
    const std::string row = fmt::format("2020-03-{:02} {:02}:00,{:.3f}\n", 1 + i / 24, i % 24,
                                        std::sin(i * 0.7) + i * 31 % 7 * 0.1);
    several += (i < 80 ? "north," : "south,") + row;
    if (i >= 80) alone += row;
  }
  folder.write("several.csv", several), folder.write("alone.csv", alone);
  const Words ask = {"--at", "2020-03-08 02:00", "--steps", "3"};
  const auto one =
                 looked_at(Words{"several.csv", "--set", "data.id=shop", "--series", "south"} + ask, folder),
             expected = looked_at(Words{"alone.csv"} + ask, folder);
  CHECK(one["series"] == expected["series"]);
  CHECK(one["series"]["times"][0] == "2020-03-08 02:00:00");
  CHECK(one["title"] == "several, south");
}

TEST_CASE("look at a file: behind a row without a value the gradients stay with their rows") {
  const Folder folder;
  const auto write = [&](const std::string& name, int moved, double by) {
    std::string csv = "row,load\n";
    for (int i = 0; i < 120; ++i)
      csv += i == 60 ? "60,\n"
                     : fmt::format("{},{:.5f}\n", i,
                                   std::sin(i * 0.7) + i * 31 % 7 * 0.1 + (i == moved ? by : 0));
    folder.write(name, csv);
  };
  const auto forecast = [&](int moved, double by) {
    write("moved.csv", moved, by);
    return timeseries_json(Words{"forecast", "moved.csv", "--members", "pretrained", "--steps", "2"} +
                               set({"data.period=9"}),
                           folder.path())[0]["forecast"]["load"]["values"]
        .get<std::vector<double>>();
  };
  write("holed.csv", -1, 0);
  const auto page = looked_at({"holed.csv", "--steps", "2", "--at", "120"}, folder);
  CHECK(page["series"]["values"][60].is_null());
  const PageValues gradients = values_in(page["series"]["gradients"]);
  REQUIRE(gradients.units == 120);
  for (const int row : {119, 112}) {
    const auto up = forecast(row, 0.01), down = forecast(row, -0.01);
    for (size_t k = 0; k < 2; ++k) {
      CHECK(gradients.at(k, 60) == 0);
      // The file has five decimals, the forecast 24 bits, the page 16.
      CHECK(std::abs(gradients.at(k, row) - (up[k] - down[k]) / 0.02) < 1e-4 + gradients.largest / 65534);
    }
  }
}

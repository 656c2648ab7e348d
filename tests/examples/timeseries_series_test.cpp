// One model of several series in one file, as a user of the program meets it.
#include <cmath>

#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

using namespace unroll;
using Json = nlohmann::json;

namespace {

double load(int i, int k) {
  return 20 + 5 * std::sin(i * 2 * 3.14159265 / 12) + std::fmod(i * 7.3 + 3 * k, 4);
}

// Months of two stores in turns, the second's sales the first's times 1000; and one that opened late.
std::string panel(bool with_third = true) {
  std::string csv = "month,store,sales\n";
  for (int i = 0; i < 96; ++i) {
    const std::string month = fmt::format("{}-{:02}", 2000 + i / 12, 1 + i % 12);
    csv += fmt::format("{},north,{:.4f}\n{},south,{:.4f}\n", month, load(i, 0), month, 1000 * load(i, 0));
    if (with_third && i >= 90) csv += fmt::format("{},new,{:.4f}\n", month, load(i, 1));
  }
  return csv;
}
std::string one(int k) {
  std::string csv = "month,store,sales\n";
  for (int i = 0; i < 96; ++i)
    csv += fmt::format("{}-{:02},a,{:.4f}\n", 2000 + i / 12, 1 + i % 12, load(i, k));
  return csv;
}
const std::string recipe =
    linear_model("id = \"store\"\nwindow = 12\nhorizon = 3\nperiod = 12\nets = false\n", "epochs = 3\n",
                 "learning_rate = 0.01\n");

// A folder with a model of the panel.
const Folder& stores() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("mine.toml", recipe);
    folder.write("panel.csv", panel());
    const ProgramRun run =
        started({"train", "mine.toml", "--csv", "panel.csv", "--out", "run"}, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    folder.write("said.txt", run.out);
    return true;
  }();
  (void)done;
  return folder;
}
const std::string best = "run/best.safetensors";

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result(1);
  for (const char c : line) {
    if (c == ',')
      result.emplace_back();
    else
      result.back() += c;
  }
  return result;
}

}  // namespace

TEST_CASE("a file of one series with a name trains the same weights, and the same scores, as without") {
  const Folder folder;
  folder.write("named.csv", one(0));
  folder.write("named.toml", recipe);
  folder.write("plain.toml", recipe);
  Json scores[2];
  std::map<std::string, std::vector<real>> weights[2];
  for (const bool named : {false, true}) {
    const Words more = named ? Words{} : set({"data.id=\"\"", "data.only=store=a"});
    const std::string out = named ? "named" : "plain";
    timeseries_out(Words{"train", out + ".toml", "--csv", "named.csv", "--out", out} + more, folder.path());
    for (const char* split : {"valid", "test"})
      scores[named][split] =
          timeseries_json({"evaluate", out + "/best.safetensors", "--csv", "named.csv", "--split", split},
                          folder.path())["scores"][split];
    const SafetensorsFile file(folder.path() / out / "best.safetensors");
    for (const auto& entry : file.entries()) weights[named][entry.name] = file.load(entry.name).to_host();
  }
  CHECK(weights[0] == weights[1]);
  for (const char* split : {"valid", "test"})
    for (const char* method : {"the model", "last value", "seasonal naive (12)", "Theta"})
      for (const char* key : {"scaled_mse", "mae", "smape", "mase", "windows"}) {
        const Json &plain = scores[0][split][method], &named = scores[1][split][method];
        CAPTURE(split);
        CAPTURE(method);
        CAPTURE(key);
        CHECK(plain[key] == named[key]);
        if (std::string(key) != "windows")  // the sums are in another order
          CHECK(named["by_series"]["a"][key].get<double>() ==
                doctest::Approx(named[key].get<double>()).epsilon(1e-12));
      }
}

TEST_CASE("each series is scored by itself and all together; one that is too short is named") {
  const Folder& folder = stores();
  const std::string said = read_text(folder / "said.txt");
  CHECK(read_text(folder / "run/report.html").find("--csv panel.csv --series north") != std::string::npos);
  for (const char* part :
       {"3 series of 198 rows, 2000-01 to 2007-12, a month apart",
        "1 of 3 series have no window of 12 rows and 3 to forecast among the rows that train, and "
        "train nothing: 'new'",
        "in the test, and are not scored: 'new'", "of 3 series, scaled each by itself"})
    CHECK_MESSAGE(said.find(part) != std::string::npos, said);
  const Json scores =
      timeseries_json({"evaluate", best, "--csv", "panel.csv"}, folder.path())["scores"]["test"];
  for (const char* method : {"the model", "drift", "seasonal naive (12)", "Theta"}) {
    const Json& all = scores[method];
    REQUIRE(all["by_series"].size() == 2);
    // A thousand times as much, scaled by a thousand: the same errors.
    for (const char* key : {"scaled_mse", "scaled_mae", "mase", "smape"}) {
      CAPTURE(method);
      CAPTURE(key);
      const double north = all["by_series"]["north"][key], south = all["by_series"]["south"][key],
                   both = all[key];
      CHECK(south == doctest::Approx(north).epsilon(1e-4));
      CHECK(both == doctest::Approx((north + south) / 2).epsilon(1e-9));  // as many windows of each
    }
    CHECK(all["by_series"]["south"]["mae"].get<double>() ==
          doctest::Approx(1000 * all["by_series"]["north"]["mae"].get<double>()).epsilon(1e-4));
  }
  CHECK(scores["the model"]["interval_coverage"].get<double>() > 0.3);
  // A baseline of one of several is that of the series alone.
  const Json alone = timeseries_json(
      Words{"baselines", "mine.toml", "--csv", "panel.csv"} + set({"data.id=\"\"", "data.only=store=south"}),
      folder.path());
  for (const char* method : {"drift", "Theta", "mean of training"})
    CHECK(alone["test"][method]["rmse"].get<double>() ==
          doctest::Approx(scores[method]["by_series"]["south"]["rmse"].get<double>()).epsilon(1e-12));
  timeseries_out({"evaluate", best, "--csv", "panel.csv", "--out", "all.csv"}, folder.path());
  const auto lines = lines_of(read_text(folder / "all.csv"));
  CHECK(lines[0].starts_with("series,origin,step,time,channel,truth,forecast"));
  CHECK(lines[1].starts_with("north,2006-"));
  CHECK(lines.back().starts_with("south,2007-10,3,2007-12,sales,"));
}

TEST_CASE("forecast has rows of each series, also of one that did not train; --series names one") {
  const Folder& folder = stores();
  folder.write(
      "today.csv", panel() + [] {
        std::string late;
        for (int i = 0; i < 14; ++i)
          late += fmt::format("{}-{:02},east,{:.4f}\n", 2001 + i / 12, 1 + i % 12, load(i, 2));
        return late;
      }());
  std::string without_new;
  for (const std::string& line : lines_of(read_text(folder / "today.csv")))
    if (line.find(",new,") == std::string::npos) without_new += line + "\n";
  folder.write("today.csv", without_new);
  const ProgramRun run = started({"forecast", best, "--csv", "today.csv", "--steps", "4"}, folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto lines = lines_of(run.out);
  REQUIRE(lines.size() == 13);
  CHECK(lines[0] == "store,time,sales,sales_low,sales_high");
  CHECK(lines[1].starts_with("north,2008-01,"));
  CHECK(lines[8].starts_with("south,2008-04,"));
  CHECK(lines[9].starts_with("east,2002-03,"));
  for (int step = 1; step <= 4; ++step)  // the forecast too is a thousand times as much
    for (int column = 2; column <= 4; ++column) {
      const auto at = [&](int line) {
        return std::stod(cells(lines[static_cast<size_t>(line)])[static_cast<size_t>(column)]);
      };
      CHECK(at(4 + step) == doctest::Approx(1000 * at(step)).epsilon(1e-4));
      // Seven digits of tens at most, where the deviation has six: as many of each series.
      for (const int line : {step, 4 + step})
        CHECK(cells(lines[static_cast<size_t>(line)])[static_cast<size_t>(column)].size() <= 8);
    }
  CHECK_MESSAGE(
      run.err.find("1 series that the model was not trained on is scaled by its own rows: 'east'") !=
          std::string::npos,
      run.err);
  const auto south = lines_of(timeseries_out(
      {"forecast", best, "--csv", "today.csv", "--steps", "4", "--series", "south"}, folder.path()));
  REQUIRE(south.size() == 5);
  // By the errors of all series, whether all are forecast or one.
  for (size_t step = 1; step <= 4; ++step) CHECK("south," + south[step] == lines[4 + step]);
  const ProgramRun all = started({"forecast", best, "--csv", "panel.csv"}, folder.path());
  CHECK(lines_of(all.out).size() == 7);
  CHECK_MESSAGE(all.err.find("reads: 'new' (6)") != std::string::npos, all.err);
  timeseries_out({"look", best, "--csv", "panel.csv", "--series", "north", "--out", "north.html"},
                 folder.path());
  timeseries_out({"forecast", best, "--csv", "today.csv", "--plot", "all.svg", "--out", "next.csv"},
                 folder.path());
  CHECK(read_text(folder / "all.svg").find("Forecast of north: sales") != std::string::npos);
}

TEST_CASE(
    "0 bounds each series by its own values: one that is below 0 is forecast below 0, within its interval") {
  const Folder& folder = stores();
  std::string below = "month,store,sales\n";
  for (int i = 0; i < 30; ++i)
    below += fmt::format("{}-{:02},cold,{:.4f}\n", 2001 + i / 12, 1 + i % 12, -load(i, 0));
  folder.write("below.csv", below);
  const auto lines = lines_of(timeseries_out({"forecast", best, "--csv", "below.csv"}, folder.path()));
  REQUIRE(lines.size() == 4);
  for (size_t step = 1; step <= 3; ++step) {
    const auto row = cells(lines[step]);
    const double value = std::stod(row[2]), low = std::stod(row[3]), high = std::stod(row[4]);
    CHECK((low < value && value < high && value < 0 && high <= 0));
  }
}

TEST_CASE("baselines of each series lie within its own bounds: mirrored, they err as much") {
  const Folder& folder = stores();
  std::string csv = "month,store,sales\n";
  for (int i = 0; i < 96; ++i)
    for (const auto& [store, sign] : {std::pair{"north", 1}, {"south", -1}})
      csv += fmt::format("{}-{:02},{},{:.4f}\n", 2000 + i / 12, 1 + i % 12, store, sign * load(i, 0));
  folder.write("mirror.csv", csv);
  const Json test = timeseries_json({"baselines", "mine.toml", "--csv", "mirror.csv"}, folder.path())["test"];
  for (const char* method : {"drift", "seasonal naive (12)", "mean of training"}) {
    CAPTURE(method);
    const Json& by_series = test[method]["by_series"];
    CHECK(by_series["south"]["mae"].get<double>() ==
          doctest::Approx(by_series["north"]["mae"].get<double>()).epsilon(1e-9));
  }
  // A line down to 0 goes on below it, but no value of the series does.
  std::string fallen = "month,store,sales\n";
  for (int i = 0; i < 96; ++i)
    for (const char* store : {"north", "south"})
      fallen += fmt::format("{}-{:02},{},{}\n", 2000 + i / 12, 1 + i % 12, store, std::max(0, 60 - i));
  folder.write("fallen.csv", fallen);
  CHECK(timeseries_json({"baselines", "mine.toml", "--csv", "fallen.csv"},
                        folder.path())["test"]["drift"]["mae"] == 0);
}

TEST_CASE("values of a series are counted for its interval from its own first row on that did not train") {
  const Folder& folder = stores();
  const auto counted = [&](int south) {
    std::string csv = "month,store,sales\n";
    for (const auto& [store, rows, unit] : {std::tuple{"north", 200, 1}, {"south", south, 1000}})
      for (int i = 0; i < rows; ++i)
        csv += fmt::format("{}-{:02},{},{:.4f}\n", 2000 + i / 12, 1 + i % 12, store, unit * load(i, 0));
    folder.write("uneven.csv", csv);
    const std::string said = timeseries_out({"evaluate", best, "--csv", "uneven.csv"}, folder.path());
    const size_t at = said.find("of the test's ");
    REQUIRE_MESSAGE(at != said.npos, said);
    return std::stoi(said.substr(at + 14));
  };
  // 67 rows of each trained: of 60 none is new.
  const int of_north = counted(0);
  CHECK(of_north > 0);
  CHECK(counted(60) == of_north);
  CHECK(counted(200) == 2 * of_north);
}

TEST_CASE(
    "of a series that did not train the targets' logarithms are scaled, as in training, and no others") {
  const Folder folder;
  folder.write("mine.toml",
               "[model]\nhidden = 4\n[data]\nid = \"store\"\ntargets = [\"sales\"]\nwindow = 6\n"
               "horizon = 2\n[scaling]\ntransform = \"log\"\n[training]\nepochs = 1\n");
  const auto file = [](const std::vector<std::string>& stores) {
    std::string csv = "month,store,sales,celsius\n";
    for (const std::string& store : stores)
      for (int i = 0; i < 60; ++i)
        csv +=
            fmt::format("{}-{:02},{},{:.3f},{}\n", 2000 + i / 12, 1 + i % 12, store, load(i, 0), i % 12 - 5);
    return csv;
  };
  folder.write("two.csv", file({"north", "south"})), folder.write("more.csv", file({"north", "east"}));
  (void)timeseries_out({"train", "mine.toml", "--csv", "two.csv", "--out", "run"}, folder.path());
  const auto lines = lines_of(timeseries_out({"forecast", best, "--csv", "more.csv"}, folder.path()));
  REQUIRE(lines.size() == 5);
  for (const size_t step : {1, 2}) {  // the same rows
    const double north = std::stod(cells(lines[step])[2]), east = std::stod(cells(lines[step + 2])[2]);
    CHECK(east == doctest::Approx(north).epsilon(0.1));
  }
}

TEST_CASE("a run of several series is resumed, and its model goes on") {
  const Folder folder;
  folder.write("mine.toml", recipe);
  folder.write("panel.csv", panel(false));
  timeseries_out({"train", "mine.toml", "--csv", "panel.csv", "--out", "whole"}, folder.path());
  timeseries_out(
      Words{"train", "mine.toml", "--csv", "panel.csv", "--out", "run"} + set({"training.epochs=1"}),
      folder.path());
  timeseries_out(Words{"resume", "run"} + set({"training.epochs=3"}), folder.path());
  for (const char* name : {"linear.weight", "linear.bias"})
    CHECK(SafetensorsFile(folder / "run/last.safetensors").load(name).to_host() ==
          SafetensorsFile(folder / "whole/last.safetensors").load(name).to_host());
}

TEST_CASE("what is for one series is refused by name") {
  const Folder& folder = stores();
  folder.write("gone.csv", "month,shop,sales\n2000-01,a,1\n");
  folder.write("short.csv", "month,store,sales\n2000-01,a,1\n");
  const Words train = {"train", "mine.toml", "--csv", "panel.csv"};
  for (const auto& [words, parts] : std::vector<std::pair<Words, std::vector<std::string>>>{
           {train + set({"data.only=store=north"}), {"data.only", "data.id reads all"}},
           {train + set({"data.id=stroe"}), {"no column 'stroe'", "data.id", "did you mean 'store'?"}},
           {train + set({"data.window=200"}), {"rows", "200"}},
           {{"evaluate", best, "--csv", "gone.csv"}, {"gone.csv", "no column 'store'"}},
           {{"backtest", "mine.toml", "--csv", "panel.csv"}, {"data.id", "store"}},
           {{"look", best, "--csv", "panel.csv"}, {"is of 3 series", "--series north"}},
           {{"anomalies", best, "--csv", "panel.csv"}, {"is of 3 series", "--series north"}},
           {{"forecast", best, "--csv", "panel.csv", "--series", "nrth"},
            {"'nrth'", "did you mean 'north'?"}},
           {{"forecast", best, "--csv", "short.csv"},
            {"short.csv: not forecast", "fewer than the 12 rows that the model reads", "'a' (1)"}}}) {
    const ProgramRun run = started(words, folder.path());
    CHECK(run.code == 2);
    CHECK_MESSAGE(lacks(std::string(run.err, 0, run.err.find('\n')), parts) == "", run.err);
  }
  // All rows but the last six of each train.
  const ProgramRun rows =
      started(train + Words{"--dry-run"} + set({"data.split=rows", "data.valid_rows=3", "data.test_rows=3"}),
              folder.path());
  CHECK_MESSAGE(rows.out.find("180 / 6 / 6 rows") != std::string::npos, rows.out);
}

TEST_CASE("explain: of many columns it names twelve and counts the others; parts begin and end by time") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  std::string wide = "c0", two = "shop,month,y\n";
  for (int k = 1; k < 15; ++k) wide += fmt::format(",c{}", k);
  wide += "\n";
  for (int i = 0; i < 200; ++i)
    for (int k = 0; k < 15; ++k) wide += fmt::format("{}{}", (i * (k + 3)) % 11, k < 14 ? "," : "\n");
  for (const auto& [shop, year] : {std::pair{"late", 2010}, {"early", 2000}})
    for (int i = 0; i < 120; ++i)
      two += fmt::format("{},{}-{:02},{}\n", shop, year + i / 12, i % 12 + 1, i * i % 17);
  folder.write("wide.csv", wide), folder.write("two.csv", two);
  const std::string of_wide = timeseries_out({"explain", "tiny.toml", "--csv", "wide.csv"}, folder.path());
  const std::string names = "c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 and 3 others\n";
  for (const char* part : {"reads 12 rows of ", "forecasts 3 rows of "})
    CHECK_MESSAGE(of_wide.find(part + names) != std::string::npos, of_wide);
  const auto lines = lines_of(timeseries_out(
      Words{"explain", "tiny.toml", "--csv", "two.csv"} + set({"data.id=shop", "data.period=12"}),
      folder.path()));
  const auto row = [&](const std::string& name) {
    for (const std::string& line : lines)
      if (line.starts_with(name + " ")) return line;
    return std::string();
  };
  // 84, 12 and 24 rows of each, from both of which the earliest and the latest are named.
  CHECK(lacks(row("train"), {"2000-01", "2016-12", "168"}) == "");
  CHECK(lacks(row("valid"), {"2007-01", "2017-12", "24"}) == "");
  CHECK(lacks(row("test"), {"2008-01", "2019-12", "48"}) == "");
}

TEST_CASE("a file's mean has the seasons, members and steps of each forecast, found or said") {
  const Folder folder;
  std::string shops = "t,shop,x,y\n", alone = "t,x\n";
  for (const std::string shop : {"a", "b"})
    for (int i = 0; i < 24 * 28; ++i) {
      const double x = shop == "a" ? i % 24 + 9 * (i / 24 % 7 > 4) : 3 * (i % 12);
      const std::string t = fmt::format("2021-02-{:02} {:02}:00", 1 + i / 24, i % 24);
      shops +=
          fmt::format("{},{},{:.2f},{:.2f}\n", t, shop, x + std::fmod(i * 7.3, 2), std::fmod(i * 3.7, 5));
      if (shop == "a") alone += fmt::format("{},{:.2f}\n", t, x + std::fmod(i * 7.3, 2));
    }
  folder.write("shops.csv", shops), folder.write("alone.csv", alone);
  const std::string both = "seasonal naive (24) seasonal naive (168)",
                    day = "seasonal naive (24) second-seasonal", none = "seasonal second-seasonal",
                    week = "seasonal naive (7) seasonal naive (14)";
  const Words said = set({"data.period=7", "data.second_period=14"});
  for (const auto& [words, series, steps] : std::vector<std::tuple<Words, std::vector<std::string>, size_t>>{
           {{"alone.csv"}, {both}, 24},
           {Words{"alone.csv", "--steps", "5"} + set({"data.period=24"}), {day}, 5},
           {Words{"alone.csv"} + said, {week}, 7},
           {{"shops.csv", "--column", "x"}, {both, day}, 24},
           {{"shops.csv", "--column", "x", "--series", "b", "--steps", "9"}, {day}, 9},
           {{"shops.csv", "--steps", "4"}, {both, none, day, none}, 4},
           {Words{"shops.csv"} + said, {week, week, week, week}, 7}}) {
    CAPTURE(fmt::format("{}", fmt::join(words, " ")));
    std::vector<std::string> found;
    std::filesystem::remove(folder / "out.csv");
    for (const Json& of : timeseries_json(
             Words{"forecast", "--members", "seasonal,second-seasonal", "--out", "out.csv"} + words,
             folder.path()))
      for (const auto& [column, forecast] : of["forecast"].items()) {
        CHECK(forecast["values"].size() == steps);
        std::vector<std::string> names;
        for (const Json& member : forecast["members"]) names.push_back(member["name"]);
        found.push_back(fmt::format("{}", fmt::join(names, " ")));
      }
    CHECK(found == series);
    CHECK(lines_of(read_text(folder / "out.csv")).size() ==
          1 + steps * (series.size() == 4 ? 2 : series.size()));
  }
}

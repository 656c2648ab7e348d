// Rows that a forecaster did not foresee: what is planted is found, by a bare file and by a model.
#include "tests/examples/timeseries.h"

using namespace unroll;

namespace {

constexpr int rows = 400;
// In each half of the half that is watched.
const std::vector<int> planted = {240, 275, 330, 361, 390};

// A daily wave with noise, where planted rows lie far off; the label is of them and of the row after.
std::string with_spikes() {
  RandomStream random(2, "spikes");
  std::string csv = "date,load,fault\n";
  for (int i = 0; i < rows; ++i) {
    const bool is_planted = std::ranges::find(planted, i) != planted.end(),
               is_after = std::ranges::find(planted, i - 1) != planted.end();
    csv += fmt::format("2020-{:02}-{:02} {:02}:00,{:.5f},{}\n", 1 + i / 672, 1 + i / 24 % 28, i % 24,
                       20 + 5 * std::sin(i * 2 * 3.14159265 / 24) + random.uniform() + (is_planted ? 15 : 0),
                       is_planted || is_after ? 1 : 0);
  }
  return csv;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line)
    if (c == ',')
      cells.emplace_back();
    else
      cells.back() += c;
  return cells;
}

}  // namespace

TEST_CASE("spikes in a bare file are the rarest rows, and are written, tabled and drawn") {
  const Folder folder;
  folder.write("sensor.csv", with_spikes());
  const ProgramRun run = started(Words{"anomalies", "sensor.csv", "--column", "load", "--rate", "0.03",
                                       "--out", "found.csv", "--plot", "found.svg"},
                                 folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.out.empty());
  CHECK_MESSAGE(
      run.err.find(
          "watched: 2020-01-09 08:00:00 to 2020-01-17 15:00:00, 200 rows, by the errors of the validation split") !=
          std::string::npos,
      run.err);
  const std::vector<std::string> lines = lines_of(read_text(folder / "found.csv"));
  REQUIRE(lines.size() == 201);
  CHECK(lines[0] == "time,channel,value,forecast,low,high,error,p,anomaly");
  int called = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = cells_of(lines[i]);
    REQUIRE(cells.size() == 9);
    called += cells[8] == "1";
    CHECK((cells[8] == "1") == (std::stod(cells[7]) <= 0.03));
    if (std::ranges::find(planted, 199 + static_cast<int>(i)) != planted.end())
      CHECK_MESSAGE(cells[8] == "1", lines[i]);
  }
  CHECK(called < 40);
  CHECK(run.err.find("2020-01-11 00:00") != std::string::npos);  // row 240 is in the table
  CHECK(read_text(folder / "found.svg").find("anomaly") != std::string::npos);
  // The table has the 20 largest errors of many, in order of time; the picture has a point for each of all.
  const ProgramRun many = started({"anomalies", "sensor.csv", "--column", "load", "--rate", "0.4", "--out",
                                   "many.csv", "--plot", "many.svg"},
                                  folder.path());
  std::vector<std::pair<double, std::string>> all;  // error and time
  for (const std::string& line : lines_of(read_text(folder / "many.csv")))
    if (line.ends_with(",1")) all.emplace_back(-std::stod(cells_of(line)[6]), cells_of(line)[0]);
  REQUIRE(all.size() > 40);
  CHECK_MESSAGE(
      many.err.find(fmt::format("The 20 of the largest errors, of {}.", all.size())) != std::string::npos,
      many.err);
  std::ranges::sort(all);
  std::vector<std::string> largest, tabled;
  for (size_t k = 0; k < 20; ++k) largest.push_back(all[k].second);
  std::ranges::sort(largest);
  for (const std::string& line : lines_of(many.err))
    if (line.starts_with("2020-")) tabled.push_back(line.substr(0, largest[0].size()));
  CHECK(tabled == largest);
  const std::string drawn = read_text(folder / "many.svg");
  size_t points = 0;
  for (size_t at = drawn.find("<circle"); at != drawn.npos; at = drawn.find("<circle", at + 1)) ++points;
  CHECK(points == all.size());
}

TEST_CASE("the order of two columns with holes changes no p, and both have an interval in their picture") {
  const Folder folder;
  RandomStream random(9, "holes");
  std::string one = "a,b\n", other = "b,a\n";
  for (int i = 0; i < 2400; ++i) {
    const bool is_hole = i > 2000 && i % 6 == 2;
    const std::string a = is_hole ? "" : fmt::format("{:.4f}", std::sin(i * 0.9) + random.uniform()),
                      b = is_hole ? "" : fmt::format("{:.4f}", 50 * random.uniform() * random.uniform());
    one += a + "," + b + "\n", other += b + "," + a + "\n";
  }
  folder.write("one.csv", one), folder.write("other.csv", other);
  folder.write("mine.toml", linear_model("window = 4\nhorizon = 1\nmissing = \"previous\"\n",
                                         "epochs = 1\nkeep = \"last\"\n", "learning_rate = 1e-12\n"));
  std::vector<std::string> found[2];
  for (const std::string name : {"one", "other"}) {
    timeseries_out({"train", "mine.toml", "--csv", name + ".csv", "--out", name}, folder.path());
    auto& lines = found[name == "other"];
    for (const std::string& line : lines_of(timeseries_out(
             {"anomalies", name + "/last.safetensors", "--plot", name + ".svg", "--target", "a"},
             folder.path()))) {
      const auto cells = cells_of(line);
      lines.push_back(cells[0] + " " + cells[1] + " " + cells[7]);
    }
    std::ranges::sort(lines);
    CHECK(read_text(folder / (name + ".svg")).find("80 % interval") != std::string::npos);
  }
  CHECK(found[0].size() > 600);
  CHECK(found[0] == found[1]);
}

TEST_CASE("a row of two channels is as rare as one of a single channel: each p counts twice") {
  const Folder folder;
  RandomStream random(2, "noise");
  std::string csv = "a,b\n";
  for (int i = 0; i < 200; ++i) csv += fmt::format("{:.5f},{:.5f}\n", random.uniform(), random.uniform());
  folder.write("noise.csv", csv);
  const ProgramRun run = started(Words{"anomalies", "noise.csv"} + set({"data.period=1"}), folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  // A row's p is 2 / (n + 1) at least.
  CHECK_MESSAGE(run.err.find("rate: 0.01 needs 199 errors known before the first row") != std::string::npos,
                run.err);
  int certain = 0, all = 0;
  const std::vector<std::string> lines = lines_of(run.out);
  for (size_t i = 1; i < lines.size(); ++i, ++all) certain += cells_of(lines[i])[7] == "1";
  // p of noise is even in (0, 1): twice that is 1 or more in half of the values, five deviations aside.
  CHECK(all > 100);
  CHECK(certain > all / 2 - 5 * std::sqrt(all) / 2);
}

TEST_CASE("a model watches its test, and a new file") {
  const Folder folder;
  folder.write("mine.toml", linear_model("channels = [\"load\"]\nwindow = 24\nhorizon = 2\nperiod = 24\n",
                                         "epochs = 3\n"));
  folder.write("sensor.csv", with_spikes());
  (void)timeseries_out({"train", "mine.toml", "--csv", "sensor.csv", "--out", "run"}, folder.path());
  const ProgramRun run =
      started({"anomalies", "run/best.safetensors", "--csv", "sensor.csv", "--rate", "0.06"}, folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK_MESSAGE(run.err.find("by the errors of the validation split") != std::string::npos, run.err);
  const std::vector<std::string> lines = lines_of(run.out);
  CHECK(lines.size() == 80);  // the last row of the test has no second step
  for (const std::string& line : lines)
    if (line.starts_with("2020-01-16 01:00:00") || line.starts_with("2020-01-17 06:00:00"))
      CHECK_MESSAGE(line.ends_with(",1"), line);
}

TEST_CASE("what cannot be watched is refused in one line") {
  const Folder folder;
  folder.write("sensor.csv", with_spikes());
  const auto check = [&](const Words& words, const std::string& part) {
    const ProgramRun run = started(words, folder.path());
    CHECK(run.code == 2);
    CHECK_MESSAGE(lines_of(run.err).size() == 1, run.err);
    CHECK_MESSAGE(run.err.find(part) != std::string::npos, part, "\n", run.err);
  };
  check({"anomalies", "sensor.csv", "--rate", "1"}, "--rate 1 must be between 0 and 1");
  check({"anomalies", "sensor.csv", "--csv", "sensor.csv"}, "the series stands in the model's place already");
  check({"anomalies", "sensor.csv", "--target", "load"}, "--target is for a picture");
  check({"anomalies", "none.safetensors", "--column", "load"}, "--column is for a series without a recipe");
  check({"anomalies", "none.safetensors", "--seed", "1"}, "--seed is for a series without a recipe");
  check({"anomalies", "none.safetensors", "--set", "model.hidden=8"}, "--set is for a series");
  check({"anomalies", "none.safetensors", "--engine", "fused"}, "--engine is for a series");
  check({"anomalies", "sensor.csv", "--out", "sensor.csv"}, "sensor.csv");
  check({"anomalies", "sensor.csv", "--out", "found", "--plot", "./found"},
        "are one file; each needs its own");
  check({"anomalies", "sensor.csv", "--column", "laod"}, "did you mean 'load'?");
  folder.write("nine.csv", "y\n1\n3\n2\n5\n4\n6\n5\n7\n6\n");
  const ProgramRun few = started({"anomalies", "nine.csv", "--set", "data.window=1"}, folder.path());
  CHECK(few.code == 2);  // behind what was found in the file
  CHECK_MESSAGE(lines_of(few.err).back().find("nine.csv: too few rows") != std::string::npos, few.err);
}

TEST_CASE("rows that all hold one value have no width, and its cells are empty") {
  const Folder folder;
  std::string csv = "y\n";
  for (int i = 0; i < 60; ++i) csv += "5\n";
  folder.write("constant.csv", csv);
  const ProgramRun run = started({"anomalies", "constant.csv"}, folder.path());
  CHECK_MESSAGE(run.code == 0, run.err);
  CHECK(run.out.find("nan") == std::string::npos);
  CHECK_MESSAGE(run.out.find(",y,5,5,,,0,") != std::string::npos, run.out);
}

TEST_CASE("one of several series in a file is watched as if it stood alone, and is asked for by its name") {
  const Folder folder;
  std::string several = "date,shop,load\n", alone = "date,load\n";
  RandomStream random(5, "shops");
  for (const std::string shop : {"north", "south"})
    for (int i = 0; i < 120; ++i) {
      const std::string date = fmt::format("2020-01-{:02} {:02}:00", 1 + i / 24, i % 24),
                        load = fmt::format("{:.3f}",
                                           20 + 5 * std::sin(i * 2 * 3.14159265 / (shop == "north" ? 7 : 5)) +
                                               random.uniform());
      several += fmt::format("{},{},{}\n", date, shop, load);
      if (shop == "south") alone += fmt::format("{},{}\n", date, load);
    }
  folder.write("several.csv", several), folder.write("alone.csv", alone);
  (void)timeseries_out({"anomalies", "several.csv", "--series", "south", "--out", "a.csv"}, folder.path());
  (void)timeseries_out({"anomalies", "alone.csv", "--out", "b.csv"}, folder.path());
  CHECK(read_text(folder / "a.csv") == read_text(folder / "b.csv"));
  const auto refusal = [&](const Words& words) {
    const ProgramRun run = started(words, folder.path());
    CHECK(run.code == 2);
    return run.err;
  };
  CHECK(
      refusal({"anomalies", "several.csv"})
          .find("anomalies: several.csv is of several series, by column 'shop': --series NAME says which") !=
      std::string::npos);
  CHECK(refusal({"anomalies", "several.csv", "--series", "suoth"}).find("suoth") != std::string::npos);
  CHECK(refusal({"anomalies", "alone.csv", "--series", "south"})
            .find("--series south: alone.csv is of one series") != std::string::npos);
}

TEST_CASE("what is said beside --series counts as it does for a file of that series alone") {
  const Folder folder;
  std::string panel = "date,shop,x,y\n", alone = "date,x,y\n";
  RandomStream random(6, "panel");
  for (const std::string shop : {"A", "B"})
    for (int i = 0; i < 160; ++i) {
      const bool is_hole = i % 31 == 4;
      const double wave = std::sin(i * 2 * 3.14159265 / 7) + std::sin(i * 2 * 3.14159265 / 21);
      const std::string date = fmt::format("2020-01-{:02} {:02}:00", 1 + i / 24, i % 24),
                        x = fmt::format("{:.3f}", (shop == "A" ? 30 : 3) + wave + random.uniform()),
                        y = is_hole ? "" : fmt::format("{:.3f}", 2 * random.uniform());
      panel += fmt::format("{},{},{},{}\n", date, shop, x, y);
      if (shop == "B") alone += fmt::format("{},{},{}\n", date, x, y);
    }
  folder.write("panel.csv", panel), folder.write("alone.csv", alone);
  std::vector<std::string> found;
  for (const Words& said :
       {Words{}, Words{"--column", "x"}, Words{"--column", "y"} + set({"data.missing=mask"}),
        set({"data.period=7"}), set({"data.period=5"}), set({"data.period=7", "data.second_period=21"}),
        set({"data.period=7", "data.bounds=[3.2,4.8]"})}) {
    CAPTURE(fmt::format("{}", fmt::join(said, " ")));
    const std::string of_one = timeseries_out(Words{"anomalies", "alone.csv"} + said, folder.path());
    CHECK(timeseries_out(Words{"anomalies", "panel.csv", "--series", "B"} + said, folder.path()) == of_one);
    CHECK(std::ranges::find(found, of_one) == found.end());  // it has an effect
    found.push_back(of_one);
  }
  const Words b = {"anomalies", "panel.csv", "--series", "B"};
  CHECK(timeseries_out(b + set({"data.id=shop"}), folder.path()) == timeseries_out(b, folder.path()));
  // The picture is of the target.
  for (const std::string target : {"x", "y"}) {
    timeseries_out({"anomalies", "panel.csv", "--series", "B", "--target", target, "--plot", target + ".svg"},
                   folder.path());
    CHECK(read_text(folder / (target + ".svg")).find("Anomalies of " + target) != std::string::npos);
  }
}

TEST_CASE("rows after a hole are no anomalies: their forecasts lack what it lacks, which is said") {
  const Folder folder;
  folder.write(
      "mine.toml",
      linear_model("channels = [\"load\"]\nwindow = 24\nhorizon = 1\nperiod = 24\nmissing = \"previous\"\n",
                   "epochs = 20\n", "learning_rate = 0.02\n"));
  std::string holed;
  int line = 0;
  for (const std::string& row : lines_of(wave(600))) {
    const bool is_hole = line >= 541 && line < 551;
    holed += (is_hole ? row.substr(0, row.find(',')) + ",," : row) + "\n";
    ++line;
  }
  folder.write("whole.csv", wave(600)), folder.write("holed.csv", holed);
  (void)timeseries_out({"train", "mine.toml", "--csv", "whole.csv", "--out", "run"}, folder.path());
  const auto called_after = [&](const std::string& csv) {
    const ProgramRun run =
        started({"anomalies", "run/best.safetensors", "--csv", csv, "--rate", "0.05"}, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    CHECK_MESSAGE((run.err.find("not watched: 8 rows") != std::string::npos) == (csv == "holed.csv"),
                  run.err);
    int called = 0;
    for (const std::string& row : lines_of(run.out))
      called += row >= "2020-01-23 00:00" && row < "2020-02" && row.ends_with(",1");
    return called;
  };
  CHECK(called_after("holed.csv") <= called_after("whole.csv"));
}

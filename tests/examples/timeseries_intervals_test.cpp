// Intervals around forecasts: what they hold, and where there is none.
#include <algorithm>
#include <array>

#include "examples/timeseries/series/series.h"
#include "tests/environment.h"
#include "tests/examples/timeseries.h"
#include "tests/look_page.h"
#include "training/files/safetensors.h"

using namespace unroll;

TEST_CASE("an interval says how many values it holds, on rows that did not choose the model") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  // Noise that is ten times as large in the test: the interval grows with the window's scale, and with the errors.
  RandomStream random(6, "noise");
  std::string csv = "value\n";
  for (int i = 0; i < 600; ++i) csv += fmt::format("{:.5f}\n", (i < 480 ? 1 : 10) * (random.uniform() - 0.5));
  folder.write("noise.csv", csv);
  const Words train = Words{"train", "tiny.toml", "--csv", "noise.csv"} + set({"data.horizon=1"});
  const auto json = timeseries_json(train + Words{"--out", "run"}, folder.path());
  const double coverage = json["scores"]["test"]["the model"]["interval_coverage"];
  CHECK(coverage > 0.65);
  CHECK(coverage < 0.95);
  CHECK(json["scores"]["test"]["the model"]["coverage"] == coverage);
  const std::string part = fmt::format("{:.0f} % lie within", 100 * coverage);
  CHECK(read_text(folder / "run/report.html").find(part) != std::string::npos);
  CHECK(timeseries_out(train, folder.path()).find(part) != std::string::npos);
  const ProgramRun run = started({"forecast", "run/best.safetensors", "--csv", "noise.csv"}, folder.path());
  CHECK_MESSAGE(
      run.err.find(
          "interval: 80 %, by the errors of the last 120 forecasts of the validation split and the test "
          "split; of the test's 120 values " +
          part) != std::string::npos,
      run.err);
}

TEST_CASE("a series that leaves the side of 0 on which it trained is forecast and bounded there no longer") {
  const Folder folder;
  folder.write("mine.toml", linear_model("window = 12\nhorizon = 3\n", "epochs = 10\nkeep = \"last\"\n",
                                         "learning_rate = 0.01\n"));
  // Above 0 while it trains, then down by a fifth a row.
  RandomStream random(4, "cold");
  std::string csv = "y\n";
  for (int i = 0; i < 300; ++i)
    csv +=
        fmt::format("{:.4f}\n", 12 + 3 * std::sin(i * 0.5) + random.uniform() - std::max(0, i - 210) * 0.2);
  folder.write("cold.csv", csv);
  const Words read = {"--csv", "cold.csv"};
  const auto json =
      timeseries_json(Words{"train", "mine.toml", "--out", "run"} + read, folder.path())["scores"]["test"];
  CHECK(json["the model"]["interval_coverage"].get<double>() > 0.6);
  timeseries_out(Words{"evaluate", "run/last.safetensors", "--out", "all.csv"} + read, folder.path());
  int below = 0;
  for (const std::string& line : lines_of(read_text(folder / "all.csv"))) {
    if (line.starts_with("origin")) continue;
    double value = 0, low = 0, high = 0;
    REQUIRE(std::sscanf(line.c_str(), "%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lf,%lf,%lf", &value, &low,
                        &high) == 3);
    CHECK((low <= value && value <= high && low < high));
    below += value < 0;
  }
  CHECK(below > 20);
  // Bounds that are asked for hold for the forecast, too: the last values lie between -5 and 0.
  const ProgramRun bounded = started(
      Words{"train", "mine.toml", "--out", "asked"} + read + set({"data.bounds=[0.0, 40.0]"}), folder.path());
  REQUIRE_MESSAGE(bounded.code == 0, bounded.err);
  const ProgramRun run = started(Words{"forecast", "asked/last.safetensors"} + read, folder.path());
  CHECK_MESSAGE(run.err.find("from 0 to 40 at most") != std::string::npos, run.err);
  const auto lines = lines_of(run.out);
  for (size_t step = 1; step <= 3; ++step) {
    double value = 0, low = 0, high = 0;
    REQUIRE(std::sscanf(lines[step].c_str(), "%*[^,],%lf,%lf,%lf", &value, &low, &high) == 3);
    CHECK((value == 0 && low == 0 && high > 0));
  }
}

TEST_CASE("each target is forecast within its own bounds: beyond the horizon, and as look shows it") {
  const Folder folder;
  folder.write("mine.toml", linear_model("channels = [\"a\", \"b\"]\nwindow = 12\nhorizon = 3\n",
                                         "epochs = 10\n", "learning_rate = 0.01\n"));
  const auto csv = [](double first, int rows) {  // b crosses 0; a does not, or did so once
    std::string text = "a,b\n";
    for (int i = 0; i < rows; ++i)
      text +=
          fmt::format("{:.4f},{:.4f}\n", i == 0 ? first : 12 + 3 * std::sin(i * 0.5), 5 * std::sin(i * 0.4));
    return text;
  };
  folder.write("above.csv", csv(12, 295)), folder.write("cut.csv", csv(12, 292));
  folder.write("once.csv", csv(-1, 292));
  const std::string model = "run/best.safetensors";
  timeseries_out({"train", "mine.toml", "--csv", "above.csv", "--out", "run"}, folder.path());
  const auto forecast = [&](const std::string& file) {
    std::vector<double> values;
    for (const std::string& line :
         lines_of(timeseries_out({"forecast", model, "--csv", file, "--steps", "20"}, folder.path())))
      if (double value = 0; std::sscanf(line.c_str(), "%*[^,],%*[^,],%*[^,],%*[^,],%lf", &value) == 1)
        values.push_back(value);
    return values;
  };
  const std::vector<double> b = forecast("cut.csv");
  REQUIRE(b.size() == 20);
  CHECK(b == forecast("once.csv"));
  timeseries_out({"look", model, "--csv", "above.csv", "--target", "b", "--out", "b.html"}, folder.path());
  const auto page = models_in(read_text(folder / "b.html")).at(0);
  for (size_t k = 0; k < 3; ++k) {
    CHECK(b[k] < -1);
    CHECK(page["series"]["forecast"][k].get<double>() == doctest::Approx(b[k]).epsilon(1e-4));
  }
  // A page that runs the model has the target's place, unit and bounds.
  std::vector<nlohmann::json> live;
  for (const char* target : {"a", "b"}) {
    const std::string out = fmt::format("live-{}.html", target);
    timeseries_out({"look", model, "--csv", "above.csv", "--target", target, "--live", "--out", out},
                   folder.path());
    live.push_back(models_in(read_text(folder / out)).at(0));
    REQUIRE(live.back()["kind"] == "live");
  }
  for (const size_t k : {0, 1}) {
    CHECK((live[k]["target"] == k && live[k]["input"] == k && live[k]["targets"] == 2));
    CHECK(live[k]["unit"] == live[k]["inputs"][k]);
    CHECK(live[k]["least"] == (k == 0 ? 0 : -1e308));
    CHECK(live[k]["most"] == 1e308);
  }
  CHECK(live[0]["unit"] != live[1]["unit"]);
}

TEST_CASE("of many forecasts beyond the horizon 200 from all of the test set the width, not the first ones") {
  const Folder folder;
  folder.write("mine.toml",
               linear_model("window = 4\nhorizon = 1\n", "epochs = 3\n", "learning_rate = 0.01\n"));
  // Quiet for most of the test, then a noise of 1.
  RandomStream random(3, "late");
  std::string csv = "y\n";
  for (int i = 0; i < 3000; ++i)
    csv += fmt::format("{:.4f}\n", 20 + std::sin(i * 0.5) + (i < 2700 ? 0.01 : 1) * (random.uniform() - 0.5));
  folder.write("late.csv", csv);
  timeseries_out({"train", "mine.toml", "--csv", "late.csv", "--out", "run"}, folder.path());
  const ProgramRun run =
      started({"forecast", "run/best.safetensors", "--csv", "late.csv", "--steps", "2"}, folder.path());
  CHECK_MESSAGE(run.err.find("of the test's 400 values") != std::string::npos, run.err);
  // Half of the 200 see the noise: 80 % of all errors are 60 % of theirs.
  double low = 0, high = 0;
  REQUIRE(std::sscanf(lines_of(run.out).at(1).c_str(), "%*[^,],%*[^,],%lf,%lf", &low, &high) == 2);
  CHECK_MESSAGE(high - low > 0.6, run.out);
}

TEST_CASE("quantiles of 98 % that few errors cannot widen say so") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(130));
  const Words read = {"--csv", "wave.csv"};
  timeseries_out(Words{"train", "tiny.toml", "--out", "run"} + read +
                     set({"data.horizon=1", "data.channels=[\"load\"]", "training.loss=quantile",
                          "training.quantiles=[0.01, 0.5, 0.99]"}),
                 folder.path());
  const ProgramRun run = started(Words{"forecast", "run/best.safetensors"} + read, folder.path());
  CHECK_MESSAGE(run.err.find("too few for 98 %, which takes 49: it may hold less") != std::string::npos,
                run.err);
}

TEST_CASE(
    "intervals of baselines are meant for as many values as the model's are, or their scores do not compare") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(400));
  const std::string out =
      timeseries_out(Words{"train", "tiny.toml", "--out", "run", "--csv", "wave.csv"} +
                         set({"data.horizon=1", "data.channels=[\"load\"]", "training.loss=quantile",
                              "training.quantiles=[0.25, 0.5, 0.75]"}),
                     folder.path());
  CHECK_MESSAGE(out.find("Each is meant for 50 %") != std::string::npos, out);
}

TEST_CASE("a step of which too few errors are known has no interval, and its coverage is null") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(80));
  // 7 of the test's 16 windows end before the last one's ninth step, and 15 before its first.
  const ProgramRun run =
      started(Words{"train", "tiny.toml", "--csv", "wave.csv", "--json"} +
                  set({"data.split=rows", "data.train_rows=46", "data.valid_rows=10", "data.horizon=9"}),
              folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.err.find("nan") == std::string::npos);
  const auto scores = nlohmann::json::parse(lines_of(run.out).back())["scores"]["test"]["the model"];
  CHECK(scores["coverage_by_step"][0].is_number());
  CHECK(scores["coverage_by_step"][8].is_null());
}

TEST_CASE("no share of values within is measured where the rows that validate have trained the model") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(600)), folder.write("short.csv", wave(500));
  timeseries_out(Words{"train", "tiny.toml", "--csv", "wave.csv", "--out", "run"} +
                     set({"data.targets=[\"load\"]", "training.epochs=1"}),
                 folder.path());
  // Rows to 420 trained; of the shorter file rows 350 to 400 would validate.
  const Words evaluate = {"evaluate", "run/best.safetensors", "--csv"};
  const auto of_model = [&](const char* csv) {
    return timeseries_json(evaluate + Words{csv}, folder.path())["scores"]["test"]["the model"];
  };
  CHECK(of_model("wave.csv")["coverage"].is_number());
  const auto of_short = of_model("short.csv");
  CHECK_FALSE((of_short.contains("coverage") || of_short.contains("interval_coverage")));
  CHECK(timeseries_out(evaluate + Words{"short.csv"}, folder.path())
            .find("how many values lie within is not measured") != std::string::npos);
}

TEST_CASE(
    "look at a file: its forecast keeps to 0 where no value lies below, or to the bounds that are asked for") {
  const Folder folder;
  const auto of_counts = [&](int less, const Words& more) {
    std::string csv = "day,count\n";
    for (int row = 0; row < 84; ++row)
      csv +=
          fmt::format("2020-{:02}-{:02},{}\n", 1 + row / 28, 1 + row % 28,
                      std::array{0, 0, 4, 0, 1, 0, 0}[static_cast<size_t>(row * row + row / 9) % 7] - less);
    folder.write("counts.csv", csv);
    timeseries_out(Words{"look", "counts.csv", "--out", fmt::format("{}-{}.html", less, more.size())} +
                       set({"data.horizon=3", "data.period=7"}) + more,
                   folder.path());
    return models_in(read_text(folder / fmt::format("{}-{}.html", less, more.size())))[0]["series"]["low"]
        .get<std::vector<double>>();
  };
  for (const double low : of_counts(2, {})) CHECK(low < -2);  // where values lie on both sides
  for (const double low : of_counts(0, {})) CHECK(low == 0);
  for (const double low : of_counts(2, set({"data.bounds=[-1.5, 9.0]"}))) CHECK(low == -1.5);
}

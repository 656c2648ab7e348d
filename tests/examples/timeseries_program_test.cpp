// The program `timeseries` as a user meets it: what it prints and writes. (Its recipes: timeseries_recipe_test.cpp.)
#include "examples/timeseries/series/series.h"
#include "tests/environment.h"
#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

TEST_CASE("a run writes its model, log and report, and prints the baselines beside the model") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(600));
  const std::string out = timeseries_out({"train", "tiny.toml", "--csv", "wave.csv"}, folder.path());
  for (const std::string part :
       {"runs/tiny-1",
        "\nseries  420 / 60 / 120 rows to train on, to validate, to test; 600 rows, 2020-01-01 00:00:00 to ",
        "; each 12 rows of 2 channels, to forecast 3 rows of 2\n", "parameters", "epoch 4/4", "the model",
        "last value", "seasonal naive (24)", "times growth", "mean of training", "118 windows, none left out",
        "MSE scaled by step", "RMSE and MAE add up 2 channels, each in its own unit", "the model ",
        " at most; ", "B asked for tensors\n", "forecast runs/tiny-1/best.safetensors --csv wave.csv\n"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, part, "\n", out);
  for (const std::string file :
       {"last.safetensors", "best.safetensors", "recipe.toml", "log.jsonl", "report.html"})
    CHECK_MESSAGE(fs::exists(folder / "runs/tiny-1" / file), file);
  const std::string page = read_text(folder / "runs/tiny-1/report.html");
  for (const char* part :
       {"Scores: test", "Forecasts of load: test", "Error by step: test", "class=\"band s1\""})
    CHECK_MESSAGE(page.find(part) != std::string::npos, part);
  // As many lines as can be told apart, from the first step on; what is not drawn is named.
  const size_t errors = page.find("Error by step: test");
  const std::string chart = page.substr(errors, page.find("</figure>", errors) - errors);
  CHECK(chart.find("class=\"series s5\"") != std::string::npos);
  CHECK(chart.find("that err least; not drawn: ") != std::string::npos);
  CHECK(chart.find("data-range=\"1,3,") != std::string::npos);
}

// The text after "next" in the last line.
static std::string next_of(const std::string& out) {
  const std::vector<std::string> lines = lines_of(out);
  REQUIRE(!lines.empty());
  REQUIRE_MESSAGE(lines.back().starts_with("next    "), out);
  return lines.back().substr(8);
}

TEST_CASE("the command of the last line can be given to a shell as it stands") {
  const EnvironmentVariable started_by_itself("UNROLL_RUN", nullptr);  // not by ./run, which lies elsewhere
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("a b;c'd.csv", wave(600));
  const auto next = [&](const Words& more) {
    return next_of(timeseries_out(
        Words{"train", "tiny.toml", "--csv", "a b;c'd.csv"} + set({"training.epochs=1"}) + more,
        folder.path()));
  };
  const std::string forecast = next({"--out", "my $(runs)"});
  CHECK_MESSAGE(forecast.ends_with(" forecast 'my $(runs)/best.safetensors' --csv 'a b;c'\\''d.csv'"),
                forecast);
  const auto shell = [&](const std::string& line) {
    return output_of(run_program("/bin/sh", {"-c", line}, folder.path()));
  };
  CHECK(lines_of(shell(forecast)).size() == 4);
  const std::string bundled =
      next_of(timeseries_out({"train", "airline", "--set", "training.epochs=1"}, folder.path()));
  CHECK_MESSAGE(bundled.ends_with(" forecast runs/airline-1/best.safetensors"), bundled);
  CHECK(lines_of(shell(bundled)).size() == 2);
  // A detector is given the series that it was trained on, also if the recipe names it.
  std::string csv = "value,state\n";
  for (int i = 0; i < 200; ++i) csv += fmt::format("{},{}\n", i % 7, i % 2);
  folder.write("my flags.csv", csv);
  const std::string detect =
      next_of(timeseries_out(Words{"train", "tiny.toml"} +
                                 set({"data.file=\"my flags.csv\"", "data.label=state", "training.epochs=1"}),
                             folder.path()));
  CHECK_MESSAGE(detect.ends_with(" detect runs/tiny-1/best.safetensors --csv 'my flags.csv'"), detect);
  CHECK(lines_of(shell(detect)).size() == 190);
  CHECK(next_of(shell("sed '' 'my flags.csv' | " + program_named("timeseries") +
                      " train tiny.toml --csv - --set data.label=state --set training.epochs=1"))
            .ends_with(" --csv -"));
}

TEST_CASE("evaluate gives what training reported, from the model's file and the series") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(600));
  const auto json =
      timeseries_json({"train", "tiny.toml", "--csv", "wave.csv", "--out", "run"}, folder.path());
  fs::rename(folder / model, folder / "moved.safetensors");
  fs::remove_all(folder / "run");
  fs::remove(folder / "tiny.toml");
  const auto again = timeseries_json({"evaluate", "moved.safetensors", "--csv", "wave.csv"}, folder.path());
  CHECK(again["scores"] == json["scores"]);
  CHECK(again["parameters"] == json["parameters"]);
  CHECK(json["values"] == 4 * 406 * 6);  // windows of the training part, of 3 rows and 2 channels
  CHECK(json["valid_loss"].get<double>() > 0);
  // The baselines' rows are those that `baselines` prints.
  folder.write("tiny.toml", tiny);
  auto baselines = timeseries_json({"baselines", "tiny.toml", "--csv", "wave.csv"}, folder.path())["test"];
  for (const auto& [name, row] : baselines.items()) CHECK(json["scores"]["test"][name] == row);
  CHECK(baselines.size() + 1 == json["scores"]["test"].size());
}

TEST_CASE("forecast: rows beyond the end, also beyond the horizon; as CSV and as a drawing") {
  const fs::path& folder = trained().path();
  const auto lines =
      lines_of(timeseries_out({"forecast", model, "--csv", "wave.csv", "--steps", "5"}, folder));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "time,load,load_low,load_high,noise,noise_low,noise_high");
  CHECK_MESSAGE(lines[1].starts_with("2020-01-26 00:00:00,"), lines[1]);
  CHECK(lines[5].starts_with("2020-01-26 04:00:00,"));
  // The first steps do not depend on how many are asked for.
  const auto three = lines_of(timeseries_out({"forecast", model, "--csv", "wave.csv"}, folder));
  REQUIRE(three.size() == 4);
  const auto value = [](const std::string& line) {
    return line.substr(0, line.find(',', line.find(',') + 1));
  };
  for (size_t k = 1; k < 4; ++k) CHECK(value(three[k]) == value(lines[k]));

  const Folder out;
  const Words words = {"forecast", (trained() / model).string(),
                       "--csv",    (trained() / "wave.csv").string(),
                       "--steps",  "24",
                       "--out",    "next.csv",
                       "--plot",   "next.svg",
                       "--ascii"};
  const std::string drawn = timeseries_out(words, out.path());
  CHECK(lines_of(read_text(out / "next.csv")).size() == 25);
  CHECK(read_text(out / "next.svg").starts_with("<svg xmlns"));
  for (const char* part : {"Forecast of load", "* forecast", ". interval", "2020-01-26 23:00"})
    CHECK_MESSAGE(drawn.find(part) != std::string::npos, drawn);
  const ProgramRun twice = started(words, out.path());
  CHECK(twice.code == 2);
  CHECK(twice.err.find("next.svg is there already") != std::string::npos);
}

TEST_CASE("a model knows the column of its times wherever a later file has it") {
  const fs::path& folder = trained().path();
  const Folder other;
  std::string moved;
  for (const std::string& line : lines_of(read_text(folder / "wave.csv"))) {
    const size_t comma = line.find(',');
    moved += line.substr(comma + 1) + "," + line.substr(0, comma) + "\n";
  }
  other.write("moved.csv", moved);
  const std::string path = (trained() / model).string();
  CHECK(timeseries_out({"forecast", path, "--csv", "moved.csv"}, other.path()) ==
        timeseries_out({"forecast", model, "--csv", "wave.csv"}, folder));
}

TEST_CASE("a forecast's columns have names of their own where a channel is called time") {
  const Folder folder;
  std::string csv = "at,time\n";
  for (int i = 0; i < 200; ++i) csv += fmt::format("2020-01-{:02} {:02}:00,{}\n", 1 + i / 24, i % 24, i % 7);
  folder.write("laps.csv", csv);
  folder.write("tiny.toml", tiny);
  timeseries_out({"train", "tiny.toml", "--csv", "laps.csv", "--set", "training.epochs=1", "--out", "run"},
                 folder.path());
  const auto lines = lines_of(timeseries_out({"forecast", model, "--csv", "laps.csv"}, folder.path()));
  CHECK(lines.at(0) == "at,time,time_low,time_high");
}

TEST_CASE("a forecast's columns have names of their own where channels are called as another's interval") {
  const Folder folder;
  std::string csv = "x_low,x,time,x_interval_high,x_high\n";
  for (int i = 0; i < 200; ++i)
    csv +=
        fmt::format("2020-01-{:02} {:02}:00,{},{},{},{}\n", 1 + i / 24, i % 24, i % 7, i % 5, i % 3, i % 2);
  folder.write("names.csv", csv);
  folder.write("tiny.toml", tiny);
  timeseries_out({"train", "tiny.toml", "--csv", "names.csv", "--set", "training.epochs=1", "--out", "run"},
                 folder.path());
  const std::string out = timeseries_out({"forecast", model, "--csv", "names.csv"}, folder.path());
  // The column of times, called x_low in the file, comes before the interval.
  CHECK(lines_of(out).at(0) ==
        "x_low,x,x_interval_low,x_interval_high_,time,time_low,time_high,x_interval_high,x_interval_high_low,"
        "x_interval_high_high,x_high,x_high_low,x_high_high");
  CHECK(unroll::parse_series(out, "next.csv").rows() == 3);
}

TEST_CASE("a forecast has the digits that tell it from its interval, however far from 0 the series lies") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  RandomStream random(9, "level");
  std::string csv = "far,near\n";
  for (int i = 0; i < 300; ++i)
    csv += fmt::format("{:.3f},{:.3f}\n", 123456789 + 3 * random.uniform(), 1e-3 * random.uniform());
  folder.write("level.csv", csv);
  timeseries_out({"train", "tiny.toml", "--csv", "level.csv", "--out", "run"}, folder.path());
  const auto lines = lines_of(timeseries_out({"forecast", model, "--csv", "level.csv"}, folder.path()));
  REQUIRE(lines.size() == 4);
  double value = 0, low = 0, high = 0;
  REQUIRE(std::sscanf(lines[1].c_str(), "%*[^,],%lf,%lf,%lf", &value, &low, &high) == 3);
  CHECK(low < value);
  CHECK(value < high);
  CHECK(value - low == doctest::Approx(high - value).epsilon(1e-4));  // of about 1, each rounded to 1e-6
  CHECK(high - low < 6);
  for (size_t k = 1; k < 4; ++k)  // six digits of the deviation, which is just below 1
    CHECK_MESSAGE(lines[k].size() <= std::string("300").size() + 3 * std::string(",123456789.123456").size() +
                                         3 * std::string(",-0.000123456").size(),
                  lines[k]);
}

TEST_CASE("a model reads its own columns of a file, wherever they stand and whatever stands beside them") {
  const Folder folder;
  std::istringstream rows(read_text(trained() / "wave.csv"));
  std::string csv, line;
  for (int i = 0; std::getline(rows, line); ++i) {
    const size_t first = line.find(','), second = line.find(',', first + 1);
    csv += fmt::format("{},{},{},{}\n", line.substr(0, first), line.substr(second + 1), i ? "fine" : "remark",
                       line.substr(first + 1, second - first - 1));
  }
  folder.write("more.csv", csv);
  for (const char* command : {"forecast", "evaluate"}) {
    const Words words = {command, (trained() / model).string(), "--csv"};
    CHECK(timeseries_out(words + Words{"more.csv"}, folder.path()) ==
          timeseries_out(words + Words{(trained() / "wave.csv").string()}, folder.path()));
  }
  // No advice asks to change a setting that the model fixes.
  csv.replace(csv.rfind("fine,"), std::string::npos, "fine,\n");
  folder.write("hole.csv", csv);
  const ProgramRun hole =
      started({"forecast", (trained() / model).string(), "--csv", "hole.csv"}, folder.path());
  CHECK_MESSAGE(hole.err.ends_with("column 4 ('load'): a value is missing\n"), hole.err);
}

TEST_CASE("rows that trained are told from those that did not, also in a file that ends earlier") {
  const Folder folder;
  const auto first = [&](const std::string& text, size_t rows) {
    size_t end = 0;
    for (size_t k = 0; k <= rows; ++k) end = text.find('\n', end) + 1;
    return text.substr(0, end);
  };
  std::string bare;  // without times
  for (const std::string& line : lines_of(wave(600))) bare += line.substr(line.find(',') + 1) + "\n";
  folder.write("tiny.toml", tiny);
  for (const auto& [name, text] : {std::pair{"wave", wave(600)}, {"bare", bare}}) {
    folder.write(fmt::format("{}.csv", name), text);
    folder.write(fmt::format("{}-480.csv", name), first(text, 480));
    timeseries_out(Words{"train", "tiny.toml", "--csv", fmt::format("{}.csv", name), "--out", name} +
                       set({"training.epochs=1"}),
                   folder.path());
  }
  const auto said = [&](const Words& words) {
    const ProgramRun run = started(words, folder.path());
    CHECK_MESSAGE(run.code == 0, run.err);
    return run.out + run.err;
  };
  // Rows 0 to 419 of 600 trained; of the first 480, the test begins with row 384, and 336 would have trained.
  for (const auto& [name, range] :
       {std::pair{"wave", "2020-01-01 00:00:00 to 2020-01-18 11:00:00"}, {"bare", "rows 0 to 419"}}) {
    const std::string file = fmt::format("{}/best.safetensors", name), csv = fmt::format("{}-480.csv", name);
    CAPTURE(name);
    CHECK(said({"evaluate", file, "--csv", csv})
              .starts_with(
                  fmt::format("warning 36 of the 96 rows of test lie where the model trained, {}:", range)));
    CHECK(said({"evaluate", file, "--csv", csv, "--split", "valid"})
              .starts_with(
                  fmt::format("warning 48 of the 48 rows of valid lie where the model trained, {}:", range)));
    CHECK(said({"evaluate", file, "--csv", csv, "--split", "train"}).find("warning") == std::string::npos);
    CHECK(said({"evaluate", file, "--csv", fmt::format("{}.csv", name)}).find("warning") ==
          std::string::npos);
    CHECK(said({"forecast", file, "--csv", csv})
              .find("errors of the last 58 forecasts of all rows that did not train") != std::string::npos);
  }
  const std::string untimed = said({"evaluate", "wave/best.safetensors", "--csv", "bare-480.csv"});
  CHECK_MESSAGE(
      untimed.starts_with("warning training ended with 2020-01-18 11:00:00, and the rows begin with 0:"),
      untimed);
  const std::string by_split = said({"forecast", "wave/best.safetensors", "--csv", "bare-480.csv"});
  CHECK_MESSAGE(by_split.find("note: which rows validate is by the recipe's split") != std::string::npos,
                by_split);
  // A model of before this was written down is taken as it was.
  const SafetensorsFile whole(folder / "wave/best.safetensors");
  std::vector<NamedTensor> tensors;
  for (const auto& entry : whole.entries()) tensors.push_back({entry.name, whole.load(entry.name)});
  Metadata metadata = whole.metadata();
  CHECK(metadata.erase("trained_to") == 1);
  write_safetensors(folder / "old.safetensors", tensors, metadata);
  CHECK(said({"evaluate", "old.safetensors", "--csv", "wave-480.csv"}).find("warning") == std::string::npos);
  CHECK(said({"forecast", "old.safetensors", "--csv", "wave-480.csv"})
            .find(" forecasts of the validation split and the test split") != std::string::npos);
}

TEST_CASE("a model reads the series that it was trained on, not that of its recipe") {
  const Folder folder;
  std::string of_old = tiny;
  folder.write("tiny.toml", of_old.insert(tiny.find("window"), "file = \"old.csv\"\n"));
  folder.write("old.csv", wave(600));
  folder.write("new.csv", wave(660));
  const Words epoch = set({"training.epochs=1"});
  for (const std::string recipe : {"tiny.toml", "airline"}) {
    const std::string run = "run-" + recipe, best = run + "/best.safetensors";
    const Words window = recipe == "airline" ? set({"data.period=24"}) : Words{};
    timeseries_out(Words{"train", recipe, "--csv", "new.csv", "--out", run} + epoch + window, folder.path());
    for (const Words& command :
         {Words{"evaluate", best}, Words{"forecast", best}, Words{"anomalies", best}}) {
      CAPTURE(command[0]);
      CHECK(timeseries_out(command, folder.path()) ==
            timeseries_out(command + Words{"--csv", "new.csv"}, folder.path()));
    }
    CHECK(timeseries_out({"resume", run}, folder.path()).find("was ") == std::string::npos);
  }
  timeseries_out({"look", "run-tiny.toml/best.safetensors", "--out", "look.html"}, folder.path());
  CHECK(read_text(folder / "look.html").find("2020-01-28") != std::string::npos);  // where old.csv has ended
  timeseries_out(Words{"train", "tiny.toml", "--csv", "old.csv", "--out", "own"} + epoch, folder.path());
  CHECK(read_text(folder / "own/recipe.toml").find("file = \"old.csv\"") != std::string::npos);
}

TEST_CASE("every command that reads a file says what was done to it, and what its scores are worth") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  std::string csv = wave(600);
  csv.replace(csv.find(',', csv.find("2020-01-03")) + 1, 8, "");  // a value is missing
  folder.write("hole.csv", csv);
  const Words words = {"tiny.toml", "--csv", "hole.csv"},
              assignments = set({"data.missing=interpolate", "training.epochs=1"});
  timeseries_out(Words{"train"} + words + assignments + Words{"--out", "run"}, folder.path());
  const Words read = {"--csv", "hole.csv"};
  for (const Words& command :
       {Words{"evaluate", model} + read, Words{"evaluate", model, "--json"} + read,
        Words{"backtest", "--folds", "2"} + words + assignments, Words{"baselines"} + words + assignments}) {
    const ProgramRun run = started(command, folder.path());
    const std::string& said = run.out.starts_with("{") ? run.err : run.out;
    CHECK_MESSAGE(said.find("note    1 missing value") != std::string::npos, said);
    CHECK_MESSAGE(said.find("warning data.missing = \"interpolate\"") != std::string::npos, said);
  }
  const ProgramRun forecast = started(Words{"forecast", model} + read, folder.path());
  CHECK_MESSAGE(forecast.err.starts_with("note: 1 missing value"), forecast.err);
  CHECK(lines_of(forecast.out).size() == 4);
}

TEST_CASE("while a recipe is being chosen, the valid split is scored and the test is not seen") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(600));
  const auto json = timeseries_json(
      Words{"train", "tiny.toml", "--csv", "wave.csv", "--out", "run"} + set({"data.score=valid"}),
      folder.path());
  CHECK(json["scores"].size() == 1);
  CHECK(json["scores"]["valid"]["the model"]["windows"] == 58);
  CHECK(json["scores"]["valid"]["the model"]["scaled_mse"].get<double>() ==
        doctest::Approx(json["valid_loss"].get<double>()).epsilon(1e-4));
  CHECK(!json["scores"]["valid"]["the model"].contains("interval_coverage"));
  const std::string page = read_text(folder / "run/report.html");
  CHECK(page.find("Scores: valid") != std::string::npos);
  CHECK(page.find("Scores: test") == std::string::npos);
}

TEST_CASE("a target that is named tells a header of numbers from a row of values") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  std::string csv = "1,2\n";
  for (int i = 0; i < 200; ++i) csv += fmt::format("{},{}\n", i % 7, i % 5);
  folder.write("numbers.csv", csv);
  const Words dry = {"train", "tiny.toml", "--csv", "numbers.csv", "--dry-run"};
  const ProgramRun bare = started(dry, folder.path());
  CHECK(bare.code == 2);
  CHECK(lacks(lines_of(bare.err).front(), {"numbers.csv:1: the first line must name the columns; '1'"}) ==
        "");
  for (const char* key : {"targets", "channels"})
    CHECK(started(dry + set({fmt::format("data.{}=[\"2\"]", key)}), folder.path()).code == 0);
}

TEST_CASE("backtest: each fold trains anew and tests rows of its own") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(400));
  const Words words = {"backtest", "tiny.toml", "--csv", "wave.csv", "--folds", "3", "--test-rows", "48"};
  const std::string out = timeseries_out(words, folder.path());
  for (const char* part : {"fold 3/3", "the model", "last value", "mean", "2020-01-17 15:00:00"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, out);
  const auto json = timeseries_json(words, folder.path());
  REQUIRE(json.size() == 3);
  CHECK(json[0]["scores"]["the model"]["windows"] == 46);
  CHECK(json[0]["scores"]["the model"] != json[2]["scores"]["the model"]);
  CHECK(timeseries_json(words, folder.path()) == json);
  // The recipe's own split does not matter, even if the series has too few rows for it.
  const auto own = timeseries_json(words + set({"data.split=rows", "data.train_rows=8640"}), folder.path());
  CHECK(own == json);
}

TEST_CASE("explain: parts, windows, parameters and engine, without writing") {
  const Folder folder;
  const std::string out = timeseries_out({"explain", "airline"}, folder.path());
  for (const char* part :
       {"1949-01", "1957-01", "48", "lstm.weight_hh_l0", "[256, 64]", "Engine: lstm: fused", "learning rate"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, out);
  CHECK(folder.listing().empty());
  // A detector's test files are parts, by name.
  folder.write("tiny.toml", tiny);
  std::string csv = "value,state\n";
  for (int i = 0; i < 200; ++i) csv += fmt::format("{},{}\n", i % 7, i % 2);
  folder.write("a.csv", csv), folder.write("b.csv", csv);
  const std::string detector = timeseries_out(
      Words{"explain", "tiny.toml", "--csv", "a.csv"} +
          set({"data.label=state", "data.test_files=[b.csv]", "data.train=0.8", "data.valid=0.2"}),
      folder.path());
  for (const char* part : {"detects the last row's of state\n", "\nvalid ", "\nb "})
    CHECK_MESSAGE(detector.find(part) != std::string::npos, detector);
}

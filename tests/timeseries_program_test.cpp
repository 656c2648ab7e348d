// The program `timeseries` as a user meets it: what it prints, writes and refuses; and that it cheats nobody.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "examples/timeseries/recipe.cpp"  // the keys, for their documentation
#include "tests/program.h"
#include "tests/support.h"
#include "training/safetensors.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

ProgramRun started(const Words& words, const fs::path& folder) {
  return run_program(program_named("timeseries"), words, folder);
}

std::string timeseries_out(const Words& words, const fs::path& folder) {
  const ProgramRun run = started(words, folder);
  CHECK_MESSAGE(run.code == 0, run.err);
  return run.out;
}

nlohmann::json timeseries_json(const Words& words, const fs::path& folder) {
  const auto lines = lines_of(timeseries_out(words + Words{"--json"}, folder));
  REQUIRE(lines.size() == 1);
  return nlohmann::json::parse(lines[0]);
}

// A recipe that trains in a moment.
const std::string tiny = R"([model]
hidden = 8

[data]
window = 12
horizon = 3
batch = 32
period = 24

[training]
epochs = 4

[optimizer]
learning_rate = 0.01
)";

// Hours of a daily wave with noise, and a channel of noise alone.
std::string wave(int rows) {
  RandomStream random(1, "series");
  std::string csv = "date,load,noise\n";
  for (int i = 0; i < rows; ++i)
    csv += fmt::format("2020-{:02}-{:02} {:02}:00,{:.5f},{:.5f}\n", 1 + i / 672, 1 + i / 24 % 28, i % 24,
                       20 + 5 * std::sin(i * 2 * 3.14159265 / 24) + random.uniform(), random.uniform());
  return csv;
}

// A folder with the tiny recipe, a series, and one trained model: made once for all tests that only read it.
const Folder& trained() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("tiny.toml", tiny);
    folder.write("wave.csv", wave(600));
    const ProgramRun run =
        started({"train", "tiny.toml", "--csv", "wave.csv", "--out", "run"}, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    return true;
  }();
  (void)done;
  return folder;
}
const std::string model = "run/best.safetensors";

Words set(const Words& assignments) {
  Words words;
  for (const std::string& assignment : assignments) words = words + Words{"--set", assignment};
  return words;
}

// Where unpredictable values have variance 1, no honest error is further below it than chance allows: of n
// squares of a normal distribution the mean has the standard error sqrt(2 / n).
bool below_chance(double mse, double variance, double count) {
  return mse < variance * (1 - 4 * std::sqrt(2 / count));
}

}  // namespace

TEST_CASE("a run writes its model, log and page, and prints the rules beside the model") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(600));
  const std::string out = timeseries_out({"train", "tiny.toml", "--csv", "wave.csv"}, folder.path());
  for (const std::string part :
       {"runs/tiny-1", "600 rows, 2020-01-01 00:00", "420 / 60 / 120", "parameters", "epoch 4/4", "the model",
        "last value", "seasonal naive (24)", "times growth", "mean of training", "118 windows, none left out",
        "RMSE by step", "the model ", "forecast runs/tiny-1/best.safetensors"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, part, "\n", out);
  for (const std::string file :
       {"last.safetensors", "best.safetensors", "recipe.toml", "log.jsonl", "report.html"})
    CHECK_MESSAGE(fs::exists(folder / "runs/tiny-1" / file), file);
  const std::string page = read_text(folder / "runs/tiny-1/report.html");
  for (const char* part :
       {"Scores: test", "Forecasts of load: test", "Error by step: test", "class=\"band s1\""})
    CHECK_MESSAGE(page.find(part) != std::string::npos, part);
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
  // The rules' rows are those that `baselines` prints.
  folder.write("tiny.toml", tiny);
  auto rules = timeseries_json({"baselines", "tiny.toml", "--csv", "wave.csv"}, folder.path())["test"];
  for (const auto& [name, row] : rules.items()) CHECK(json["scores"]["test"][name] == row);
  CHECK(rules.size() + 1 == json["scores"]["test"].size());
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
  for (const char* part : {"Forecast of load", "* forecast", ". interval", "2020-01-26 23:00:00"})
    CHECK_MESSAGE(drawn.find(part) != std::string::npos, drawn);
  const ProgramRun twice = started(words, out.path());
  CHECK(twice.code == 2);
  CHECK(twice.err.find("next.svg is there already") != std::string::npos);
}

TEST_CASE("every architecture and option trains, each to numbers of its own") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(300));
  std::vector<double> found;
  for (const Words& assignments : std::vector<Words>{
           {},
           {"model.cell=gru"},
           {"model.layers=2", "model.dropout=0.2"},
           {"model.shared_channels=true"},
           {"model.shared_channels=true", "model.normalization=window",
            "data.calendar=[\"hour\", \"weekday\"]"},
           {"model.normalization=last"},
           {"model.normalization=window"},
           {"model.architecture=encoder-decoder"},
           {"model.architecture=encoder-decoder", "model.shared_channels=true", "training.loss=quantile"},
           {"model.architecture=linear", "model.normalization=last"},
           {"model.architecture=dlinear", "model.moving_average=5"},
           {"training.loss=quantile"},
           {"training.loss=quantile", "training.quantiles=[0.5]", "data.targets=[\"load\"]"},
           {"data.targets=[\"load\"]"},
           {"data.channels=[\"load\"]", "scaling.kind=minmax"}}) {
    CAPTURE(fmt::format("{}", fmt::join(assignments, " ")));
    const auto json = timeseries_json(
        Words{"train", "tiny.toml", "--csv", "wave.csv", "--set", "training.epochs=2"} + set(assignments),
        folder.path());
    found.push_back(json["scores"]["test"]["the model"]["mae"]);
    CHECK(std::isfinite(found.back()));
    CHECK(std::ranges::count(found, found.back()) == 1);
  }
}

TEST_CASE("quantiles of an untrained kind of noise lie where they should") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  RandomStream random(2, "noise");
  std::string csv = "value\n";
  for (int i = 0; i < 3000; ++i) csv += fmt::format("{:.5f}\n", random.uniform());
  folder.write("noise.csv", csv);
  timeseries_out(Words{"train", "tiny.toml", "--csv", "noise.csv", "--out", "run"} +
                     set({"data.horizon=1", "training.loss=quantile", "training.quantiles=[0.25, 0.5, 0.75]",
                          "scaling.kind=none", "model.hidden=2"}),
                 folder.path());
  const auto lines =
      lines_of(timeseries_out({"forecast", "run/best.safetensors", "--csv", "noise.csv"}, folder.path()));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "time,value,value_low,value_high");
  double value = 0, low = 0, high = 0;
  REQUIRE(std::sscanf(lines[1].c_str(), "%*[^,],%lf,%lf,%lf", &value, &low, &high) == 3);
  CHECK(low == doctest::Approx(0.25).epsilon(0.25));
  CHECK(value == doctest::Approx(0.5).epsilon(0.15));
  CHECK(high == doctest::Approx(0.75).epsilon(0.1));
}

// --- honesty -----------------------------------------------------------------------------------------------

TEST_CASE("pure noise is not forecast better than chance allows; with a planted leak that is noticed") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  RandomStream random(3, "noise");
  std::vector<double> values;
  for (int i = 0; i < 2001; ++i)  // of variance 1
    values.push_back(std::sqrt(-2 * std::log(1 - random.uniform())) *
                     std::cos(2 * 3.14159265358979 * random.uniform()));
  std::string honest = "value,other\n", leaking = honest;
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    honest += fmt::format("{:.6f},{:.6f}\n", values[i], i > 0 ? values[i - 1] : 0);
    leaking +=
        fmt::format("{:.6f},{:.6f}\n", values[i], values[i + 1]);  // a window shifted by one into the target
  }
  folder.write("honest.csv", honest);
  folder.write("leaking.csv", leaking);
  const auto scores = [&](const std::string& csv) {
    return timeseries_json(Words{"train", "tiny.toml", "--csv", csv} +
                               set({"data.horizon=1", "data.targets=[\"value\"]", "data.window=3"}),
                           folder.path())["scores"]["test"];
  };
  const auto noise = scores("honest.csv");
  const double variance = noise["mean of training"]["scaled_mse"], count = noise["the model"]["windows"];
  CHECK(count == 400);
  CHECK(!below_chance(noise["the model"]["scaled_mse"], variance, count));
  CHECK(below_chance(scores("leaking.csv")["the model"]["scaled_mse"], variance, count));
}

TEST_CASE("the summary says in words whether the model loses") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(600));
  const Words train = {"train", "tiny.toml", "--csv", "wave.csv", "--set", "data.channels=[\"load\"]"};
  const std::string bad =
      timeseries_out(train + set({"training.epochs=1", "optimizer.learning_rate=1e-7"}), folder.path());
  CHECK_MESSAGE(bad.find("the model loses to seasonal naive (24): RMSE ") != std::string::npos, bad);
  const std::string good =
      timeseries_out(train + set({"training.epochs=60", "model.normalization=last"}), folder.path());
  CHECK_MESSAGE(good.find("the model loses to last value") == std::string::npos, good);
}

TEST_CASE("a tutorial's faults are two keys, and both warn") {
  const Folder folder;
  const std::string out = timeseries_out({"baselines", "airline-tutorial"}, folder.path());
  for (const char* part : {"warning scaling.fit = \"all\"", "warning data.drop_last_pairs = 2", "46 windows"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, out);
  const auto rules = timeseries_json({"baselines", "airline-tutorial"}, folder.path())["test"];
  CHECK(rules["last value"]["rmse"].get<double>() == doctest::Approx(48.66).epsilon(1e-4));
  const auto full = timeseries_json({"baselines", "airline"}, folder.path())["test"];
  CHECK(full["last value"]["windows"] == 48);
  CHECK(full["last value"]["rmse"].get<double>() == doctest::Approx(48.04).epsilon(1e-4));
  CHECK(full["seasonal naive (12)"]["rmse"].get<double>() == doctest::Approx(41.85).epsilon(1e-4));
}

// --- detection ---------------------------------------------------------------------------------------------

TEST_CASE("a label that follows from the window is detected, also in files of their own") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  // 1 where the sum of the last two values is above its mean: no rule of one row knows that.
  const auto file = [](uint64_t seed, int rows) {
    RandomStream random(seed, "label");
    double before = 0;
    std::string csv = "value,state\n";
    for (int i = 0; i < rows; ++i) {
      const double value = random.uniform();
      csv += fmt::format("{:.5f},{}\n", value, value + before > 1 ? 1 : 0);
      before = value;
    }
    return csv;
  };
  folder.write("data/a.csv", file(1, 1200));
  folder.write("data/b.csv", file(2, 400));
  folder.write("data/c.csv", file(3, 300));
  const auto json = timeseries_json(
      Words{"train", "tiny.toml", "--csv", "data/a.csv", "--out", "run"} +
          set({"data.label=state", "data.test_files=[\"b.csv\", \"c.csv\"]", "data.train=0.8",
               "data.valid=0.2", "data.window=4", "training.epochs=30", "training.pos_weight=1.5"}),
      folder.path());
  CHECK(json["scores"].size() == 2);
  CHECK(json["scores"]["b"]["the model"]["rows"] == 397);
  for (const char* part : {"b", "c"}) {
    const auto& rows = json["scores"][part];
    const double model_accuracy = rows["the model"]["accuracy"];
    CHECK(model_accuracy > 0.93);
    CHECK(model_accuracy > rows["logistic regression"]["accuracy"].get<double>());
  }
}

TEST_CASE("detect: a probability for each row, with labels in the file or without") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  RandomStream random(5, "detect");
  std::string labelled = "date,value,state,other\n", bare = "date,other,value\n";
  for (int i = 0; i < 400; ++i) {
    const double value = random.uniform(), other = random.uniform();
    const std::string time = fmt::format("2021-01-{:02} {:02}:00", 1 + i / 24, i % 24);
    labelled += fmt::format("{},{:.5f},{},{:.5f}\n", time, value, value > 0.6 ? 1 : 0, other);
    bare += fmt::format("{},{:.5f},{:.5f}\n", time, other, value);
  }
  folder.write("labelled.csv", labelled);
  folder.write("bare.csv", bare);
  timeseries_out(
      Words{"train", "tiny.toml", "--csv", "labelled.csv", "--out", "run"} +
          set({"data.label=state", "data.window=3", "data.calendar=[\"hour\"]", "training.epochs=20"}),
      folder.path());
  const std::string page = read_text(folder / "run/report.html");
  for (const char* part : {"ROC: test", "Reliability: test"}) CHECK(page.find(part) != std::string::npos);
  const ProgramRun with = started({"detect", model, "--csv", "labelled.csv"}, folder.path());
  CHECK_MESSAGE(with.code == 0, with.err);
  CHECK(with.err.find("398 rows with a label: accuracy ") != std::string::npos);
  const auto lines = lines_of(with.out);
  REQUIRE(lines.size() == 399);
  CHECK(lines[0] == "time,probability");
  CHECK(lines[1].starts_with("2021-01-01 02:00"));
  // Labels are not read, nor does the order of columns matter.
  CHECK(timeseries_out({"detect", model, "--csv", "bare.csv"}, folder.path()) == with.out);
  timeseries_out({"detect", model, "--csv", "bare.csv", "--out", "found.csv"}, folder.path());
  CHECK(read_text(folder / "found.csv") == with.out);
  const ProgramRun forecast = started({"forecast", model, "--csv", "labelled.csv"}, folder.path());
  CHECK(forecast.code == 2);
  CHECK(forecast.err.find("timeseries detect") != std::string::npos);
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
}

// --- documents, and what is refused ------------------------------------------------------------------------

TEST_CASE("docs/timeseries.md has the table of the program's keys, and the bundled recipes can be read") {
  timeseries::Recipe recipe;
  RecipeReader reader;
  timeseries::declare_keys(reader, recipe);
  const std::string documentation = read_text("docs/timeseries.md");
  for (const std::string& row : lines_of(reader.markdown()))
    CHECK_MESSAGE(documentation.find(row + "\n") != std::string::npos, row);
  const std::string table = reader.markdown();
  for (const std::string& row : lines_of(documentation))
    CHECK_MESSAGE((!row.starts_with("| `") || table.find(row + "\n") != std::string::npos), row);
  for (const std::string& name : bundled_recipes("timeseries"))
    CHECK(error_of([&] { timeseries::load_recipe(name, {}); }) == "");
}

TEST_CASE("explain: parts, windows, parameters and engine, without writing") {
  const Folder folder;
  const std::string out = timeseries_out({"explain", "airline"}, folder.path());
  for (const char* part :
       {"1949-01", "1957-01", "48", "lstm.weight_hh_l0", "[256, 64]", "Engine: lstm: fused", "learning rate"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, out);
  CHECK(folder.listing().empty());
}

TEST_CASE("bad input: exit code 2, one line in the user's words, nothing written") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(600));
  folder.write("other.csv", "a,b\n1,2\n3,4\n");
  folder.write("ragged.csv", "load,noise\n1,2\n3\n");
  folder.write("short.csv", "load,noise\n1,2\n3,4\n5,6\n7,8\n9,10\n");
  folder.write("text.csv", "load,noise\n1,2\n3,much\n");
  folder.write("empty.csv", "");
  folder.write("label.csv", "load,state\n1,0\n2,3\n");
  folder.write("full/old.txt", "keep me");
  const std::string whole = read_text(trained() / model);
  folder.write("whole.safetensors", whole);
  folder.write("cut.safetensors", whole.substr(0, whole.size() - 100));
  write_safetensors(folder / "foreign.safetensors", {{"w", tensor({2}, {1, 2})}});
  const SafetensorsFile file(folder / "whole.safetensors");
  const auto rewritten = [&](const std::string& name, const std::string& key, const std::string& value) {
    std::vector<NamedTensor> tensors;
    for (const auto& entry : file.entries()) tensors.push_back({entry.name, file.load(entry.name)});
    Metadata metadata = file.metadata();
    metadata[key] = value;
    write_safetensors(folder / name, tensors, metadata);
  };
  rewritten("channels.safetensors", "channels", "[]");
  rewritten("scale.safetensors", "channels", R"({"names":["load","noise"],"shift":[0,0],"scale":[1,0]})");
  rewritten("shape.safetensors", "recipe", "[model]\nhidden = 9\n[data]\nwindow = 12\nhorizon = 3\n");

  struct Case {
    Words words, parts;
  };
  const Words train = {"train", "tiny.toml", "--csv", "wave.csv"};
  const auto with = [&](const Words& assignments) { return train + set(assignments); };
  const std::vector<Case> cases = {
      {{"trian"}, {"'trian'", "'train'"}},
      {{"train"}, {"RECIPE"}},
      {{"train", "demo"}, {"'demo'", "airline"}},
      {{"train", "tiny.toml"}, {"tiny", "--csv"}},
      {{"train", "tiny.toml", "--csv", "nowhere.csv"}, {"nowhere.csv"}},
      {{"train", "tiny.toml", "--csv", "ragged.csv"}, {"ragged.csv:3"}},
      {{"train", "tiny.toml", "--csv", "text.csv"}, {"text.csv:3", "much"}},
      {{"train", "tiny.toml", "--csv", "empty.csv"}, {"empty.csv"}},
      {{"train", "tiny.toml", "--csv", "short.csv"}, {"short.csv", "rows"}},
      {{"train", "tiny.toml", "--csv", "label.csv", "--set", "data.label=state"}, {"label.csv:3", "state"}},
      {{"train", "tiny.toml", "--set", "data.file=sunspot"}, {"sunspot", "airline, sunspots"}},
      {{"train", "etth1"}, {"data/series/ETTh1.csv", "data/get-series.sh", "--csv"}},
      {with({"data.channels=[\"laod\"]"}), {"laod", "load"}},
      {with({"data.targets=[\"temperature\"]"}), {"temperature"}},
      {with({"data.label=state"}), {"state"}},
      {with({"data.calendar=[\"hours\"]"}), {"hours", "hour"}},
      {with({"data.horizon=0"}), {"data.horizon", "1"}},
      {with({"data.windw=3"}), {"data.windw", "data.window"}},
      {with({"data.window=500"}), {"rows", "503"}},
      {with({"data.train=1.5"}), {"data.train", "1"}},
      {with({"data.split=rows"}), {"data.split", "data.train_rows"}},
      {with({"data.split=rows", "data.train_rows=9000", "data.valid_rows=10"}), {"600"}},
      {with({"data.split=time"}), {"data.split", "data.valid_from"}},
      {with({"data.split=time", "data.valid_from=soon", "data.test_from=2020-01-20"}), {"soon"}},
      {with({"data.valid=0"}), {"training.keep"}},
      {with({"data.drop_last_pairs=2"}), {"data.drop_last_pairs", "data.window = 1"}},
      {with({"training.loss=quantile", "training.quantiles=[0.9, 0.5]"}), {"training.quantiles", "ascend"}},
      {with({"training.loss=quantile", "training.quantiles=[0.1, 0.9]"}), {"training.quantiles", "0.5"}},
      {with({"model.architecture=linear", "data.calendar=[\"hour\"]"}), {"data.calendar", "linear"}},
      {with({"data.channels=[\"noise\"]", "data.targets=[\"load\"]", "model.normalization=last"}),
       {"data.targets", "data.channels"}},
      {with({"data.test_files=[\"wave.csv\"]"}), {"data.test_files", "data.label"}},
      {with({"data.label=noise", "model.normalization=last"}), {"model.normalization", "data.label"}},
      {train + Words{"--out", "full"}, {"full", "overwritten"}},
      {{"evaluate", "gone.safetensors"}, {"gone.safetensors"}},
      {{"evaluate", "cut.safetensors", "--csv", "wave.csv"}, {"cut.safetensors"}},
      {{"evaluate", "foreign.safetensors"}, {"foreign.safetensors", "recipe_name"}},
      {{"evaluate", "whole.safetensors"}, {"tiny", "--csv"}},
      {{"evaluate", "channels.safetensors", "--csv", "wave.csv"}, {"channels.safetensors", "JSON"}},
      {{"evaluate", "scale.safetensors", "--csv", "wave.csv"}, {"scale.safetensors", "scale", "0"}},
      {{"evaluate", "shape.safetensors", "--csv", "wave.csv"}, {"shape.safetensors", "[32, 2]", "[36, 2]"}},
      {{"detect", "whole.safetensors", "--csv", "wave.csv"}, {"whole.safetensors", "timeseries forecast"}},
      {{"detect", "whole.safetensors"}, {"--csv"}},
      {{"backtest", "tiny.toml", "--csv", "wave.csv", "--folds", "1"}, {"--folds"}},
      {{"backtest", "tiny.toml", "--csv", "wave.csv", "--test-rows", "500"}, {"rows"}},
      {{"forecast", "whole.safetensors", "--csv", "other.csv"}, {"other.csv", "a, b", "load, noise"}},
      {{"forecast", "whole.safetensors", "--csv", "short.csv"}, {"short.csv"}},
      {{"forecast", "whole.safetensors", "--csv", "wave.csv", "--steps", "0"}, {"--steps"}},
      {{"forecast", "whole.safetensors", "--csv", "wave.csv", "--target", "lod"}, {"lod", "load"}},
      {{"forecast", "whole.safetensors", "--csv", "wave.csv", "--out", "wave.csv"},
       {"wave.csv", "overwritten"}},
  };
  const auto before = folder.listing();
  for (const Case& one : cases) {
    const ProgramRun run = started(one.words, folder.path());
    const std::string line = run.err.substr(0, run.err.find('\n'));
    const std::string command = fmt::format("timeseries {}\n  -> {}", fmt::join(one.words, " "), run.err);
    CHECK_MESSAGE(run.code == 2, command);
    CHECK_MESSAGE(line.starts_with("timeseries: "), command);
    CHECK_MESSAGE(line + "\n" == run.err, command);
    CHECK_MESSAGE(run.out.empty(), command);
    const std::string missing = lacks(line, one.parts);
    CHECK_MESSAGE(missing.empty(), command, missing);
  }
  CHECK(folder.listing() == before);
}

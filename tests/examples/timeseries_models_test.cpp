// Training with the program `timeseries`: every architecture and option, forecasts and detections, and no result that
// is too good to be true.
#include <algorithm>

#include "tests/examples/timeseries.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

// Unpredictable values have variance 1, and no honest error is further below it than chance allows: the mean of n
// squares of a normal distribution has the standard error sqrt(2 / n).
bool below_chance(double mse, double variance, double count) {
  return mse < variance * (1 - 4 * std::sqrt(2 / count));
}

}  // namespace

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
           {"model.segment=4"},
           {"model.segment=6", "model.shared_channels=true", "model.highway=12", "data.calendar=[\"hour\"]"},
           {"model.highway=12"},
           {"model.highway=6", "model.shared_channels=true", "model.normalization=last"},
           {"model.highway=6", "training.loss=quantile"},
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

TEST_CASE("a highway follows a level that the recurrent layers never met") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  RandomStream random(4, "slope");
  std::string csv = "value\n";  // a line with noise: the test lies above all that was trained on
  for (int i = 0; i < 600; ++i) csv += fmt::format("{:.5f}\n", i * 0.05 + random.uniform());
  folder.write("slope.csv", csv);
  const auto scores = [&](const Words& assignments) {
    return timeseries_json(Words{"train", "tiny.toml", "--csv", "slope.csv"} +
                               set({"data.horizon=1", "training.epochs=30"}) + set(assignments),
                           folder.path())["scores"]["test"];
  };
  const auto without = scores({}), with = scores({"model.highway=12"});
  const double baseline = without["last value"]["rmse"];
  CHECK(without["the model"]["rmse"].get<double>() > baseline);
  CHECK(with["the model"]["rmse"].get<double>() < baseline);
}

TEST_CASE("quantiles of an untrained kind of noise lie where they should") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  RandomStream random(2, "noise");
  std::string csv = "value\n";
  for (int i = 0; i < 3000; ++i) csv += fmt::format("{:.5f}\n", random.uniform());
  folder.write("noise.csv", csv);
  const auto json = timeseries_json(
      Words{"train", "tiny.toml", "--csv", "noise.csv", "--out", "run"} +
          set({"data.horizon=1", "training.loss=quantile", "training.quantiles=[0.25, 0.5, 0.75]",
               "scaling.kind=none", "model.hidden=2"}),
      folder.path());
  // The quantiles enclose about half of the values, and not the 80 % of an interval from errors.
  const double coverage = json["scores"]["test"]["the model"]["interval_coverage"];
  CHECK(coverage > 0.3);
  CHECK(coverage < 0.7);
  CHECK(read_text(folder / "run/report.html").find("quantiles 0.25 to 0.75") != std::string::npos);
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
  const Words train = Words{"train", "tiny.toml", "--csv", "wave.csv"} +
                      set({"data.channels=[\"load\"]", "data.ets=false", "data.theta=false"});
  const std::string bad =
      timeseries_out(train + set({"training.epochs=1", "optimizer.learning_rate=1e-7"}), folder.path());
  const auto by_rmse = [](const std::string& out) {  // what is said of RMSE
    for (const std::string& line : lines_of(out))
      if (line.starts_with("the model is") && line.find(" RMSE") != line.npos) return line;
    return std::string();
  };
  CHECK_MESSAGE(
      lacks(by_rmse(bad), {"the model is not the best: ", "seasonal naive (24) has ", "RMSE "}) == "", bad);
  const std::string good =
      timeseries_out(train + set({"training.epochs=60", "model.normalization=last"}), folder.path());
  CHECK_MESSAGE(by_rmse(good).find("last value") == std::string::npos, good);
}

TEST_CASE("a tutorial's faults are two keys, and both warn") {
  const Folder folder;
  const std::string out = timeseries_out({"baselines", "airline-tutorial"}, folder.path());
  for (const char* part : {"warning scaling.fit = \"all\"", "warning data.drop_last_pairs = 2", "46 windows"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, out);
  const std::string unscaled =
      timeseries_out({"baselines", "airline-tutorial", "--set", "scaling.kind=none"}, folder.path());
  CHECK(unscaled.find("warning scaling.fit") == std::string::npos);  // there is nothing to leak
  const auto baselines = timeseries_json({"baselines", "airline-tutorial"}, folder.path())["test"];
  CHECK(baselines["last value"]["rmse"].get<double>() == doctest::Approx(48.66).epsilon(1e-4));
  const auto full = timeseries_json({"baselines", "airline"}, folder.path())["test"];
  CHECK(full["last value"]["windows"] == 48);
  CHECK(full["last value"]["rmse"].get<double>() == doctest::Approx(48.04).epsilon(1e-4));
  CHECK(full["seasonal naive (12)"]["rmse"].get<double>() == doctest::Approx(41.85).epsilon(1e-4));
}

// --- detection ---------------------------------------------------------------------------------------------

TEST_CASE("a label that follows from the window is detected, also in files of their own") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  // 1 where the sum of the last two values is above its mean: no threshold on one row knows that.
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

TEST_CASE("test files are read by the names of their columns, as the first file is") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  RandomStream random(8, "columns");
  std::string first = "x,y,on\n", turned = "y,remark,x,on\n", label_first = "on,x,y\n", lacking = "y,on\n";
  for (int i = 0; i < 300; ++i) {
    const double x = random.uniform(), y = 100 * random.uniform();
    const int on = x > 0.5;
    first += fmt::format("{:.5f},{:.5f},{}\n", x, y, on);
    turned += fmt::format("{:.5f},fine,{:.5f},{}\n", y, x, on);
    label_first += fmt::format("{},{:.5f},{:.5f}\n", on, x, y);
    lacking += fmt::format("{:.5f},{}\n", y, on);
  }
  for (const auto& [name, text] :
       {std::pair{"first", first}, {"turned", turned}, {"label_first", label_first}, {"lacking", lacking}})
    folder.write(fmt::format("{}.csv", name), text);
  const auto train = [&](const std::string& files) {
    return Words{"train", "tiny.toml", "--csv", "first.csv"} +
           set({"data.label=on", "data.window=2", "data.train=0.75", "data.valid=0.25",
                fmt::format("data.test_files=[{}]", files)});
  };
  const auto scores =
      timeseries_json(train("first.csv, turned.csv, label_first.csv"), folder.path())["scores"];
  CHECK(scores["first"]["logistic regression"]["accuracy"].get<double>() > 0.9);
  CHECK(scores["turned"] == scores["first"]);
  CHECK(scores["label_first"] == scores["first"]);
  const auto before = folder.listing();
  const ProgramRun run = started(train("lacking.csv"), folder.path());
  CHECK(run.code == 2);
  CHECK(run.err == "timeseries: lacking.csv: there is no column 'x'; did you mean 'y'?\n");
  CHECK(folder.listing() == before);
}

TEST_CASE("beside test files, what does not train of the first file validates, and the recipe must say so") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  std::string csv = "value,state\n";
  for (int i = 0; i < 200; ++i) csv += fmt::format("{},{}\n", i % 7, i % 2);
  folder.write("a.csv", csv), folder.write("b.csv", csv);
  const auto run = [&](const Words& shares) {
    return started(
        Words{"train", "tiny.toml", "--csv", "a.csv", "--out", "run"} +
            set(Words{"data.label=state", "data.test_files=[b.csv]", "training.epochs=1"} + shares),
        folder.path());
  };
  const auto before = folder.listing();
  for (const auto& [shares, share, value] :
       {std::tuple{Words{"data.train=0.6", "data.valid=0.2"}, "0.4", "0.2"},
        {Words{"data.train=0.6", "data.valid=0", "training.keep=last"}, "0.4", "0"},
        {Words{}, "0.3", "0.1"}}) {
    const ProgramRun bad = run(shares);
    CHECK(bad.code == 2);
    const std::string words = fmt::format("'data.valid' must be 1 - data.train ({}), not {}: ", share, value);
    CHECK_MESSAGE(bad.err.find(words) != std::string::npos, bad.err);
  }
  CHECK(folder.listing() == before);
  const ProgramRun none = run({"data.train=1", "data.valid=0", "training.keep=last"});
  CHECK_MESSAGE(none.out.find("200 / 0 / 200 rows to train on") != std::string::npos, none.out, none.err);
  // A run of before this was a rule: its recipe and its model serve as they did.
  fs::remove_all(folder / "run");
  CHECK(run({"data.train=0.6", "data.valid=0.4"}).code == 0);
  std::string recipe = read_text(folder / "run/recipe.toml");
  recipe.replace(recipe.find("\nvalid = 0.4"), 12, "\nvalid = 0.1");
  folder.write("run/recipe.toml", recipe);
  const std::string again = timeseries_out({"resume", "run", "--set", "training.epochs=2"}, folder.path());
  CHECK_MESSAGE(again.find("120 / 80 / 200 rows") != std::string::npos, again);
  CHECK(started({"evaluate", "run/last.safetensors", "--csv", "a.csv"}, folder.path()).code == 0);
  CHECK(started({"resume", "run", "--set", "data.valid=0.2"}, folder.path()).code == 2);
}

TEST_CASE("a detector of changes is not misled by a level that it never met") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  // 1 where the value rises; in the second half the level is another.
  RandomStream random(7, "rises");
  std::string csv = "value,state\n";
  double before = 0;
  for (int i = 0; i < 1000; ++i) {
    const double value = random.uniform();
    csv += fmt::format("{:.5f},{}\n", value + (i < 500 ? 0 : 100), value > before ? 1 : 0);
    before = value;
  }
  folder.write("rises.csv", csv);
  const auto accuracy = [&](const Words& assignments) -> double {
    return timeseries_json(
        Words{"train", "tiny.toml", "--csv", "rises.csv"} +
            set({"data.label=state", "data.window=2", "data.train=0.4", "training.epochs=30"}) +
            set(assignments),
        folder.path())["scores"]["test"]["the model"]["accuracy"];
  };
  CHECK(accuracy({}) < 0.8);
  CHECK(accuracy({"model.normalization=last"}) > 0.95);
}

TEST_CASE("labels of one class: a warning where they train, and no praise by a score that does not exist") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto series = [&](const std::string& name, int trained, int tested) {
    std::string csv = "value,state\n";
    for (int i = 0; i < 200; ++i) csv += fmt::format("{},{}\n", i % 7, i < 140 ? trained : tested);
    folder.write(name, csv);
  };
  series("other.csv", 1, 0), series("same.csv", 0, 0);
  const auto run = [&](const std::string& csv) {
    return timeseries_out(
        Words{"train", "tiny.toml", "--csv", csv, "--out", csv + "-run"} + set({"data.label=state"}),
        folder.path());
  };
  const std::string other = run("other.csv"), same = run("same.csv");
  for (const char* part : {"warning 'state' is 1 in all rows that train", "what 0 looks like",
                           "all labels here are 0: there is no balanced accuracy to compare"})
    CHECK_MESSAGE(other.find(part) != other.npos, other);
  CHECK_MESSAGE(other.find("balanced (") == other.npos, other);
  CHECK_MESSAGE(same.find("warning 'state' is 0 in all rows that train") != same.npos, same);
  const ProgramRun found =
      started({"detect", "same.csv-run/best.safetensors", "--csv", "same.csv"}, folder.path());
  CHECK_MESSAGE(found.err.ends_with(" rows with a label, all of them 0: accuracy 1.0000\n"), found.err);
}

TEST_CASE("a detector that reads the calendar alone needs a file of times, and no label") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  std::string labelled = "date,state\n", times = "date,name\n";
  for (int i = 0; i < 400; ++i) {
    const std::string time = fmt::format("2021-01-{:02} {:02}:00", 1 + i / 24, i % 24);
    labelled += fmt::format("{},{}\n", time, i % 24 < 12 ? 1 : 0);
    times += time + ",abc\n";
  }
  folder.write("labelled.csv", labelled);
  folder.write("times.csv", times);
  timeseries_out(Words{"train", "tiny.toml", "--csv", "labelled.csv", "--out", "run"} +
                     set({"data.label=state", "data.window=3", "data.calendar=[\"hour\"]"}),
                 folder.path());
  const std::string with = timeseries_out({"detect", model, "--csv", "labelled.csv"}, folder.path());
  CHECK(timeseries_out({"detect", model, "--csv", "times.csv"}, folder.path()) == with);
}

TEST_CASE("test files of one name in two folders are scored apart") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const auto file = [](int rows) {
    std::string csv = "value,state\n";
    for (int i = 0; i < rows; ++i) csv += fmt::format("{},{}\n", i % 7, i % 7 > 3 ? 1 : 0);
    return csv;
  };
  folder.write("a.csv", file(200)), folder.write("jan/room.csv", file(60)),
      folder.write("feb/room.csv", file(70));
  const auto json =
      timeseries_json(Words{"baselines", "tiny.toml", "--csv", "a.csv"} +
                          set({"data.label=state", "data.test_files=[\"jan/room.csv\", \"feb/room.csv\"]",
                               "data.train=0.8", "data.valid=0.2"}),
                      folder.path());
  CHECK(json["jan/room.csv"]["majority class"]["rows"] == 49);
  CHECK(json["feb/room.csv"]["majority class"]["rows"] == 59);
}

TEST_CASE("the rows that train are scored all, though training takes each so many alone") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("wave.csv", wave(600));
  const auto scored = [&](const std::string& stride) {
    return timeseries_json(Words{"baselines", "tiny.toml", "--csv", "wave.csv", "--split", "train"} +
                               set({"data.stride=" + stride}),
                           folder.path());
  };
  CHECK(scored("1")["train"]["last value"]["windows"] == 406);
  CHECK(scored("4") == scored("1"));
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
  timeseries_out(Words{"train", "tiny.toml", "--csv", "labelled.csv", "--out", "run"} +
                     set({"data.label=state", "data.window=3", "data.calendar=[\"hour\"]",
                          "training.epochs=20", "model.highway=2"}),
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

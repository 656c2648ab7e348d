// Detectors: what they learn, how they are scored, and files of their own to test on.
#include <chrono>

#include "tests/examples/timeseries.h"

using namespace unroll;
namespace fs = std::filesystem;

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

TEST_CASE("test files are read at the times of the first one's column, in its order of day and month") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  RandomStream random(4, "weekend");
  using namespace std::chrono;
  const auto row = [&](sys_days at) {
    const year_month_day day(at);
    return fmt::format("{:02}/{:02}/{},{:.3f},{}\n", static_cast<unsigned>(day.day()),
                       static_cast<unsigned>(day.month()), static_cast<int>(day.year()), random.uniform(),
                       weekday(at).iso_encoding() > 5 ? 1 : 0);
  };
  // No day of the second file is above 12, and another column has the day after each.
  std::string first = "day,x,on\n", later = "made,day,x,on\n";
  for (int i = 0; i < 300; ++i) first += row(sys_days(January / 1 / 2021) + days(i));
  for (int i = 0; i < 12; ++i)
    later += fmt::format("2022-03-{:02},{}", i + 2, row(sys_days(March / 1 / 2022) + days(i)));
  folder.write("first.csv", first), folder.write("later.csv", later);
  const auto scores = timeseries_json(
      Words{"train", "tiny.toml", "--csv", "first.csv"} +
          set({"data.label=on", "data.window=1", "data.calendar=[\"weekday\"]", "data.train=0.8",
               "data.valid=0.2", "data.test_files=[later.csv]", "training.epochs=60"}),
      folder.path())["scores"];
  CHECK(scores["later"]["the model"]["rows"] == 12);
  CHECK(scores["later"]["the model"]["accuracy"] == 1);
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
  const auto tile = nlohmann::json::parse(read_text(folder / "same.csv-run/report.json"))["results"][0];
  CHECK((tile["name"] == "test: accuracy" && tile["value"] == "1.0000"));
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

TEST_CASE("a detector that reads what is missing may have its label in the first column") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  std::string first = "state,x,y\n", last = "x,y,state\n";
  for (int i = 0; i < 200; ++i) {
    const std::string x = i % 9 == 4 ? "" : fmt::format("{}", i % 7), y = fmt::format("{}", i % 5);
    first += fmt::format("{},{},{}\n", i % 7 > 3 ? 1 : 0, x, y);
    last += fmt::format("{},{},{}\n", x, y, i % 7 > 3 ? 1 : 0);
  }
  folder.write("first.csv", first), folder.write("last.csv", last);
  for (const std::string name : {"first", "last"})
    timeseries_out(Words{"train", "tiny.toml", "--csv", name + ".csv", "--out", name} +
                       set({"data.label=state", "data.missing=mask", "data.window=3"}),
                   folder.path());
  const auto found = [&](const std::string& model, const std::string& csv) {
    return timeseries_out({"detect", model + "/best.safetensors", "--csv", csv + ".csv"}, folder.path());
  };
  CHECK(found("first", "first") == found("last", "last"));
  CHECK(found("first", "last") == found("first", "first"));
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
  CHECK(read_text(folder / "run/report.html").find("ROC-AUC") != std::string::npos);
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

// A model's facts are read from its own file: its scaling, the order of its channels. No
// command takes them from the file at hand. (Resumption: resume_facts_test.cpp.)
#include "examples/timeseries/series/times.h"
#include "tests/examples/timeseries.h"
#include "tests/torch_files.h"

using namespace unroll;

// Days from 2000-01-01 on that rise by 0.02 a day, with a wave; `state` is 1 in the upper half of the wave.
static std::string rising(int rows, int first_row = 0) {
  std::string csv = "date,y,state\n";
  for (int i = first_row; i < rows; ++i)
    csv += fmt::format("{},{:.4f},{}\n", to_text({TimeForm::date, (10957 + i) * one_day}),
                       5 + 0.02 * i + std::sin(i / 4.0), std::sin(i / 4.0) > 0 ? 1 : 0);
  return csv;
}

static const Folder& rising_models() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("tiny.toml", tiny);
    folder.write("all.csv", rising(800));
    folder.write("tail.csv", rising(800, 600));
    timeseries_out(Words{"train", "tiny.toml", "--csv", "all.csv", "--out", "run"} +
                       set({"training.keep=last", "data.channels=[\"y\"]"}),
                   folder.path());
    timeseries_out(
        Words{"train", "tiny.toml", "--csv", "all.csv", "--out", "detector"} +
            set({"data.label=state", "data.test_files=[\"tail.csv\"]", "data.train=0.8", "data.valid=0.2"}),
        folder.path());
    return true;
  }();
  (void)done;
  return folder;
}

// --- what a model was trained on ---------------------------------------------------------------------------

static bool says(const ProgramRun& run, const std::string& part) {
  CHECK_MESSAGE(run.code == 0, run.err);
  return (run.out + run.err).find(part) != std::string::npos;
}

// 560 of the 800 rows trained. A shorter file is split elsewhere.
TEST_CASE("rows that trained are warned of wherever they are scored, and other rows are not") {
  const Folder& folder = rising_models();
  const auto scored = [&](const std::string& model, const std::string& csv,
                          const std::string& split = "test") {
    return started({"evaluate", model, "--csv", csv, "--split", split}, folder.path());
  };
  const auto train = [&](const std::string& csv, const std::string& out) {
    REQUIRE(
        says(started(Words{"train", "tiny.toml", "--csv", csv, "--out", out} + set({"data.channels=[\"y\"]"}),
                     folder.path()),
             out + "/best.safetensors"));
  };
  folder.write("shorter.csv", rising(600));
  CHECK(says(
      scored("run/last.safetensors", "shorter.csv"),
      "80 of the 120 rows of test lie where the model trained, 2000-01-01 to 2001-07-13: if the series is the same, "
      "it has trained on them"));
  CHECK(says(scored("run/last.safetensors", "shorter.csv", "valid"), "60 of the 60 rows of valid lie where"));
  CHECK(!says(scored("run/last.safetensors", "shorter.csv", "train"), "where the model trained"));
  CHECK(!says(scored("run/last.safetensors", "all.csv"), "where the model trained"));
  // Also rows before those that trained.
  folder.write("late.csv", rising(800, 300));
  folder.write("early.csv", rising(300));
  train("late.csv", "late");
  CHECK(!says(scored("late/best.safetensors", "early.csv"), "where the model trained"));
  CHECK(says(scored("late/best.safetensors", "all.csv"),
             "10 of the 160 rows of test lie where the model trained"));
  // Weights that go on with earlier rows have trained on those, too.
  REQUIRE(says(started(Words{"train", "tiny.toml", "--csv", "early.csv", "--out", "both"} +
                           set({"data.channels=[\"y\"]", "training.init_from=late/best.safetensors",
                                "training.epochs=1", "training.keep=last"}),
                       folder.path()),
               "both/last.safetensors"));
  CHECK(says(scored("both/last.safetensors", "all.csv"),
             "10 of the 160 rows of test lie where the model trained, 2000-01-01 to 2001-"));
  // Without times, the numbers of rows say nothing about another series.
  const auto bare = [&](const std::string& name, int first_row, int rows) {
    std::string csv;
    for (const std::string& line : lines_of(rising(first_row + rows, first_row)))
      csv += line.substr(line.find(',') + 1) + "\n";
    folder.write(name, csv);
  };
  bare("bare.csv", 0, 400);
  bare("less.csv", 0, 300);
  bare("other.csv", 400, 300);
  train("bare.csv", "bare");
  CHECK(!says(scored("bare/best.safetensors", "other.csv"), "where the model trained"));
  CHECK(says(scored("bare/best.safetensors", "less.csv"),
             "40 of the 60 rows of test lie where the model trained, rows 0 to 279"));
}

// 640 of the 800 rows trained, and tail.csv has the last 200 of them: 40 of these did.
TEST_CASE("a detector's test files and labels are warned of where they trained, and not elsewhere") {
  const Folder& folder = rising_models();
  const std::string warning =
      "40 of the 200 rows of tail lie where the model trained, 2000-01-01 to 2001-10-01: if the series is the same, it has "
      "trained on them";
  const Words train =
      Words{"train", "tiny.toml", "--csv", "all.csv"} +
      set({"data.label=state", "data.test_files=[\"tail.csv\"]", "data.train=0.8", "data.valid=0.2"});
  CHECK(says(started(train, folder.path()), warning));
  const Words evaluate = {"evaluate", "detector/last.safetensors", "--csv", "all.csv"};
  CHECK(says(started(evaluate, folder.path()), warning));
  CHECK(!says(started(evaluate + Words{"--split", "valid"}, folder.path()), "where the model trained"));
  folder.write("later.csv", rising(900, 640));
  for (const auto& [csv, is_warned] : {std::pair{"tail.csv", true}, {"later.csv", false}}) {
    const ProgramRun run = started({"detect", "detector/last.safetensors", "--csv", csv}, folder.path());
    CHECK(says(run, "40 of the 200 rows of tail.csv lie where the model trained") == is_warned);
  }
}

// 560 of 800 rows trained; their y lies between 4.2 and 17, a range of some 13. Ten of these above it is 145.
TEST_CASE("values far outside of those that trained the model are warned of, those that grow on are not") {
  const Folder& folder = rising_models();
  const auto times = [](const std::string& csv, double factor) {
    std::string result;
    for (const std::string& line : lines_of(csv)) {
      const size_t first = line.find(','), second = line.rfind(',');
      result += result.empty() ? line + "\n"
                               : fmt::format("{},{:.4f}{}\n", line.substr(0, first),
                                             factor * std::stod(line.substr(first + 1)), line.substr(second));
    }
    return result;
  };
  folder.write("grown.csv", rising(3000));  // to 66
  folder.write("thousand.csv", times(rising(3000), 1000));
  const std::string far = "the range of the rows that trained";
  for (const Words& words :
       {Words{"evaluate", "run/last.safetensors"}, Words{"forecast", "run/last.safetensors"},
        Words{"detect", "detector/last.safetensors"}}) {
    CAPTURE(words[0]);
    const auto run_with = [&](const std::string& csv) {
      return started(words + Words{"--csv", csv}, folder.path());
    };
    CHECK(!says(run_with("grown.csv"), far));
    const ProgramRun thousand = run_with("thousand.csv");
    CHECK(says(thousand, ": the model never met such values; are they in the units of training?\n"));
    int lines = 0;
    for (const std::string& line : lines_of(thousand.out + thousand.err))
      lines += line.find(far) != line.npos;
    CHECK(lines == 1);
  }
  // Each value counts once: the 600 of the test and the 12 before it.
  CHECK(says(started({"evaluate", "run/last.safetensors", "--csv", "thousand.csv"}, folder.path()),
             "(so are 611 other values)"));
  // look reads the second of two models, too.
  const auto train = [&](const Words& words) {
    REQUIRE(started(Words{"train", "tiny.toml"} + words +
                        set({"data.channels=[\"y\"]", "training.epochs=1", "training.keep=last"}),
                    folder.path())
                .code == 0);
  };
  train({"--csv", "thousand.csv", "--out", "thousand"});
  const Words look = {"look", "thousand/last.safetensors", "--against", "run/last.safetensors"};
  CHECK(says(started(look + Words{"--csv", "thousand.csv"}, folder.path()), far));
  // One reads more rows than the other; both must look at the same row.
  train({"--csv", "all.csv", "--out", "wide", "--set", "data.window=18"});
  folder.write("few.csv", rising(20));
  const ProgramRun apart =
      started({"look", "run/last.safetensors", "--against", "wide/last.safetensors", "--csv", "few.csv"},
              folder.path());
  CHECK(apart.code == 2);
  CHECK_MESSAGE(lacks(apart.err.substr(0, apart.err.size() - 1),
                      {"run/last.safetensors forecasts 3 rows of y from 2000-01-18 on",
                       "wide/last.safetensors forecasts 3 rows of y from 2000-01-19 on",
                       "cannot be held against each other"}) == "",
                apart.err);
  for (const char* recipe : {"airline", "sunspots"})
    CHECK(!says(started(Words{"train", recipe} + set({"training.epochs=1"}), folder.path()), far));
}

TEST_CASE("a value that trains, far outside of the others, is warned of by its time") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const std::string warning = "the range of the other rows that train";
  const auto trained_on = [&](std::string csv) {
    folder.write("y.csv", csv);
    return started({"train", "tiny.toml", "--csv", "y.csv", "--dry-run"}, folder.path());
  };
  std::string csv = rising(300);
  CHECK(!says(trained_on(csv), warning));
  const size_t cell = csv.find(',', csv.find("2000-03-01")) + 1;
  csv.replace(cell, csv.find(',', cell) - cell, "1e9");
  const ProgramRun run = trained_on(csv);
  CHECK(says(run, "warning 'y' is 1e+09 at 2000-03-01, far outside of "));
  CHECK(says(run, warning));
  // A number that stands for missing ones, at either end.
  for (const char* number : {"9999", "-9999"}) {
    std::string marked = rising(300);
    for (const char* day :
         {"2000-01-09", "2000-02-03", "2000-02-04", "2000-03-01", "2000-04-02", "2000-05-05"}) {
      const size_t at = marked.find(',', marked.find(day)) + 1;
      marked.replace(at, marked.find(',', at) - at, number);
    }
    const ProgramRun six = trained_on(marked);
    CHECK(says(six, fmt::format("warning 'y' is {} at 2000-01-09, far outside of ", number)));
    CHECK(says(six, warning + " (so are 5 other values)"));
  }
}

// As a flipped bit of an exponent makes it.
TEST_CASE("a forecast that no series like that of training can have is warned of") {
  const Folder& folder = rising_models();
  const std::string path = folder / "run/last.safetensors";
  TensorsByName tensors = tensors_of(path);
  auto bias = tensors.at("head.bias").to_host();
  bias[1] = std::ldexp(real(1), 100);
  tensors["head.bias"] = tensor({3}, bias);
  Metadata metadata = SafetensorsFile(path).metadata();
  metadata.erase("format");
  write_tensors(folder / "flipped.safetensors", tensors, metadata);
  for (const char* command : {"forecast", "evaluate"}) {
    const ProgramRun done = started({command, "flipped.safetensors", "--csv", "all.csv"}, folder.path());
    CHECK(says(done, "'y' is forecast as "));
    CHECK(says(done, "the range of the rows that trained"));
    CHECK(says(done, ": not credible\n"));
  }
  // A model of an earlier version does not know its range.
  metadata.erase("trained_range");
  write_tensors(folder / "older.safetensors", tensors, metadata);
  CHECK(!says(started({"forecast", "older.safetensors", "--csv", "all.csv"}, folder.path()), "credible"));
  // The step and the target are named, whichever they are, also one that never changed.
  std::string three = "date,y,z,flat\n";
  for (int i = 0; i < 300; ++i)
    three += fmt::format("{},{},{},4\n", to_text({TimeForm::date, (10957 + i) * one_day}), i % 7, i % 5);
  folder.write("three.csv", three);
  timeseries_out(Words{"train", "tiny.toml", "--csv", "three.csv", "--out", "three"} +
                     set({"training.epochs=1", "training.keep=last"}),
                 folder.path());
  TensorsByName of_three = tensors_of(folder / "three/last.safetensors");
  metadata = SafetensorsFile(folder / "three/last.safetensors").metadata();
  metadata.erase("format");
  const std::vector<real> biases = of_three.at("head.bias").to_host();
  REQUIRE(biases.size() == 9);
  for (int i = 0; i < 9; ++i) {
    std::vector<real> flipped = biases;
    flipped[static_cast<size_t>(i)] = std::ldexp(real(1), 100);
    of_three["head.bias"] = tensor({9}, flipped);
    write_tensors(folder / "three.safetensors", of_three, metadata);
    const ProgramRun done = started({"forecast", "three.safetensors", "--csv", "three.csv"}, folder.path());
    constexpr const char* names[] = {"y", "z", "flat"};
    CHECK(says(done, fmt::format("'{}' is forecast as ", names[i % 3])));
    CHECK(says(done,
               fmt::format(" at {}, far outside of ", to_text({TimeForm::date, (11257 + i / 3) * one_day}))));
  }
}

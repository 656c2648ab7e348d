// What belongs to a model stands in its file: the zero of its trend, its scaling, the order of its channels. No command takes
// them from the file at hand. (Resumption: resume_facts_test.cpp.)
#include "data/times.h"
#include "tests/timeseries.h"
#include "tests/torch_files.h"

using namespace unroll;

// Days from 2000-01-01 on that rise by 0.02 a day, with a wave; `state` is 1 in the upper half of the wave.
static std::string rising(int rows, int first_row = 0) {
  std::string csv = "date,y,state\n";
  for (int i = first_row; i < rows; ++i)
    csv += fmt::format("{},{:.4f},{}\n", to_text({TimeForm::date, 10957 + i}),
                       5 + 0.02 * i + std::sin(i / 4.0), std::sin(i / 4.0) > 0 ? 1 : 0);
  return csv;
}

static const Folder& rising_models() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("tiny.toml", tiny);
    folder.write("all.csv", rising(800));
    folder.write("tail.csv", rising(800, 600));
    const Words trend = set({"data.calendar=[\"trend\"]", "training.keep=last"});
    timeseries_out(Words{"train", "tiny.toml", "--csv", "all.csv", "--out", "run"} + trend +
                       set({"data.channels=[\"y\"]"}),
                   folder.path());
    timeseries_out(
        Words{"train", "tiny.toml", "--csv", "all.csv", "--out", "detector"} + trend +
            set({"data.label=state", "data.test_files=[\"tail.csv\"]", "data.train=0.8", "data.valid=0.2"}),
        folder.path());
    return true;
  }();
  (void)done;
  return folder;
}

// The columns of a CSV, but for those from the third on: an interval depends on how many rows are held out.
static std::vector<std::string> values_of(const std::string& csv) {
  std::vector<std::string> lines = lines_of(csv);
  for (std::string& line : lines) line = line.substr(0, line.find(',', line.find(',') + 1));
  return lines;
}

// A model reads the last 12 rows and the years since its zero of each; both are the same in the whole file and in its
// last 200 rows. Counted from the first row of either file, the trend would differ by 600 / 365.25 = 1.6 years.
TEST_CASE("a trend counts from where it did in training, whichever rows of the series a file has") {
  const Folder& folder = rising_models();
  const auto forecast = [&](const std::string& model, const std::string& csv) {
    return values_of(timeseries_out({"forecast", model, "--csv", csv}, folder.path()));
  };
  const auto whole = forecast("run/last.safetensors", "all.csv");
  REQUIRE(whole.size() == 4);
  CHECK(whole == forecast("run/last.safetensors", "tail.csv"));

  auto rows =
      lines_of(timeseries_out({"detect", "detector/last.safetensors", "--csv", "all.csv"}, folder.path()));
  const auto last =
      lines_of(timeseries_out({"detect", "detector/last.safetensors", "--csv", "tail.csv"}, folder.path()));
  REQUIRE(last.size() == 1 + 200 - 11);
  CHECK(std::equal(last.begin() + 1, last.end(), rows.end() - 189));
  // Also in a file that has no labels, and in the test files of the training.
  std::string unlabelled;
  for (const std::string& line : lines_of(read_text(folder / "tail.csv")))
    unlabelled += line.substr(0, line.rfind(',')) + "\n";
  folder.write("unlabelled.csv", unlabelled);
  CHECK(lines_of(timeseries_out({"detect", "detector/last.safetensors", "--csv", "unlabelled.csv"},
                                folder.path())) == last);
  int right = 0;
  for (size_t k = 1; k < last.size(); ++k) {
    const bool found = std::stod(last[k].substr(last[k].find(',') + 1)) > 0.5;
    right += found == (std::sin((600 + 10 + static_cast<int>(k)) / 4.0) > 0);
  }
  const auto json =
      timeseries_json({"evaluate", "detector/last.safetensors", "--csv", "all.csv"}, folder.path());
  CHECK(json["scores"]["tail"]["the model"]["accuracy"].get<double>() == doctest::Approx(right / 189.0));
}

TEST_CASE("a model of an earlier version takes its trend's zero from the file at hand, and says so") {
  const Folder& folder = rising_models();
  const SafetensorsFile file(folder / "run/last.safetensors");
  Metadata metadata = file.metadata();
  CHECK(metadata.at("trend_zero") == "2000-01-01");
  metadata.erase("trend_zero");
  write_tensors(folder / "older.safetensors", tensors_of(folder / "run/last.safetensors"), metadata);
  const ProgramRun older = started({"forecast", "older.safetensors", "--csv", "all.csv"}, folder.path());
  CHECK(older.code == 0);
  CHECK(older.out == timeseries_out({"forecast", "run/last.safetensors", "--csv", "all.csv"}, folder.path()));
  CHECK_MESSAGE(
      older.err.find("note: older.safetensors does not say from when its trend counts: taken from the "
                     "first row of all.csv, 2000-01-01\n") != std::string::npos,
      older.err);
  const ProgramRun scored = started({"evaluate", "older.safetensors", "--csv", "tail.csv"}, folder.path());
  CHECK(scored.out.find("first row of tail.csv, 2001-08-23") !=
        std::string::npos);  // 600 days after 2000-01-01
  metadata["trend_zero"] = "17";
  write_tensors(folder / "damaged.safetensors", tensors_of(folder / "run/last.safetensors"), metadata);
  const ProgramRun damaged = started({"forecast", "damaged.safetensors", "--csv", "all.csv"}, folder.path());
  CHECK(damaged.code == 2);
  CHECK(damaged.err ==
        "timeseries: damaged.safetensors: the trend counts from '17' in its metadata, which is no date\n");
}

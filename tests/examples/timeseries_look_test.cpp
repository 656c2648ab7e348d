// timeseries look, as a user meets it: the page of every kind of model has the right numbers, and what cannot be shown is
// refused. tests/browser/look_test.py has a browser read such a page.
#include <map>
#include <set>

#include "tests/examples/timeseries.h"
#include "tests/look_page.h"
#include "tests/torch_files.h"

using namespace unroll;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Hours of a wave about zero, and of another that comes two hours before; some values of one row can be moved.
struct Wave {
  int rows = 200, row = -1;
  double load = 0, ahead = 0;
  std::string csv() const {
    RandomStream random(7, "look");
    std::string text = "date,load,ahead\n";
    for (int i = 0; i < rows; ++i) {
      const double noise = 0.6 * random.uniform() - 0.3, other = 0.6 * random.uniform() - 0.3;
      text += fmt::format("2020-03-{:02} {:02}:00,{:.5f},{:.5f}\n", 1 + i / 24, i % 24,
                          std::sin(i * 0.7) + noise + (i == row ? load : 0),
                          std::sin((i + 2) * 0.7) + other + (i == row ? ahead : 0));
    }
    return text;
  }
};

// Trains in a moment. Values are not scaled: a gradient is in the file's unit.
constexpr const char* recipe = R"([model]
hidden = 6
layers = 2

[data]
window = 12
horizon = 3
period = 6

[scaling]
kind = "none"

[training]
epochs = 6

[optimizer]
learning_rate = 0.02
)";

Json page_of(const Words& words, const Folder& folder) {
  fs::remove(folder / "page.html");
  timeseries_out(Words{"look"} + words + Words{"--out", "page.html"}, folder.path());
  const auto models = models_in(read_text(folder / "page.html"));
  REQUIRE(!models.empty());
  return models[0];
}

// Forecasts of `load` in the last row that `forecast` prints.
std::vector<double> forecast_of(const std::string& model, const std::string& csv, const Folder& folder,
                                const std::string& channel = "load") {
  std::vector<double> values;
  size_t column = 0;
  for (const std::string& line : lines_of(timeseries_out({"forecast", model, "--csv", csv}, folder.path()))) {
    std::vector<std::string> cells{""};
    for (const char c : line)
      if (c == ',')
        cells.emplace_back();
      else
        cells.back() += c;
    if (column == 0)
      column = static_cast<size_t>(std::ranges::find(cells, channel) - cells.begin());
    else
      values.push_back(std::stod(cells.at(column)));
  }
  return values;
}

const Folder& prepared() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("tiny.toml", recipe);
    folder.write("wave.csv", Wave().csv());
    std::string to_detect = recipe;
    to_detect.erase(to_detect.find("horizon = 3\n"), 12);
    folder.write("detector.toml", to_detect);
    return true;
  }();
  (void)done;
  return folder;
}
std::string train(const std::string& name, const Words& options, const std::string& csv = "wave.csv",
                  const std::string& of = "tiny.toml") {
  timeseries_out(Words{"train", of, "--csv", csv, "--out", name} + set(options), prepared().path());
  return name + "/best.safetensors";
}

}  // namespace

TEST_CASE(
    "look: of every kind of model the forecast is that of the program, and gradients say how it changes with what is read") {
  const Folder& folder = prepared();
  const struct {
    const char* name;
    Words options;
  } kinds[] = {
      {"lstm", {}},
      {"gru", {"model.cell=gru", "model.normalization=window"}},
      {"rnn", {"model.cell=rnn", "model.layers=1", "model.normalization=last"}},
      {"projected", {"model.projection=3", "training.loss=quantile"}},
      {"shared", {"model.shared_channels=true", "model.normalization=window", "data.calendar=[\"hour\"]"}},
      {"segments", {"model.segment=4", "model.highway=6", "model.normalization=last"}},
      {"linear", {"model.architecture=linear", "model.normalization=last"}},
      {"by mean", {"model.architecture=linear", "model.normalization=window"}}};
  for (const auto& [name, options] : kinds) {
    CAPTURE(name);
    const std::string model = train(name, options);
    const Json page =
        page_of({model, "--csv", "wave.csv", "--at", "2020-03-09 08:00"}, folder);  // the row after the last
    const Json& series = page["series"];
    const std::vector<double> forecast = forecast_of(model, "wave.csv", folder);
    REQUIRE(forecast.size() == 3);
    for (size_t k = 0; k < 3; ++k) {
      CHECK(std::abs(series["forecast"][k].get<double>() - forecast[k]) < 1e-5);
      CHECK(series["truth"][k].is_null());
      // A tape of the last step ends in the same number; its norm has no sign.
      CHECK(page["tape"]["norms"][k]["values"].back().get<double>() ==
            doctest::Approx(std::abs(forecast[k])).epsilon(1e-3));
    }
    CHECK(page["target"] == Json({"2020-03-09 08:00:00", "2020-03-09 09:00:00", "2020-03-09 10:00:00"}));
    CHECK(series["rows"][11] == "2020-03-09 07:00:00");

    // The gradient at a value, and how much the forecast changes if it is moved up and down. The forecast has six digits of
    // numbers near 1, and the third derivative adds its square of the way.
    const PageValues gradients = values_in(series["gradients"]);
    const auto channels = series["channels"].size();
    REQUIRE(gradients.units == static_cast<int>(12 * channels));
    constexpr double by = 0.03;
    bool other_counts = false;
    for (const int row : {0, 5, 10, 11}) {
      for (const bool ahead : {false, true}) {
        std::vector<double> moved[2];
        for (const int up : {0, 1}) {
          const double change = up ? by : -by;
          folder.write("moved.csv",
                       Wave{.row = 188 + row, .load = ahead ? 0 : change, .ahead = ahead ? change : 0}.csv());
          moved[up] = forecast_of(model, "moved.csv", folder);
        }
        for (size_t k = 0; k < 3; ++k) {
          const double expected = (moved[1][k] - moved[0][k]) / (2 * by);
          const double found = gradients.at(k, static_cast<int>(row * channels + (ahead ? 1 : 0)));
          CAPTURE(row);
          CAPTURE(ahead);
          CHECK(std::abs(found - expected) < 2e-3);
          other_counts = other_counts || (ahead && std::abs(found) > 1e-3);
        }
      }
    }
    // If a target sees itself alone, no other channel counts.
    const bool alone = std::set<std::string>{"shared", "linear", "by mean"}.contains(name);
    CHECK(other_counts == !alone);

    const bool layered = page["layers"].size() > 0;
    CHECK(layered == !std::set<std::string>{"linear", "by mean"}.contains(name));
    if (!layered) {
      CHECK(page["made_of"].get<std::string>().find("weighted sums") == 0);
      CHECK(page["reach"].empty());
      continue;
    }
    const size_t steps = page["input"].size();
    CHECK(steps == (name == std::string("segments") ? 3u : 12u));
    for (size_t layer = 0; layer < page["layers"].size(); ++layer) {
      if (name != std::string("rnn")) check_steps(page["layers"][layer], page["cell"], steps);
      CHECK(page["reach"].contains("c") == (page["cell"] == "lstm"));
      const auto norms = decoded<float>(page["reach"]["h"][layer]["data"]);
      REQUIRE(norms.size() == 3 * steps);
      for (size_t k = 0; k < 3; ++k)
        for (size_t s = 0; s < steps; ++s)
          CHECK((norms[k * steps + s] > 0) == (s < page["reached"][k].get<size_t>()));
    }
    if (name == std::string("projected"))
      for (size_t k = 0; k < 3; ++k)
        CHECK((series["low"][k] <= series["forecast"][k] && series["forecast"][k] <= series["high"][k]));
  }
}

TEST_CASE("look: the curve of the untrained model, and the middle one of quantiles that cross") {
  const Folder& folder = prepared();
  // A rate of nearly 0 leaves the first values as they are: both curves are one. Trained, they are two.
  const auto reach_of = [&](const std::string& model, const char* of) {
    const Json page = page_of({model, "--csv", "wave.csv"}, folder);
    return decoded<float>(page[of]["h"][0]["data"]);
  };
  const std::string first = train("first", {"optimizer.learning_rate=1e-12", "training.epochs=1"}),
                    later = train("later", {});
  const auto curve = reach_of(first, "reach");
  for (const std::string& model : {first, later}) {
    const auto untrained = reach_of(model, "untrained");
    REQUIRE(untrained.size() == curve.size());
    for (size_t i = 0; i < curve.size(); ++i)
      CHECK(std::abs(static_cast<double>(untrained[i] - curve[i])) <= 1e-4 * static_cast<double>(curve[i]));
  }
  CHECK(reach_of(later, "reach") != curve);
  // Before training, quantiles are in no order. The tape of a step ends in the one that is said, whose gradient reaches the window.
  const std::string quantiles = train("crossing", {"optimizer.learning_rate=1e-12", "training.epochs=1",
                                                   "training.loss=quantile", "data.targets=[\"load\"]"});
  const Json page = page_of({quantiles, "--csv", "wave.csv"}, folder);
  const PageValues gradients = values_in(page["series"]["gradients"]);
  for (size_t k = 0; k < 3; ++k) {
    CHECK(page["tape"]["norms"][k]["values"].back().get<double>() ==
          doctest::Approx(std::abs(page["series"]["forecast"][k].get<double>())).epsilon(1e-3));
    std::vector<double> moved;
    for (const double by : {-0.03, 0.03}) {
      folder.write("moved.csv", Wave{.row = 196, .load = by}.csv());
      moved.push_back(
          page_of({quantiles, "--csv", "moved.csv"}, folder)["series"]["forecast"][k].get<double>());
    }
    CHECK(std::abs(gradients.at(k, 11 * static_cast<int>(page["series"]["channels"].size())) -
                   (moved[1] - moved[0]) / 0.06) < 2e-3);
  }
}

TEST_CASE(
    "look: of units that hand on what was read, the page offers those with the value just read and a period before") {
  const Folder& folder = prepared();
  const std::string model = train("shift", {"model.cell=rnn", "model.layers=1"});
  // Unit k has a hundredth of the value that was read k rows before: there a tanh is a line.
  TensorsByName tensors = tensors_of(folder / model);
  for (auto& [name, tensor] : tensors)
    if (name.starts_with("rnn.")) tensor.fill(0);
  tensors.at("rnn.weight_ih_l0").on_host(Access::change)[0] = 0.01f;
  const auto hands_on = tensors.at("rnn.weight_hh_l0").on_host(Access::change);
  for (int k = 1; k < 6; ++k) hands_on[k * 6 + k - 1] = 1;
  write_tensors(folder / "shift.safetensors", tensors, SafetensorsFile(folder / model).metadata());
  const Json page = page_of({"shift.safetensors", "--csv", "wave.csv"}, folder);
  std::map<std::string, std::pair<std::string, int>> offered;
  for (const Json& one : page["offered"]) offered[one["what"]] = {one["told"], one["unit"]};
  CHECK(offered["the load just read"] == std::pair<std::string, int>{"r 1.00", 0});
  CHECK(offered["load of 6 rows before the one to come"] == std::pair<std::string, int>{"r 1.00", 5});
}

TEST_CASE("look: the window whose truth is known, another row, another target, another model") {
  const Folder& folder = prepared();
  const std::string model = train("chosen", {}),
                    other = train("against", {"model.cell=gru", "data.window=18"});
  const Json last = page_of({model, "--csv", "wave.csv"}, folder);
  CHECK(last["target"][0] == "2020-03-09 05:00:00");
  const auto lines = lines_of(Wave().csv());
  for (size_t k = 0; k < 3; ++k)
    CHECK(std::abs(last["series"]["truth"][k].get<double>() - std::stod(lines[198 + k].substr(17))) < 1e-9);
  const Json noise =
      page_of({model, "--csv", "wave.csv", "--at", "3 Mar 2020 12:00", "--target", "ahead"}, folder);
  CHECK(noise["series"]["target"] == "ahead");
  CHECK(noise["series"]["times"][0] == "2020-03-03 12:00:00");
  CHECK(noise["series"]["rows"][0] == "2020-03-03 00:00:00");
  for (const Json& unit : noise["offered"]) {
    CHECK(unit["told"].get<std::string>().starts_with("r "));
    CHECK(unit["unit"].get<int>() < 6);
  }
  fs::remove(folder / "pair.html");
  timeseries_out({"look", model, "--against", other, "--csv", "wave.csv", "--out", "pair.html"},
                 folder.path());
  const auto models = models_in(read_text(folder / "pair.html"));
  REQUIRE(models.size() == 2);
  CHECK(models[1]["title"] == "against/best");
  CHECK((models[0]["input"].size() == 12 && models[1]["input"].size() == 18));
  CHECK(models[0]["series"]["truth"] == models[1]["series"]["truth"]);
}

TEST_CASE("look: a detector, with labels and without; names that would be markup stay names") {
  const Folder& folder = prepared();
  std::string csv = "date,</script><b>,\"\"\"quoted\"\" & co\",on\n",
              without = "date,</script><b>,\"\"\"quoted\"\" & co\"\n";
  RandomStream random(3, "on");
  for (int i = 0; i < 160; ++i) {
    const double x = 2 * random.uniform() - 1, y = 2 * random.uniform() - 1;
    const std::string row = fmt::format("2020-04-{:02} {:02}:00,{:.4f},{:.4f}", 1 + i / 24, i % 24, x, y);
    csv += row + (x > 0 ? ",1\n" : ",0\n"), without += row + "\n";
  }
  folder.write("label.csv", csv);
  folder.write("no-label.csv", without);
  const std::string model =
      train("detector", {"data.label=on", "training.epochs=20"}, "label.csv", "detector.toml");
  const Json page = page_of({model, "--csv", "label.csv"}, folder);
  const auto printed = lines_of(timeseries_out({"detect", model, "--csv", "label.csv"}, folder.path()));
  const double expected = std::stod(printed.back().substr(printed.back().find(',') + 1));
  CHECK(std::abs(page["series"]["forecast"][0].get<double>() - expected) < 1e-6);
  CHECK(page["series"]["detects"] == true);
  CHECK((page["series"]["truth"][0] == 0 || page["series"]["truth"][0] == 1));
  CHECK(page["series"]["channels"] == Json({"</script><b>", "\"quoted\" & co"}));
  const std::string text = read_text(folder / "page.html");
  size_t scripts = 0;
  for (size_t at = text.find("<script"); at != text.npos; at = text.find("<script", at + 1)) ++scripts;
  CHECK(scripts == 2);
  CHECK(text.find("https://") == text.npos);
  const Json unlabelled = page_of({model, "--csv", "no-label.csv"}, folder);
  CHECK(unlabelled["series"]["truth"][0].is_null());
  CHECK(unlabelled["series"]["forecast"] == page["series"]["forecast"]);
}

TEST_CASE("look: what is refused, in one line, and nothing is written") {
  const Folder& folder = prepared();
  const std::string model = train("refuses", {}), other = train("longer", {"data.horizon=4"});
  folder.write("there.html", "mine");
  folder.write("short.csv", Wave{.rows = 9}.csv());
  fs::remove(folder / "look.html");
  const std::pair<Words, std::vector<std::string>> cases[] = {
      {{model, "--at", "2020-05-01 00:00"},
       {"--at 2020-05-01 00:00", "wave.csv", "2020-03-01 00:00:00", "2020-03-09 08:00:00"}},
      {{model, "--at", "yesterday"}, {"--at yesterday", "is not the time of a row"}},
      {{model, "--at", "2020-03-01 11:00"},
       {"11 rows before it", "reads 12", "2020-03-01 12:00:00 is the first"}},
      {{model, "--target", "date"}, {"date"}},
      {{model, "--against", other}, {"forecasts 3 rows of load", "forecasts 4 rows of load"}},
      {{model, "--against", "nowhere.safetensors"}, {"nowhere.safetensors: there is no such file"}},
      {{model, "--out", "there.html"}, {"there.html is there already"}},
      // Faults that prevent the page are reported before a file that stands in its place.
      {{"nowhere.safetensors", "--out", "there.html"}, {"nowhere.safetensors: there is no such file"}},
      {{model, "--at", "yesterday", "--out", "there.html"}, {"--at yesterday"}},
  };
  for (const auto& [words, parts] : cases) {
    const ProgramRun run = started(Words{"look"} + words + Words{"--csv", "wave.csv"}, folder.path());
    CHECK(run.code == 2);
    CHECK(lines_of(run.err).size() == 1);
    CHECK_MESSAGE(lacks(lines_of(run.err).at(0), parts) == "", run.err);
  }
  const ProgramRun run = started({"look", model, "--csv", "short.csv"}, folder.path());
  CHECK(run.code == 2);
  CHECK_MESSAGE(lacks(lines_of(run.err).at(0), {"short.csv", "9 rows", "reads 12"}) == "", run.err);
  CHECK(read_text(folder / "there.html") == "mine");
  CHECK_FALSE(fs::exists(folder / "look.html"));
}

TEST_CASE("look at a file: the network's forecast, and how it changes with each value") {
  const Folder& folder = prepared();
  const Words of_load = {"--column", "load", "--set", "data.horizon=3", "--set", "data.period=9"};
  const auto forecast = [&](const Wave& wave) {
    folder.write("moved.csv", wave.csv());
    const Json found =
        timeseries_json(Words{"forecast", "moved.csv", "--members", "pretrained"} + of_load, folder.path());
    return found[0]["forecast"]["load"]["values"].get<std::vector<double>>();
  };
  const Json page = page_of(Words{"wave.csv", "--at", "2020-03-09 08:00"} + of_load, folder);
  const Json& series = page["series"];
  const std::vector<double> plain = forecast({});
  for (size_t k = 0; k < 3; ++k) {
    CHECK(std::abs(series["forecast"][k].get<double>() - plain[k]) < 1e-6);
    CHECK(series["low"][k].get<double>() < plain[k]);
    CHECK(series["truth"][k].is_null());
  }
  CHECK(page["no_layers"].get<std::string>().find("never read this series") != std::string::npos);
  // The scale by hand: the mean distance of values a season apart.
  const auto values = series["values"].get<std::vector<double>>();
  double scale = 0;
  for (size_t t = 9; t < values.size(); ++t) scale += std::abs(values[t] - values[t - 9]) / 191;
  const PageValues gradients = values_in(series["gradients"]);
  REQUIRE(gradients.units == 200);
  for (const int row : {199, 195, 191, 120}) {
    CAPTURE(row);
    const double by = 0.02 * scale;
    const auto up = forecast({.row = row, .load = by}), down = forecast({.row = row, .load = -by});
    for (size_t k = 0; k < 3; ++k) {
      const double slope = (up[k] - down[k]) / (2 * by), found = gradients.at(k, row);
      // The file has five decimals, the forecast 24 bits, the page 16.
      CHECK(std::abs(found - slope) <
            std::abs(slope) * 1e-5 / by + 2e-7 / by + gradients.largest / 65534 + 1e-6);
    }
  }
}

TEST_CASE("look at a file: what is refused, in one line, and nothing is written") {
  const Folder& folder = prepared();
  const std::string model = train("beside", {});
  folder.write("alike.csv", "load\n5\n5\n5\n5\n5\n5\n5\n5\n");
  folder.write("few.csv", "at,load\na,1\na,2\na,4\na,3\nb,1\nb,2\nb,4\nb,9\nc,5\nc,7\n");
  for (const auto& [words, parts] : std::vector<std::pair<Words, std::vector<std::string>>>{
           {{"wave.csv", "--against", model}, {"--against is for a model", "wave.csv"}},
           {{"wave.csv", "--live"}, {"--live is for a model"}},
           {{"wave.csv", "--steps", "65"}, {"--steps 65 must be in [1, 64]"}},
           {{"wave.csv", "--steps=0"}, {"--steps 0 must be in [1, 64]"}},
           {{"wave.csv", "--set", "data.horizon=65"}, {"65 rows", "64 at most", "data.horizon"}},
           {{"wave.csv", "--set", "model.hidden=8"}, {"model.hidden", "no network is trained"}},
           {{"wave.csv", "--at", "2020-03-01 02:00"}, {"fewer than 3"}},
           {{"few.csv", "--set", "data.id=at"}, {"of 3 series: --series NAME"}},
           {{"few.csv", "--set", "data.id=at", "--series", "d"}, {"has no series 'd'"}},
           {{"few.csv", "--set", "data.id=at", "--series", "c"}, {"fewer than 3"}},
           {{"few.csv", "--set", "data.id=at", "--series", "b", "--at", "0"}, {"fewer than 3"}},
           {{"wave.csv", "--target", "laod"}, {"no channel 'laod'", "'load'"}},
           {{"alike.csv"}, {"all are alike"}},
           {{model, "--csv", "wave.csv", "--column", "load"}, {"--column is for a series without a recipe"}},
           {{model, "--csv", "wave.csv", "--set", "data.horizon=2"}, {"--set is for a series"}},
           {{model, "--csv", "wave.csv", "--steps", "2"}, {"--steps is for a series without a recipe"}}}) {
    const ProgramRun run = started(Words{"look"} + words, folder.path());
    CHECK(run.code == 2);
    CHECK_MESSAGE(lacks(lines_of(run.err).back(), parts) == "", run.err);
  }
  CHECK_FALSE(fs::exists(folder / "look.html"));
}

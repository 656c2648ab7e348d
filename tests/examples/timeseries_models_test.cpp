// Training with the program `timeseries`: every architecture and option, forecasts and detections, and no result that
// is too good to be true.
#include <algorithm>

#include "tests/examples/timeseries.h"

using namespace unroll;

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
           {"model.shared_channels=true", "training.loss=quantile"},
           {"model.segment=4"},
           {"model.segment=6", "model.shared_channels=true", "model.highway=12", "data.calendar=[\"hour\"]"},
           {"model.highway=12"},
           {"model.highway=6", "model.shared_channels=true", "model.normalization=last"},
           {"model.highway=6", "training.loss=quantile"},
           {"model.architecture=linear", "model.normalization=last"},
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

TEST_CASE("airline: the naive rows of all 48 months of the test") {
  const Folder folder;
  const auto full = timeseries_json({"baselines", "airline"}, folder.path())["test"];
  CHECK(full["last value"]["windows"] == 48);
  CHECK(full["last value"]["rmse"].get<double>() == doctest::Approx(48.04).epsilon(1e-4));
  CHECK(full["seasonal naive (12)"]["rmse"].get<double>() == doctest::Approx(41.85).epsilon(1e-4));
}

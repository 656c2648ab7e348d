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

// A picture of a report: its numbers, and the words below it.
struct Picture {
  nlohmann::json numbers;
  std::string words;
};
Picture picture(const std::string& page, const std::string& title) {
  const size_t begin = page.find("<h2>" + title + "</h2>");
  REQUIRE_MESSAGE(begin != page.npos, title);
  const auto between = [&](const std::string& from, const std::string& to) {
    const size_t at = page.find(from, begin) + from.size();
    return page.substr(at, page.find(to, at) - at);
  };
  return {nlohmann::json::parse(between("<script type=\"application/json\">", "</script>")),
          between("<figcaption>", "</figcaption>")};
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
  const auto tables = nlohmann::json::parse(read_text(folder / "run/report.json"))["tables"];
  const auto intervals =
      std::ranges::find_if(tables, [](const auto& table) { return table["title"] == "Intervals: test"; });
  REQUIRE(intervals != tables.end());
  CHECK(std::string((*intervals)["note"])
            .starts_with("Each is meant for 50 %. Winkler: "));
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

TEST_CASE("export: without a name the new file stands beside the model's, with the form's ending") {
  const Folder folder;
  std::filesystem::copy_file(trained() / model, folder / "mine.safetensors");
  for (const auto& [form, file] : {std::pair{"onnx", "mine.onnx"}, {"c", "mine.h"}}) {
    const std::string said =
        timeseries_out({"export", (folder / "mine.safetensors").string(), "--to", form}, trained().path());
    CHECK_MESSAGE(said.find(file) != std::string::npos, said);
    CHECK(std::filesystem::exists(folder / file));
  }
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

TEST_CASE("backtest: a baseline with too little history in a fold is named, and no verdict counts it") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  std::string csv = "y\n";  // the season of 60 rows is exact, and known from the second fold on
  for (int i = 0; i < 90; ++i) csv += fmt::format("{}\n", 10 + i % 60 * 37 % 11);
  folder.write("y.csv", csv);
  const std::string out =
      timeseries_out(Words{"backtest", "tiny.toml", "--csv", "y.csv", "--folds", "2", "--test-rows", "20"} +
                         set({"data.period=60", "data.window=4", "training.epochs=1"}),
                     folder.path());
  CHECK_MESSAGE(out.find("\nseasonal naive (60): too little history in a fold.") != std::string::npos, out);
  const size_t verdict = out.find("By the means over all folds:");
  REQUIRE(verdict != out.npos);
  CHECK_MESSAGE(out.find("seasonal naive", verdict) == out.npos, out);
}

TEST_CASE("airline: the naive rows of all 48 months of the test") {
  const Folder folder;
  const auto full = timeseries_json({"baselines", "airline"}, folder.path())["test"];
  CHECK(full["last value"]["windows"] == 48);
  CHECK(full["last value"]["rmse"].get<double>() == doctest::Approx(48.04).epsilon(1e-4));
  CHECK(full["seasonal naive (12)"]["rmse"].get<double>() == doctest::Approx(41.85).epsilon(1e-4));
}

TEST_CASE(
    "a report shows the last forecast behind its history, and the errors of the model and the best baselines") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  const std::vector<std::string> lines = lines_of(wave(300));
  std::string holes;
  std::vector<double> loads;
  for (size_t k = 0; k < lines.size(); ++k) {  // row 294 has no load
    const size_t comma = lines[k].find(','), last = lines[k].rfind(',');
    if (k > 0) loads.push_back(std::stod(lines[k].substr(comma + 1)));
    holes += (k == 295 ? lines[k].substr(0, comma + 1) + lines[k].substr(last) : lines[k]) + "\n";
  }
  folder.write("holes.csv", holes);
  const auto scores = nlohmann::ordered_json::parse(
      timeseries_out(Words{"train", "tiny.toml", "--csv", "holes.csv", "--json", "--out", "run"} +
                         set({"data.missing=previous", "data.window=4", "data.targets=[\"load\"]"}),
                     folder.path()))["scores"]["test"];
  const std::string page = read_text(folder / "run/report.html");
  const Picture forecast = picture(page, "Forecasts of load: test");
  CHECK(forecast.words.starts_with("The last window, and the rows before it."));
  CHECK(forecast.numbers["texts"].size() == 9);  // twice the horizon before it
  CHECK(forecast.numbers["texts"][0] == "2020-01-13 03:00:00");
  const auto& drawn = forecast.numbers["series"];
  for (size_t k = 0; k < 9; ++k)
    if (k == 3)
      CHECK(drawn[0]["y"][k].is_null());
    else
      CHECK(drawn[0]["y"][k].get<double>() == doctest::Approx(loads[291 + k]).epsilon(1e-5));
  timeseries_out({"evaluate", "run/best.safetensors", "--csv", "holes.csv", "--out", "all.csv"},
                 folder.path());
  const std::vector<std::string> all = lines_of(read_text(folder / "all.csv"));
  for (size_t h = 0; h < 3; ++h) {
    double value = 0;
    REQUIRE(std::sscanf(all[all.size() - 3 + h].c_str(), "%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lf", &value) ==
            1);
    CHECK(drawn[1]["x"][h] == 6 + h);
    CHECK(drawn[1]["y"][h].get<double>() == doctest::Approx(value).epsilon(1e-5));
  }

  std::vector<std::string> names, best, others;
  for (const auto& [name, of] : scores.items())
    if (name != "the model") names.push_back(name);
  best = names;
  std::ranges::stable_sort(best, {},
                           [&](const std::string& name) { return scores[name]["rmse"].get<double>(); });
  REQUIRE(best.size() > 5);
  others.assign(best.begin() + 5, best.end()), best.resize(5);
  std::erase_if(names, [&](const std::string& name) { return std::ranges::count(best, name) == 0; });
  names.insert(names.begin(), "the model");
  const Picture errors = picture(page, "Error by step: test");
  CHECK(errors.words ==
        fmt::format("Root of the mean square, in the file&#39;s unit; the model and the baselines that err "
                    "least; not drawn: {}.",
                    fmt::join(others, ", ")));
  REQUIRE(errors.numbers["series"].size() == 6);
  for (size_t k = 0; k < 6; ++k) CHECK(errors.numbers["series"][k]["name"] == names[k]);
  for (size_t h = 0; h < 3; ++h)
    CHECK(errors.numbers["series"][0]["y"][h].get<double>() ==
          doctest::Approx(scores["the model"]["by_step"][h]["rmse"].get<double>()).epsilon(1e-5));
  CHECK(picture(read_text(trained() / "run/report.html"), "Error by step: test")
            .words.starts_with("Mean square, in scaled units; "));
}

TEST_CASE(
    "a report of many series and one step ahead shows the last forecasts of the last series side by side") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  std::string csv = "id,y\n";
  for (int i = 0; i < 150; ++i) csv += fmt::format("{},{}\n", i < 60 ? "a" : "b", 5 + i * i % 7);
  folder.write("two.csv", csv);
  timeseries_out(
      Words{"train", "tiny.toml", "--csv", "two.csv", "--out", "run"} +
          set({"data.id=id", "data.horizon=1", "data.window=6", "data.period=1", "training.epochs=1"}),
      folder.path());
  const std::string page = read_text(folder / "run/report.html");
  const Picture forecast = picture(page, "Forecasts of b: y: test");
  CHECK(forecast.words.starts_with(
      "The last 18 forecasts of the part, each of a row from the rows before it."));
  CHECK(forecast.numbers["texts"].size() == 18);
  for (const auto& series : forecast.numbers["series"]) CHECK(series["y"].size() == 18);
  CHECK(forecast.numbers["series"][0]["y"][17] == 5 + 149 * 149 % 7);
  CHECK(page.find("Error by step") == page.npos);
}

TEST_CASE("errors by step stand at twelve steps of a longer horizon, the last one among them") {
  const auto lines = lines_of(timeseries_out(
      Words{"baselines", "tiny.toml", "--csv", "wave.csv"} +
          set({"data.horizon=30", "data.targets=[\"load\"]", "data.ets=false", "data.theta=false"}),
      trained().path()));
  auto line = std::ranges::find(lines, "RMSE by step: test");
  std::string steps;
  for (line += 2; line < lines.end() && !line->empty(); ++line)
    steps += std::to_string(std::stoi(*line)) + " ";
  CHECK(steps == "3 5 8 10 13 15 18 20 23 25 28 30 ");
}

// Values that were missing and filled in: they are read, and nothing is trained towards them or scored on them. Every figure
// by hand, in plain loops.
#include <cmath>

#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

using namespace unroll;

namespace {

// A series with holes, as the file has it, and filled in as the program does.
struct Holed {
  std::vector<double> value;   // the observed ones, and the filled ones between
  std::vector<bool> observed;  // by row
  std::string csv = "value\n";

  // `missing(i)` says where there is none; never in the first row.
  template <class Missing>
  Holed(int rows, uint64_t seed, Missing missing) {
    RandomStream random(seed, "holes");
    for (int i = 0; i < rows; ++i) {
      const double drawn = std::stod(fmt::format("{:.4f}", 10 * random.uniform()));
      observed.push_back(i == 0 || !missing(random.uniform(), i));
      value.push_back(observed.back() ? drawn : value.back());
      csv += observed.back() ? fmt::format("{:.4f}\n", drawn) : "NA\n";
    }
  }
  bool is_observed(int row) const { return observed[static_cast<size_t>(row)]; }
  double at(int row) const { return value[static_cast<size_t>(row)]; }

  // Mean and deviation of what is observed in rows [0, end).
  std::pair<double, double> moments(int end) const {
    double sum = 0, count = 0, squares = 0;
    for (int i = 0; i < end; ++i)
      if (is_observed(i)) sum += at(i), ++count;
    for (int i = 0; i < end; ++i)
      if (is_observed(i)) squares += std::pow(at(i) - sum / count, 2);
    return {sum / count, std::sqrt(squares / count)};
  }
};

struct Scored {
  double squares = 0, absolutes = 0, values = 0;
  int windows = 0, left_out = 0;
};
// Windows that predict two rows each, in rows [begin, end): f(origin, step).
template <class Forecast>
Scored score(const Holed& series, int begin, int end, Forecast f) {
  Scored scored;
  for (int origin = begin; origin + 2 <= end; ++origin) {
    scored.windows += series.is_observed(origin) || series.is_observed(origin + 1);
    for (int step = 0; step < 2; ++step) {
      if (!series.is_observed(origin + step)) {
        ++scored.left_out;
        continue;
      }
      const double error = f(origin, step) - series.at(origin + step);
      scored.squares += error * error, scored.absolutes += std::abs(error), ++scored.values;
    }
  }
  return scored;
}

const std::string linear_recipe =
    linear_model("window = 3\nhorizon = 2\nperiod = 4\nbatch = 1000\nmissing = \"previous\"\n",
                 "epochs = 1\nkeep = \"last\"\nclip = 0.0\n", "kind = \"sgd\"\nlearning_rate = 0.1\n");

}  // namespace

TEST_CASE("baselines, scales and MASE's unit see observed values alone") {
  constexpr int rows = 400, train_end = 280, valid_end = 320;
  const Holed series(rows, 21, [](double chance, int) { return chance < 0.4; });
  const Folder folder;
  folder.write("linear.toml", linear_recipe);
  folder.write("holes.csv", series.csv);
  const auto json =
      timeseries_json({"baselines", "linear.toml", "--csv", "holes.csv"}, folder.path())["test"];

  const auto [mean, deviation] = series.moments(train_end);
  double unit = 0, pairs = 0;
  for (int i = 4; i < train_end; ++i)
    if (series.is_observed(i) && series.is_observed(i - 4))
      unit += std::abs(series.at(i) - series.at(i - 4)), ++pairs;
  unit /= pairs;
  const auto check = [&](const std::string& name, auto forecast) {
    CAPTURE(name);
    const Scored found = score(series, valid_end, rows, forecast);
    const auto is = [&](const char* key, double value) {
      CAPTURE(key);
      CHECK(json[name][key].get<double>() == doctest::Approx(value).epsilon(1e-9));
    };
    is("rmse", std::sqrt(found.squares / found.values));
    is("scaled_mse", found.squares / found.values / (deviation * deviation));
    is("mae", found.absolutes / found.values);
    is("mase", found.absolutes / found.values / unit);
    CHECK(json[name]["windows"] == found.windows);
    CHECK(found.windows < 79);
    CHECK(json[name]["targets_left_out"] == found.left_out);
  };
  check("last value", [&](int origin, int) { return series.at(origin - 1); });
  check("seasonal naive (4)", [&](int origin, int step) { return series.at(origin + step - 4); });
  check("mean of training", [&, m = mean](int, int) { return m; });

  // How many were left out is said.
  const std::string said = timeseries_out({"baselines", "linear.toml", "--csv", "holes.csv"}, folder.path());
  const auto left_out = [&](int begin, int end) {
    return score(series, begin, end, [](int, int) { return 0.0; }).left_out;
  };
  const int of_test = left_out(valid_end, rows);
  for (const std::string& part :
       {fmt::format("left out are {} of train, {} of valid, {} of test\n", left_out(3, train_end),
                    left_out(train_end, valid_end), of_test),  // a window reads 3 rows
        fmt::format("{} values that were filled in", of_test)})
    CHECK_MESSAGE(said.find(part) != std::string::npos, said);
}

TEST_CASE("white noise of which most is missing scores what noise scores") {
  // On noise with variance v, the last value is off by 2 v in the mean square, the mean by v: the mean is the better
  // one. If filled values were scored, the last value would be right wherever one was missing, and win.
  constexpr int rows = 2000, valid_end = 1600;
  const Holed series(rows, 22, [](double chance, int i) { return i >= valid_end && chance < 0.6; });
  const Folder folder;
  folder.write("linear.toml", linear_recipe);
  folder.write("noise.csv", series.csv);
  const auto json = timeseries_json(
      {"baselines", "linear.toml", "--csv", "noise.csv", "--set", "data.horizon=1"}, folder.path())["test"];
  double squares = 0;
  int count = 0;
  for (int i = valid_end; i < rows; ++i)
    if (series.is_observed(i)) squares += std::pow(series.at(i) - series.at(i - 1), 2), ++count;
  CHECK(json["last value"]["windows"] == count);
  CHECK(json["last value"]["rmse"].get<double>() ==
        doctest::Approx(std::sqrt(squares / count)).epsilon(1e-9));
  CHECK(json["last value"]["targets_left_out"] == 400 - count);
  CHECK(json["mean of training"]["rmse"].get<double>() < json["last value"]["rmse"].get<double>());
}

TEST_CASE("a step of training is the step of the observed targets alone") {
  constexpr int rows = 100, train_end = 70, valid_end = 80;
  const Holed series(rows, 23, [](double chance, int) { return chance < 0.3; });
  const Folder folder;
  folder.write("linear.toml", linear_recipe);
  folder.write("holes.csv", series.csv);
  const auto train = [&](const std::string& rate, const std::string& out) {
    return timeseries_json(Words{"train", "linear.toml", "--csv", "holes.csv", "--out", out} +
                               set({"optimizer.learning_rate=" + rate, "data.eval_batch=4"}),
                           folder.path());
  };
  const auto still = train("1e-30", "still");  // the weights that training begins with
  train("0.1", "step");
  const auto load = [&](const char* run, const char* name) {
    return SafetensorsFile(folder / run / "last.safetensors").load(name).to_host();
  };
  const auto w = load("still", "linear.weight"), bias = load("still", "linear.bias");
  const auto [mean, deviation] = series.moments(train_end);
  const auto scaled = [&, m = mean, d = deviation](int row) { return (series.at(row) - m) / d; };
  const auto input = [&](int origin, int k) { return scaled(origin - 3 + k) - scaled(origin - 1); };
  const auto forecast = [&](int origin, int step) {
    double sum = static_cast<double>(bias[static_cast<size_t>(step)]) + scaled(origin - 1);
    for (int k = 0; k < 3; ++k)
      sum += static_cast<double>(w[static_cast<size_t>(3 * step + k)]) * input(origin, k);
    return sum;
  };
  // The mean of (f - y)² over the observed targets of all windows, and its gradient.
  const auto each = [&](int begin, int end, auto use) {
    for (int origin = begin; origin + 2 <= end; ++origin)
      for (int step = 0; step < 2; ++step)
        if (series.is_observed(origin + step))
          use(origin, step, forecast(origin, step) - scaled(origin + step));
  };
  double count = 0, loss = 0, valid_count = 0, valid_loss = 0;
  each(3, train_end, [&](int, int, double error) { loss += error * error, ++count; });
  each(train_end, valid_end, [&](int, int, double error) { valid_loss += error * error, ++valid_count; });
  std::vector<double> of_w(6), of_bias(2);
  each(3, train_end, [&](int origin, int step, double error) {
    of_bias[static_cast<size_t>(step)] += 2 * error / count;
    for (int k = 0; k < 3; ++k)
      of_w[static_cast<size_t>(3 * step + k)] += 2 * error * input(origin, k) / count;
  });
  CHECK(still["values"] == count);
  CHECK(still["train_loss"].get<double>() == doctest::Approx(loss / count).epsilon(1e-5));  // of float32
  CHECK(still["valid_loss"].get<double>() == doctest::Approx(valid_loss / valid_count).epsilon(1e-5));
  const auto after = load("step", "linear.weight"), bias_after = load("step", "linear.bias");
  // Values of about 1 in float32: 1e-7 each, some hundred of them in a gradient that counts a tenth.
  for (size_t i = 0; i < 6; ++i)
    CHECK(std::abs(static_cast<double>(after[i]) - (static_cast<double>(w[i]) - 0.1 * of_w[i])) < 1e-6);
  for (size_t i = 0; i < 2; ++i)
    CHECK(std::abs(static_cast<double>(bias_after[i]) - (static_cast<double>(bias[i]) - 0.1 * of_bias[i])) <
          1e-6);
}

TEST_CASE("quantiles, several channels, backtests, pictures and intervals leave filled values out, too") {
  constexpr int rows = 400, valid_end = 320;
  const Holed series(rows, 24, [](double chance, int) { return chance < 0.4; });
  const Folder folder;
  folder.write("linear.toml", linear_recipe);
  folder.write("holes.csv", series.csv);
  const int of_test = score(series, valid_end, rows, [](int, int) { return 0.0; }).left_out;
  const int scored = 79 * 2 - of_test;
  // Intervals: so many values of the test are looked at as are observed.
  const std::string trained =
      timeseries_out({"train", "linear.toml", "--csv", "holes.csv", "--out", "run"}, folder.path());
  const std::string counted = fmt::format("of the test's {} values", scored);
  CHECK_MESSAGE(trained.find(counted) != std::string::npos, trained);
  const ProgramRun forecast =
      started({"forecast", "run/last.safetensors", "--csv", "holes.csv"}, folder.path());
  CHECK_MESSAGE(forecast.err.find(counted) != std::string::npos, forecast.err);
  const std::string quantiles = timeseries_out(
      Words{"train", "linear.toml", "--csv", "holes.csv"} + set({"training.loss=quantile"}), folder.path());
  CHECK_MESSAGE(quantiles.find(counted) != std::string::npos, quantiles);

  // A value that was filled in is no truth in the file of all forecasts.
  (void)timeseries_out({"evaluate", "run/last.safetensors", "--csv", "holes.csv", "--out", "all.csv"},
                       folder.path());
  int rows_out = 0, without = 0;
  for (const std::string& line : lines_of(read_text(folder / "all.csv"))) {
    int row = 0;
    char truth[40] = "";
    if (std::sscanf(line.c_str(), "%*[^,],%*[^,],%d,value,%39[^,]", &row, truth) < 1) continue;
    ++rows_out, without += truth[0] == 0;
    CHECK((truth[0] != 0) == series.is_observed(row));
    if (truth[0]) CHECK(std::stod(truth) == series.at(row));
  }
  CHECK(rows_out - without == scored);
  CHECK(without > 0);

  // The picture's truth has a gap for each: the last window that is one, and 4 rows before it.
  const auto charts = nlohmann::json::parse(read_text(folder / "run/report.json"))["charts"];
  int gaps = 0, of_window = 0;
  for (const auto& value : charts[0]["series"][0]["y"]) gaps += value.is_null();
  int origin = rows - 2;
  while (!series.is_observed(origin) && !series.is_observed(origin + 1)) --origin;
  for (int row = origin - 4; row < origin + 2; ++row) of_window += !series.is_observed(row);
  CHECK(charts[0]["series"][0]["y"].size() == 6);
  CHECK(gaps == of_window);

  // Two channels: the holes of one are no holes of the other.
  std::string both = "value,other\n";
  for (int i = 0; i < rows; ++i)
    both += fmt::format("{},{}\n", series.is_observed(i) ? fmt::format("{:.4f}", series.at(i)) : "", i % 9);
  folder.write("both.csv", both);
  const auto two = timeseries_json({"baselines", "linear.toml", "--csv", "both.csv"}, folder.path())["test"];
  CHECK(two["last value"]["windows"] == 79);
  CHECK(two["last value"]["targets_left_out"] == of_test);

  // The last of two folds tests the last 40 rows.
  const auto folds = timeseries_json(
      {"backtest", "linear.toml", "--csv", "holes.csv", "--folds", "2", "--test-rows", "40"}, folder.path());
  const Scored naive = score(series, 360, rows, [&](int origin, int) { return series.at(origin - 1); });
  const auto& last = folds[1]["scores"]["last value"];
  CHECK(last["rmse"].get<double>() == doctest::Approx(std::sqrt(naive.squares / naive.values)).epsilon(1e-9));
  CHECK(last["targets_left_out"] == naive.left_out);
}

TEST_CASE("a part without an observed value is refused, and a whole series says nothing of holes") {
  const Folder folder;
  folder.write("linear.toml", linear_recipe);
  const Holed none(100, 25, [](double, int i) { return i >= 80; });
  folder.write("none.csv", none.csv);
  const ProgramRun refused = started({"baselines", "linear.toml", "--csv", "none.csv"}, folder.path());
  CHECK(refused.code == 2);
  CHECK(refused.err ==
        "timeseries: none.csv: the test part has nothing to predict: all its values are missing\n");
  const Holed whole(100, 26, [](double, int) { return false; });
  folder.write("whole.csv", whole.csv);
  const std::string said = timeseries_out({"baselines", "linear.toml", "--csv", "whole.csv"}, folder.path());
  CHECK(said.find("filled") == std::string::npos);
  CHECK_MESSAGE(said.find("19 windows, none left out.") != std::string::npos, said);
}

TEST_CASE("a file that lacks a value of before is another series, though the same number is filled in") {
  const Folder folder;
  folder.write("linear.toml", linear_recipe);
  std::string whole = "value\n";
  for (int i = 0; i < 100; ++i) whole += fmt::format("{}\n", i / 2 % 7);  // each number twice
  folder.write("series.csv", whole);
  const Words csv{"--csv", "series.csv"};
  REQUIRE(started(Words{"train", "linear.toml", "--out", "run"} + csv, folder.path()).code == 0);
  const auto resumed = [&] { return started(Words{"resume", "run"} + csv, folder.path()).out; };
  CHECK(resumed().find("the series is another") == std::string::npos);
  whole.replace(whole.size() - 2, 1, "NA");  // the last number, which is that of the row before
  folder.write("series.csv", whole);
  const std::string said = resumed();
  CHECK_MESSAGE(said.find("the series is another") != std::string::npos, said);
}

TEST_CASE("masked values are inputs of a network that reads them, and change nothing for one that does not") {
  const Folder folder;
  folder.write("linear.toml", linear_recipe);
  const Holed series(160, 31, [](double drawn, int) { return drawn < 0.2; });
  folder.write("holes.csv", series.csv);
  const Words csv{"--csv", "holes.csv"}, mask = set({"data.missing=mask"});
  nlohmann::json scores[2];
  for (const bool masked : {false, true}) {
    const std::string out = masked ? "masked" : "previous";
    timeseries_out(Words{"train", "linear.toml", "--out", out} + csv + (masked ? mask : Words{}),
                   folder.path());
    scores[masked] =
        timeseries_json({"evaluate", out + "/best.safetensors", "--csv", "holes.csv"}, folder.path());
  }
  CHECK(scores[0]["scores"]["test"]["the model"]["rmse"] == scores[1]["scores"]["test"]["the model"]["rmse"]);
  CHECK(scores[1]["scores"]["test"]["the model"]["targets_left_out"].get<int>() > 0);

  // A net that reads them tells a value that is known from the same one filled in.
  folder.write("gru.toml",
               "[model]\ncell = \"gru\"\nhidden = 8\n[data]\nwindow = 4\nhorizon = 2\nmissing = \"mask\"\n"
               "[training]\nepochs = 2\n");
  const std::string said = timeseries_out(Words{"explain", "gru.toml"} + csv, folder.path());
  CHECK_MESSAGE(
      said.find("reads 4 rows of value, value missing\nforecasts 2 rows of value\n") != std::string::npos,
      said);
  timeseries_out(Words{"train", "gru.toml", "--out", "gru"} + csv, folder.path());
  const auto forecast = [&](const std::string& more) {
    folder.write("now.csv", series.csv + "5\n" + more + "\n");
    return timeseries_out({"forecast", "gru/best.safetensors", "--csv", "now.csv"}, folder.path());
  };
  CHECK(forecast("5") != forecast("NA"));

  // A resumed run cannot change the inputs of a model's networks.
  const ProgramRun other =
      started(Words{"resume", "gru"} + csv + set({"data.missing=previous"}), folder.path());
  CHECK(other.code == 2);
  CHECK_MESSAGE(other.err.find("it was trained with data.missing = \"mask\"") != std::string::npos,
                other.err);
  const ProgramRun masked = started(Words{"resume", "previous"} + csv + mask, folder.path());
  CHECK(masked.code == 2);
  CHECK_MESSAGE(masked.err.find("without data.missing = \"mask\"") != std::string::npos, masked.err);
}

TEST_CASE("an interval knows what the forecast lacks: about 80 % lie within, whatever is missing before it") {
  constexpr int rows = 480, ends = 12, apart = 5;
  const Folder folder;
  folder.write(
      "mine.toml",
      linear_model("channels = [\"y\"]\nwindow = 14\nhorizon = 5\nperiod = 7\nmissing = \"previous\"\n",
                   "epochs = 60\n", "learning_rate = 0.02\n"));
  RandomStream random(5, "weekly");
  std::vector<double> y;
  for (int i = 0; i < rows + ends * apart + 5; ++i)
    y.push_back(50 + 10 * std::sin(i * 2 * 3.14159265 / 7) + random.uniform() + random.uniform());
  const auto write = [&](const std::string& name, int end, int first_missing, int end_missing) {
    std::string csv = "y,other\n";
    for (int i = 0; i < end; ++i)
      csv += (i >= first_missing && i < end_missing ? std::string()
                                                    : fmt::format("{:.4f}", y[static_cast<size_t>(i)])) +
             ",1\n";
    folder.write(name, csv);
  };
  write("whole.csv", rows, 0, 0);
  timeseries_out({"train", "mine.toml", "--csv", "whole.csv", "--out", "run"}, folder.path());
  struct Holes {
    int first, end;  // rows before the end
    int within = 0;
  };
  for (Holes holes : {Holes{0, 0}, Holes{1, 0}, Holes{3, 0}, Holes{11, 1}}) {
    std::string said;
    for (int k = 0; k < ends; ++k) {
      const int end = rows + k * apart;
      write("now.csv", end, end - holes.first, end - holes.end);
      const ProgramRun run = started({"forecast", "run/best.safetensors", "--csv", "now.csv"}, folder.path());
      REQUIRE_MESSAGE(run.code == 0, run.err);
      said = run.err;
      const auto lines = lines_of(run.out);
      for (int step = 0; step < 5; ++step) {
        double low = 0, high = 0;
        REQUIRE(std::sscanf(lines[static_cast<size_t>(step) + 1].c_str(), "%*[^,],%*[^,],%lf,%lf", &low,
                            &high) == 2);
        const double truth = y[static_cast<size_t>(end + step)];
        holes.within += low <= truth && truth <= high;
      }
    }
    CAPTURE(holes.first);
    // 60 values in 12 forecasts, give or take three deviations of chance.
    CHECK(std::abs(holes.within / 60.0 - 0.8) < 3 * std::sqrt(0.16 / 60) + 0.01);
    CHECK((said.find("missing, and is as much wider") != std::string::npos) == (holes.first > 0));
  }
}

TEST_CASE("a model of rows whose gaps are 0 goes on with the step of its training") {
  const Folder folder;
  folder.write("x.toml",
               "[data]\nfile = \"x.csv\"\nmissing = \"zero\"\ngaps = \"fill\"\nwindow = 4\n"
               "[model]\nhidden = 2\n[training]\nepochs = 1\n");
  std::string csv = "t,x\n";
  for (int row = 0; row < 80; ++row)
    if (row % 3 == 0 || row == 7)
      csv += fmt::format("2023-{:02}-{:02},{}\n", row / 28 + 1, row % 28 + 1, 1 + row % 5);
  folder.write("x.csv", csv);
  REQUIRE(started({"train", "x.toml", "--out", "run"}, folder.path()).code == 0);
  const ProgramRun next = started({"forecast", "run/last.safetensors", "--steps", "1"}, folder.path());
  CHECK_MESSAGE(next.out.find("2023-03-24,") != std::string::npos, next.err);
  CHECK(next.err.find("means 0") == std::string::npos);
}

// Which rows are learnt from, at the level of the program: a series whose splits have other levels and spreads, and
// every figure by hand, in plain loops over the values in the file.
#include <algorithm>
#include <array>
#include <cmath>

#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

using namespace unroll;

namespace {

using Values = std::vector<double>;

// Rows of the splits: [0, 140) trains, [140, 160) validates, [160, 200) tests, as 0.7 and 0.1 of 200 rows say.
constexpr int train_end = 140, valid_end = 160, all_rows = 200;
constexpr int window = 3, horizon = 2, period = 4;

// Level 10 and spread 1 where it trains, 30 and 3 where it validates, 80 and 10 where it tests. Values as the file has them.
Values levels() {
  RandomStream random(11, "levels");
  Values y;
  for (int i = 0; i < all_rows; ++i) {
    const double level = i < train_end   ? 10
                         : i < valid_end ? 30
                                         : 80,
                 spread = i < train_end   ? 1
                          : i < valid_end ? 3
                                          : 10;
    y.push_back(std::stod(fmt::format("{:.4f}", level + spread * (2 * random.uniform() - 1))));
  }
  return y;
}

std::string csv_of(const Values& y) {
  std::string csv = "value\n";
  for (const double value : y) csv += fmt::format("{:.4f}\n", value);
  return csv;
}

const std::string linear_recipe = linear_model("window = 3\nhorizon = 2\nperiod = 4\nbatch = 16\n",
                                               "epochs = 6\n", "kind = \"sgd\"\nlearning_rate = 0.02\n");

struct Moments {
  double mean = 0, deviation = 0;
};
Moments moments(const Values& y, int begin, int end) {
  double sum = 0, squares = 0;
  for (int i = begin; i < end; ++i) sum += y[static_cast<size_t>(i)];
  const double mean = sum / (end - begin);
  for (int i = begin; i < end; ++i) squares += std::pow(y[static_cast<size_t>(i)] - mean, 2);
  return {mean, std::sqrt(squares / (end - begin))};
}

// Errors of a forecast, by step: f(origin, step), of windows whose origins are begin … end - horizon.
struct Errors {
  std::array<double, horizon> squares = {}, absolutes = {};
  double count = 0;  // windows
  double mse() const { return (squares[0] + squares[1]) / (2 * count); }
  double mae() const { return (absolutes[0] + absolutes[1]) / (2 * count); }
};
template <class Forecast>
Errors errors(const Values& y, int begin, int end, Forecast f) {
  Errors result;
  for (int origin = begin; origin + horizon <= end; ++origin, ++result.count)
    for (int step = 0; step < horizon; ++step) {
      const double error = f(origin, step) - y[static_cast<size_t>(origin + step)];
      result.squares[static_cast<size_t>(step)] += error * error;
      result.absolutes[static_cast<size_t>(step)] += std::abs(error);
    }
  return result;
}

// The model of a file: sums of a window that is scaled by the training rows and taken off its last value.
struct LinearModel {
  std::vector<real> weight, bias;  // [horizon, window], [horizon]
  Moments train;
  const Values& y;
  LinearModel(const std::filesystem::path& path, const Values& values)
      : weight(SafetensorsFile(path).load("linear.weight").to_host()),
        bias(SafetensorsFile(path).load("linear.bias").to_host()),
        train(moments(values, 0, train_end)),
        y(values) {}
  double scaled(int row) const { return (y[static_cast<size_t>(row)] - train.mean) / train.deviation; }
  double operator()(int origin, int step) const {
    const double last = scaled(origin - 1);
    double sum = static_cast<double>(bias[static_cast<size_t>(step)]) + last;
    for (int k = 0; k < window; ++k)
      sum += static_cast<double>(weight[static_cast<size_t>(step * window + k)]) *
             (scaled(origin - window + k) - last);
    return sum * train.deviation + train.mean;
  }
};

// The half width of a conformal interval around f(origin, step), by hand: errors in cube roots of their window's
// standard deviation, which is a tenth of the training rows' at least. Errors of validation windows leave one by one
// as errors of test windows become known.
template <class Forecast>
double half_width(const Values& y, int step, int steps, int origin, Forecast f) {
  const double least = 0.1 * moments(y, 0, train_end).deviation;
  const auto scale = [&](int at) {
    return std::cbrt(std::max(moments(y, at - window, at).deviation, least));
  };
  Values of_valid, of_test;
  const auto add = [&](Values& all, int begin, int end) {
    for (int at = begin; at + steps <= end; ++at)
      if (at + step < origin)
        all.push_back(std::abs(f(at, step) - y[static_cast<size_t>(at + step)]) / scale(at));
  };
  add(of_valid, train_end, valid_end), add(of_test, valid_end, all_rows);
  of_valid.erase(of_valid.begin(), of_valid.begin() + std::min(std::ssize(of_valid), std::ssize(of_test)));
  of_test.insert(of_test.end(), of_valid.begin(), of_valid.end());
  std::ranges::sort(of_test);
  const int n = static_cast<int>(of_test.size()), k = (8 * (n + 1) + 9) / 10;  // ⌈0.8 (n + 1)⌉
  return scale(origin) * of_test.at(static_cast<size_t>(k - 1));
}

}  // namespace

TEST_CASE("baselines, scaling and MASE's unit are measured on the training rows alone") {
  const Folder folder;
  const Values y = levels();
  folder.write("linear.toml", linear_recipe);
  folder.write("levels.csv", csv_of(y));
  const auto json =
      timeseries_json({"baselines", "linear.toml", "--csv", "levels.csv"}, folder.path())["test"];

  const Moments train = moments(y, 0, train_end);
  double unit = 0;
  for (int i = period; i < train_end; ++i)
    unit += std::abs(y[static_cast<size_t>(i)] - y[static_cast<size_t>(i - period)]) / (train_end - period);
  const auto at = [&](int row) { return y[static_cast<size_t>(row)]; };
  const auto check = [&](const std::string& name, auto forecast) {
    CAPTURE(name);
    const Errors found = errors(y, valid_end, all_rows, forecast);
    const auto is = [&](const char* key, double value) {
      CAPTURE(key);
      CHECK(json[name][key].get<double>() == doctest::Approx(value).epsilon(1e-9));  // of doubles
    };
    is("rmse", std::sqrt(found.mse())), is("mae", found.mae());
    is("scaled_mse", found.mse() / (train.deviation * train.deviation));
    is("scaled_mae", found.mae() / train.deviation);
    is("mase", found.mae() / unit);
    CHECK(json[name]["windows"] == 39);
  };
  check("last value", [&](int origin, int) { return at(origin - 1); });
  check("seasonal naive (4)", [&](int origin, int step) { return at(origin + step - period); });
  check("mean of training", [&](int, int) { return train.mean; });
}

TEST_CASE("numbers of rows split a series from its first row on, and rows after the test are in no part") {
  const Folder folder;
  const Values y = levels();
  folder.write("linear.toml", linear_recipe);
  folder.write("levels.csv", csv_of(y));
  const auto json = timeseries_json(
      Words{"baselines", "linear.toml", "--csv", "levels.csv"} +
          set({"data.split=rows", "data.train_rows=100", "data.valid_rows=20", "data.test_rows=30"}),
      folder.path())["test"];
  CHECK(json["last value"]["windows"] == 29);
  const auto last = [&](int origin, int) { return y[static_cast<size_t>(origin - 1)]; };
  const double mean = moments(y, 0, 100).mean;
  CHECK(json["last value"]["rmse"].get<double>() ==
        doctest::Approx(std::sqrt(errors(y, 120, 150, last).mse())).epsilon(1e-9));
  CHECK(json["mean of training"]["rmse"].get<double>() ==
        doctest::Approx(std::sqrt(errors(y, 120, 150, [&](int, int) { return mean; }).mse())).epsilon(1e-9));
}

TEST_CASE(
    "a model is scaled by the training rows, chosen by the validation rows, and judged by the test rows") {
  const Folder folder;
  const Values y = levels();
  folder.write("linear.toml", linear_recipe);
  folder.write("levels.csv", csv_of(y));
  const auto json =
      timeseries_json({"train", "linear.toml", "--csv", "levels.csv", "--out", "run"}, folder.path());
  const LinearModel best(folder / model, y), last(folder / "run/last.safetensors", y);
  const double variance = best.train.deviation * best.train.deviation;
  // Scaled values are 80 at most, in float32 each off by 4e-6; a forecast adds some eight of them to an error of about 1:
  // squares are off by less than 1e-4 of themselves.
  const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-4); };

  std::vector<double> logged;
  for (const std::string& line : lines_of(read_text(folder / "run/log.jsonl")))
    if (const auto record = nlohmann::json::parse(line); record["kind"] == "epoch")
      logged.push_back(record["valid_loss"]);
  REQUIRE(logged.size() == 6);
  const double by_hand = errors(y, train_end, valid_end, best).mse() / variance;
  CHECK(logged.back() == near(errors(y, train_end, valid_end, last).mse() / variance));
  CHECK(*std::ranges::min_element(logged) == near(by_hand));
  CHECK(json["valid_loss"].get<double>() == near(by_hand));

  const Errors test = errors(y, valid_end, all_rows, best);
  const auto& scores = json["scores"]["test"]["the model"];
  CHECK(scores["rmse"].get<double>() == near(std::sqrt(test.mse())));
  CHECK(scores["scaled_mse"].get<double>() == near(test.mse() / variance));

  // The interval: by the errors of the validation split, then by those of the test as they become known. No value lies so near
  // an end that float32 decides.
  int within = 0;
  for (int origin = valid_end; origin + horizon <= all_rows; ++origin)
    for (int step = 0; step < horizon; ++step)
      within += std::abs(best(origin, step) - y[static_cast<size_t>(origin + step)]) <=
                half_width(y, step, horizon, origin, best);
  CHECK(scores["interval_coverage"].get<double>() == doctest::Approx(within / 78.0).epsilon(1e-12));
  const std::string said = fmt::format(
      "80 %, by the errors of the last 39 forecasts of the validation split and the test split, not below 0; of the "
      "test's 78 values {:.0f} % lie within, by the errors before each",
      100 * within / 78.0);
  const auto evaluated = timeseries_out({"evaluate", model, "--csv", "levels.csv"}, folder.path());
  // The test's last row is that of the last window's second step: before the end one error less is known of it.
  const std::string before = fmt::format("of the test's 78 values {:.0f} % lie within", 100 * within / 78.0);
  CHECK_MESSAGE(evaluated.find(before) != std::string::npos, evaluated);
  CHECK(read_text(folder / "run/report.json").find(before) != std::string::npos);
  const ProgramRun forecast = started({"forecast", model, "--csv", "levels.csv"}, folder.path());
  CHECK_MESSAGE(forecast.err.find(said) != std::string::npos, forecast.err);
  const auto rows = lines_of(forecast.out);
  REQUIRE(rows.size() == 3);
  for (int step = 0; step < horizon; ++step) {
    double value = 0, low = 0, high = 0;
    REQUIRE(std::sscanf(rows[static_cast<size_t>(step) + 1].c_str(), "%*[^,],%lf,%lf,%lf", &value, &low,
                        &high) == 3);
    CHECK(value == near(best(all_rows, step)));
    CHECK((high - low) / 2 == near(half_width(y, step, horizon, all_rows, best)));
  }
  // On rows that set the width nothing is counted, nor on those that trained.
  for (const char* split : {"valid", "train"}) {
    const auto other =
        timeseries_json({"evaluate", model, "--csv", "levels.csv", "--split", split}, folder.path());
    CHECK(!other["scores"][split]["the model"].contains("interval_coverage"));
  }
  // A longer forecast than the validation split has room for: all rows that did not train set its width.
  const ProgramRun longer =
      started({"forecast", model, "--csv", "levels.csv", "--steps", "20"}, folder.path());
  CHECK_MESSAGE(
      longer.err.find("of all rows that did not train, not below 0; how many values lie within is not "
                      "measured") == std::string::npos,
      longer.err);
  CHECK_MESSAGE(longer.err.find("forecasts of the validation split and the test split") != std::string::npos,
                longer.err);
}

TEST_CASE(
    "beyond its horizon a model goes on from its own forecasts, and the interval is that of such forecasts") {
  constexpr int steps = 4;
  const Folder folder;
  const Values y = levels();
  folder.write("linear.toml", linear_recipe);
  folder.write("levels.csv", csv_of(y));
  timeseries_out({"train", "linear.toml", "--csv", "levels.csv", "--out", "run"}, folder.path());
  const auto gone_on = [&](int origin) {
    Values seen(y.begin(), y.begin() + origin);
    const LinearModel by_hand(folder / model, seen);
    while (std::ssize(seen) < origin + steps) {
      const int from = static_cast<int>(std::ssize(seen));
      for (const double value : {by_hand(from, 0), by_hand(from, 1)}) seen.push_back(value);
    }
    return Values(seen.end() - steps, seen.end());
  };
  const auto rows =
      lines_of(started({"forecast", model, "--csv", "levels.csv", "--steps", "4"}, folder.path()).out);
  REQUIRE(rows.size() == steps + 1);
  const Values expected = gone_on(all_rows);
  for (size_t step = 0; step < steps; ++step) {
    double value = 0, low = 0, high = 0;
    REQUIRE(std::sscanf(rows[step + 1].c_str(), "%*[^,],%lf,%lf,%lf", &value, &low, &high) == 3);
    // As above; a step that goes on adds its share once more.
    CHECK(value == doctest::Approx(expected[step]).epsilon(2e-4));
    const auto at = [&](int origin, int s) { return gone_on(origin)[static_cast<size_t>(s)]; };
    CHECK((high - low) / 2 ==
          doctest::Approx(half_width(y, static_cast<int>(step), steps, all_rows, at)).epsilon(2e-4));
  }
}

TEST_CASE("a model of quantiles goes on from its middle one") {
  const Folder folder;
  Values y = levels();
  folder.write("linear.toml", linear_recipe);
  folder.write("levels.csv", csv_of(y));
  timeseries_out(
      {"train", "linear.toml", "--csv", "levels.csv", "--out", "run", "--set", "training.loss=quantile"},
      folder.path());
  const auto middle = [&](const std::string& csv, const std::string& steps) {
    Values found;
    const auto rows =
        lines_of(started({"forecast", model, "--csv", csv, "--steps", steps}, folder.path()).out);
    for (size_t row = 1; row < rows.size(); ++row) {
      double value = 0;
      REQUIRE(std::sscanf(rows[row].c_str(), "%*[^,],%lf", &value) == 1);
      found.push_back(value);
    }
    return found;
  };
  const Values at_once = middle("levels.csv", "4"), first = middle("levels.csv", "2");
  REQUIRE(at_once.size() == 4);
  y.insert(y.end(), first.begin(), first.end());
  folder.write("longer.csv", csv_of(y));
  const Values second = middle("longer.csv", "2");
  // Values have four digits behind the point in the file; the lowest quantile lies some tenths below the middle one.
  for (size_t step = 0; step < 2; ++step) {
    CHECK(at_once[step] == first[step]);
    CHECK(std::abs(at_once[step + 2] - second[step]) < 0.01);
  }
}

TEST_CASE("each epoch has the same windows in an order of its own") {
  const Folder folder;
  folder.write("linear.toml", linear_recipe);
  folder.write("levels.csv", csv_of(levels()));
  // Steps too small to change a weight: what a batch loses depends on its windows alone.
  timeseries_out(Words{"train", "linear.toml", "--csv", "levels.csv", "--out", "run"} +
                     set({"optimizer.learning_rate=1e-30", "training.log_every=1", "training.epochs=3"}),
                 folder.path());
  std::vector<Values> epochs(3);
  for (const std::string& line : lines_of(read_text(folder / "run/log.jsonl")))
    if (const auto record = nlohmann::json::parse(line); record["kind"] == "interval")
      epochs.at(record["epoch"].get<size_t>() - 1).push_back(record["loss"]);
  const auto mean = [](const Values& losses) {  // but the last batch has 8 windows, the others 16
    double sum = 0;
    for (size_t k = 0; k < losses.size(); ++k) sum += losses[k] * (k + 1 < losses.size() ? 16 : 8);
    return sum / (16 * static_cast<double>(losses.size() - 1) + 8);
  };
  REQUIRE(epochs[0].size() == 9);  // 140 - 3 - 2 + 1 = 136 windows
  for (const size_t epoch : {1u, 2u}) {
    CHECK(epochs[epoch] != epochs[epoch - 1]);
    CHECK(mean(epochs[epoch]) == doctest::Approx(mean(epochs[0])).epsilon(1e-5));
  }
}

TEST_CASE("the training loss is that of the training rows") {
  const Folder folder;
  const Values y = levels();
  folder.write("linear.toml", linear_recipe);
  folder.write("levels.csv", csv_of(y));
  const auto json =
      timeseries_json(Words{"train", "linear.toml", "--csv", "levels.csv", "--out", "run"} +
                          set({"optimizer.learning_rate=1e-30", "training.epochs=1"}),  // no weight moves
                      folder.path());
  const LinearModel found(folder / model, y);
  CHECK(json["train_loss"].get<double>() == doctest::Approx(errors(y, window, train_end, found).mse() /
                                                            (found.train.deviation * found.train.deviation))
                                                .epsilon(1e-5));
  CHECK(json["values"] == 136 * 2);  // origins 3 … 138
}

TEST_CASE("baselines of detection learn from the training rows alone") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  // A quarter of the training rows and three quarters of the others have label 1. Label 1 has x above 5 in training
  // rows, and below 2 in the others.
  std::string csv = "x,state\n";
  std::vector<double> x;
  std::vector<int> label;
  for (int i = 0; i < all_rows; ++i) {
    const bool trains = i < train_end;
    label.push_back(trains ? i % 4 == 0 : i % 4 != 0);
    x.push_back(trains ? (label.back() ? 6 : 4) + 0.01 * (i % 7) : (label.back() ? 1 : 9) + 0.01 * (i % 5));
    csv += fmt::format("{:.2f},{}\n", x.back(), label.back());
  }
  folder.write("states.csv", csv);
  const auto json = timeseries_json(
      Words{"baselines", "tiny.toml", "--csv", "states.csv"} + set({"data.label=state", "data.window=1"}),
      folder.path())["test"];
  double ones = 0, loss = 0, right = 0;
  for (size_t i = 0; i < train_end; ++i) ones += label[i];
  const double share = ones / train_end;
  for (size_t i = valid_end; i < all_rows; ++i)
    loss -= std::log(label[i] ? share : 1 - share) / (all_rows - valid_end), right += label[i] == 0;
  CHECK(json["majority class"]["log_loss"].get<double>() == doctest::Approx(loss).epsilon(1e-12));
  CHECK(json["majority class"]["accuracy"].get<double>() ==
        doctest::Approx(right / (all_rows - valid_end)).epsilon(1e-12));
  // Between the greatest value of label 0, 4.06, and the least of label 1, 6.00: always wrong in the test.
  REQUIRE(json.contains("threshold x > 5.03"));
  CHECK(json["threshold x > 5.03"]["accuracy"] == 0);
  CHECK(json["logistic regression"]["accuracy"] == 0);
}

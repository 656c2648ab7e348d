// Verdicts on a model beside the baselines: by which measures it wins and by which it does not, in digits that are
// there whatever the unit.
#include <cmath>
#include <functional>
#include <map>
#include <ranges>
#include <regex>
#include <set>
#include <sstream>

#include "examples/timeseries/scores/verdict.cpp"
#include "tests/examples/timeseries.h"

using namespace unroll;
using nlohmann::json;

namespace {

const std::string linear_recipe =
    linear_model("window = 12\nhorizon = 3\nperiod = 24\nets = false\ntheta = false\n",
                 "epochs = 3\nkeep = \"last\"\n", "learning_rate = 0.01\n");

// By measure the baselines that are as good as the model or better, from the scores themselves; empty: it beats them all.
std::map<std::string, std::set<std::string>> by_hand(const json& scores,
                                                     const std::vector<std::string>& measures) {
  std::map<std::string, std::set<std::string>> result;
  for (const std::string& measure : measures) {
    const json& model = scores["the model"][measure];
    if (model.is_null()) continue;
    bool compared = false;
    std::set<std::string> not_beaten;
    for (const auto& [name, row] : scores.items()) {
      if (name == "the model" || name == "label one row before" || row[measure].is_null()) continue;
      compared = true;
      const bool more_is_better = !row.contains("rmse") && measure != "log_loss";
      const double a = model.get<double>(), b = row[measure].get<double>();
      if (more_is_better ? a <= b : a >= b) not_beaten.insert(name);
    }
    if (compared) result[measure] = not_beaten;
  }
  return result;
}

// The baseline that is said to have a better score than the model; empty: none.
//   the model is not the best: last value has sMAPE 15.60 (the model 25.30), MAE 8.700 (9.100); mean of training has …
std::string better_by(const std::string& out, const std::string& measure) {
  const std::string begin = "the model is not the best: ";
  std::string found;
  for (std::string line : lines_of(out)) {
    if (!line.starts_with(begin)) continue;
    CHECK(found.empty());  // one line for all
    for (line = line.substr(begin.size()) + "; "; !line.empty(); line = line.substr(line.find("; ") + 2)) {
      const std::string group = line.substr(0, line.find("; "));
      const size_t has = group.find(" has ");
      REQUIRE(has != std::string::npos);
      if (std::regex_search(group, std::regex("( has |, )" + measure + " [0-9]")))
        found = group.substr(0, has);
    }
  }
  return found;
}

// Compares what the program says with that: in its JSON, and in the lines it prints.
void check_verdict(const json& scores, const std::string& out, const std::vector<std::string>& names,
                   const std::vector<std::string>& measures) {
  const json& model_row = scores["the model"];
  std::set<std::string> better;
  for (const auto& measure : model_row["better_than_every_baseline"])
    better.insert(measure.get<std::string>());
  const auto expected = by_hand(scores, measures);
  for (size_t k = 0; k < measures.size(); ++k) {
    const std::string& measure = measures[k];
    CAPTURE(measure);
    const auto found = expected.find(measure);
    const bool wins = found != expected.end() && found->second.empty();
    CHECK(better.count(measure) == (wins ? 1 : 0));
    std::set<std::string> said;
    if (model_row["not_better"].contains(measure))
      for (const auto& name : model_row["not_better"][measure]) said.insert(name.get<std::string>());
    CHECK((said == (found == expected.end() ? std::set<std::string>() : found->second)));
    std::string line_of_wins;
    for (const std::string& line : lines_of(out))
      if (line.starts_with("the model is better than every baseline by ")) line_of_wins = line;
    CHECK((line_of_wins.find(" " + names[k] + " (") != std::string::npos) == wins);
    const std::string best = better_by(out, names[k]);
    CHECK(best.empty() == (wins || found == expected.end()));
    if (best.empty()) continue;
    CHECK(said.count(best) == 1);
    // No other one is better than that.
    const bool less_is_better = model_row.contains("rmse") || measure == "log_loss";
    for (const std::string& name : said)
      CHECK((less_is_better ? scores[best][measure] <= scores[name][measure]
                            : scores[best][measure] >= scores[name][measure]));
  }
}

const std::vector<std::string> forecast_names = {"MSE scaled", "MAE scaled", "RMSE", "MAE", "sMAPE", "MASE"},
                               forecast_keys = {"scaled_mse", "scaled_mae", "rmse", "mae", "smape", "mase"};

// A daily wave beside a channel whose unit is a million times as large: what wins by the one may lose by the other.
std::string two_units() {
  RandomStream random(31, "units");
  std::string csv = "small,large\n";
  for (int i = 0; i < 400; ++i)
    csv += fmt::format("{:.5f},{:.1f}\n", std::sin(i * 2 * 3.14159265 / 24) + 0.2 * random.uniform(),
                       1e6 * (5 + random.uniform()));
  return csv;
}

}  // namespace

TEST_CASE(
    "a verdict names the measures that a model wins by, and those that it does not, for one channel and for several") {
  const Folder folder;
  folder.write("linear.toml", linear_recipe);
  folder.write("two.csv", two_units());
  int won = 0, lost = 0;
  for (const Words& assignments :
       {Words{}, Words{"data.targets=[\"small\"]"}, Words{"data.targets=[\"large\"]"},
        Words{"training.epochs=40", "data.window=24"}}) {
    CAPTURE(fmt::format("{}", fmt::join(assignments, " ")));
    const std::string out = fmt::format("run-{}", won + 100 * lost);
    const Words words =
        Words{"train", "linear.toml", "--csv", "two.csv", "--json", "--out", out} + set(assignments);
    const ProgramRun run = started(words, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    const json scores = json::parse(run.out)["scores"]["test"];
    check_verdict(scores, run.err, forecast_names, forecast_keys);
    won += static_cast<int>(scores["the model"]["better_than_every_baseline"].size());
    lost += static_cast<int>(scores["the model"]["not_better"].size());
    // evaluate says the same.
    const Words evaluate = {"evaluate", out + "/last.safetensors", "--csv", "two.csv"};
    const json again = timeseries_json(evaluate, folder.path());
    CHECK(again["scores"]["test"] == scores);
    check_verdict(scores, timeseries_out(evaluate, folder.path()), forecast_names, forecast_keys);
    // The tile: scaled errors of several channels, the file's of one; what it does not win by is said on it.
    const bool several = assignments.empty() || assignments[0].starts_with("training");
    const json tiles = json::parse(read_text(folder / out / "report.json"))["results"];
    CHECK(tiles[0]["name"] == (several ? "test: MSE scaled" : "test: RMSE"));
    const std::string note = tiles[0]["note"];
    const std::string lost_by = note.substr(std::min(note.find("the model is not the best: "), note.size()));
    for (size_t k = 0; k < forecast_keys.size(); ++k)
      if (scores["the model"]["not_better"].contains(forecast_keys[k]))
        CHECK_MESSAGE(lost_by.find(forecast_names[k] + " ") != std::string::npos, note);
    CHECK(run.err.find("rule") == std::string::npos);
  }
  CHECK(won > 0);  // else the cases above show one side alone
  CHECK(lost > 0);
}

TEST_CASE("detectors and backtests have verdicts, too") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  folder.write("linear.toml", linear_recipe);
  folder.write("two.csv", two_units());
  RandomStream random(32, "states");
  std::string csv = "x,state\n";
  for (int i = 0; i < 300; ++i) {
    const double x = random.uniform();
    csv += fmt::format("{:.4f},{}\n", x, x + 0.3 * random.uniform() > 0.8 ? 1 : 0);
  }
  folder.write("states.csv", csv);
  const ProgramRun run =
      started(Words{"train", "tiny.toml", "--csv", "states.csv", "--json", "--out", "run"} +
                  set({"data.label=state"}),
              folder.path());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  check_verdict(json::parse(run.out)["scores"]["test"], run.err,
                {"accuracy", "balanced", "precision", "recall", "F1", "ROC-AUC", "log loss"},
                {"accuracy", "balanced_accuracy", "precision", "recall", "f1", "roc_auc", "log_loss"});

  // A backtest's verdict is over the means of the folds.
  const Words backtest = {"backtest", "linear.toml", "--csv", "two.csv", "--folds", "2", "--test-rows", "48"};
  json means = json::object();
  const json folds = timeseries_json(backtest, folder.path());
  for (const json& fold : folds)
    for (const auto& [name, row] : fold["scores"].items())
      for (const std::string& key : forecast_keys)
        means[name][key] =
            (means.contains(name) && means[name].contains(key) ? means[name][key].get<double>() : 0.0) +
            row[key].get<double>() / 2;
  const std::string out = timeseries_out(backtest, folder.path());
  for (const auto& [measure, not_beaten] : by_hand(means, forecast_keys)) {
    const std::string& name = forecast_names[static_cast<size_t>(std::ranges::find(forecast_keys, measure) -
                                                                 forecast_keys.begin())];
    CAPTURE(name);
    CHECK(better_by(out, name).empty() == not_beaten.empty());
  }
}

TEST_CASE("the folds of a backtest train, validate and test the rows that numbers of rows say to train") {
  const Folder folder;
  folder.write("linear.toml", linear_model("window = 12\nhorizon = 3\nperiod = 24\nets = false\n",
                                           "epochs = 2\n", "learning_rate = 0.01\n"));
  constexpr int rows = 400;
  folder.write("wave.csv", wave(rows));
  const auto name = [](int begin, int end) {
    const auto time = [](int row) {
      return fmt::format("2020-01-{:02} {:02}:00:00", 1 + row / 24, row % 24);
    };
    return time(begin) + " to " + time(end - 1);
  };
  for (const auto& [more, folds, test_rows, horizon] :
       {std::tuple{Words{"--folds", "3", "--test-rows", "24"}, 3, 24, 3},
        {Words{"--test-rows", "40", "--folds", "2"}, 2, 40, 3},
        {Words{"--folds", "4"}, 4, 20, 3},  // a twentieth
        {Words{}, 5, 30, 30}}) {            // the horizon, which is more
    CAPTURE(fmt::format("{}", fmt::join(more, " ")));
    const Words series =
        Words{"linear.toml", "--csv", "wave.csv"} + set({fmt::format("data.horizon={}", horizon)});
    const json found = timeseries_json(Words{"backtest"} + series + more, folder.path());
    REQUIRE(std::ssize(found) == folds);
    for (int k = 0; k < folds; ++k) {
      const int test = rows - (folds - k) * test_rows, train = test - test_rows;
      CAPTURE(k);
      CHECK(found[k]["test"] == name(test, test + test_rows));
      if (k > 0 && k + 1 < folds) continue;
      const std::string run = fmt::format("run-{}-{}-{}", folds, test_rows, k);
      const json one = timeseries_json(Words{"train", "--out", run} + series +
                                           set({"data.split=rows", fmt::format("data.train_rows={}", train),
                                                fmt::format("data.valid_rows={0}", test_rows),
                                                fmt::format("data.test_rows={}", test_rows)}),
                                       folder.path());
      CHECK(found[k]["scores"] == one["scores"]["test"]);
    }
  }
  // Each block is tested once.
  std::string states = "x,state\n";
  for (int i = 0; i < 202; ++i) states += fmt::format("{},{}\n", i % 7, i % 3 == 0 ? 1 : 0);
  folder.write("tiny.toml", tiny), folder.write("states.csv", states);
  const json blocks = timeseries_json(Words{"backtest", "tiny.toml", "--csv", "states.csv", "--folds", "4"} +
                                          set({"data.label=state", "training.epochs=1"}),
                                      folder.path());
  REQUIRE(blocks.size() == 4);
  for (int k = 0; k < 4; ++k)
    CHECK(blocks[k]["test"] == fmt::format("{} to {}", 202 * k / 4, 202 * (k + 1) / 4 - 1));
}

TEST_CASE("the mean of a backtest is that of the folds in which a measure is defined") {
  const Folder folder;
  folder.write("tiny.toml", tiny);
  RandomStream random(32, "states");
  std::string csv = "x,state\n";  // no state 1 in the first of three folds: nothing is balanced there
  for (int i = 0; i < 300; ++i) {
    const double x = random.uniform();
    csv += fmt::format("{:.4f},{}\n", x, i > 110 && x > 0.7 ? 1 : 0);
  }
  folder.write("states.csv", csv);
  const Words words = Words{"backtest", "tiny.toml", "--csv", "states.csv", "--folds", "3"} +
                      set({"data.label=state", "training.epochs=1"});
  const json folds = timeseries_json(words, folder.path());
  CHECK(folds[0]["scores"]["the model"]["balanced_accuracy"].is_null());
  double sum = 0;
  for (const int fold : {1, 2}) sum += folds[fold]["scores"]["the model"]["balanced_accuracy"].get<double>();
  const std::string out = timeseries_out(words, folder.path());
  const std::string table = out.substr(out.find("\nbalanced "));
  const std::string row = table.substr(table.find("\nmean ") + 1);
  CHECK_MESSAGE(std::regex_search(row, std::regex(fmt::format("^mean +{:.4f} ", sum / 2))), table);
}

TEST_CASE("scores of tiny and of huge units have their digits, and no line of a table is wider than a page") {
  const Folder folder;
  folder.write("linear.toml", linear_recipe);
  RandomStream random(33, "units");
  std::string csv = "time,tiny,huge\n";
  for (int i = 0; i < 400; ++i)
    csv += fmt::format("2020-01-{:02} {:02}:00,{:.6e},{:.1f}\n", 1 + i / 24, i % 24,
                       1e-7 * (5 + random.uniform()), 1e9 * (5 + random.uniform()));
  folder.write("units.csv", csv);
  for (const char* target : {"tiny", "huge"}) {
    CAPTURE(target);
    const Words assignments = set({fmt::format("data.targets=[\"{}\"]", target)});
    for (const Words& words :
         {Words{"train", "linear.toml", "--csv", "units.csv", "--out", fmt::format("run-{}", target)} +
              assignments,
          Words{"evaluate", fmt::format("run-{}/last.safetensors", target), "--csv", "units.csv"},
          Words{"backtest", "linear.toml", "--csv", "units.csv", "--folds", "2"} + assignments}) {
      const std::string out = timeseries_out(words, folder.path());
      // RMSE and MAE are some 1e-8 or 1e8: whatever stands there has four digits, be they zeros.
      CHECK_MESSAGE(out.find("0.0000") == std::string::npos, out);
      const std::regex figure(target == std::string("tiny") ? "[1-9]\\.[0-9]{3}e-0[89]"
                                                            : "[1-9]\\.[0-9]{4}e\\+08");
      CHECK_MESSAGE(std::regex_search(out, figure), out);
      // Tables end where a page does; sentences may be longer.
      for (const std::string& line : lines_of(out))
        if (line.find("    ") != std::string::npos && !line.starts_with("next "))
          CHECK_MESSAGE(line.size() <= 100, line);
    }
  }
}

TEST_CASE("a model does not beat a baseline that is as good") {
  const timeseries::Comparison comparison{
      .measures = {{"MAE", "mae"},
                   {.name = "accuracy", .key = "accuracy", .less_is_better = false},
                   {"RMSE", "rmse"}},
      .rows = {{"the model", {2, 0.5, 2}}, {"last value", {2, 0.5, 3}}}};
  CHECK(
      timeseries::verdicts(comparison) ==
      std::vector<std::string>{
          "the model is better than every baseline by RMSE (2.0000)",
          "the model is not the best: last value has MAE 2.0000 (the model 2.0000), accuracy 0.5000 (0.5000)"});
  // By each measure the best of those that it does not beat is named, wherever it stands.
  for (const size_t best : {1, 2, 3}) {
    timeseries::Comparison three{.measures = {{"MAE", "mae"}}, .rows = {{"the model", {2}}}};
    for (const char* name : {"first", "second", "third"})
      three.rows.push_back({name, {three.rows.size() == best ? 1.0 : 1.5}});
    CHECK(timeseries::verdicts(three) ==
          std::vector<std::string>{"the model is not the best: " + three.rows[best].name +
                                   " has MAE 1.0000 (the model 2.0000)"});
  }
}

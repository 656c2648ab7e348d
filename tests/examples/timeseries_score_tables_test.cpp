// Scores of a model in tables, pictures and JSON: computed a second time from the forecasts that `evaluate` writes.
#include <cmath>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/examples/timeseries.h"

using namespace unroll;
using nlohmann::json;

namespace {

// The file of `evaluate --out` has a line for each forecast of a step.
struct Forecasted {
  std::string series, channel;
  int origin = 0, step = 0, time = 0;
  double truth = 0, forecast = 0, low = 0, high = 0;
};

std::vector<Forecasted> forecasts_in(const std::string& file) {
  std::vector<Forecasted> all;
  const std::vector<std::string> lines = lines_of(file);
  for (size_t k = 1; k < lines.size(); ++k) {
    Words cells(1);
    for (const char c : lines[k]) c == ',' ? cells.emplace_back() : cells.back() += c;
    if (cells.size() == 8) cells.insert(cells.begin(), "");
    const auto number = [&](size_t at) { return cells[at].empty() ? std::nan("") : std::stod(cells[at]); };
    all.push_back({cells[0], cells[4], std::stoi(cells[1]), std::stoi(cells[2]), std::stoi(cells[3]),
                   number(5), number(6), number(7), number(8)});
  }
  return all;
}

// The scores of those that are asked for, where nothing is scaled.
struct PlainScores {
  double mse = 0, mae = 0, coverage = 0;
};

PlainScores scores_of(const std::vector<Forecasted>& all,
                      const std::function<bool(const Forecasted&)>& asked) {
  PlainScores sums;
  double count = 0, intervals = 0;
  for (const Forecasted& f : all) {
    if (!asked(f)) continue;
    ++count, sums.mse += std::pow(f.forecast - f.truth, 2), sums.mae += std::abs(f.forecast - f.truth);
    if (!std::isnan(f.low)) ++intervals, sums.coverage += f.low <= f.truth && f.truth <= f.high;
  }
  return {sums.mse / count, sums.mae / count, sums.coverage / intervals};
}

// A number as a table shows it.
bool shows(const std::string& cell, double value) {
  return std::abs(std::stod(cell) - value) <= 1e-3 * std::abs(value);
}

}  // namespace

TEST_CASE("a split is scored alike by evaluate, baselines and hand, and evaluate writes its forecasts") {
  const Folder& folder = trained();
  // 0.7 of 600 rows train and 0.1 validate; each window reads 12 rows and forecasts 3.
  for (const auto& [split, first, end] :
       {std::tuple{std::string("train"), 12, 420}, {"valid", 420, 480}, {"test", 480, 600}}) {
    CAPTURE(split);
    const std::string out = split + "-of-verdicts.csv";
    const json model_scores = timeseries_json(
        {"evaluate", model, "--csv", "wave.csv", "--split", split, "--out", out}, folder.path());
    const json baselines =
        timeseries_json({"baselines", "tiny.toml", "--csv", "wave.csv", "--split", split}, folder.path());
    CHECK(model_scores["windows"] == end - first - 2);
    CHECK(model_scores["scores"].size() == 1);
    CHECK(baselines.size() == 1);
    CHECK(model_scores["scores"][split]["last value"] == baselines[split]["last value"]);
    double squares = 0, count = 0;
    std::set<std::string> times;
    const std::vector<std::string> lines = lines_of(read_text(folder / out));
    for (size_t i = 1; i < lines.size(); ++i, ++count) {
      std::vector<std::string> cells;
      for (const auto part : lines[i] | std::views::split(',')) cells.emplace_back(part.begin(), part.end());
      REQUIRE(cells.size() == 8);  // origin, step, time, channel, truth, forecast, low, high
      squares += std::pow(std::stod(cells[4]) - std::stod(cells[5]), 2);
      times.insert(cells[2]);
    }
    CHECK(count == 2 * 3 * (end - first - 2));
    CHECK(times.size() == static_cast<size_t>(end - first));
    CHECK(model_scores["scores"][split]["the model"]["rmse"].get<double>() ==
          doctest::Approx(std::sqrt(squares / count)).epsilon(1e-5));
  }
}

TEST_CASE(
    "tables, pictures and JSON show each step, channel and series by its own forecasts, however many there are") {
  const Folder folder;
  RandomStream random(34, "long");
  std::string channels = "a,b,c\n", stores = "store,y\n";
  for (int i = 0; i < 800; ++i)
    channels += fmt::format("{:.4f},{:.4f},{:.4f}\n", 20 + 5 * std::sin(i * 0.5) + 2 * random.uniform(),
                            3 * random.uniform(), 40 + 9 * std::cos(i * 0.5) + 4 * random.uniform());
  for (const auto& [store, rows, unit] : {std::tuple{"s0", 250, 1}, {"s1", 200, 3}, {"s2", 150, 2}})
    for (int i = 0; i < rows; ++i)
      stores += fmt::format("{},{:.4f}\n", store, unit * (20 + 5 * std::sin(i * 0.5) + 2 * random.uniform()));
  folder.write("channels.csv", channels), folder.write("stores.csv", stores);
  struct Case {
    const char *name, *csv, *data, *training;
    int window, horizon;
    std::vector<std::string> targets, series;
  };
  for (const Case& c :
       {Case{"two", "channels.csv", "targets = [\"c\", \"b\"]\n", "", 8, 14, {"c", "b"}, {}},
        {"one",
         "channels.csv",
         "targets = [\"c\"]\n",
         "loss = \"quantile\"\nquantiles = [0.05, 0.5, 0.95]\n",
         8,
         31,
         {"c"},
         {}},
        {"next", "channels.csv", "targets = [\"a\"]\n", "", 40, 1, {"a"}, {}},
        {"shops", "stores.csv", "id = \"store\"\nchannels = [\"y\"]\n", "", 8, 14, {"y"}, {"s0", "s1", "s2"}},
        {"shop",
         "stores.csv",
         "id = \"store\"\nchannels = [\"y\"]\n",
         "",
         8,
         1,
         {"y"},
         {"s0", "s1", "s2"}}}) {
    CAPTURE(std::string(c.name));
    const std::string run = c.name, model = run + "/last.safetensors", out = run + ".csv";
    folder.write(
        "mine.toml",
        linear_model(fmt::format("{}window = {}\nhorizon = {}\nperiod = 12\nets = false\n"
                                 "[scaling]\nkind = \"none\"\n",
                                 c.data, c.window, c.horizon),
                     std::string("epochs = 2\nkeep = \"last\"\n") + c.training,
                     run == "two" ? "learning_rate = 0.5\n" : "learning_rate = 0.001\n"));  // worse than all
    timeseries_out({"train", "mine.toml", "--csv", c.csv, "--out", run}, folder.path());
    const json scores =
        timeseries_json({"evaluate", model, "--csv", c.csv, "--out", out}, folder.path())["scores"]["test"];
    const json report = json::parse(read_text(folder / run / "report.json")), &of_model = scores["the model"];
    const std::vector<Forecasted> all = forecasts_in(read_text(folder / out));
    const auto check = [](const json& found, const PlainScores& own) {
      CHECK(found["rmse"].get<double>() == doctest::Approx(std::sqrt(own.mse)).epsilon(1e-9));
      CHECK(found["scaled_mse"].get<double>() == doctest::Approx(own.mse).epsilon(1e-9));
      CHECK(found["mae"].get<double>() == doctest::Approx(own.mae).epsilon(1e-9));
      CHECK(found["coverage"].get<double>() == doctest::Approx(own.coverage).epsilon(1e-9));
    };
    // The last value before a window, of the same rows and channels.
    std::map<std::tuple<std::string, std::string, int>, double> truth;
    std::vector<Forecasted> last_value = all;
    {
      std::map<std::string, int> row_of;
      const auto lines = lines_of(read_text(folder / c.csv));
      for (size_t k = 1; k < lines.size(); ++k) {
        std::istringstream line(lines[k]);
        std::string cell, store;
        if (!c.series.empty()) std::getline(line, store, ',');
        for (const std::string& channel : c.series.empty() ? Words{"a", "b", "c"} : Words{"y"})
          std::getline(line, cell, ','), truth[{store, channel, row_of[store]}] = std::stod(cell);
        ++row_of[store];
      }
    }
    for (Forecasted& f : last_value) {
      CHECK(f.time == f.origin + f.step - 1);
      CHECK(f.truth == truth.at({f.series, f.channel, f.time}));
      f.forecast = truth.at({f.series, f.channel, f.origin - 1});
    }
    // JSON: every step, target and series, and no other.
    check(of_model, scores_of(all, [](const Forecasted&) { return true; }));
    REQUIRE(of_model["by_step"].size() == static_cast<size_t>(c.horizon));
    REQUIRE(of_model["coverage_by_step"].size() == static_cast<size_t>(c.horizon));
    std::vector<PlainScores> steps, of_last_value;
    for (int step = 1; step <= c.horizon; ++step) {
      const auto at_step = [&](const Forecasted& f) { return f.step == step; };
      steps.push_back(scores_of(all, at_step)), of_last_value.push_back(scores_of(last_value, at_step));
      check(of_model["by_step"][static_cast<size_t>(step - 1)], steps.back());
      CHECK(of_model["coverage_by_step"][static_cast<size_t>(step - 1)].get<double>() ==
            doctest::Approx(steps.back().coverage));
    }
    CHECK(of_model["by_channel"].size() == c.targets.size());
    for (const std::string& target : c.targets)
      check(of_model["by_channel"][target],
            scores_of(all, [&](const Forecasted& f) { return f.channel == target; }));
    CHECK(of_model.value("by_series", json::object()).size() == c.series.size());
    for (const std::string& series : c.series) {
      const auto of_series = [&](const Forecasted& f) { return f.series == series; };
      check(of_model["by_series"][series], scores_of(all, of_series));
      CHECK(scores["last value"]["by_series"][series]["mae"].get<double>() ==
            doctest::Approx(scores_of(last_value, of_series).mae).epsilon(1e-9));
    }
    // Tables: at most twelve steps, the last one among them, each under its own number; every baseline has its column.
    const bool summed = std::max(c.targets.size(), c.series.size()) > 1;
    const char* const measure = summed ? "MSE scaled" : "RMSE";
    const auto main_of = [&](const PlainScores& own) { return summed ? own.mse : std::sqrt(own.mse); };
    const json *by_step = nullptr, *intervals = nullptr, *overall = nullptr;
    for (const json& table : report["tables"]) {
      if (table["title"] == fmt::format("{} by step: test", measure)) by_step = &table;
      if (table["title"] == "Intervals: test") intervals = &table;
      if (table["title"] == "Scores: test") overall = &table;
    }
    REQUIRE(overall);
    CHECK((*overall)["rows"].size() == scores.size());
    const std::string note = (*overall)["note"];
    CHECK_MESSAGE(note.starts_with(fmt::format("{} windows", of_model["windows"].get<int>())), note);
    CHECK((note.find("over all forecasts of 3 series") != note.npos) == !c.series.empty());
    CHECK((note.find("add up 2 channels") != note.npos) == (c.targets.size() == 2));
    REQUIRE((by_step != nullptr) == (c.horizon > 1));
    if (by_step) {
      const json &columns = (*by_step)["columns"], &rows = (*by_step)["rows"];
      CHECK(columns.size() == 1 + scores.size());
      CHECK((columns[1] == "the model" && columns[2] == "last value"));
      CHECK(rows.size() == 12);
      CHECK(rows.back()[0] == std::to_string(c.horizon));
      for (const json& row : rows) {
        const size_t step = std::stoul(row[0].get<std::string>()) - 1;
        CHECK_MESSAGE(shows(row[1], main_of(steps[step])), row.dump());
        CHECK_MESSAGE(shows(row[2], main_of(of_last_value[step])), row.dump());
      }
    }
    REQUIRE(intervals);
    for (const json& row : (*intervals)["rows"])
      CHECK(row[1] ==
            fmt::format("{:.1f} %", 100 * scores[row[0].get<std::string>()]["coverage"].get<double>()));
    if (*c.training)
      CHECK(std::string((*intervals)["note"])
                .starts_with("Each is meant for 90 %."));
    // The last window of the first target with the rows before it, or the last 120 forecasts; of one series alone.
    const Forecasted& end = all.back();
    std::vector<Forecasted> drawn;
    for (const Forecasted& f : all)
      if (f.series == end.series && f.channel == c.targets[0] &&
          f.origin > end.origin - (c.horizon == 1 ? 120 : 1))
        drawn.push_back(f);
    const int first = drawn[0].origin - (c.horizon == 1 ? 0 : std::max(c.window, 2 * c.horizon));
    const json &curves = report["charts"][0]["series"], &band = report["charts"][0]["band"];
    CHECK(report["charts"][0]["x_texts"].size() == static_cast<size_t>(end.time - first + 1));
    REQUIRE(curves[0]["y"].size() == static_cast<size_t>(end.time - first + 1));
    for (int k = 0; k <= end.time - first; ++k) {
      const size_t at = static_cast<size_t>(k);
      CHECK(report["charts"][0]["x_texts"][at] == std::to_string(first + k));
      CHECK(
          (curves[0]["x"][at] == k && curves[0]["y"][at] == truth.at({end.series, c.targets[0], first + k})));
    }
    REQUIRE(curves[1]["y"].size() == drawn.size());
    REQUIRE(band["low"].size() == drawn.size());
    for (size_t k = 0; k < drawn.size(); ++k) {
      CHECK((curves[1]["x"][k] == drawn[k].time - first && band["x"][k] == drawn[k].time - first));
      CHECK(curves[1]["y"][k].get<double>() == doctest::Approx(drawn[k].forecast).epsilon(1e-6));
      CHECK(band["low"][k].get<double>() == doctest::Approx(drawn[k].low).epsilon(1e-6));
      CHECK(band["high"][k].get<double>() == doctest::Approx(drawn[k].high).epsilon(1e-6));
    }
    // Six curves by step: the model's and those of the five baselines that err least, in the table's order; the others are named.
    if (c.horizon == 1) continue;
    const json& errors = report["charts"][1];
    std::vector<std::pair<double, std::string>> ranked;
    for (const json& row : (*overall)["rows"])
      if (row[0] != "the model")
        ranked.emplace_back(scores[row[0].get<std::string>()][summed ? "scaled_mse" : "rmse"], row[0]);
    REQUIRE(ranked.size() > 5);
    std::ranges::sort(ranked);
    Words names, expected, others;
    for (size_t k = 5; k < ranked.size(); ++k) others.push_back(ranked[k].second);
    for (const json& row : (*overall)["rows"])
      if (std::ranges::find(others, row[0].get<std::string>()) == others.end()) expected.push_back(row[0]);
    for (const json& curve : errors["series"]) {
      names.push_back(curve["name"]);
      REQUIRE(curve["y"].size() == static_cast<size_t>(c.horizon));
      for (int step = 1; step <= c.horizon; ++step) {
        const size_t at = static_cast<size_t>(step - 1);
        CHECK(curve["x"][at] == step);
        for (const auto& [name, own] : {std::pair{"the model", &steps}, {"last value", &of_last_value}})
          if (curve["name"] == name)
            CHECK(curve["y"][at].get<double>() == doctest::Approx(main_of((*own)[at])).epsilon(1e-6));
      }
    }
    CHECK(names == expected);
    const std::string said = errors["description"];
    CHECK_MESSAGE(said.find(fmt::format("not drawn: {}.", fmt::join(others, ", "))) != said.npos, said);
  }
}

TEST_CASE("what the bundled recipes are to beat is what their baselines reach") {
  for (const std::string name : {"airline", "sunspots"}) {
    const json found = timeseries_json({"baselines", name}, project_root());
    const std::string comment = std::regex_replace(read_text(project_root() / "recipes" / (name + ".toml")),
                                                   std::regex("\n# ?"), " ");
    std::string row;  // of the page of results
    for (const std::string& line : lines_of(read_text(project_root() / "bench/results/timeseries.md")))
      if (line.starts_with("| " + name + " |")) row = line;
    int compared = 0;
    for (const auto& [title, scores] : found["test"].items()) {
      const std::string rmse = fmt::format("{:.2f}", scores["rmse"].get<double>());
      const std::regex said(std::regex_replace(title, std::regex(R"( \(\d+\))"), "") + R"( (\d+\.\d+))");
      for (const std::string& text : {comment, row})
        for (std::sregex_iterator at(text.begin(), text.end(), said), none; at != none; ++at, ++compared)
          CHECK_MESSAGE((*at)[1] == rmse, name, ": ", title);
    }
    CHECK(compared >= 5);  // last value, ETS and Theta
  }
}

TEST_CASE("generate: series of a seed as a file that the other commands read") {
  const Folder folder;
  const Words words = {"generate", "--count", "30", "--rows", "40", "--seed", "5"};
  timeseries_out(words + Words{"--out", "a.csv"}, folder.path());
  const std::string csv = read_text(folder / "a.csv");
  CHECK(csv == timeseries_out(words, folder.path()));
  CHECK(csv != timeseries_out(words + Words{"--held-out"}, folder.path()));
  CHECK(lines_of(csv).size() == 1 + 30 * 40);
  CHECK(lines_of(csv)[1].starts_with("0-"));
  CHECK(lines_of(csv)[1 + 7 * 40 + 3].find(",3,") != std::string::npos);
  const auto drawn = [&](const std::string& count, const std::string& rows, const std::string& seed) {
    return timeseries_out({"generate", "--held-out", "--count", count, "--rows", rows, "--seed", seed},
                          folder.path());
  };
  CHECK(lines_of(drawn("3", "40", "5")).size() == 1 + 3 * 40);
  CHECK(drawn("5", "40", "5").starts_with(drawn("3", "40", "5")));
  CHECK(drawn("3", "40", "5") != drawn("3", "40", "6"));
  folder.write(
      "linear.toml",
      linear_model("window = 8\nhorizon = 2\nid = \"series\"\ntime = \"row\"\nmissing = \"mask\"\n", ""));
  const std::string scores = timeseries_out({"baselines", "linear.toml", "--csv", "a.csv"}, folder.path());
  CHECK(scores.find("30 series, scaled each by itself, each 8 rows to 2 of 1 channel;") != std::string::npos);
}

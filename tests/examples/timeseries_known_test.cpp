// Columns that are known of the rows to forecast, as a user of the program meets them.
#include <regex>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/times.h"
#include "tests/examples/known_shop.h"
#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

using namespace known_shop;
using namespace unroll;
using Json = nlohmann::json;

namespace {

// The plan for the days after the series.
std::string plan(int rows, const std::vector<int>& offers) {
  std::string csv = "offer,day\n";
  for (int k = 0; k < static_cast<int>(offers.size()); ++k)
    csv += fmt::format("{},{}\n", offers[static_cast<size_t>(k)], Shop::day(rows + k));
  return csv;
}

const Folder& shop() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("mine.toml", recipe);
    folder.write("shop.csv", Shop(rows).csv);
    folder.write("plan.csv", plan(rows, {0, 0, 0, 0}));
    const ProgramRun run =
        started({"train", "mine.toml", "--csv", "shop.csv", "--out", "run"}, folder.path());
    REQUIRE_MESSAGE(run.code == 0, run.err);
    folder.write("said.txt", run.out);
    return true;
  }();
  (void)done;
  return folder;
}

}  // namespace

TEST_CASE("what is known ahead makes forecasts better, and is no target") {
  const Folder& folder = shop();
  const Json with = timeseries_json({"evaluate", best, "--csv", "shop.csv"}, folder.path())["scores"]["test"];
  CHECK(with["the model"]["by_channel"].size() == 1);
  CHECK(with["the model"]["by_channel"].contains("sales"));
  const double error = with["the model"]["rmse"], baseline = with["mean of training"]["rmse"];
  CHECK(error < 0.5 * baseline);
  const std::string said = timeseries_out({"explain", "mine.toml", "--csv", "shop.csv"}, folder.path());
  CHECK_MESSAGE(said.find("ahead.weight") != std::string::npos, said);
  // The command that the output suggests next works.
  const std::string trained = read_text(folder / "said.txt");
  CHECK_MESSAGE(trained.find("--csv shop.csv --future FILE\n") != std::string::npos, trained);
  CHECK(read_text(folder / "run/report.html").find("timeseries look") == std::string::npos);
}

TEST_CASE("forecast reads the rows to come: each step its own, and none a later one") {
  const Folder& folder = shop();
  for (const Words& more :
       {Words{}, Words{"model.architecture=direct", "model.hidden=8"},
        Words{"model.architecture=direct", "model.hidden=8", "model.shared_channels=true"},
        Words{"model.architecture=direct", "model.hidden=8", "training.loss=quantile"},
        Words{"model.architecture=direct", "model.hidden=8", "model.normalization=window"}}) {
    CAPTURE(fmt::format("{}", fmt::join(more, " ")));
    static int number = 0;
    const std::string out = fmt::format("of{}", ++number), model = out + "/best.safetensors";
    timeseries_out(Words{"train", "mine.toml", "--csv", "shop.csv", "--out", out} + set(more), folder.path());
    const std::vector<double> none = forecast(folder, model, "plan.csv");
    for (int step = 0; step < 3; ++step) {
      std::vector<int> offers(3);
      offers[static_cast<size_t>(step)] = 1;
      const std::string file = fmt::format("plan{}-{}.csv", number, step);
      folder.write(file, plan(rows, offers));
      const std::vector<double> one = forecast(folder, model, file);
      for (int k = 0; k < step; ++k) CHECK(one[static_cast<size_t>(k)] == none[static_cast<size_t>(k)]);
      const auto at = static_cast<size_t>(step);
      CHECK(one[at] - none[at] > 1);
      CHECK(one[at] - none[at] < 5);
    }
  }
  // Beyond the horizon it goes on, if the file does. A day that is not asked for need not be there.
  const std::vector<double> four = forecast(folder, best, "plan.csv", 4),
                            two = forecast(folder, best, "plan.csv", 2);
  CHECK(four.size() == 4);
  CHECK(std::vector(four.begin(), four.begin() + 2) == two);
  folder.write("two.csv", plan(rows, {0, 0}));
  CHECK(forecast(folder, best, "two.csv", 2) == two);
}

TEST_CASE("a plan may write days with their midnight, after a byte order mark and with other ends of lines") {
  const Folder& folder = shop();
  const std::vector<int> offers = {1, 0, 1};
  const auto at = [&](const std::string& time) {
    std::string csv =
        "\xef\xbb\xbf"
        "offer,day\r\n";
    for (int k = 0; k < 3; ++k)
      csv += fmt::format("{},{}{}\r\n", offers[static_cast<size_t>(k)], Shop::day(rows + k), time);
    folder.write("times.csv", csv);
  };
  folder.write("days.csv", plan(rows, offers));
  const std::vector<double> expected = forecast(folder, best, "days.csv");
  CHECK(expected != forecast(folder, best, "plan.csv"));
  for (const char* midnight : {" 00:00:00", "T00:00"}) {
    at(midnight);
    CHECK(forecast(folder, best, "times.csv") == expected);
  }
  at(" 12:00:00");  // a time of day is no day
  const ProgramRun noon =
      started({"forecast", best, "--csv", "shop.csv", "--future", "times.csv"}, folder.path());
  CHECK(noon.code == 2);
  CHECK_MESSAGE(lacks(lines_of(noon.err).at(0), {"times.csv:2", "12:00:00"}) == "", noon.err);
}

TEST_CASE("rows without times are known ahead one after the other") {
  const Folder& folder = shop();
  folder.write("numbers.csv", std::regex_replace(Shop(rows).csv, std::regex("(^|\n)[^,\n]*,"), "$1"));
  timeseries_out({"train", "mine.toml", "--csv", "numbers.csv", "--out", "by_number"}, folder.path());
  const auto forecast_by_number = [&](const std::string& offers) {
    folder.write("rows.csv", "offer\n" + offers);
    std::vector<double> values;
    for (const std::string& line : lines_of(timeseries_out(
             {"forecast", "by_number/best.safetensors", "--csv", "numbers.csv", "--future", "rows.csv"},
             folder.path())))
      if (!line.starts_with("time")) values.push_back(std::stod(line.substr(line.find(',') + 1)));
    return values;
  };
  const std::vector<double> none = forecast_by_number("0\n0\n0\n"), second = forecast_by_number("0\n1\n0\n");
  REQUIRE(none.size() == 3);
  CHECK((second[0] == none[0] && second[2] == none[2]));
  CHECK(second[1] - none[1] > 1);
}

TEST_CASE(
    "what is known is read beside the named channels, with the calendar, and without marks of what is missing") {
  const Folder& folder = shop();
  const auto explained = [&](const Words& more) {
    return timeseries_out(Words{"explain", "mine.toml", "--csv", "shop.csv"} + set(more), folder.path());
  };
  const Words beside = {"data.channels=[\"sales\"]", "data.targets=[\"sales\"]"};
  for (const auto& [more, read, known] :
       {std::tuple{Words{}, "reads 4 rows of sales, offer\n", 1},
        {Words{"data.calendar=[\"weekday\"]", "data.known=[\"offer\", \"calendar\"]"},
         "reads 4 rows of sales, offer, weekday_sin, weekday_cos\n", 3},
        {Words{"data.calendar=[\"weekday\"]", "data.known=[\"offer\", \"calendar\"]", "data.missing=mask"},
         "reads 4 rows of sales, offer, sales missing, offer missing, weekday_sin, weekday_cos\n", 3}}) {
    const std::string said = explained(beside + more);
    CHECK_MESSAGE(said.find(read) != std::string::npos, said);
    CHECK_MESSAGE(std::regex_search(said, std::regex(fmt::format("ahead.weight +\\[1, {}\\]", known))), said);
  }
  const Words train = Words{"train", "mine.toml", "--csv", "shop.csv"} + set(beside);
  timeseries_out(train + Words{"--out", "beside"}, folder.path());
  folder.write("offer.csv", plan(rows, {1, 0, 0}));
  const std::string model = "beside/best.safetensors";
  CHECK(forecast(folder, model, "offer.csv")[0] - forecast(folder, model, "plan.csv")[0] > 1);
  // PyTorch's modules for the weights in its file.
  const std::string modules = SafetensorsFile(folder / model).metadata().at("pytorch");
  CHECK_MESSAGE(modules.find("ahead = nn.Linear(1, 1, bias=False)") != std::string::npos, modules);
  CHECK_MESSAGE(modules.find("linear = nn.Linear(4, 3)") != std::string::npos, modules);
}

TEST_CASE("each of several series has rows to come of its own") {
  const Folder folder;
  folder.write("mine.toml", recipe);
  std::string both = "store,day,sales,offer\n";
  const auto add = [&](const std::string& store, const std::string& csv) {
    const auto lines = lines_of(csv);
    for (size_t k = 1; k < lines.size(); ++k) both += store + "," + lines[k] + "\n";
  };
  add("a", Shop(rows).csv), add("b", Shop(rows, "b", 30).csv);
  folder.write("shop.csv", both);
  folder.write("plan.csv", "day,store,offer\n" + Shop::day(rows) + ",b,0\n" + Shop::day(rows) + ",a,1\n");
  folder.write("other.csv", "day,store,offer\n" + Shop::day(rows) + ",b,1\n" + Shop::day(rows) + ",a,1\n");
  timeseries_out(Words{"train", "mine.toml", "--csv", "shop.csv", "--out", "run"} +
                     set({"data.id=store", "data.horizon=1"}),
                 folder.path());
  std::vector<double> found;
  for (const char* future : {"plan.csv", "other.csv"})
    for (const std::string& line :
         lines_of(timeseries_out({"forecast", best, "--csv", "shop.csv", "--future", future}, folder.path())))
      if (!line.starts_with("store")) found.push_back(std::stod(line.substr(line.find(',', 2) + 1)));
  REQUIRE(found.size() == 4);
  CHECK(found[0] == found[2]);
  CHECK(found[3] - found[1] > 10);
  folder.write("one.csv", "day,store,offer\n" + Shop::day(rows) + ",b,0\n");
  // A series that is not asked for needs no rows there.
  const auto b = lines_of(timeseries_out(
      {"forecast", best, "--csv", "shop.csv", "--future", "one.csv", "--series", "b"}, folder.path()));
  CHECK(std::stod(b.at(1).substr(b.at(1).find(',') + 1)) == found[1]);
  const ProgramRun run =
      started({"forecast", best, "--csv", "shop.csv", "--future", "one.csv"}, folder.path());
  CHECK(run.code == 2);
  CHECK_MESSAGE(run.err.find("one.csv: it has no row for " + Shop::day(rows) +
                             " of series 'a', step 1 of 1") != std::string::npos,
                run.err);
}

TEST_CASE("what is known ahead is refused by name where it is not there, or not read") {
  const Folder& folder = shop();
  folder.write("short.csv", plan(rows, {0, 1}));
  folder.write("other.csv", "day,price\n" + Shop::day(rows) + ",1\n");
  folder.write("bad.csv", "day,offer\n" + Shop::day(rows) + ",yes\n");
  timeseries_out(Words{"train", "mine.toml", "--csv", "shop.csv", "--out", "plain"} +
                     set({"data.known=[]", "training.epochs=1"}),
                 folder.path());
  timeseries_out(Words{"train", "mine.toml", "--csv", "shop.csv", "--out", "narrow"} +
                     set({"data.known=[]", "data.targets=[\"sales\"]", "training.epochs=1"}),
                 folder.path());
  folder.write("numbers.csv", std::regex_replace(Shop(rows).csv, std::regex("(^|\n)[^,\n]*,"), "$1"));
  folder.write("row.csv", "offer\n1\n");
  folder.write("day.csv", "day,offer\n" + Shop::day(rows) + ",1\n");
  timeseries_out(
      Words{"train", "mine.toml", "--csv", "numbers.csv", "--out", "numbered"} + set({"training.epochs=1"}),
      folder.path());
  const Words train = {"train", "mine.toml", "--csv", "shop.csv"},
              ahead = {"forecast", best, "--csv", "shop.csv"};
  for (const auto& [words, parts] : std::vector<std::pair<Words, std::vector<std::string>>>{
           {{"forecast", "narrow/best.safetensors", "--csv", "shop.csv", "--steps", "4"},
            {"4 steps are more than the model's horizon of 3",
             "have to know 'offer', which it does not forecast"}},
           {ahead, {"reads offer of the rows that it forecasts (data.known)", "--future FILE has it"}},
           {ahead + Words{"--future", "short.csv"}, {"short.csv: it has no row for 2021-10-10, step 3 of 3"}},
           {ahead + Words{"--future", "other.csv"}, {"other.csv", "offer"}},
           {ahead + Words{"--future", "bad.csv"}, {"bad.csv:2", "'yes' is not a number"}},
           {ahead + Words{"--future", "nowhere.csv"}, {"nowhere.csv"}},
           {ahead + Words{"--future", "row.csv"},
            {"row.csv: it has no column of times, and shop.csv has one"}},
           {{"forecast", "numbered/best.safetensors", "--csv", "numbers.csv", "--future", "day.csv"},
            {"day.csv: it has a column of times, and numbers.csv has none"}},
           {{"forecast", "plain/best.safetensors", "--csv", "shop.csv", "--future", "plan.csv"},
            {"--future plan.csv", "reads no column of the rows to forecast (data.known)"}},
           {{"look", best, "--csv", "shop.csv"}, {"data.known"}},
           {train + set({"data.targets=[\"offer\"]"}), {"data.known", "'offer'", "data.targets"}},
           {train + set({"data.known=[\"offr\"]"}), {"'offr'", "did you mean 'offer'?"}},
           {train + set({"data.known=[\"offer\", \"sales\"]"}), {"known ahead", "none is left to forecast"}},
           {train + set({"data.known=[\"calendar\"]"}), {"data.known", "calendar", "data.calendar"}},
           {train + set({"data.known=[\"offer\", \"offer\"]"}), {"data.known", "twice"}},
           {train + set({"data.label=offer", "model.architecture=direct", "model.normalization=none"}),
            {"data.known"}},
           {train + set({"model.architecture=segment-rnn", "data.horizon=4"}), {"data.known", "segment-rnn"}},
           {train + set({"data.holidays=off.csv"}),
            {"data.holidays", "no key any more", "data.known", "2b9f02c6"}},
           {train + set({"data.calendar=[\"weekday\"]"}), {"data.calendar", "linear", "data.known"}}}) {
    const ProgramRun run = started(words, folder.path());
    CHECK(run.code == 2);
    CHECK_MESSAGE(lacks(std::string(run.err, 0, run.err.find('\n')), parts) == "", run.err);
  }
}

TEST_CASE("the scores of a channel have the name of the target, wherever it stands among the channels") {
  const Folder folder;
  folder.write("wave.csv", wave(300));
  folder.write(
      "mine.toml",
      linear_model(
          "channels = [\"noise\", \"load\"]\ntargets = [\"load\"]\nwindow = 24\nhorizon = 2\nperiod = 24\n",
          "epochs = 1\n"));
  (void)timeseries_out({"train", "mine.toml", "--csv", "wave.csv", "--out", "run"}, folder.path());
  const Json scores = timeseries_json({"evaluate", "run/best.safetensors", "--csv", "wave.csv"},
                                      folder.path())["scores"]["test"];
  int rows = 0;
  for (const auto& [name, row] : scores.items())
    if (row.contains("by_channel")) {
      CHECK_MESSAGE(row["by_channel"].size() == 1, name);
      CHECK_MESSAGE(row["by_channel"].contains("load"), name);
      ++rows;
    }
  CHECK(rows > 0);
}

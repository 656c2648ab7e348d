// Columns that are known of the rows to forecast, and holidays, as a user of the program meets them.
#include <cmath>
#include <map>
#include <set>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/holidays.h"
#include "examples/timeseries/series/times.h"
#include "tests/examples/timeseries.h"
#include "tests/torch_files.h"

using namespace unroll;
using Json = nlohmann::json;

namespace {

// Days of sales, three more where there is an offer, which comes by lot; and a little noise.
struct Shop {
  std::string csv = "day,sales,offer\n";
  explicit Shop(int rows, const std::string& name = "", double each = 3) {
    RandomStream random(7, "offers" + name);
    for (int i = 0; i < rows; ++i) {
      const int offer = random.uniform() < 0.3;
      csv += fmt::format("{},{:.3f},{}\n", day(i), 10 + each * offer + 0.2 * random.uniform(), offer);
    }
  }
  static std::string day(int i) {
    return to_text({.form = TimeForm::date, .count = days_of(2021, 1, 1) + i});
  }
};
// The plan for the days after the series.
std::string plan(int rows, const std::vector<int>& offers) {
  std::string csv = "offer,day\n";
  for (int k = 0; k < static_cast<int>(offers.size()); ++k)
    csv += fmt::format("{},{}\n", offers[static_cast<size_t>(k)], Shop::day(rows + k));
  return csv;
}
constexpr int rows = 280;

const std::string recipe = R"([model]
architecture = "linear"
normalization = "last"
[data]
known = ["offer"]
window = 4
horizon = 3
period = 7
ets = false
[training]
epochs = 12
[optimizer]
learning_rate = 0.02
)";

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
const std::string best = "run/best.safetensors";

std::vector<double> forecast(const Folder& folder, const std::string& model, const std::string& future,
                             int steps = 3) {
  const auto lines = lines_of(timeseries_out(
      {"forecast", model, "--csv", "shop.csv", "--future", future, "--steps", std::to_string(steps)},
      folder.path()));
  std::vector<double> values;
  for (size_t k = 1; k < lines.size(); ++k) {
    const size_t comma = lines[k].find(',');
    values.push_back(std::stod(lines[k].substr(comma + 1)));
  }
  return values;
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

// The series begins on a Friday and ends on a Thursday: both weeks are left out, and Monday's, 276 days on, is the first to forecast.
TEST_CASE("a plan in the file's own rows is put together by the steps of the series") {
  const Folder& folder = shop();
  constexpr int monday = 276;
  timeseries_out(Words{"train", "mine.toml", "--csv", "shop.csv", "--out", "weeks"} +
                     set({"data.resample=1w", "data.together=sum", "data.window=2"}),
                 folder.path());
  std::vector<int> offers(21, 0);
  for (const int day : {1, 3, 4, 6, 8, 20}) offers[static_cast<size_t>(day)] = 1;  // 4, 1, 1 by week
  folder.write("days.csv", plan(monday, offers));
  folder.write("sums.csv", fmt::format("offer,day\n4,{}\n1,{}\n1,{}\n", Shop::day(monday),
                                       Shop::day(monday + 7), Shop::day(monday + 14)));
  folder.write("none.csv", plan(monday, std::vector<int>(21, 0)));
  const auto weeks = [&](const char* file) { return forecast(folder, "weeks/best.safetensors", file); };
  const std::vector<double> found = weeks("days.csv");
  CHECK(found.size() == 3);
  CHECK(found == weeks("sums.csv"));
  CHECK(found != weeks("none.csv"));
  const auto fault = [&](const std::string& csv) {
    folder.write("faulty.csv", csv);
    const ProgramRun run = started(
        {"forecast", "weeks/best.safetensors", "--csv", "shop.csv", "--future", "faulty.csv"}, folder.path());
    CHECK(run.code == 2), CHECK(run.out == "");
    return run.err;
  };
  const std::string cut = fault(plan(monday + 3, std::vector<int>(18, 1)));  // from Thursday on
  CHECK_MESSAGE(
      lacks(lines_of(cut).at(0), {"faulty.csv: it has no row for 2021-10-04, step 1 of 3 to forecast",
                                  "the first step, 2021-10-04, lacks rows"}) == "",
      cut);
}

TEST_CASE("forecast reads the rows to come: each step its own, and none a later one") {
  const Folder& folder = shop();
  for (const Words& more :
       {Words{}, Words{"model.architecture=dlinear"}, Words{"model.architecture=direct", "model.hidden=8"},
        Words{"model.architecture=direct", "model.hidden=8", "model.shared_channels=true"},
        Words{"model.architecture=encoder-decoder", "model.hidden=8"},
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
  const ProgramRun run =
      started({"forecast", best, "--csv", "shop.csv", "--future", "one.csv"}, folder.path());
  CHECK(run.code == 2);
  CHECK_MESSAGE(run.err.find("one.csv: it has no row for " + Shop::day(rows) +
                             " of series 'a', step 1 of 1") != std::string::npos,
                run.err);
}

TEST_CASE("holidays are known ahead: a forecast of them is another") {
  const Folder folder;
  std::string csv = "day,sales\n";  // of two years; closed on holidays
  RandomStream random(3, "closed");
  std::set<int64_t> closed;
  for (const int year : {2020, 2021})
    for (const int64_t day : holidays_of("AT", year)) closed.insert(day);
  for (int64_t day = days_of(2020, 1, 1); day <= days_of(2021, 12, 23); ++day) {
    const std::string text = to_text({.form = TimeForm::date, .count = day});
    csv += fmt::format("{},{:.3f}\n", text, closed.contains(day) ? 2.0 : 10 + 0.5 * random.uniform());
  }
  folder.write("shop.csv", csv);
  folder.write("mine.toml",
               linear_model("window = 7\nhorizon = 4\nperiod = 7\nets = false\nholidays = \"AT\"\n"
                            "known = [\"calendar\"]\n",
                            "epochs = 10\n", "learning_rate = 0.02\n"));
  timeseries_out({"train", "mine.toml", "--csv", "shop.csv", "--out", "run"}, folder.path());
  const auto lines = lines_of(timeseries_out({"forecast", best, "--csv", "shop.csv"}, folder.path()));
  REQUIRE(lines.size() == 5);
  std::map<std::string, double> at;
  for (size_t k = 1; k < 5; ++k) at[lines[k].substr(5, 5)] = std::stod(lines[k].substr(11));
  CHECK(at["12-25"] < at["12-24"] - 1.5);
  CHECK(at["12-26"] < at["12-27"] - 1.5);
}

TEST_CASE("what is known ahead is refused by name where it is not there, or not read") {
  const Folder& folder = shop();
  folder.write("short.csv", plan(rows, {0, 1}));
  folder.write("other.csv", "day,price\n" + Shop::day(rows) + ",1\n");
  folder.write("bad.csv", "day,offer\n" + Shop::day(rows) + ",yes\n");
  timeseries_out(Words{"train", "mine.toml", "--csv", "shop.csv", "--out", "plain"} +
                     set({"data.known=[]", "training.epochs=1"}),
                 folder.path());
  const Words train = {"train", "mine.toml", "--csv", "shop.csv"},
              ahead = {"forecast", best, "--csv", "shop.csv"};
  for (const auto& [words, parts] : std::vector<std::pair<Words, std::vector<std::string>>>{
           {ahead, {"reads offer of the rows that it forecasts (data.known)", "--future FILE has it"}},
           {ahead + Words{"--future", "short.csv"}, {"short.csv: it has no row for 2021-10-10, step 3 of 3"}},
           {ahead + Words{"--future", "other.csv"}, {"other.csv", "offer"}},
           {ahead + Words{"--future", "bad.csv"}, {"bad.csv:2", "'yes' is not a number"}},
           {ahead + Words{"--future", "nowhere.csv"}, {"nowhere.csv"}},
           {{"forecast", "plain/best.safetensors", "--csv", "shop.csv", "--future", "plan.csv"},
            {"--future plan.csv", "reads no column of the rows to forecast (data.known)"}},
           {{"look", best, "--csv", "shop.csv"}, {"data.known"}},
           {train + set({"data.targets=[\"offer\"]"}), {"data.known", "'offer'", "data.targets"}},
           {train + set({"data.known=[\"offr\"]"}), {"'offr'", "did you mean 'offer'?"}},
           {train + set({"data.known=[\"offer\", \"sales\"]"}), {"known ahead", "none is left to forecast"}},
           {train + set({"data.known=[\"calendar\"]"}), {"data.known", "calendar", "data.holidays"}},
           {train + set({"data.known=[\"offer\", \"offer\"]"}), {"data.known", "twice"}},
           {train + set({"data.label=offer", "model.architecture=direct", "model.normalization=none"}),
            {"data.known"}},
           {train + set({"model.architecture=segment-rnn", "data.horizon=4"}), {"data.known", "segment-rnn"}},
           {train + set({"data.holidays=DEU"}), {"data.holidays", "DEU", "did you mean", "AT, BE"}},
           {train + set({"data.holidays=AT"}), {"data.holidays", "linear", "data.known"}}}) {
    const ProgramRun run = started(words, folder.path());
    CHECK(run.code == 2);
    CHECK_MESSAGE(lacks(std::string(run.err, 0, run.err.find('\n')), parts) == "", run.err);
  }
}

// --- words -------------------------------------------------------------------------------------------------

namespace {

// Days of sales: 3 more at a fair, 6 more at a sale, which come by lot.
const std::vector<std::string> kinds = {"fair", "none", "sale"};  // as they are ordered
struct Fairs {
  std::string csv = "day,sales,kind\n";
  explicit Fairs(int days, const std::string& name = "") {
    RandomStream random(9, "kinds" + name);
    for (int i = 0; i < days; ++i) {
      const double lot = random.uniform();
      const size_t kind = lot < 0.2 ? 0 : lot < 0.8 ? 1 : 2;
      constexpr double more[] = {3, 0, 6};
      csv +=
          fmt::format("{},{:.3f},{}\n", Shop::day(i), 10 + more[kind] + 0.2 * random.uniform(), kinds[kind]);
    }
  }
};
std::string fairs_ahead(int days, const Words& words) {
  std::string csv = "kind,day\n";
  for (size_t k = 0; k < words.size(); ++k)
    csv += fmt::format("{},{}\n", words[k], Shop::day(days + static_cast<int>(k)));
  return csv;
}
const Words of_words = set({"data.categories=[\"kind\"]", "data.known=[\"kind\"]", "training.epochs=25"});

const Folder& fairs() {
  static const Folder folder;
  static const bool done = [] {
    folder.write("mine.toml", recipe);
    folder.write("shop.csv", Fairs(rows).csv);
    folder.write("plan.csv", fairs_ahead(rows, {"none", "none", "none"}));
    timeseries_out(Words{"train", "mine.toml", "--csv", "shop.csv", "--out", "run"} + of_words,
                   folder.path());
    return true;
  }();
  (void)done;
  return folder;
}

}  // namespace

TEST_CASE("a linear network adds what the embedding of a step's word says, as computed from its weights") {
  const Folder& folder = fairs();
  const Json with = timeseries_json({"evaluate", best, "--csv", "shop.csv"}, folder.path())["scores"]["test"];
  const double error = with["the model"]["rmse"], baseline = with["mean of training"]["rmse"];
  CHECK(error < 0.4 * baseline);
  CHECK(with["the model"]["by_channel"].size() == 1);
  const SafetensorsFile file(folder / best);
  const Tensor table = file.load("category1.weight"), weights = file.load("ahead.weight");
  REQUIRE(table.shape() == Shape{3, 2});
  REQUIRE(weights.shape() == Shape{1, 2});
  const double scale = Json::parse(file.metadata().at("channels"))["scale"][0];
  const auto level = [&](int word) {
    return double{table.data()[2 * word]} * weights.data()[0] +
           double{table.data()[2 * word + 1]} * weights.data()[1];
  };
  const std::vector<double> none = forecast(folder, best, "plan.csv");
  for (const auto& [word, name] : {std::pair{0, "fair"}, {2, "sale"}}) {
    folder.write(fmt::format("{}.csv", name), fairs_ahead(rows, {"none", name, "none"}));
    const std::vector<double> one = forecast(folder, best, fmt::format("{}.csv", name));
    CHECK(one[0] == none[0]);
    CHECK(one[2] == none[2]);
    // Six digits are printed; weights are floats.
    CHECK(std::abs(one[1] - none[1] - scale * (level(word) - level(1))) < 1e-3);
    CHECK(one[1] - none[1] > (word == 2 ? 4.5 : 1.5));
  }
  // A later file of other words has the model's codes.
  folder.write("tail.csv", Fairs(40, "tail").csv);
  CHECK(timeseries_out({"evaluate", best, "--csv", "tail.csv", "--json"}, folder.path()).find("rmse") !=
        std::string::npos);
}

TEST_CASE(
    "every architecture reads words: of the window, of the rows to forecast, of quantiles and detectors") {
  const Folder& folder = fairs();
  for (const Words& more :
       {Words{"model.architecture=dlinear"}, Words{"model.architecture=direct", "model.hidden=8"},
        Words{"model.architecture=direct", "model.hidden=8", "model.shared_channels=true"},
        Words{"model.architecture=encoder-decoder", "model.hidden=8"},
        Words{"model.architecture=direct", "model.hidden=8", "training.loss=quantile"}}) {
    CAPTURE(fmt::format("{}", fmt::join(more, " ")));
    static int number = 0;
    const std::string out = fmt::format("of{}", ++number), model = out + "/best.safetensors";
    timeseries_out(Words{"train", "mine.toml", "--csv", "shop.csv", "--out", out} + of_words + set(more),
                   folder.path());
    const std::vector<double> none = forecast(folder, model, "plan.csv"),
                              sale = forecast(folder, model, "sale.csv");
    CHECK(sale[0] == none[0]);
    CHECK(sale[1] - none[1] > 2);
  }
  // With words of the window alone, the forecast follows from the words that were read, also in segments.
  std::string other = Fairs(rows).csv;
  const std::string last = other.substr(other.rfind(',') + 1);
  other.replace(other.rfind(',') + 1, last.size(), last == "sale\n" ? "none\n" : "sale\n");
  folder.write("other.csv", other);
  for (const Words& more :
       {Words{"model.architecture=segment-rnn", "model.hidden=8", "model.segment=2", "data.horizon=4"},
        Words{"model.architecture=direct", "model.hidden=8", "model.segment=2"}}) {
    static int number = 0;
    const std::string out = fmt::format("read{}", ++number), model = out + "/best.safetensors";
    const std::string said = timeseries_out(
        Words{"train", "mine.toml", "--csv", "shop.csv", "--out", out} +
            set({"data.categories=[\"kind\"]", "data.known=[]", "training.epochs=1"}) + set(more),
        folder.path());
    CHECK(said.find("category 'kind': 3 words, each 2 numbers that are trained") != std::string::npos);
    const std::string before = timeseries_out({"forecast", model, "--csv", "shop.csv"}, folder.path());
    CHECK(before != timeseries_out({"forecast", model, "--csv", "other.csv"}, folder.path()));
    CHECK(before == timeseries_out({"forecast", model, "--csv", "shop.csv"}, folder.path()));
  }
  std::string labelled = "y,kind,on\n";
  RandomStream random(4, "labels");
  for (int i = 0; i < 200; ++i) {
    const bool on = random.uniform() < 0.5;
    labelled += fmt::format("{:.3f},{},{}\n", random.uniform(), on ? "open" : "shut", on ? 1 : 0);
  }
  folder.write("door.csv", labelled);
  timeseries_out(
      Words{"train", "mine.toml", "--csv", "door.csv", "--out", "door"} +
          set({"data.categories=[\"kind\"]", "data.known=[]", "data.label=on", "model.architecture=direct",
               "model.hidden=4", "model.highway=2", "model.normalization=none", "training.epochs=15"}),
      folder.path());
  const Json door = timeseries_json({"evaluate", "door/best.safetensors", "--csv", "door.csv"},
                                    folder.path())["scores"]["test"];
  CHECK(door["the model"]["accuracy"] == 1.0);
  CHECK(door["logistic regression"]["accuracy"] < 0.9);  // it is told no words
  timeseries_out({"detect", "door/best.safetensors", "--csv", "door.csv"}, folder.path());
}

TEST_CASE("a word that each series has throughout needs no file of the rows to come") {
  const Folder folder;
  folder.write("mine.toml", recipe);
  std::string csv = "store,day,sales,type\n";
  for (const std::string store : {"a", "b", "c", "d"}) {
    const auto lines = lines_of(Fairs(120, store).csv);
    for (size_t k = 1; k < lines.size(); ++k)
      csv += fmt::format("{},{},{}\n", store, lines[k].substr(0, lines[k].rfind(',')),
                         store < "c" ? "street" : "mall");
  }
  folder.write("shops.csv", csv);
  const Words of_types =
      set({"data.id=store", "data.categories=[\"type\", \"store\"]", "data.known=[\"type\"]",
           "model.architecture=direct", "model.hidden=6", "training.epochs=1"});
  const std::string said = timeseries_out(
      Words{"train", "mine.toml", "--csv", "shops.csv", "--out", "run"} + of_types, folder.path());
  CHECK_MESSAGE(
      said.find("'type': 2 words, each 1 number that is trained; each series has one") != std::string::npos,
      said);
  CHECK(said.find("--future") == std::string::npos);
  // Also beyond the horizon, and of one series alone.
  const std::string all =
      timeseries_out({"forecast", best, "--csv", "shops.csv", "--steps", "5"}, folder.path());
  CHECK(lines_of(all).size() == 21);
  const std::string one = timeseries_out(
      {"forecast", best, "--csv", "shops.csv", "--series", "b", "--steps", "5"}, folder.path());
  CHECK(one.find("2021-05-01") != std::string::npos);
  std::string moved = csv, unknown = csv;
  moved.replace(moved.rfind("mall"), 4, "street");
  for (size_t at = 0; (at = unknown.find("mall", at)) != std::string::npos; ++at)
    unknown.replace(at, 4, "maul");
  folder.write("moved.csv", moved), folder.write("unknown.csv", unknown);
  for (const auto& [file, parts] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"moved.csv", {"moved.csv:481: column 4 ('type'): 'street' follows 'mall'"}},
           {"unknown.csv",
            {"unknown.csv:242: column 4 ('type'): 'maul'", "was not trained", "did you mean 'mall'?"}}})
    for (const char* command : {"forecast", "evaluate"}) {
      const ProgramRun run = started({command, best, "--csv", file}, folder.path());
      CHECK(run.code == 2);
      CHECK_MESSAGE(lacks(std::string(run.err, 0, run.err.find('\n')), parts) == "", run.err);
    }
}

TEST_CASE(
    "a model that reads words is exported and imported, its folds are scored, and what has no place for it says so") {
  const Folder& folder = fairs();
  write_tensors(folder / "theirs.safetensors", tensors_of(folder / best));
  timeseries_out(Words{"import", "theirs.safetensors", "--recipe", "mine.toml", "--csv", "shop.csv", "--out",
                       "ours.safetensors"} +
                     of_words,
                 folder.path());
  const Words score = {"--csv", "shop.csv", "--json"};
  CHECK(timeseries_json({"evaluate", "ours.safetensors", "--csv", "shop.csv"}, folder.path())["scores"] ==
        timeseries_json({"evaluate", best, "--csv", "shop.csv"}, folder.path())["scores"]);
  CHECK(SafetensorsFile(folder / best).metadata().at("pytorch").find("category1 = nn.Embedding(3, 2)") !=
        std::string::npos);
  timeseries_out(Words{"backtest", "mine.toml", "--csv", "shop.csv", "--folds", "2"} + of_words,
                 folder.path());
  // Without a recipe, one network in place of an ensemble.
  const std::string bare = timeseries_out(Words{"forecast", "shop.csv", "--steps", "2"} +
                                              set({"data.categories=[\"kind\"]", "training.epochs=1"}),
                                          folder.path());
  CHECK(lines_of(bare).size() == 3);
  CHECK(bare.find("sales_low") != std::string::npos);

  std::string late = Fairs(rows).csv;
  late.replace(late.rfind(',') + 1, 5, "Sale\n");
  folder.write("late.csv", late);
  folder.write("Plan.csv", fairs_ahead(rows, {"none", "fairs", "none"}));
  folder.write("short.csv", "kind,day\nnone," + Shop::day(rows) + "\n");
  const Words train = Words{"train", "mine.toml", "--csv", "shop.csv"} + of_words;
  for (const auto& [words, parts] : std::vector<std::pair<Words, std::vector<std::string>>>{
           {Words{"train", "mine.toml", "--csv", "late.csv"} + of_words,
            {"late.csv:281: column 3 ('kind'): 'Sale'", "in no row that trains", "did you mean 'sale'?"}},
           {{"evaluate", best, "--csv", "late.csv"}, {"late.csv:281", "'Sale'", "run/best.safetensors"}},
           {{"forecast", best, "--csv", "shop.csv", "--future", "Plan.csv"},
            {"Plan.csv:3: column 1 ('kind'): 'fairs'", "did you mean 'fair'?"}},
           {{"forecast", best, "--csv", "shop.csv", "--future", "short.csv"},
            {"short.csv: it has no row for"}},
           {{"forecast", best, "--csv", "shop.csv"}, {"reads kind of the rows", "--future FILE has it"}},
           {{"look", best, "--csv", "shop.csv"}, {"data.categories"}},
           {train + set({"data.known=[]"}),
            {"data.categories", "'kind'", "linear", "data.known = [\"kind\"]"}},
           {train + set({"data.categories=[\"knd\"]", "data.known=[\"knd\"]"}),
            {"'knd'", "did you mean 'kind'?"}},
           {train + set({"data.categories=[\"kind\", \"kind\"]"}), {"data.categories", "twice"}},
           {train + set({"data.targets=[\"kind\"]", "data.known=[]"}),
            {"data.targets", "'kind'", "data.categories"}},
           {train + set({"data.channels=[\"sales\", \"kind\"]"}),
            {"data.channels", "'kind'", "data.categories"}},
           {train + set({"data.resample=1w"}), {"data.resample", "data.categories"}},
           {train + set({"ensemble.members=[\"architecture=linear\"]"}),
            {"ensemble.members", "data.categories"}}}) {
    const ProgramRun run = started(words, folder.path());
    CHECK(run.code == 2);
    CHECK_MESSAGE(lacks(std::string(run.err, 0, run.err.find('\n')), parts) == "", run.err);
  }
}

// Words that are known ahead of a forecast: categories in the rows to come.
#include <cmath>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/times.h"
#include "tests/examples/known_shop.h"
#include "tests/examples/timeseries.h"

using namespace known_shop;
using namespace unroll;
using Json = nlohmann::json;

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
    "every architecture reads words: of the window, of the rows to forecast, of quantiles") {
  const Folder& folder = fairs();
  for (const Words& more :
       {Words{"model.architecture=direct", "model.hidden=8"},
        Words{"model.architecture=direct", "model.hidden=8", "model.shared_channels=true"},
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
    "a model that reads words is exported, its folds are scored, and what has no place for it says so") {
  const Folder& folder = fairs();
  CHECK(SafetensorsFile(folder / best).metadata().at("pytorch").find("category1 = nn.Embedding(3, 2)") !=
        std::string::npos);
  timeseries_out(Words{"backtest", "mine.toml", "--csv", "shop.csv", "--folds", "2"} + of_words,
                 folder.path());
  // Without a recipe, a network is trained, since nothing else reads words.
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
            {"data.channels", "'kind'", "data.categories"}}}) {
    const ProgramRun run = started(words, folder.path());
    CHECK(run.code == 2);
    CHECK_MESSAGE(lacks(std::string(run.err, 0, run.err.find('\n')), parts) == "", run.err);
  }
}

// The pretrained forecaster: its inputs, its network, its file, and its training.
#include <set>

#include "examples/timeseries/pretrained/batches.h"
#include "examples/timeseries/pretrained/model_file.h"
#include "examples/timeseries/pretrained/pretrained.h"
#include "examples/timeseries/pretrained/window.h"
#include "examples/timeseries/synthetic/synthetic.h"
#include "tests/examples/recipe_keys.h"
#include "tests/examples/timeseries.h"
#include "tests/run_outcome.h"

using namespace timeseries;

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// Months with a trend, a season and noise.
std::vector<double> months(int rows, uint64_t seed = 1) {
  RandomStream random(seed, "months");
  std::vector<double> x;
  for (int i = 0; i < rows; ++i)
    x.push_back(static_cast<float>(50 + 0.3 * i + 8 * std::sin(i * 2 * 3.14159265 / 12) + random.normal()));
  return x;
}

// A forecaster with weights that were drawn, written to a file and read again.
struct Drawn {
  Folder folder;
  std::string path = (folder / "drawn.safetensors").string();
  Drawn() {
    PretrainRecipe recipe;
    recipe.model.hidden = 8;
    PretrainedNetwork network(recipe.model.cell, recipe.model, 3);
    RandomStream random(1, "weights");  // larger than first values are, so that rounding shows
    for (Parameter* p : network.params)
      for (real& w : Tensor(p->var().value()).on_host(Access::change)) w = static_cast<real>(random.normal());
    write_forecaster(path, recipe, network.params);
  }
};
const Drawn& drawn() {
  static const Drawn made;
  return made;
}
const PretrainedForecaster& forecaster() {
  static const PretrainedForecaster made(drawn().path);
  return made;
}

double gelu(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// w x + b, by the names of a parameter set.
std::vector<double> times(const ParameterSet& params, const std::string& weight, const std::vector<double>& x,
                          const std::string& bias) {
  const Tensor w = params.at(weight).var().value();
  std::vector<double> y;
  for (int i = 0; i < w.dim(0); ++i) {
    double sum = bias.empty() ? 0 : static_cast<double>(params.at(bias).var().value()(i));
    for (int k = 0; k < w.dim(1); ++k) sum += static_cast<double>(w(i, k)) * x[static_cast<size_t>(k)];
    y.push_back(sum);
  }
  return y;
}

}  // namespace

TEST_CASE(
    "targets of a batch are the rows after the context in units of the scale, weighed as a walk's errors grow") {
  const PretrainRecipe recipe;
  int64_t far = 0, later = 0;
  for (int64_t step = 0; step < 6; ++step) {
    const SyntheticBatch batch = synthetic_batch(recipe, 1, step);
    int64_t scored = 0;
    for (int place = 0; place < batch.batch; ++place) {
      const int64_t rows = batch.rows[static_cast<size_t>(place)], ahead = batch.ahead_segments * 8;
      const SyntheticSeries series = synthetic_series(1, (step << 20) + place, rows + ahead);
      CHECK(batch.kinds[static_cast<size_t>(place)] == series.kind);
      ForecastBatch own(batch.context_segments, batch.ahead_segments, 1);
      const std::vector<double> before(series.values.begin(), series.values.begin() + rows);
      const bool has_scale = own.put(0, before, series.season);
      const int64_t season = series.season < rows ? series.season : 1;
      for (int64_t i = 0; i < ahead; ++i) {
        const size_t at = batch.at(place, i);
        const double value = static_cast<double>(series.values[static_cast<size_t>(rows + i)]);
        if (!has_scale || std::isnan(value)) {
          CHECK((batch.weight[at] == 0 && batch.target[at] == 0));
          continue;
        }
        const double z = (value - own.level[0]) / own.scale[0],
                     base = static_cast<double>(own.base[static_cast<size_t>(i)]);
        const double cut = z > base + 30 ? base + 30 : z < base - 30 ? base - 30 : z;
        ++scored, far += cut != z, later += i >= season;
        CHECK(std::abs(static_cast<double>(batch.target[at]) - cut) <= 1e-5 * (1 + std::abs(cut)));
        CHECK(static_cast<double>(batch.weight[at]) == doctest::Approx(1 / std::sqrt(1 + i / season)));
      }
    }
    CHECK(batch.scored == scored);
  }
  CHECK((far > 0 && later > 0));
}

TEST_CASE("a batch depends on its seed and number: no two have the same series, nor has validation") {
  const PretrainRecipe recipe;
  const auto kinds = [&](uint64_t seed, int64_t step) {
    const SyntheticBatch batch = synthetic_batch(recipe, seed, step);
    REQUIRE(batch.batch >= 14);
    return std::vector<std::string_view>(batch.kinds.begin(), batch.kinds.begin() + 14);
  };
  std::set<std::vector<std::string_view>> all;
  for (int64_t step = 0; step < 4; ++step)
    for (const uint64_t seed : {uint64_t{1}, seed_of_validation(1)}) all.insert(kinds(seed, step));
  CHECK(all.size() == 8);
  CHECK(kinds(1, 2) == kinds(1, 2));
}

TEST_CASE("the network's values by hand") {
  RecurrentConfig config{.hidden = 2, .layers = 1};
  const PretrainedNetwork network(CellKind::lstm, config, 5);
  ForecastBatch batch(2, 2, 3);
  for (int place = 0; place < 3; ++place) REQUIRE(batch.put(place, months(11 + place, place + 1), 4));
  const auto inputs = [](const std::vector<real>& all, int segment, int place, int width) {
    const auto begin = all.begin() + (segment * 3 + place) * width;
    return std::vector<double>(begin, begin + width);
  };
  const Vars quantiles = network(batch);
  for (int place = 0; place < 3; ++place) {
    std::vector<double> h(2), c(2);
    for (int k = 0; k < 4; ++k) {
      const bool ahead = k >= 2;
      const auto x = ahead ? inputs(batch.ahead, k - 2, place, ahead_width)
                           : inputs(batch.context, k, place, context_width);
      const std::string name = ahead ? "ahead" : "context";
      std::vector<double> read = times(network.params, name + ".weight", x, name + ".bias");
      for (double& v : read) v = gelu(v);
      std::vector<double> gates = times(network.params, "lstm.weight_ih_l0", read, "lstm.bias_l0");
      const std::vector<double> recurrent = times(network.params, "lstm.weight_hh_l0", h, "");
      for (size_t i = 0; i < gates.size(); ++i) gates[i] += recurrent[i];
      for (size_t i = 0; i < 2; ++i) {
        c[i] = sigmoid(gates[2 + i]) * c[i] + sigmoid(gates[i]) * std::tanh(gates[4 + i]);
        h[i] = sigmoid(gates[6 + i]) * std::tanh(c[i]);
      }
      if (!ahead) continue;
      std::vector<double> hidden =
          times(network.params, "hidden.weight", {h[0], h[1], read[0], read[1]}, "hidden.bias");
      for (double& v : hidden) v = gelu(v);
      std::vector<double> out = times(network.params, "out.weight", hidden, "out.bias");
      const std::vector<double> direct = times(network.params, "direct.weight", x, "");
      for (int i = 0; i < segment_rows; ++i) {
        const auto at = [&](int level) {
          const size_t place_of = static_cast<size_t>(level * segment_rows + i);
          return out[place_of] + direct[place_of];
        };
        const auto softplus = [](double v) { return std::log1p(std::exp(v)); };
        const double median =
            at(5) +
            static_cast<double>(batch.base[static_cast<size_t>(((k - 2) * 3 + place) * segment_rows + i)]);
        const auto value = [&](size_t level) {
          return static_cast<double>(quantiles[level].value()(k - 2, place, i));
        };
        CHECK(value(5) == doctest::Approx(median).epsilon(1e-4));
        CHECK(value(7) == doctest::Approx(median + softplus(at(6)) + softplus(at(7))).epsilon(1e-4));
        CHECK(value(4) == doctest::Approx(median - softplus(at(4))).epsilon(1e-4));
      }
    }
  }
}

TEST_CASE("quantiles never cross, and a series' unit multiplies them") {
  const std::vector<double> x = months(40);
  const auto forecast = forecaster().forecast(x, 12, 100);
  REQUIRE(forecast.size() == 100);
  for (const auto& row : forecast) {
    REQUIRE(row.size() == forecaster().levels().size());
    CHECK(std::ranges::is_sorted(row));
    for (const double v : row) CHECK(std::isfinite(v));
  }
  // A power of two rounds nothing.
  std::vector<double> four = x;
  for (double& v : four) v *= 4;
  const auto larger = forecaster().forecast(four, 12, 100);
  for (size_t i = 0; i < 100; ++i)
    for (size_t k = 0; k < forecast[i].size(); ++k) CHECK(larger[i][k] == 4 * forecast[i][k]);
}

TEST_CASE("rows that are missing before the first value change nothing, nor do rows before the last 512") {
  const std::vector<double> x = months(30);
  for (const int before : {1, 3, 8, 100, 700}) {
    std::vector<double> longer(static_cast<size_t>(before), nothing);
    longer.insert(longer.end(), x.begin(), x.end());
    CHECK((forecaster().forecast(longer, 12, 10) == forecaster().forecast(x, 12, 10)));
  }
  const std::vector<double> many = months(700);
  CHECK((forecaster().forecast(many, 12, 10) == forecaster().forecast(std::span(many).last(512), 12, 10)));
}

TEST_CASE("many series together have the bits of each alone, on any number of threads") {
  std::vector<std::vector<double>> all;
  std::vector<PretrainedInput> inputs;
  for (int i = 0; i < 45; ++i) all.push_back(months(3 + i * 7 % 90, static_cast<uint64_t>(i)));
  for (size_t i = 0; i < all.size(); ++i) inputs.push_back({all[i], i % 2 ? 12 : 1});
  const auto together = forecaster().forecast(inputs, 70);
  const Threads one(1);
  for (size_t i = 0; i < all.size(); ++i)
    CHECK((together[i] == forecaster().forecast(all[i], inputs[i].season, 70)));
}

TEST_CASE(
    "after 64 steps a forecast goes on from its own medians, and deviations add up as independent ones") {
  std::vector<double> x = months(50);
  const auto whole = forecaster().forecast(x, 12, 80);
  const auto first = forecaster().forecast(x, 12, 64);
  for (size_t i = 0; i < 64; ++i) CHECK(whole[i] == first[i]);
  for (const auto& row : first) x.push_back(row[5]);
  const auto next = forecaster().forecast(x, 12, 16);
  for (size_t i = 0; i < 16; ++i)
    for (size_t k = 0; k < next[i].size(); ++k) {
      const double before = first.back()[k] - first.back()[5], now = next[i][k] - next[i][5];
      const double deviation = std::copysign(std::sqrt(before * before + now * now), now);
      CHECK(whole[64 + i][k] == doctest::Approx(next[i][5] + deviation).epsilon(1e-5));
    }
  // So it does after 64 more: the deviations are those of the three last rows of their windows together.
  const auto longer = forecaster().forecast(x, 12, 64),
             whole_of_all = forecaster().forecast(months(50), 12, 136);
  for (const auto& row : longer) x.push_back(row[5]);
  const auto third = forecaster().forecast(x, 12, 8);
  for (size_t i = 0; i < 8; ++i)
    for (size_t k = 0; k < third[i].size(); ++k) {
      const double now = third[i][k] - third[i][5];
      const double all =
          std::hypot(first.back()[k] - first.back()[5], longer.back()[k] - longer.back()[5], now);
      CHECK(whole_of_all[128 + i][k] == doctest::Approx(third[i][5] + std::copysign(all, now)).epsilon(1e-5));
    }
}

TEST_CASE("series that are short, constant, or no series") {
  const auto forecast = forecaster().forecast(std::vector<double>{1, 2, 4}, 12, 3);
  for (const auto& row : forecast) CHECK(std::ranges::is_sorted(row));
  for (const auto& row : forecaster().forecast(std::vector<double>(20, 0.1), 4, 70))
    for (const double v : row) CHECK(v == 0.1);
  const auto error = [](const std::vector<double>& x, int64_t season = 1, int64_t steps = 1) {
    return error_of([&] { (void)forecaster().forecast(x, season, steps); });
  };
  CHECK(error({1, nothing, 2}) == "forecast: 3 values are needed, and 2 of the last 512 are there");
  CHECK(error({1, 2, 3, HUGE_VAL}) == "forecast: a value is infinite");
  CHECK(error({1, 2, 3}, 0) == "forecast: a season of 0 rows is none");
  CHECK(error({1, 2, 3}, 1, 0) == "forecast: 0 steps are none");
}

TEST_CASE("the bundled forecaster beats the seasonal naive forecast on months that nobody trained on") {
  double own = 0, naive = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<double> x = months(72, seed);
    const auto forecast = PretrainedForecaster::bundled().forecast(std::span(x).first(60), 12, 12);
    for (size_t i = 0; i < 12; ++i)
      own += std::abs(forecast[i][5] - x[60 + i]), naive += std::abs(x[48 + i] - x[60 + i]);
  }
  CHECK(own < 0.7 * naive);  // by the last season a forecast lags a year of trend and has twice the noise
}

TEST_CASE("a file that is damaged, or another's, is refused in a line") {
  const Folder folder;
  const auto error = [&](const std::string& name) {
    return input_error_of([&] { PretrainedForecaster((folder / name).string()); });
  };
  const std::string whole = read_text(drawn().path);
  folder.write("cut", whole.substr(0, whole.size() - 100));
  CHECK(lacks(error("cut"), {"cut: ", "cut off or damaged"}) == "");
  folder.write("text", "no model\n");
  CHECK(lacks(error("text"), {"text: not a safetensors file"}) == "");
  write_safetensors(folder / "other", {{"w", Tensor::zeros({2})}});
  CHECK(lacks(error("other"), {"other: not a pretrained forecaster"}) == "");
  std::string later = whole;
  later.replace(later.find("\"forecaster\":\"1\""), 16, "\"forecaster\":\"9\"");
  folder.write("later", later);
  CHECK(lacks(error("later"), {"later: a pretrained forecaster of version 9, and this program reads 1"}) ==
        "");
  std::string narrow = whole;
  narrow.replace(narrow.find("hidden = 8"), 10, "hidden = 9");
  folder.write("narrow", narrow);
  CHECK(lacks(error("narrow"), {"narrow: 'context.weight' is [8, ", "[9, "}) == "");
  CHECK(error("none") != "");
}

TEST_CASE(
    "docs/forecaster.md has the keys of its recipes, and each says what a change means to a resumed run") {
  const auto declare = [](RecipeReader& reader, PretrainRecipe& recipe) { declare_keys(reader, recipe); };
  const std::string page = read_text(project_root() / "docs/forecaster.md");
  RecipeReader reader;
  PretrainRecipe recipe;
  declare_keys(reader, recipe);
  const std::string shared = read_text(project_root() / "docs/recipes.md");
  for (const std::string& row : lines_of(reader.markdown())) {
    if (!row.starts_with("| `")) continue;
    const std::string name = row.substr(2, row.find('`', 3) - 1);
    CHECK(page.find(shared.find(row) != std::string::npos ? name : row) != std::string::npos);
  }
  CHECK(keys_that_are(OnResume::undecided, declare, PretrainRecipe()) == "");
  CHECK(error_of([] { (void)pretrain_form.load(find_recipe("forecaster", pretrain_program)); }) == "");
  CHECK(lacks(error_of([] {
                (void)pretrain_form.load(find_recipe("forecaster", pretrain_program),
                                         {{"training.shards=2"}});
              }),
              {"'training.shards' = 2: the series of a step are not cut"}) == "");
}

static const Words tiny = {"pretrain", "forecaster",          "--threads", "1",
                           "--set",    "model.hidden=8",      "--set",     "series.steps=6",
                           "--set",    "series.segments=144", "--set",     "series.valid=40",
                           "--set",    "training.epochs=3",   "--set",     "training.save_every_steps=1"};

TEST_CASE("no epoch of a training reads the series of another") {
  const Folder folder;  // the weights stay as they are, so only other series change the loss
  (void)timeseries_out(
      tiny + set({"optimizer.learning_rate=1e-30", "schedule.minimum=1e-30"}) + Words{"--out", "run"},
      folder.path());
  std::set<double> losses;
  for (const std::string& line : lines_of(read_text(folder / "run" / "log.jsonl")))
    if (const auto record = nlohmann::json::parse(line); record["kind"] == "epoch")
      losses.insert(record["loss"].get<double>());
  CHECK(losses.size() == 3);
}

TEST_CASE("the scores at the end are of the kept weights and of the series that the recipe names") {
  const Folder folder;
  (void)timeseries_out(
      tiny + set({"training.keep=best", "optimizer.average_decay=0"}) + Words{"--out", "run"}, folder.path());
  const Words spoilt = Words{"resume", "run"} + set({"training.epochs=4", "optimizer.learning_rate=3"});
  const nlohmann::json scored = timeseries_json(spoilt, folder.path());
  std::vector<double> valid;
  for (const std::string& line : lines_of(read_text(folder / "run" / "log.jsonl")))
    if (const auto record = nlohmann::json::parse(line); record["kind"] == "epoch")
      valid.push_back(record["valid_loss"]);
  REQUIRE(valid.size() == 4);
  const double best = std::ranges::min(valid);
  REQUIRE(valid[3] > best);
  CHECK(scored["valid_loss"] == best);
  // Other series to validate on have other scores, which are measured before the run goes on.
  const std::string other = timeseries_out(
      Words{"resume", "run"} + set({"series.seed=2", "training.epochs=5", "optimizer.learning_rate=0.001"}),
      folder.path());
  CHECK_MESSAGE(other.find("valid scores are measured anew") != std::string::npos, other);
}

TEST_CASE("a training that was killed goes on to the same bits, and leaves a forecaster") {
  const Folder folder;
  (void)timeseries_out(tiny + Words{"--out", "whole"}, folder.path());
  const auto log = folder / "killed" / "log.jsonl";
  const ProgramRun killed =
      run_program(program_named("timeseries"), tiny + Words{"--out", "killed"}, folder.path(), {},
                  {SIGKILL, [&] { return std::filesystem::exists(log) && !read_text(log).empty(); }});
  CHECK(killed.code == 128 + SIGKILL);
  (void)timeseries_out({"resume", "killed"}, folder.path());
  CHECK(outcome(folder / "whole") == outcome(folder / "killed"));
  const std::string file = read_text(folder / "whole" / "forecaster.safetensors");
  CHECK(file == read_text(folder / "killed" / "forecaster.safetensors"));
  const PretrainedForecaster made((folder / "whole" / "forecaster.safetensors").string());
  CHECK(made.forecast(months(20), 12, 5).size() == 5);
}

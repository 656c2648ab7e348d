// Ensembles: members in one file, weighed by rolling folds, and evaluated, resumed and forecast like a single model.
#include "examples/timeseries/ensemble/ensemble_weights.cpp"  // the weights, by themselves
#include "examples/timeseries/scores/verdict.cpp"
#include "tests/examples/ensemble.h"
#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

using namespace small_ensemble;
using namespace unroll;
using timeseries::products_of, timeseries::weights_of;
using timeseries::Weighting;
namespace fs = std::filesystem;

namespace {

// A folder with a trained ensemble, and what training it printed.
struct TrainedEnsemble {
  Folder folder;
  std::string out;
  TrainedEnsemble() {
    folder.write("mine.toml", ensemble);
    folder.write("wave.csv", wave(400));
    out = timeseries_out({"train", "mine.toml", "--csv", "wave.csv", "--out", "run"}, folder.path());
  }
};

const TrainedEnsemble& trained_ensemble() {
  static const TrainedEnsemble trained;
  return trained;
}

std::string error_of(const Words& words, const fs::path& folder) {
  const ProgramRun run = started(words, folder);
  CHECK(run.code != 0);
  return run.err;
}

}  // namespace

TEST_CASE("weights: one over the mean square, the share of greedy choices, or all the same") {
  const std::vector<std::vector<double>> errors = {{1, -1, 1, -1}, {2, 2, 2, 2}, {-1, 1, -1, 1}};
  const auto inverse = weights_of(Weighting::inverse_square, products_of(errors));
  CHECK(inverse[0] == doctest::Approx(4.0 / 9)), CHECK(inverse[1] == doctest::Approx(1.0 / 9));
  // The first and the third cancel each other: no choice of the second.
  const auto chosen = weights_of(Weighting::selection, products_of(errors));
  CHECK(chosen[0] == doctest::Approx(0.5)), CHECK(chosen[1] == 0), CHECK(chosen[2] == doctest::Approx(0.5));
  // Fifty greedy choices for the least sum of squares, counted by hand's program: 16, 2 and 32.
  const auto greedy = weights_of(Weighting::selection, products_of({{3, -3}, {2, 0}, {-1, 2}}));
  CHECK(greedy[0] == doctest::Approx(0.32)), CHECK(greedy[1] == doctest::Approx(0.04));
  CHECK(weights_of(Weighting::equal, products_of(errors)) == std::vector<double>(3, 1.0 / 3));
  // The better half is the three of least error among five members, and both of two.
  const std::vector<std::vector<double>> five = {{4}, {1}, {3}, {2}, {9}};
  const auto half = weights_of(Weighting::better_half, products_of(five));
  CHECK((half[0] == 0 && half[4] == 0));
  CHECK(half[1] == doctest::Approx(36.0 / 49)), CHECK(half[2] == doctest::Approx(4.0 / 49));
  CHECK(weights_of(Weighting::better_half, products_of({{1}, {2}}))[1] == doctest::Approx(0.2));
  // The four of least error, of seven members and of eight: the fifth in order has no weight.
  std::vector<std::vector<double>> many = {{7}, {1}, {6}, {2}, {5}, {3}, {4}};
  for (int members = 7; members <= 8; ++members) {
    const auto of_many = weights_of(Weighting::better_half, products_of(many));
    CHECK(of_many[6] == doctest::Approx(9.0 / 205)), CHECK(of_many[4] == 0);  // 1 + 1/4 + 1/9 + 1/16 = 205/144
    many.push_back({8});
  }
  // A member that makes no error has all the weight.
  CHECK(weights_of(Weighting::inverse_square, products_of({{0, 0}, {1, 1}})) == std::vector<double>{1, 0});
}

TEST_CASE("a model does not beat a baseline that is as good") {
  const timeseries::Comparison comparison{
      .baselines = {"last value"},
      .measures = {{.name = "MAE", .key = "mae", .values = {2, 2}},
                   {.name = "accuracy", .key = "accuracy", .less_is_better = false, .values = {0.5, 0.5}},
                   {.name = "RMSE", .key = "rmse", .values = {2, 3}}}};
  CHECK(
      timeseries::verdicts(comparison) ==
      std::vector<std::string>{
          "the model is better than every baseline by RMSE (2.0000)",
          "the model is not the best: last value has MAE 2.0000 (the model 2.0000), accuracy 0.5000 (0.5000)"});
}

TEST_CASE("an ensemble is trained, weighed, and scored beside the baselines") {
  const auto& [folder, out] = trained_ensemble();
  for (const std::string part :
       {"fold    1/3: ", "fold    3/3: ",
        "an ensemble of GRU of 4 over segments of 2, NLinear, last, seasonal, theta",
        "Folds: weights and errors of members", "the ensemble",
        "weights by 54 windows of 3 folds among the rows that train", "the model", "seasonal naive (24)"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, part, "\n", out);
  const auto facts = facts_in(folder / file);
  double sum = 0;
  for (const auto& member : facts.at("members")) sum += member.at("weights").at(0).get<double>();
  CHECK(sum == doctest::Approx(1));
  CHECK(facts.at("members").size() == 5);
  CHECK(facts.at("windows") == 54);  // 18 of each fold
  CHECK(facts.at("fold_errors").at("the model").size() == 54);
  CHECK(facts.at("fold_errors").contains("seasonal naive (24)"));
  // Both networks stand in one file, under PyTorch's names.
  const SafetensorsFile model(folder / file);
  CHECK(model.metadata().at("pytorch").find("member1.gru = nn.GRU(2, 4") != std::string::npos);
  CHECK(model.metadata().at("pytorch").find("member2.linear = nn.Linear(12, 3)") != std::string::npos);
}

TEST_CASE("evaluate gives what training reported, and forecast goes on within and beyond the horizon") {
  const auto& [folder, out] = trained_ensemble();
  const auto json = timeseries_json({"evaluate", file, "--csv", "wave.csv"}, folder.path());
  const double rmse = json.at("scores").at("test").at("the model").at("rmse");
  CHECK_MESSAGE(out.find(fmt::format("{:.4g}", rmse).substr(0, 5)) != std::string::npos, rmse, "\n", out);
  CHECK(json.at("scores").at("test").at("the model").at("coverage").get<double>() > 0);
  // Both have an interval from the first window on: by the errors of the folds.
  const auto rows_of = [](const std::string& csv) { return lines_of(csv).size() - 1; };
  const ProgramRun three = started({"forecast", file, "--csv", "wave.csv"}, folder.path());
  CHECK(rows_of(output_of(three)) == 3);
  CHECK_MESSAGE(three.err.find("of the folds and the test split") != std::string::npos, three.err);
  const std::string seven =
      timeseries_out({"forecast", file, "--csv", "wave.csv", "--steps", "7"}, folder.path());
  CHECK(rows_of(seven) == 7);
  // The first steps do not depend on how many follow.
  const auto value = [&](const std::string& csv) {
    return lines_of(csv)[3].substr(0, lines_of(csv)[3].find(',', 22));
  };
  CHECK(value(output_of(three)) == value(seven));
}

TEST_CASE("what the folds find does not depend on rows after those that train") {
  const auto& [folder, out] = trained_ensemble();
  const Folder other;
  other.write("mine.toml", ensemble);
  std::vector<std::string> lines = lines_of(wave(400));
  for (size_t row = 321; row < lines.size(); ++row) lines[row] = lines[row].substr(0, 17) + "999,0.5";
  std::string csv;
  for (const std::string& line : lines) csv += line + "\n";
  other.write("wave.csv", csv);
  (void)timeseries_out({"train", "mine.toml", "--csv", "wave.csv", "--out", "run"}, other.path());
  CHECK(facts_in(folder / file) == facts_in(other / file));
  const SafetensorsFile a(folder / file), b(other / file);
  for (const std::string name : {"member1.head.weight", "member2.linear.weight"}) {
    const Tensor x = a.load(name), y = b.load(name);
    CHECK(same_bits(x, y));
  }
}

TEST_CASE("an ensemble's forecast is the mean of its members' by their weights") {
  const auto& [folder, out] = trained_ensemble();
  // With one member's weight set to 1, the forecast is that member's: the value 24 rows before, or the last one.
  const auto value_with = [&](const std::vector<double>& weights) {
    return first_value_with(weights, folder, file);
  };
  const std::vector<std::string> rows = lines_of(wave(400));
  const auto load = [&](size_t row) { return std::stod(rows[row].substr(rows[row].find(',') + 1)); };
  const double last = load(400), seasonal = load(377);
  CHECK(value_with({0, 0, 1, 0, 0}) == doctest::Approx(last).epsilon(1e-5));
  CHECK(value_with({0, 0, 0, 1, 0}) == doctest::Approx(seasonal).epsilon(1e-5));
  CHECK(value_with({0, 0, 0.25, 0.75, 0}) == doctest::Approx(0.25 * last + 0.75 * seasonal).epsilon(1e-5));
}

TEST_CASE("a member that leaves what the series has been by far is left out of the mean, and said") {
  const auto& [folder, out] = trained_ensemble();
  const std::vector<std::string> rows = lines_of(wave(400));
  const double last = std::stod(rows[400].substr(rows[400].find(',') + 1));
  const auto forecast = [&](const std::vector<double>& weights, const std::string& csv, real linear) {
    return started({"forecast", weighed(weights, folder, file, linear), "--csv", csv}, folder.path());
  };
  const ProgramRun near = forecast({0, 0.5, 0.5, 0, 0}, "wave.csv", 1);
  CHECK_MESSAGE(near.err.find("left out") == std::string::npos, near.err);
  for (const auto& [weights, words] :
       {std::pair{std::vector<double>{0, 0.75, 0.25, 0, 0}, "NLinear (far outside of all that the series has been); "
                                                            "the others share the weight"},
        std::pair{std::vector<double>{0, 1, 0, 0, 0}, "where no other has a weight, the last value is forecast"}}) {
    const ProgramRun far = forecast(weights, "wave.csv", 1000);
    CHECK(first_value(output_of(far)) == doctest::Approx(last).epsilon(1e-5));
    CHECK_MESSAGE(far.err.find(words) != std::string::npos, far.err);
  }
  // A baseline that cannot be fitted, of a file that is shorter than its season.
  std::string few;
  for (size_t row = 0; row <= 20; ++row) few += rows[row] + "\n";
  folder.write("few.csv", few);
  const ProgramRun unfitted = forecast({0, 0, 0.5, 0.5, 0}, "few.csv", 1);
  CHECK(first_value(output_of(unfitted)) ==
        doctest::Approx(std::stod(rows[20].substr(rows[20].find(',') + 1))).epsilon(1e-5));
  CHECK_MESSAGE(unfitted.err.find("seasonal naive (24) (the rows are too few for it") != std::string::npos,
                unfitted.err);
}

TEST_CASE("a network's rate multiplies its learning rate alone") {
  const Folder folder;
  folder.write("mine.toml", ensemble);
  folder.write("wave.csv", wave(400));
  const auto tensor_of = [&](const std::string& rate, const std::string& out) {
    const std::string members =
        fmt::format(R"(ensemble.members=["segment=2", "architecture=linear{}", "last"])", rate);
    (void)timeseries_out(
        Words{"train", "mine.toml", "--csv", "wave.csv", "--out", out} + set({members, "training.clip=0"}),
        folder.path());
    const SafetensorsFile found(folder / out / "last.safetensors");
    return std::pair(found.load("member1.head.weight"), found.load("member2.linear.weight"));
  };
  const auto whole = tensor_of("", "a"), slow = tensor_of(" rate=0.000001", "b");
  CHECK(same_bits(whole.first, slow.first));
  // Adam moves a weight by about its rate a step: 20 steps of 0.001.
  CHECK(distance(whole.second, slow.second) > 1e-3);
  const auto none = tensor_of(" rate=0.0000001", "c");
  CHECK(distance(slow.second, none.second) < 1e-6);
}

TEST_CASE("each fold is forecast with the weights of the other folds") {
  // Two folds, of which only the last value is right in the first, and only the seasonal value in the second.
  const Folder folder;
  folder.write("mine.toml", ensemble);
  std::string csv = "load\n";
  for (int t = 0; t < 340; ++t) csv += fmt::format("{}\n", t < 300 ? t % 24 * 10 : 230);
  folder.write("steps.csv", csv);
  (void)timeseries_out(
      Words{"train", "mine.toml", "--csv", "steps.csv", "--out", "run", "--set", "data.channels=[\"load\"]"} +
          set({"data.train=0.941", "ensemble.folds=2", "ensemble.weights=selection",
               R"(ensemble.members=["architecture=linear rate=0.000001", "last", "seasonal"])"}),
      folder.path());
  const auto facts = facts_in(folder / file);
  // The season is right before row 300, and the last value after it. Values from 0 to 230 have the variance 69². The
  // season is off by 115² + 69² on the half of all values that lie in the second fold: 1.9 in scaled units. The own
  // weights of each fold leave less than a tenth of it.
  const double all = facts.at("scaled_mse").at(0);
  CHECK(all == doctest::Approx(1.9).epsilon(0.3));
}

TEST_CASE("a resumed ensemble keeps what its folds found, and ends in the same bits") {
  const Folder folder;
  folder.write("mine.toml", ensemble);
  folder.write("wave.csv", wave(400));
  (void)timeseries_out({"train", "mine.toml", "--csv", "wave.csv", "--out", "run", "--set",
                        "training.epochs=1", "--set", "ensemble.folds=3"},
                       folder.path());
  const auto before = facts_in(folder / file);
  const std::string out = timeseries_out({"resume", "run", "--set", "training.epochs=2"}, folder.path());
  CHECK_MESSAGE(out.find("fold    1/3") == std::string::npos, out);
  CHECK(facts_in(folder / file) == before);
  const std::string refused = error_of({"resume", "run", "--set", "ensemble.folds=2"}, folder.path());
  CHECK_MESSAGE(refused.find("ensemble.folds") != std::string::npos, refused);
}

TEST_CASE("a dry run takes a step of an ensemble, with folds and without") {
  const auto& [folder, out] = trained_ensemble();
  const Folder other;
  write_without_folds(other);
  for (const fs::path& path : {folder.path(), other.path()}) {
    const std::string dry = timeseries_out({"train", "mine.toml", "--csv", "wave.csv", "--dry-run"}, path);
    CHECK_MESSAGE(dry.find("scoring: loss ") != std::string::npos, dry);
  }
}

TEST_CASE("a recipe that cannot be an ensemble is refused, in words that name key and nearest word") {
  const Folder folder;
  folder.write("mine.toml", ensemble);
  folder.write("wave.csv", wave(400));
  const auto refused = [&](const Words& assignments) {
    return error_of(Words{"train", "mine.toml", "--csv", "wave.csv"} + set(assignments), folder.path());
  };
  const auto check = [&](const Words& assignments, const std::string& part) {
    const std::string error = refused(assignments);
    CHECK_MESSAGE(error.find(part) != std::string::npos, part, "\n", error);
    CHECK_MESSAGE(lines_of(error).size() == 1, error);
  };
  const std::string members = "ensemble.members=";
  check({members + R"(["architecture=linear", "thetta"])"}, "did you mean 'theta'?");
  check({members + R"(["architecture=linaer", "theta"])"}, "linaer");
  check({members + R"(["hiden=3"])"}, "did you mean 'model.hidden'?");
  check({members + R"(["data.window=3"])"}, "keys of [model] alone");
  check({members + R"(["last", "theta"])"}, "need a network among them");
  check({members + R"(["architecture=linear", "autoregression"])"}, "data.autoregression = 0");
  check({members + R"(["architecture=linear", "second-seasonal"])"}, "data.second_period = 0");
  check({"data.valid=0.1"}, "must leave no rows to validate");
  check({"ensemble.fold_rows=2"}, "is less than the horizon");
  check({"ensemble.folds=16"}, "fewer folds (ensemble.folds)");
  check({"training.keep=best"}, "training.keep");
  check({"ensemble.folds=0"},
        "must be \"equal\": other weights come from the errors of folds or of a valid split");
  const auto keeps = [&](const std::string& assignment, const std::string& part) {
    check({"ensemble.folds=0", "ensemble.fold_rows=0", members + R"(["architecture=linear"])",
           "data.valid=0.1", "training.keep=best", assignment},
          part);
  };
  keeps("optimizer.kind=asgd", "the members of an ensemble without folds keep those of their best epochs");
  keeps("optimizer.average_decay=0.9", "optimizer.average_decay");
  check({"ensemble.folds=0", "ensemble.weights=equal"}, "ensemble.fold_rows");
  check({"ensemble.folds=0", "ensemble.weights=equal", "ensemble.fold_rows=0"},
        "have the baseline 'last' among them");
  check({"training.loss=quantile"}, "quantile");
}

TEST_CASE("an ensemble's damaged facts are refused in one line") {
  const auto& [folder, out] = trained_ensemble();
  const SafetensorsFile good(folder / file);
  const auto with = [&](const std::string& text) {
    Metadata metadata = good.metadata();
    metadata["ensemble"] = text;
    std::vector<NamedTensor> tensors;
    for (const std::string name : {"member1.gru.weight_ih_l0", "member2.linear.weight"})
      tensors.push_back({name, good.load(name)});
    const fs::path path = folder / "damaged.safetensors";
    fs::remove(path);
    write_safetensors(path, tensors, metadata);
    return error_of({"evaluate", path.string(), "--csv", "wave.csv"}, folder.path());
  };
  auto facts = facts_in(folder / file);
  CHECK(with("{").find("no JSON of members and errors") != std::string::npos);
  auto fewer = facts;
  fewer["members"].erase(0);
  CHECK(with(fewer.dump()).find("5 members in its recipe, and weights of 4") != std::string::npos);
  auto negative = facts;
  negative["members"][0]["weights"][0] = -1;
  CHECK(with(negative.dump()).find("are not 1 numbers from 0 to 1") != std::string::npos);
  auto heavy = facts;
  heavy["members"][1]["weights"][0] = heavy["members"][1]["weights"][0].get<double>() + 0.01;
  CHECK(with(heavy.dump()).find("add up to 1.01 for target 1, not to 1") != std::string::npos);
  auto promised = facts;
  promised["within"] = promised["counted"].get<int>() + 1;
  CHECK(with(promised.dump()).find("values within") != std::string::npos);
  promised = facts, promised["from"] = "soon";
  CHECK(with(promised.dump()).find("from 'soon'") != std::string::npos);
  promised = facts, promised["scaled_mse"][0] = -1;
  CHECK(with(promised.dump()).find("mean square") != std::string::npos);
  auto cut = facts;
  cut["fold_errors"]["the model"][0].erase(0);
  CHECK(with(cut.dump()).find("errors of a window of 'the model'") != std::string::npos);
}

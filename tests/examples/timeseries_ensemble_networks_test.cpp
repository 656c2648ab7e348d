// An ensemble's networks: their weights without folds or pooled, their best epochs, and that none changes another.
#include "tests/examples/ensemble.h"
#include "tests/examples/timeseries.h"
#include "training/files/safetensors.h"

using namespace small_ensemble;
using namespace unroll;

namespace {

double valid_mse(const Folder& folder, const std::string& path) {
  return timeseries_json({"evaluate", path, "--csv", "wave.csv", "--split", "valid"}, folder.path())
      .at("scores")
      .at("valid")
      .at("the model")
      .at("scaled_mse");
}

}  // namespace

TEST_CASE("an ensemble without folds is the mean of its networks, each as it was in its best epoch") {
  const Folder folder;
  write_without_folds(folder);
  const std::string out =
      timeseries_out({"train", "mine.toml", "--csv", "wave.csv", "--out", "run"}, folder.path());
  for (const std::string part :
       {"an ensemble of GRU of 4 over segments of 3, NLinear", "the mean of its networks"})
    CHECK_MESSAGE(out.find(part) != std::string::npos, part, "\n", out);
  CHECK_MESSAGE(out.find("Folds:") == std::string::npos, out);
  // The epoch is chosen by the loss of the mean, which the scores of the same rows have by another way.
  const std::string best = "run/best.safetensors";
  const size_t at = out.find("valid   loss ");
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(out.substr(at + 13)) ==
        doctest::Approx(valid_mse(folder, best)).epsilon(1e-4));  // as many digits are printed
  CHECK(valid_mse(folder, best) <= valid_mse(folder, file));
  // The interval begins with the errors of the rows that validated.
  const ProgramRun forecast = started({"forecast", best, "--csv", "wave.csv"}, folder.path());
  CHECK_MESSAGE(forecast.err.find("the validation split") != std::string::npos, forecast.err);
  // With one member's weight at 1 the forecast is that member's: both lie as far from the mean, on either side.
  const auto value_with = [&](double first) { return first_value_with({first, 1 - first}, folder, best); };
  const double segments = value_with(1), linear = value_with(0);
  CHECK(segments != linear);
  CHECK(value_with(0.5) == doctest::Approx((segments + linear) / 2).epsilon(1e-4));
  CHECK(facts_in(folder / best)["members"][0]["weights"][0] == 0.5);
  // A backtest validates in each of its folds, too.
  const std::string tested =
      timeseries_out({"backtest", "mine.toml", "--csv", "wave.csv", "--folds", "2"}, folder.path());
  CHECK_MESSAGE(tested.find("the model") != std::string::npos, tested);
  // A run of one epoch more ends in these files.
  (void)timeseries_out(
      {"train", "mine.toml", "--csv", "wave.csv", "--out", "short", "--set", "training.epochs=2"},
      folder.path());
  (void)timeseries_out({"resume", "short", "--set", "training.epochs=3"}, folder.path());
  const SafetensorsFile whole(folder / file), later(folder / "short/last.safetensors");
  for (const std::string name :
       {"member1.head.weight", "member2.linear.weight", "training/weights/member2.linear.weight"}) {
    const Tensor x = whole.load(name), y = later.load(name);
    CHECK(same_bits(x, y));
  }
}

TEST_CASE(
    "without folds the valid split weighs the networks, and their weights are those of the file's networks") {
  const Folder folder;
  write_without_folds(folder);
  const Words weighs = set({"ensemble.weights=selection", "training.epochs=8", "training.patience=2",
                            "optimizer.learning_rate=0.01",
                            R"(ensemble.members=["architecture=linear", "architecture=linear"])"});
  const std::string out = timeseries_out(
      Words{"train", "mine.toml", "--csv", "wave.csv", "--out", "run"} + weighs, folder.path());
  for (const std::string part : {"Members: weights and errors on the validation split",
                                 "its networks weighed by the valid split", "member1 ", "member2 "})
    CHECK_MESSAGE(out.find(part) != std::string::npos, part, "\n", out);
  const std::string best = "run/best.safetensors";
  const auto facts = facts_in(folder / best);
  const double first = facts["members"][0]["weights"][0], second = facts["members"][1]["weights"][0];
  CHECK(first + second == doctest::Approx(1));
  REQUIRE_MESSAGE((first > 0.1 && second > 0.1 && first != second), out);
  CHECK(facts["scaled_mse"][0].get<double>() == doctest::Approx(valid_mse(folder, best)).epsilon(1e-5));
  CHECK(facts["windows"] == 0);
  // By the errors of each network alone there is no better share: a tenth more or less of either is worse.
  const auto mse_with = [&](double share) {
    (void)first_value_with({share, 1 - share}, folder, best);
    return valid_mse(folder, (folder / "weighed.safetensors").string());
  };
  const double here = mse_with(first);
  CHECK(here <= mse_with(first - 0.1)), CHECK(here <= mse_with(first + 0.1));
  CHECK(mse_with(1) == doctest::Approx(facts["members"][0]["scaled_mse"][0].get<double>()).epsilon(1e-5));
  CHECK(mse_with(0) == doctest::Approx(facts["members"][1]["scaled_mse"][0].get<double>()).epsilon(1e-5));
  // A run that goes on ends in the same weights.
  (void)timeseries_out(Words{"train", "mine.toml", "--csv", "wave.csv", "--out", "short"} + weighs +
                           set({"training.epochs=3"}),
                       folder.path());
  (void)timeseries_out({"resume", "short", "--set", "training.epochs=8"}, folder.path());
  CHECK(facts_in(folder / "short/best.safetensors") == facts);
}

TEST_CASE("pooled, a member has one weight for all targets, by its scaled errors of all") {
  const Folder folder;
  std::vector<std::string> lines = lines_of(wave(400));
  std::string csv = lines.front() + ",heat\n";  // in another unit, and of another season
  for (size_t row = 1; row < lines.size(); ++row)
    csv += fmt::format("{},{}\n", lines[row], 1000 * std::sin(static_cast<double>(row)));
  folder.write("wave.csv", csv);
  write_without_folds(folder, false);
  const Words two = set({R"(data.channels=["load", "heat"])", "ensemble.weights=inverse-square"});
  const Words by_folds = set({"ensemble.folds=2", "data.valid=0", "training.keep=last"});
  for (const Words& how : {Words(), by_folds}) {
    const auto weights = [&](const std::string& pooled) {
      const std::string out = "run-" + pooled + (how.empty() ? "" : "-folds");
      (void)timeseries_out(Words{"train", "mine.toml", "--csv", "wave.csv", "--out", out} + two + how +
                               set({"ensemble.pooled=" + pooled}),
                           folder.path());
      return facts_in(folder / (out + (how.empty() ? "/best.safetensors" : "/last.safetensors")))["members"];
    };
    const auto apart = weights("false"), pooled = weights("true");
    CHECK(apart[0]["weights"][0] != apart[0]["weights"][1]);
    CHECK(pooled[0]["weights"][0] == pooled[0]["weights"][1]);
    const auto mse = [&](size_t member) -> double {
      const auto& of = pooled[member]["scaled_mse"];
      return of[0].get<double>() + of[1].get<double>();
    };
    CHECK(pooled[0]["weights"][0].get<double>() == doctest::Approx(mse(1) / (mse(0) + mse(1))).epsilon(1e-5));
  }
}

TEST_CASE("the weights are those of the best epoch, also where the last one found others") {
  const Folder folder;
  write_without_folds(folder);
  const std::string out = timeseries_out(
      Words{"train", "mine.toml", "--csv", "wave.csv", "--out", "run"} +
          set({"ensemble.weights=selection", "training.epochs=6", "optimizer.learning_rate=0.01"}),
      folder.path());
  const std::string best = "run/best.safetensors";
  REQUIRE_MESSAGE(facts_in(folder / best) != facts_in(folder / file), out);
  const auto row_of_model = [](const std::string& text) {
    const size_t at = text.find("the model  ");
    return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
  };
  const std::string evaluated = timeseries_out({"evaluate", best, "--csv", "wave.csv"}, folder.path());
  CHECK(row_of_model(out) != "");
  CHECK(row_of_model(out) == row_of_model(evaluated));
}

TEST_CASE("what one network does does not change the other: not even that it is trained no longer") {
  const Folder folder;
  write_without_folds(folder);
  const auto train = [&](const std::string& out, const std::string& first, const std::string& patience) {
    return timeseries_out(Words{"train", "mine.toml", "--csv", "wave.csv", "--out", out} +
                              set({"ensemble.members=[\"" + first + "\", \"architecture=linear rate=3\"]",
                                   "training.epochs=6", "training.clip=0", "optimizer.kind=sgd",
                                   "optimizer.learning_rate=0.01", "training.patience=" + patience}),
                          folder.path());
  };
  const std::string stays = "architecture=linear rate=0.1", swings = "architecture=linear rate=60";
  const std::string early = train("early", swings, "1");
  (void)train("late", swings, "0"), (void)train("other", stays, "0");
  // The first's score, which is that of what it keeps, is the same in two epochs: it was frozen.
  const std::vector<std::string> lines = lines_of(early);
  const auto score_in = [&](const std::string& epoch) {
    for (const std::string& line : lines)
      if (const size_t at = line.find("member1 ");
          line.starts_with("epoch " + epoch) && at != std::string::npos)
        return line.substr(at, line.find("  member2") - at);
    return std::string();
  };
  REQUIRE_MESSAGE(score_in("5") == score_in("6"), early);
  const std::string name = "training/weights/member2.linear.weight";
  const Tensor one = SafetensorsFile(folder / "early/last.safetensors").load(name);
  for (const std::string run : {"late", "other"}) {
    const Tensor same = SafetensorsFile(folder / (run + "/last.safetensors")).load(name);
    CHECK_MESSAGE(same_bits(one, same), run);
  }
}

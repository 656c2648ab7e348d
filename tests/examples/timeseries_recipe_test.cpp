// The recipes of `timeseries`: its keys and their documentation, which of them a recipe reads, and the bundled ones.
#include "examples/timeseries/recipe/recipe_keys.cpp"  // the keys, for their documentation
#include "examples/timeseries/recipe/recipe_rules.cpp"
#include "tests/examples/recipe_keys.h"
#include "tests/examples/recipe_pairs.h"

using namespace unroll;

TEST_CASE("docs/timeseries.md has the table of the program's keys, and the bundled recipes can be read") {
  check_documented("docs/timeseries.md", timeseries::declare_keys, timeseries::Recipe(), true,
                   "docs/recipes.md");
  for (const std::string& name : bundled_recipes("timeseries"))
    CHECK(error_of([&] { timeseries::load_recipe(name, {}); }) == "");
}

TEST_CASE("a key that nothing reads is refused where it was said, and only there") {
  using timeseries::load_recipe;
  const auto error = [](const std::string& text, const Words& assignments = {}) {
    std::vector<Override> overrides;
    for (const std::string& assignment : assignments) overrides.push_back({assignment});
    return error_of([&] { load_recipe(RecipeFile{"mine", "mine.toml", text}, overrides); });
  };
  const auto of_bundled = [](const std::string& name, const Words& assignments) {
    std::vector<Override> overrides;
    for (const std::string& assignment : assignments) overrides.push_back({assignment});
    return error_of([&] { load_recipe(name, overrides); });
  };
  const std::string in_vain =
      "is for model.architecture = \"direct\" or \"segment-rnn\": here nothing reads it";
  CHECK(error("[model]\narchitecture = \"linear\"\nhidden = 64\n") ==
        "mine.toml:3: 'model.hidden' " + in_vain);
  CHECK(error("", {"model.architecture=linear", "model.layers=2"}) ==
        "--set model.layers=2: 'model.layers' " + in_vain);
  struct Case {
    Words assignments;
    std::string key;
  };
  for (const auto& [assignments, key] : std::vector<Case>{
           {{"data.split=rows", "data.train_rows=5", "data.train=0.9"}, "data.train"},
           {{"data.split=rows", "data.train_rows=5", "data.valid=0"}, "data.valid"},
           {{"data.train_rows=5"}, "data.train_rows"},
           {{"data.test_rows=5"}, "data.test_rows"},
           {{"data.valid_from=2020-01-01"}, "data.valid_from"},
           {{"model.architecture=linear", "model.cell=gru"}, "model.cell"},
           {{"model.architecture=linear", "model.dropout=0.5"}, "model.dropout"},
           {{"model.architecture=linear", "model.shared_channels=true"}, "model.shared_channels"},
           {{"model.architecture=linear", "model.engine=fused"}, "model.engine"},
           {{"model.architecture=linear", "model.algorithm=standard"}, "model.algorithm"},
           {{"model.engine=composed", "model.algorithm=standard"}, "model.algorithm"},
           {{"model.engine=cudnn", "model.algorithm=standard"}, "model.algorithm"},
           {{"model.cell=gru", "model.forget_bias=2"}, "model.forget_bias"},
           {{"training.pos_weight=2"}, "training.pos_weight"},
           {{"training.quantiles=[0.1, 0.5]"}, "training.quantiles"},
           {{"data.label=on", "training.loss=quantile"}, "training.loss"},
           {{"data.label=on", "data.horizon=3"}, "data.horizon"}}) {
    const std::string found = error("", assignments);
    CHECK_MESSAGE(lacks(found, {"'" + key + "' is for ", "here nothing reads it"}).empty(), key, ": ", found);
  }
  // Whatever becomes of missing values.
  for (const char* missing : {"error", "previous", "mask", "zero"}) {
    const std::string said = fmt::format("data.missing={}", missing);
    CHECK(lacks(error("", {said, "data.decimal=,", "data.thousands=,"}),
                {"data.thousands", "data.decimal = \",\" too"})
              .empty());
    CHECK(lacks(error("", {said, "data.open_end=true"}),
                {"'data.open_end' = true needs to know which channels"})
              .empty());
  }
  // One rule for all sections; what asks for something is refused wherever it comes from.
  CHECK(
      error("[schedule]\nkind = \"constant\"\nfactor = 0.3\n") ==
      "mine.toml:3: 'schedule.factor' is for schedule.kind = \"step\" or \"plateau\": here nothing reads it");
  CHECK(error("[optimizer]\nkind = \"adam\"\nbeta1 = 0.8\n", {"optimizer.kind=sgd"}) == "");
  CHECK(
      error("[optimizer]\nkind = \"sgd\"\nmomentum = 0.8\n", {"optimizer.kind=adam"}) ==
      "mine.toml:3: 'optimizer.momentum' is for optimizer.kind = \"sgd\" or \"rmsprop\": here nothing reads it");
  // A key that a recipe says for what it is by itself may be unread after --set, or read only then.
  CHECK(error("[model]\nhidden = 64\n", {"model.architecture=linear"}) == "");
  CHECK(error("[data]\ntrain_rows = 64\n", {"data.split=rows"}) == "");
  CHECK(error("[model]\npeepholes = true\nforget_bias = 2\n", {"model.cell=gru"}) == "");
  CHECK(error("[model]\ncell = \"gru\"\npeepholes = true\n") ==
        "mine.toml:3: 'model.peepholes' is an option of the LSTM; the GRU has no such thing");
  CHECK(of_bundled("airline", {"data.split=fraction", "model.architecture=linear"}) == "");
  CHECK(of_bundled("sunspots", {"data.split=rows", "data.train_rows=2000", "data.valid_rows=100"}) == "");
  // A run's recipe spells all keys out; that of an earlier version lacks a few.
  const std::string left =
      timeseries::resolved(load_recipe("airline", {{"data.split=fraction"}, {"model.architecture=linear"}}));
  std::string earlier = left;
  for (const std::string line : {"algorithm = \"auto\"\n", "log_every = 20\n", "segment = 1\n"})
    earlier.erase(earlier.find(line), line.size());
  for (const std::string& text : {left, earlier}) {
    CHECK(error(text) == "");
    CHECK(error(text, {"model.engine=auto", "model.algorithm=auto"}) == "");  // as saved models are read
    CHECK(error(text, {"model.hidden=8"}) == "--set model.hidden=8: 'model.hidden' " + in_vain);
  }
}

TEST_CASE("without rows that validate only what waits for their scores is refused") {
  const auto error = [](const std::vector<Override>& more) {
    return error_of([&] {
      timeseries::load_recipe(
          RecipeFile{"mine", "mine.toml", "[data]\nvalid = 0.0\n[training]\nkeep = \"last\"\n"}, more);
    });
  };
  for (const char* key : {"training.patience=1", "data.score=valid", "schedule.kind=plateau"})
    CHECK(lacks(error({{key}}), {"needs rows that validate"}) == "");
  for (const char* key :
       {"training.patience=0", "data.score=test", "schedule.kind=cosine", "optimizer.kind=sgd"})
    CHECK(error({{key}}) == "");
  CHECK(lacks(error({{"optimizer.kind=asgd"}, {"optimizer.average_from=0"}}), {"waits for valid scores"}) ==
        "");
  CHECK(error({{"optimizer.kind=asgd"}, {"optimizer.average_from=1"}}) == "");
}

TEST_CASE("every key says what another value means to a run that is resumed") {
  const auto are = [](OnResume meaning) {
    return keys_that_are(meaning, timeseries::declare_keys, timeseries::Recipe());
  };
  CHECK(are(OnResume::undecided) == "");
  CHECK(
      are(OnResume::harmless) ==
      "model.engine data.file data.test_files data.time data.date_order data.separator data.decimal "
      "data.thousands data.mend data.missing data.gaps data.open_end data.period data.second_period data.ridge "
      "data.ets data.theta data.ces data.pretrained data.combination data.bounds data.score training.epochs "
      "training.keep training.patience training.on_divergence training.save_every_steps "
      "training.save_every_minutes training.keep_every_epochs training.log_every");
  CHECK(are(OnResume::rescores) == "data.eval_batch training.precision training.pos_weight");
  CHECK(are(OnResume::fixed) ==
        "model.architecture model.cell model.hidden model.layers model.shared_channels model.normalization "
        "model.segment model.highway model.zoneout_h model.zoneout_c model.projection model.layer_norm "
        "model.peepholes model.gate_activation model.cell_activation model.cell_clip model.coupled_gates "
        "model.nonlinearity model.mogrifier model.mogrifier_rank model.residual model.last_hidden "
        "model.forget_bias data.only data.id data.channels data.targets data.calendar data.known data.label "
        "data.window data.horizon scaling.kind scaling.transform training.init_from training.loss "
        "training.quantiles optimizer.kind optimizer.average_from");
}

TEST_CASE("more epochs are harmless unless a cosine or a cycle spreads over them") {
  for (const std::string kind : {"constant", "cosine", "one_cycle"}) {
    const std::string schedule = "schedule.kind=" + kind;
    const auto keys = timeseries::differing_keys(
        timeseries::load_recipe("airline", {{schedule}}),
        timeseries::load_recipe("airline", {{schedule}, {"training.epochs=7777"}}));
    REQUIRE(keys.size() == 1);
    CHECK((keys[0].on_resume == OnResume::harmless) == (kind == "constant"));
    CHECK_FALSE(keys[0].cuts_windows);
  }
}

TEST_CASE(
    "a section of an earlier version is passed over where it asks for nothing, and else refused with the reason") {
  using timeseries::load_recipe;
  const auto error = [](const std::string& text, const std::vector<Override>& overrides = {}) {
    return error_of([&] { load_recipe(RecipeFile{"mine", "mine.toml", text}, overrides); });
  };
  CHECK(error("[ensemble]\nmembers = []\nfolds = 4\n[data]\nwindow = 4\n") == "");
  CHECK(
      error("[ensemble]\nfolds = 4\nmembers = [\"last\"]\n") ==
      "mine.toml:3: 'ensemble.members' is no key any more: 'timeseries forecast FILE.csv' has a mean of a few "
      "forecasters; the last version that trains and reads ensembles is commit 16a6a2ee");
  CHECK(error("", {{"ensemble.folds=3"}})
            .starts_with("--set ensemble.folds=3: 'ensemble.members' is no key any more"));
  // Single keys, and words of keys. A recipe that an earlier version spelled out names them by what asks for nothing.
  CHECK(error("[model]\nmoving_average = 25\n") == "");
  CHECK(
      error("[model]\nmoving_average = 5\n") ==
      "mine.toml:2: 'model.moving_average' is no key any more: it was of the architecture dlinear; the last version "
      "that has it is commit c1369e57");
  CHECK(
      error("", {{"model.architecture=dlinear"}}) ==
      "--set model.architecture=dlinear: 'model.architecture' = \"dlinear\" is gone; the last version that knows it is "
      "commit c1369e57");
}

TEST_CASE("which values of two keys do not go together, and which need another") {
  RecipeReader reader;
  timeseries::Recipe recipe;
  timeseries::declare_keys(reader, recipe);
  recipe_pairs::check_recorded(
      "pairs-of-timeseries.txt",
      recipe_pairs::interplay({reader.keys().begin(), reader.keys().end()}, [](const Words& assignments) {
        std::vector<Override> overrides;
        for (const std::string& assignment : assignments) overrides.push_back({assignment});
        return error_of([&] { timeseries::load_recipe(RecipeFile{"mine", "mine.toml", ""}, overrides); });
      }));
}

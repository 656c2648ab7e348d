// Recipes: keys that a program declares, values read and overridden, errors in the user's words, the resolved
// recipe, and where recipes are found.
#include <fmt/format.h>

#include "framework/nearest.h"
#include "framework/ops.h"
#include "framework/random.h"
#include "tests/folder.h"
#include "tests/support.h"
#include "tests/training/recipe_program.h"
#include "training/program/recipe/recipe_reader.h"
#include "training/program/recipe/recipe_sections.h"

using namespace unroll;
using recipe_program::Program;
using recipe_program::Reduction;
using recipe_program::Settings;

TEST_CASE("recipe: values of every type are read, the others keep their defaults") {
  Program p;
  p.read(R"(
training.seed = 9_223_372_036_854_775_807
[model]
hidden = 0x10         # a comment
dropout = 0.25
tied = true
engine = "fused"
[data]
tokens = 1_000_000_000_000
targets = ["HUFL", "größer"]
quantiles = [0.25, 0.75,]
horizons = [24, 48]
)");
  const Settings& s = p.settings;
  CHECK(s.hidden == 16);
  CHECK(s.layers == 2);
  CHECK(s.dropout == 0.25f);
  CHECK(s.tied);
  CHECK(s.engine == "fused");
  CHECK(s.seed == INT64_MAX);
  CHECK(s.tokens == 1'000'000'000'000);
  CHECK(s.reduction == Reduction::sum);
  CHECK(s.targets == std::vector<std::string>{"HUFL", "größer"});
  CHECK(s.quantiles == std::vector<double>{0.25, 0.75});
  CHECK(s.horizons == std::vector<int>{24, 48});
  CHECK(p.reader.given("model.hidden"));
  CHECK_FALSE(p.reader.given("model.layers"));

  p.read("[training]\nlearning_rate = 2\nreduction = 'mean'");  // a whole number is a number
  CHECK(s.learning_rate == 2);
  CHECK(s.reduction == Reduction::mean);
  CHECK(s.hidden == 16);  // of the recipe before
  CHECK(p.error("") == "");
  CHECK(p.error("[model]\n[data]\n") == "");
}

TEST_CASE("recipe: true and false are words of a choice that has them") {
  enum class Graphs { automatic, always, never } graphs = Graphs::automatic;
  RecipeReader reader;
  reader.section("training", "The loop.");
  reader.choice("graph", graphs,
                {{"auto", Graphs::automatic}, {"true", Graphs::always}, {"false", Graphs::never}}, "when");
  const auto read = [&](const std::string& value) {
    reader.read({"x", "recipes/x.toml", "[training]\ngraph = " + value + "\n"});
    return graphs;
  };
  CHECK(read("true") == Graphs::always);
  CHECK(read("\"true\"") == Graphs::always);
  CHECK(read("false") == Graphs::never);
  CHECK(read("\"auto\"") == Graphs::automatic);
  reader.set("training.graph=false");
  CHECK(graphs == Graphs::never);
  CHECK(lacks(error_of([&] { read("1"); }), {"recipes/x.toml:2", "training.graph", "auto, true, false"}) ==
        "");
  CHECK(lacks(error_of([&] { read("\"yes\""); }), {"training.graph", "auto, true, false"}) == "");
  CHECK(graphs == Graphs::never);
}

TEST_CASE("recipe: an unknown key is answered with file, line and the nearest one") {
  Program p;
  CHECK(p.error("[model]\nlayers = 1\n\nhiden = 3\n") ==
        "recipes/x.toml:4: unknown key 'model.hiden'; did you mean 'model.hidden'?");
  CHECK(p.error("[model]\nhidden_size = 3") ==
        "recipes/x.toml:2: unknown key 'model.hidden_size'; did you mean 'model.hidden'?");
  CHECK(p.error("[model]\ndropuot = 3") ==
        "recipes/x.toml:2: unknown key 'model.dropuot'; did you mean 'model.dropout'?");
  CHECK(p.error("[training]\nlr = 3") ==
        "recipes/x.toml:2: unknown key 'training.lr'; did you mean 'training.learning_rate'?");
  CHECK(p.error("[model]\nlearning_rate = 3") ==
        "recipes/x.toml:2: unknown key 'model.learning_rate'; did you mean 'training.learning_rate'?");
  CHECK(p.error("[model]\nsede = 3") ==
        "recipes/x.toml:2: unknown key 'model.sede'; did you mean 'training.seed'?");
  CHECK(p.error("[model]\nxylophone = 3") == "recipes/x.toml:2: unknown key 'model.xylophone'");
  CHECK(p.error("[model]\nhidden.size = 3") ==
        "recipes/x.toml:2: 'model.hidden' expects a whole number, got a section");
  CHECK(p.error("model.hiden = 3") ==
        "recipes/x.toml:1: unknown key 'model.hiden'; did you mean 'model.hidden'?");
  CHECK(p.error("\n[modle]\nhidden = 3") ==
        "recipes/x.toml:2: unknown section 'modle'; did you mean 'model'?");
  CHECK(p.error("[optics]\nhidden = 3") == "recipes/x.toml:1: unknown section 'optics'");
  CHECK(p.error("hidden = 3") ==
        "recipes/x.toml:1: 'hidden' stands outside of any section; did you mean 'model.hidden'?");
  CHECK(p.error("model = 3") == "recipes/x.toml:1: 'model' is a section: write [model] and its keys below");
  CHECK(p.error("[[model]]\nhidden = 3") ==
        "recipes/x.toml:1: 'model' is a section: write [model] and its keys below");
  CHECK(p.error("[model]\n\"hi\\nden\" = 3") ==
        "recipes/x.toml:2: unknown key 'model.hi?den'; did you mean 'model.hidden'?");
  CHECK(p.error("[model]\n" + std::string(5000, 'a') + " = 3").size() < 200);
}

TEST_CASE("recipe: the first error of the file is the one told, and nothing is taken over") {
  Program p;
  CHECK(
      lacks(p.error("[training]\nseed = 5\nepsilon = -1\n[data]\nbath = 1\n[model]\nhidden = 7\nhiden = 1\n"),
            {"x.toml:3: "}) == "");
  CHECK(p.settings.seed == 1);
  CHECK(p.settings.hidden == 200);
  CHECK_FALSE(p.reader.given("training.seed"));
}

TEST_CASE("recipe: a value of the wrong type or size is answered with what is expected") {
  Program p;
  const auto check = [&](const std::string& line, const std::string& message) {
    const std::string section = line.substr(0, line.find('.')), key = line.substr(line.find('.') + 1);
    CHECK(p.error("[" + section + "]\n" + key) == "recipes/x.toml:2: " + message);
  };
  check("model.hidden = 'x'", "'model.hidden' expects a whole number, got 'x'");
  check("model.hidden = 200.0", "'model.hidden' expects a whole number, got a fraction");
  check("model.hidden = true", "'model.hidden' expects a whole number, got true or false");
  check("model.hidden = [1]", "'model.hidden' expects a whole number, got a list");
  check("model.hidden = 1979-05-27", "'model.hidden' expects a whole number, got a date");
  check("model.hidden = -5", "'model.hidden' must be at least 1, got -5");
  check("model.hidden = 3000000000", "'model.hidden' must be at most 2147483647, got 3000000000");
  check("model.layers = 9", "'model.layers' must be in [1, 8], got 9");
  check("model.dropout = 1", "'model.dropout' must be in [0, 1), got 1");
  check("model.dropout = -0.5", "'model.dropout' must be in [0, 1), got -0.5");
  check("model.dropout = nan", "'model.dropout' must be finite, got nan");
  check("model.dropout = '0.5'", "'model.dropout' expects a number, got '0.5'");
  check("model.tied = 1", "'model.tied' expects true or false, got a whole number");
  check("model.engine = 'fusd'",
        "'model.engine' must be one of auto, fused, composed; got 'fusd'; did you mean 'fused'?");
  check("model.engine = 3", "'model.engine' expects one of auto, fused, composed, got a whole number");
  check(
      "training.reduction = 'sum'",
      "'training.reduction' must be one of mean, sum-over-steps; got 'sum'; did you mean 'sum-over-steps'?");
  check("training.learning_rate = 0", "'training.learning_rate' must be above 0, got 0");
  check("training.learning_rate = inf", "'training.learning_rate' must be finite, got inf");
  check("training.seed = -1", "'training.seed' must be at least 0, got -1");
  check("data.path = 3", "'data.path' expects a string, got a whole number");
  check("data.targets = 'OT'", "'data.targets' expects a list of strings, got 'OT'");
  check("data.targets = ['OT', 3]", "'data.targets' element 2: expects a string, got a whole number");
  check("data.quantiles = [0.5, 1.5]", "'data.quantiles' element 2: must be in (0, 1), got 1.5");
}

TEST_CASE("recipe: what is not TOML is answered with line and column") {
  Program p;
  CHECK(lacks(p.error("[model]\nhidden = \n"), {"recipes/x.toml:2:", ": not TOML: "}) == "");
  CHECK(lacks(p.error("[model]\nhidden = 3\nhidden = 4\n"), {"recipes/x.toml:3:", "hidden"}) == "");
  CHECK(lacks(p.error("[data]\nseed = 1\npath = penn\n"), {"x.toml:3:", "not TOML", "quotes"}) == "");
  CHECK(p.error("[model]\nhidden = \n").find("quotes") == std::string::npos);
  CHECK(lacks(p.error("[model\n"), {"recipes/x.toml:1:7: not TOML: "}) == "");
  CHECK(p.error("[model]\nhidden = 3\n[#data]\nseed = 1\n") == "recipes/x.toml:3: not TOML");
  CHECK(lacks(p.error(std::string("\0\0\0", 3)), {"recipes/x.toml:1:1: not TOML: "}) == "");
  CHECK(lacks(p.error("[model]\nengine = \"\xff\xfe\""), {"recipes/x.toml:2:", "not TOML"}) == "");
  CHECK(lacks(p.error("[data]\ntargets = " + std::string(100000, '[')), {"recipes/x.toml:2:", "32 deep"}) ==
        "");
}

TEST_CASE("recipe: values set from outside") {
  Program p;
  p.read("[model]\nhidden = 3\n");
  p.reader.set("model.hidden=300");
  p.reader.set(" training.learning_rate = 1e-3 ");
  p.reader.set("model.engine=composed");
  p.reader.set("training.reduction=\"mean\"");
  p.reader.set("model.tied=true");
  p.reader.set("data.path=/data/penn tree = bank");
  p.reader.set("data.targets=['a','b']");
  CHECK(p.settings.hidden == 300);
  CHECK(p.settings.learning_rate == 1e-3);
  CHECK(p.settings.engine == "composed");
  CHECK(p.settings.reduction == Reduction::mean);
  CHECK(p.settings.tied);
  CHECK(p.settings.path == "/data/penn tree = bank");
  CHECK(p.settings.targets == std::vector<std::string>{"a", "b"});
  p.reader.set("data.targets=load");  // a list of one word
  CHECK(p.settings.targets == std::vector<std::string>{"load"});
  p.reader.set("data.targets=\"a, b\"");
  CHECK(p.settings.targets == std::vector<std::string>{"a, b"});
  p.reader.set("data.targets=2020");
  CHECK(p.settings.targets == std::vector<std::string>{"2020"});
  CHECK(p.set_error("data.targets=a,b") ==
        "--set data.targets=a,b: a list of several words stands in brackets: data.targets=[a,b]");
  p.reader.set("data.targets=[room 1, 7]");  // a shell takes quotes away
  CHECK(p.settings.targets == std::vector<std::string>{"room 1", "7"});
  for (const char* path :
       {"1999", "true", "1979-05-27", "a\\b", "größer"}) {  // a string is wanted: it is one
    p.reader.set(std::string("data.path=") + path);
    CHECK(p.settings.path == path);
  }
  p.reader.set("training.seed=7", "--seed 7");
  CHECK(p.settings.seed == 7);

  p.reader.set("training.learning_rate=10000000000000000");  // more than a double can count to
  CHECK(p.settings.learning_rate == 1e16);
  CHECK(p.set_error("model.hiden=3") ==
        "--set model.hiden=3: unknown key 'model.hiden'; did you mean 'model.hidden'?");
  CHECK(p.set_error("hidden=3") == "--set hidden=3: unknown key 'hidden'; did you mean 'model.hidden'?");
  CHECK(p.set_error("model.hidden=x") ==
        "--set model.hidden=x: 'model.hidden' expects a whole number, got 'x'");
  CHECK(lacks(p.set_error("model.hidden=99999999999999999999"), {"expects a whole number, got '9999"}) == "");
  CHECK(lacks(p.set_error("model.dropout=.5"), {"expects a number, got '.5'"}) == "");
  CHECK(p.set_error("model.hidden=-1") == "--set model.hidden=-1: 'model.hidden' must be at least 1, got -1");
  CHECK(p.set_error("model.hidden=") == "--set model.hidden=: there is no value");
  CHECK(p.set_error("model.hidden") == "--set model.hidden: write section.key=value");
  CHECK(p.set_error("=3") == "--set =3: write section.key=value");
  CHECK(p.set_error("") == "--set : write section.key=value");
  CHECK(p.set_error("model.hidden=[3") == "--set model.hidden=[3: the value is not TOML");
  CHECK(p.set_error("model.hidden=3\nmodel.layers=4") ==
        "--set model.hidden=3?model.layers=4: 'model.hidden' expects a whole number, got '3?model.layers=4'");
  CHECK(p.set_error("model.hidden=8#x") ==
        "--set model.hidden=8#x: 'model.hidden' expects a whole number, got '8#x'");
  CHECK(p.set_error("model.hidden=8, layers=2") ==
        "--set model.hidden=8, layers=2: 'model.hidden' expects a whole number, got '8, layers=2'");
  CHECK(p.set_error("data.path=\xff") == "--set data.path=?: the value is not TOML");
  CHECK(p.settings.hidden == 300);
}

TEST_CASE("recipe: rules between keys are told with the place of the key") {
  Program p;
  p.read("[model]\n\ntied = true\n");
  CHECK(error_of([&] { p.reader.refuse("model.tied", "needs more"); }) ==
        "recipes/x.toml:3: 'model.tied' needs more");
  CHECK(error_of([&] { p.reader.refuse("model.layers", "is odd"); }) ==
        "recipes/x.toml: 'model.layers' is odd");
  p.reader.set("model.tied=true");
  CHECK(error_of([&] { p.reader.refuse("model.tied", "needs more"); }) ==
        "--set model.tied=true: 'model.tied' needs more");
}

TEST_CASE("recipe: an optimizer keeps as many numbers for each weight as are told before") {
  using Kind = OptimizerKind;
  for (const Kind kind : {Kind::sgd, Kind::adam, Kind::adamw, Kind::rmsprop, Kind::lion, Kind::asgd})
    for (const double momentum : {0.0, 0.9})
      for (const double average_decay : {0.0, 0.99})
        for (const ScheduleKind schedule_kind : {ScheduleKind::constant, ScheduleKind::one_cycle}) {
          if (kind == Kind::asgd && schedule_kind == ScheduleKind::one_cycle) continue;  // is refused
          const TrainingSection training;
          const OptimizerSection optimizer{
              .kind = kind, .momentum = momentum, .average_decay = average_decay, .average_from = 1};
          const ScheduleSection schedule{.kind = schedule_kind};
          const TrainingSections sections{training, optimizer, schedule};
          ParameterSet params;
          const Var w = params.add("w", {4}, Init::constant(1)).var();
          const auto made = make_optimizer(sections, params, EpochWindows(5));
          Tape tape;
          tape.backward(sum(w * w));
          made->step();
          INFO(made->name(), " ", momentum, " ", average_decay, " ", static_cast<int>(schedule_kind));
          CHECK(std::ssize(made->whole_state().slabs) == moments_of(sections));
        }
}

TEST_CASE("recipe: epochs of different lengths are counted one by one") {
  const TrainingSection training{.epochs = 3, .accumulate = 2};
  const OptimizerSection optimizer{.kind = OptimizerKind::asgd, .learning_rate = 1, .average_from = 3};
  const ScheduleSection schedule{.kind = ScheduleKind::cosine, .warmup = 0.5, .minimum = 0.25};
  const TrainingSections sections{training, optimizer, schedule};
  const EpochWindows windows([](int epoch) { return int64_t{3} * epoch; });  // 2, 3 and 5 steps of two windows
  CHECK(steps_of_epochs(sections, windows, 2) == 5);
  const Schedule made = make_schedule(sections, windows);
  CHECK((made.total == 10 && made.warmup == 1 && made.final_rate == 0.25));
  ParameterSet params;
  params.add("w", {4}, Init::constant(1));
  int64_t average_after = -1;
  const auto asgd = make_optimizer(sections, params, windows);
  for (const auto& counter : asgd->whole_state().counters)
    if (counter.name == "average_after") average_after = *counter.value;
  CHECK(average_after == 5);  // the third epoch's first step
}

TEST_CASE("recipe: the nearest word") {
  const std::vector<std::string> words = {"learning_rate", "batch", "bptt", "hidden", "eval_batch"};
  CHECK(nearest("batch", words) == "batch");
  CHECK(nearest("bathc", words) == "batch");
  CHECK(nearest("batch_size", words) == "batch");
  CHECK(nearest("lr", words) == "learning_rate");
  CHECK(nearest("learningrate", words) == "learning_rate");
  CHECK(nearest("seasonal-medain", {"seasonal", "seasonal-median"}) == "seasonal-median");
  CHECK(nearest("btt", words) == "bptt");
  CHECK(nearest("xyz", words) == "");
  CHECK(nearest("", words) == "");
  CHECK(nearest(std::string(100000, 'b'), words) == "");
}

TEST_CASE("recipe: found by name or by path") {
  CHECK(bundled_recipes("ptb") ==
        std::vector<std::string>{"awd-lstm", "awd-lstm-finetune", "awd-lstm-onecycle", "demo", "ptb-19m",
                                 "ptb-19m-transformer", "ptb-6m", "ptb-6m-attention", "ptb-6m-transformer",
                                 "ptb-afternoon", "ptb-large", "ptb-large-tied", "ptb-medium",
                                 "ptb-medium-tied", "ptb-small", "ptb-variational-medium"});
  CHECK(bundled_recipes("timeseries").size() + bundled_recipes("timeseries pretrain").size() +
            bundled_recipes("ptb").size() ==
        bundled_recipes().size());
  for (const std::string& name : bundled_recipes()) {
    const RecipeFile recipe = find_recipe(name);
    CHECK(recipe.name == name);
    CHECK(recipe.origin == "recipes/" + name + ".toml");
    CHECK(recipe.text == read_text(project_root() / recipe.origin));
    const RecipeFile same = find_recipe((project_root() / recipe.origin).string());
    CHECK(same.name == name);
    CHECK(same.text == recipe.text);
  }
  CHECK(
      error_of([] { find_recipe("ptb-smal", "ptb"); }) ==
      fmt::format(
          "there is no recipe 'ptb-smal'; bundled are {}; a file of yours ends in .toml; did you mean 'ptb-small'?",
          fmt::join(bundled_recipes("ptb"), ", ")));
  CHECK(error_of([] { find_recipe("none/x.toml"); }) == "none/x.toml: there is no such recipe");
  CHECK(error_of([] { find_recipe("x.toml"); }) == "x.toml: there is no such recipe");
  CHECK(error_of([] { find_recipe("./"); }) == "./: a folder, not a recipe");
  CHECK(error_of([] { find_recipe("/dev/zero"); }) == "/dev/zero: a device, not a file");
}

TEST_CASE("recipe: of many words eight are named and the others counted") {
  std::vector<std::string> words;
  for (char c = 'a'; c <= 'k'; ++c) words.push_back(std::string(5, c));
  CHECK(which_was_meant("xyz", words) ==
        "; there are 'aaaaa', 'bbbbb', 'ccccc', 'ddddd', 'eeeee', 'fffff', 'ggggg', 'hhhhh' and 3 others");
  words.resize(8);
  CHECK(which_was_meant("xyz", words).ends_with("'ggggg', 'hhhhh'"));
  CHECK(which_was_meant("aaaba", words) == "; did you mean 'aaaaa'?");
  CHECK(which_was_meant("xyz", {}) == "");
  CHECK(nearest("hidden", {"hidden_units_of_all", "hidden_size", "batch"}) == "hidden_size");
}

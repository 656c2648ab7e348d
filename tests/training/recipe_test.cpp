// Recipes: keys that a program declares, values read and overridden, errors in the user's words, the resolved
// recipe, and where recipes are found.
#include <bit>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

#include <fmt/format.h>

#include "framework/nearest.h"
#include "framework/random.h"
#include "tests/folder.h"
#include "tests/support.h"
#include "training/program/recipe/recipe_reader.h"

using namespace unroll;
namespace fs = std::filesystem;

namespace {

enum class Reduction { mean, sum };

// A program's keys, of every type.
struct Settings {
  int hidden = 200, layers = 2;
  float dropout = 0.1f;
  bool tied = false;
  std::string engine = "auto";
  double learning_rate = 1, epsilon = 1e-8;
  Reduction reduction = Reduction::sum;
  uint64_t seed = 1;
  int64_t tokens = 200'000;
  std::string path = "data";
  std::vector<std::string> targets = {"OT"};
  std::vector<double> quantiles = {0.1, 0.5};
  std::vector<int> horizons;
};

struct Program {
  Settings settings;
  RecipeReader reader;
  Program() {
    reader.section("model", "The network.");
    reader.key("hidden", settings.hidden, "width of every layer").at_least(1);
    reader.key("layers", settings.layers, "how many").at_least(1).at_most(8);
    reader.key("dropout", settings.dropout, "probability").at_least(0).below(1).source("Zaremba 2014");
    reader.key("tied", settings.tied, "one matrix for both");
    reader.key("engine", settings.engine, "how").one_of({"auto", "fused", "composed"});
    reader.section("training", "The loop.");
    reader.key("learning_rate", settings.learning_rate, "size of a step").above(0);
    reader.key("epsilon", settings.epsilon, "small").above(0);
    reader.choice("reduction", settings.reduction,
                  {{"mean", Reduction::mean}, {"sum-over-steps", Reduction::sum}}, "what");
    reader.key("seed", settings.seed, "of everything");
    reader.section("data", "The text.");
    reader.key("tokens", settings.tokens, "how many").at_least(1).unit("tokens");
    reader.key("path", settings.path, "where");
    reader.key("targets", settings.targets, "columns");
    reader.key("quantiles", settings.quantiles, "levels").above(0).below(1);
    reader.key("horizons", settings.horizons, "steps ahead").at_least(1);
  }
  void read(const std::string& text) { reader.read({"x", "recipes/x.toml", text}); }
  std::string error(const std::string& text) {
    return error_of([&] { read(text); });
  }
  std::string set_error(const std::string& text) {
    return error_of([&] { reader.set(text); });
  }
};

}  // namespace

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

TEST_CASE("recipe: the resolved recipe spells out every key") {
  Program p;
  const std::string defaults = R"([model]
hidden = 200
layers = 2
dropout = 0.1
tied = false
engine = "auto"

[training]
learning_rate = 1.0
epsilon = 1e-08
reduction = "sum-over-steps"
seed = 1

[data]
tokens = 200000
path = "data"
targets = ["OT"]
quantiles = [0.1, 0.5]
horizons = []
)";
  CHECK(p.reader.toml() == defaults);
  CHECK(p.reader.toml(true).find("hidden = 200                # width of every layer\n") !=
        std::string::npos);
}

TEST_CASE("recipe: what is printed is read back as the same values") {
  RandomStream random(1, "recipe");
  for (int round = 0; round < 300; ++round) {
    Program one, two;
    Settings& s = one.settings;
    s.hidden = static_cast<int>(random.bits() >> 1);
    s.dropout = random.below(10) == 0 ? 0 : static_cast<float>(random.uniform());
    s.tied = random.below(2);
    s.learning_rate = std::ldexp(random.uniform() + 1e-9, static_cast<int>(random.below(2000)) - 1000);
    s.epsilon = static_cast<double>(random.below(1000) + 1);
    s.reduction = random.below(2) ? Reduction::mean : Reduction::sum;
    s.seed = (uint64_t{random.bits()} << 31) + random.bits();
    s.path.clear();
    for (uint32_t i = random.below(20); i > 0; --i)
      s.path += random.below(4) ? std::string(1, static_cast<char>(random.below(128))) : "ß";
    s.targets.assign(random.below(3), s.path);
    s.quantiles.assign(random.below(3), random.uniform() * 0.9 + 0.01);
    const std::string text = one.reader.toml(round % 2 == 1);
    REQUIRE(two.error(text) == "");
    const Settings& t = two.settings;
    CHECK(two.reader.toml() == one.reader.toml());
    CHECK(t.hidden == s.hidden);
    CHECK(t.dropout == s.dropout);
    CHECK(t.learning_rate == s.learning_rate);
    CHECK(t.epsilon == s.epsilon);
    CHECK(t.reduction == s.reduction);
    CHECK(t.seed == s.seed);
    CHECK(t.path == s.path);
    CHECK(t.targets == s.targets);
    CHECK(t.quantiles == s.quantiles);
  }
  // A float is printed with the fewest digits of a float, and read as a double: no second rounding is seen.
  Program one, two;
  for (int round = 0; round < 2000; ++round) {
    one.settings.dropout = std::bit_cast<float>(random.below(0x3f800000));
    REQUIRE(two.error(fmt::format("[model]\ndropout = {}", one.reader.keys()[2].value())) == "");
    CHECK(two.settings.dropout == one.settings.dropout);
  }
}

TEST_CASE("recipe: the table of keys for the documentation") {
  const std::string text = Program().reader.markdown();
  for (const char* part : {"## [model]\n\nThe network.\n",
                           "| `hidden` | `200` | a whole number, at least 1 | width of every layer |\n",
                           "| `dropout` | `0.1` | a number in [0, 1) | probability (Zaremba 2014) |\n",
                           "| `engine` | `\"auto\"` | one of auto, fused, composed | how |\n",
                           "| `tokens` | `200000` | a whole number, at least 1 (tokens) | how many |\n"}) {
    CHECK(lacks(text.find(part) == std::string::npos ? text : "", {}) == "");
  }
}

TEST_CASE("recipe: a key is declared once, in a section") {
  RecipeReader reader;
  int x = 0;
  CHECK(lacks(error_of([&] { reader.key("x", x, ""); }), {"'x' is declared before any section"}) == "");
  reader.section("a");
  reader.key("x", x, "");
  CHECK(lacks(error_of([&] { reader.key("x", x, ""); }), {"'a.x' is declared twice"}) == "");
  reader.section("b");
  reader.key("x", x, "");
  reader.section("a");  // taken up again
  reader.key("y", x, "");
  CHECK(reader.toml() == "[a]\nx = 0\ny = 0\n\n[b]\nx = 0\n");
}

TEST_CASE("recipe: a key says what another value means to a run that is resumed") {
  struct Keys {
    int width = 1, epochs = 1, seed = 1, batch = 1;
    bool cosine = false;
  };
  const auto declare = [](RecipeReader& reader, Keys& keys) {
    reader.section("a");
    reader.key("width", keys.width, "").fixed();
    reader.key("epochs", keys.epochs, "").harmless([&keys] { return !keys.cosine; });
    reader.key("seed", keys.seed, "").may_change().cuts_windows([&keys] { return keys.cosine; });
    reader.key("batch", keys.batch, "").rescores().cuts_windows();
    reader.key("cosine", keys.cosine, "");
  };
  const auto meanings = [&](Keys now) {
    Keys then{.cosine = now.cosine};
    RecipeReader before, after;
    declare(before, then), declare(after, now);
    std::vector<std::tuple<std::string, OnResume, bool>> result;
    for (const DifferingKey& key : differing_keys(before, after))
      result.emplace_back(key.path, key.on_resume, key.cuts_windows);
    return result;
  };
  // Conditions look at the recipe that the run goes on with.
  for (const bool cosine : {false, true})
    CHECK((meanings({.width = 2, .epochs = 2, .seed = 2, .batch = 2, .cosine = cosine}) ==
           std::vector<std::tuple<std::string, OnResume, bool>>{
               {"a.width", OnResume::fixed, false},
               {"a.epochs", cosine ? OnResume::may_change : OnResume::harmless, false},
               {"a.seed", OnResume::may_change, cosine},
               {"a.batch", OnResume::rescores, true}}));
  Keys plain, other{.cosine = true};
  RecipeReader before, after;
  declare(before, plain), declare(after, other);
  CHECK(error_of([&] { differing_keys(before, after); }) ==
        "recipe: the declaration of 'a.cosine' does not say what another value means to a resumed run");
}

TEST_CASE("recipe: the nearest word") {
  const std::vector<std::string> words = {"learning_rate", "batch", "bptt", "hidden", "eval_batch"};
  CHECK(nearest("batch", words) == "batch");
  CHECK(nearest("bathc", words) == "batch");
  CHECK(nearest("batch_size", words) == "batch");
  CHECK(nearest("lr", words) == "learning_rate");
  CHECK(nearest("learningrate", words) == "learning_rate");
  CHECK(nearest("btt", words) == "bptt");
  CHECK(nearest("xyz", words) == "");
  CHECK(nearest("", words) == "");
  CHECK(nearest(std::string(100000, 'b'), words) == "");
}

TEST_CASE(
    "recipe: one that a run of an earlier version left is spelled out, however many keys there are today") {
  std::vector<int> fields(200);
  RecipeReader reader;
  reader.section("a");
  for (size_t k = 0; k < fields.size(); ++k) reader.key(fmt::format("k{}", k), fields[k], "");
  for (const auto& [named, spelled_out] : {std::pair{39, false}, {40, true}, {101, true}}) {
    std::string text = "[a]\n";
    for (int k = 0; k < named; ++k) text += fmt::format("k{} = 1\n", k);
    reader.read({"x", "x.toml", text});
    CHECK(reader.spelled_out() == spelled_out);
  }
}

TEST_CASE("recipe: found by name or by path") {
  CHECK(bundled_recipes("ptb") ==
        std::vector<std::string>{"awd-lstm", "awd-lstm-finetune", "awd-lstm-onecycle", "demo", "ptb-19m",
                                 "ptb-19m-transformer", "ptb-6m", "ptb-6m-attention", "ptb-6m-transformer",
                                 "ptb-afternoon", "ptb-large", "ptb-large-tied", "ptb-medium",
                                 "ptb-medium-tied", "ptb-small", "ptb-variational-medium"});
  CHECK(bundled_recipes("timeseries").size() + bundled_recipes("ptb").size() == bundled_recipes().size());
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

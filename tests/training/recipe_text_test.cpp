// A recipe as text: resolved, printed, read again, documented, resumed.
#include <bit>
#include <tuple>

#include <fmt/format.h>

#include "framework/nearest.h"
#include "framework/random.h"
#include "tests/folder.h"
#include "tests/support.h"
#include "tests/training/recipe_program.h"
#include "training/program/recipe/recipe_reader.h"

using namespace unroll;
using recipe_program::Program;
using recipe_program::Reduction;
using recipe_program::Settings;

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

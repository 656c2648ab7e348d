// A program with a recipe of its own: keys of every type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support.h"
#include "training/program/recipe/recipe_reader.h"

namespace recipe_program {

using namespace unroll;

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

}  // namespace recipe_program

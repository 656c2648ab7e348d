#include "examples/timeseries/guess/size.h"

#include <algorithm>

#include <fmt/format.h>

#include "examples/timeseries/guess/draft.h"
#include "examples/timeseries/recipe/ensemble_keys.h"

namespace timeseries {

namespace {

// A recurrent net of as many windows as a short series has learns them by heart at the rate that a linear one needs.
constexpr const char* gru = "cell=gru rate=0.3";

std::string word_of(const std::string& network) {
  return network == "gru"      ? gru
         : network == "linear" ? "architecture=linear"
                               : "architecture=dlinear normalization=none";
}

}  // namespace

std::vector<std::string> members_of(const Size& size, const Recipe& recipe) {
  const auto& d = recipe.data;
  std::vector<std::string> members;
  for (const std::string& network : size.networks) members.push_back(word_of(network));
  for (const char* word : {"last", "drift", "mean"}) members.emplace_back(word);
  if (d.period > 1) members.insert(members.end(), {"seasonal", "growth"});
  if (d.second_period > 1) members.insert(members.end(), {"second-seasonal", "second-growth"});
  if (d.autoregression > 0) members.emplace_back("autoregression");
  if (d.ridge) members.emplace_back("ridge");
  if (size.ets) members.emplace_back("ets");
  if (d.theta) members.emplace_back("theta");
  return members;
}

Size size_of(const GuessedRecipe& guessed) {
  Size size{.networks = {},
            .folds = guessed.recipe.ensemble.folds,
            .epochs = guessed.recipe.training.epochs,
            .ets = false};
  for (const std::string& member : guessed.recipe.ensemble.members)
    if (std::ranges::find(baseline_words(), member) == baseline_words().end())
      size.networks.emplace_back(member == word_of("linear")    ? "linear"
                                 : member == word_of("dlinear") ? "dlinear"
                                                                : "gru");
    else
      size.ets = size.ets || member == "ets";
  return size;
}

GuessedRecipe with_size(const GuessedRecipe& guessed, const Wishes& wishes, const Size& size) {
  GuessedRecipe result = guessed;
  Wishes all = wishes;
  const auto set = [&](const char* key, const std::string& value) {
    if (!says(wishes, key)) all.overrides.push_back({fmt::format("{}={}", key, value), "the budget"});
  };
  set("ensemble.members", toml_words(members_of(size, guessed.recipe)));
  set("ensemble.folds", fmt::format("{}", size.folds));
  set("training.epochs", fmt::format("{}", size.epochs));
  if (!size.ets) set("data.ets", "false");
  result.recipe = load_guessed(guessed.file, all);
  return result;
}

}  // namespace timeseries

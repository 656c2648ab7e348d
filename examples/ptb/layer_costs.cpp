#include "layer_costs.h"

#include <algorithm>
#include <limits>

#include "framework/clock.h"
#include "model.h"
#include "recipe_layers.h"

namespace ptb {

namespace {

constexpr const char* between = "dropout";  // between layers, whichever key says so

std::vector<std::string> options_of(const Recipe& recipe) {
  std::vector<std::string> options = layer_options(recipe);
  if (dropout_rates(recipe).hidden > 0 && recipe.model.layers > 1) options.push_back(between);
  return options;
}

// Two layers of the recipe, their options as they are by default but for those that are kept.
Recipe with_only(const Recipe& recipe, const std::vector<std::string>& kept) {
  Recipe result = recipe, defaults;
  RecipeReader reader, of_defaults;
  declare_keys(reader, result);
  declare_keys(of_defaults, defaults);
  const auto drops = [&](const std::string& option) { return std::ranges::find(kept, option) == kept.end(); };
  for (const std::string& option : layer_options(recipe))
    if (drops(option)) {
      const auto& keys = of_defaults.keys();
      const auto key = std::ranges::find(keys, "model." + option, &RecipeKey::path);
      reader.set(fmt::format("{}={}", key->path(), key->default_value));
    }
  if (drops(between)) result.model.hidden_dropout = 0;
  result.model.layers = std::min(recipe.model.layers, 2);
  result.model.last_hidden = 0;
  return result;
}

std::string value_of(const Recipe& recipe, const std::string& option) {
  if (option == between)
    return fmt::format("{:g}{}", dropout_rates(recipe).hidden, recipe.model.locked_dropout ? ", locked" : "");
  Recipe copy = recipe;
  RecipeReader reader;
  declare_keys(reader, copy);
  return std::ranges::find(reader.keys(), "model." + option, &RecipeKey::path)->value();
}

// Forward and backward of a window through the layers of a recipe, their weights zero: time is the same.
double seconds_of_window(const Recipe& recipe) {
  ParameterSet params;
  const RecurrentLayer layers = make_layers(params, recipe);
  params.initialize(Init::constant(0));
  params.gradients();  // from here on there is memory for both
  const Tensor x = Tensor::zeros({recipe.data.bptt, recipe.data.batch, recipe.model.embedding});
  const RecurrentState state = layers.zero_state(recipe.data.batch);
  const double begin = clock_seconds();
  Tape tape;
  tape.backward(sum(layers(tape.watch(x), state).y));
  return clock_seconds() - begin;
}

// What its definition says, times left out.
OptionCost derived(const Recipe& r, const std::string& option) {
  // The last layer may be narrower; a projected one is not.
  const double hidden = r.model.hidden, last = r.model.last_hidden ? r.model.last_hidden : hidden;
  const double projection = r.model.projection, lower = r.model.layers - 1, units = lower * hidden + last;
  const double outputs = projection > 0 ? (lower + 1) * projection : units;
  const double recurrent = projection > 0 ? units * projection : lower * hidden * hidden + last * last;
  const double batch = r.data.batch, tokens = batch * r.data.bptt, gates = r.model.cell == Cell::gru ? 3 : 4;
  const double between_layers = lower * (projection > 0 ? projection : hidden), size = sizeof(real);
  OptionCost cost{option, value_of(r, option), 0, 0, 0, ""};
  const auto is = [&](double operations, double held, const char* how) {
    cost.operations = operations, cost.held = held * size, cost.how = how;
    return cost;
  };
  if (option == "recurrent_dropout")
    return is(outputs, batch * outputs, "h times a mask in each step, one mask for a window");
  if (option == "weight_drop")
    return is(gates * recurrent / tokens, 0,
              "the recurrent weights times a mask, once a window, forward and back");
  if (option == "zoneout_h")
    return is(3 * outputs, tokens * outputs, "h mixed with the h before by a mask for each step");
  if (option == "zoneout_c")
    return is(3 * units, tokens * 2 * units,
              "c mixed with the c before by a mask for each step; both are kept");
  if (option == "projection")
    return is(2 * units * projection, tokens * outputs,  // what the cell gives, less what h is narrower
              "a product more in each step, smaller ones for what reads h");
  if (option == "layer_norm")  // mean, variance, normalised, gain and shift: eight for a number
    return is(8 * 9 * units, (tokens * 9 + batch * 10) * units,  // gradients of gains are gathered by row
              "both products and c normalised: nine numbers for each unit, which are kept");
  if (option == "peepholes")
    return is(6 * units, batch * 3 * units, "three weights for each unit, inside the cell");
  if (option == "residual")
    return is(between_layers, tokens * between_layers, "the input added to the output, but in the first");
  if (option == between)
    return is(between_layers, tokens * between_layers,
              "what goes from layer to layer times a mask, drawn anew backwards");
  return is(0, 0, "another function at the same place");  // of gates or cell
}

}  // namespace

LayerCosts measure_layer_costs(const Recipe& recipe) {
  LayerCosts costs{.options = {}, .layers = std::min(recipe.model.layers, 2)};
  const std::vector<std::string> options = options_of(recipe);
  if (options.empty()) return costs;
  std::vector<Recipe> variants = {with_only(recipe, {})};
  for (const std::string& option : options) {
    variants.push_back(with_only(recipe, {option}));
    costs.options.push_back(derived(recipe, option));
  }
  if (options.size() > 1) {
    variants.push_back(with_only(recipe, options));
    OptionCost all{"together", "", 0, 0, 0, ""};
    for (const OptionCost& cost : costs.options) all.operations += cost.operations, all.held += cost.held;
    costs.options.push_back(all);
  }

  std::vector<double> best(variants.size(), std::numeric_limits<double>::infinity());
  seconds_of_window(variants[0]);  // threads begin, memory is taken
  for (double spent = 0; spent < 2 || costs.rounds < 2; ++costs.rounds)
    for (size_t i = 0; i < variants.size(); ++i) {
      const double seconds = seconds_of_window(variants[i]);
      best[i] = std::min(best[i], seconds);
      spent += seconds;
    }
  for (size_t i = 0; i < costs.options.size(); ++i) costs.options[i].time = best[i + 1] / best[0];
  return costs;
}

}  // namespace ptb

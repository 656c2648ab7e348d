#include "examples/ptb/commands/layer_costs.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "framework/clock.h"
#include "framework/memory.h"
#include "layers/recurrent/recurrent_layer.h"

namespace ptb {

namespace {

using Options = std::vector<const RecurrentOption*>;

// The options that are switched on. An option and its details count as one.
Options options_of(const RecurrentConfig& config) {
  Options options = options_set(config);
  if (config.dropout > 0 && config.layers > 1) options.push_back(&option_named("dropout"));
  return options;
}

bool is_in(const Options& options, const RecurrentOption& option) {
  return std::ranges::find(options, &option) != options.end();
}

// Keeps at most two layers, and unsets all options that are not in `kept`.
RecurrentConfig with_only(const RecurrentConfig& config, const Options& kept) {
  RecurrentConfig result = config;
  for (const RecurrentOption& option : recurrent_options) {
    const bool keeps = is_in(kept, option) || (option.of && is_in(kept, option_named(option.of)));
    if (!keeps) unset(option, result);
  }
  result.layers = std::min(config.layers, 2);
  return result;
}

struct WindowCost {
  double seconds, held;  // held: bytes in use between forward and backward
};
// Measures a window of so many steps, forward and backward. The weights are zero, which does not change the time.
WindowCost cost_of_window(const Recipe& recipe, const RecurrentConfig& config, int steps) {
  ParameterSet params;
  const RecurrentLayer layers(params / "layers", recipe.model.cell, config);
  params.initialize(Init::constant(0));
  params.gradients();  // from here on there is memory for both
  const Tensor x = Tensor::zeros({steps, recipe.data.batch, config.input});
  const RecurrentState state = layers.zero_state(recipe.data.batch);
  const int64_t before = memory_statistics().in_use;
  const double begin = clock_seconds();
  Tape tape;
  const Var y = sum(layers(tape.watch(x), state).y);
  const auto held = static_cast<double>(memory_statistics().in_use - before);
  tape.backward(y);
  return {clock_seconds() - begin, held};
}

// Names the option, without its costs.
LayerOptionCost named(const RecurrentConfig& config, const RecurrentOption& option) {
  std::string details;
  if (&option == &option_named("dropout") && config.locked_dropout) details = ", locked";
  if (&option == &option_named("mogrifier") && config.mogrifier_rank)
    details = fmt::format(", rank {}", config.mogrifier_rank);
  return {.option = option.name, .value = value_of(option, config) + details, .how = option.how};
}

}  // namespace

LayerCosts measure_layer_costs(const Recipe& recipe) {
  const RecurrentConfig config = layers_of(recipe);
  LayerCosts costs{.options = {}, .layers = std::min(config.layers, 2)};
  const Options options = options_of(config);
  if (options.empty()) return costs;
  std::vector<RecurrentConfig> variants = {with_only(config, {})};
  for (const RecurrentOption* option : options) {
    variants.push_back(with_only(config, {option}));
    costs.options.push_back(named(config, *option));
  }
  if (options.size() > 1) {
    variants.push_back(with_only(config, options));
    costs.options.push_back({.option = "together"});
  }

  std::vector<WindowCost> best(variants.size(), {std::numeric_limits<double>::infinity(), 0});
  cost_of_window(recipe, variants[0], std::min(recipe.data.bptt, 8));  // threads begin
  for (double spent = 0; goes_on(costs.rounds, spent); ++costs.rounds)
    for (size_t i = 0; i < variants.size(); ++i) {
      const auto [seconds, held] = cost_of_window(recipe, variants[i], recipe.data.bptt);
      best[i] = {std::min(best[i].seconds, seconds), held};
      spent += seconds;
    }
  for (size_t i = 0; i < costs.options.size(); ++i) {
    costs.options[i].time = best[i + 1].seconds / best[0].seconds;
    costs.options[i].held = std::max(0.0, best[i + 1].held - best[0].held) * config.layers / costs.layers;
  }
  return costs;
}

}  // namespace ptb

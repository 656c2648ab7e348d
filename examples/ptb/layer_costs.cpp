#include "layer_costs.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "framework/clock.h"
#include "layers/recurrent/recurrent_layer.h"

namespace ptb {

namespace {

using Options = std::vector<const RecurrentOption*>;

// Those that are switched on; an option and its details are one.
Options options_of(const RecurrentConfig& config) {
  Options options = options_set(config);
  if (config.dropout > 0 && config.layers > 1) options.push_back(&option_named("dropout"));
  return options;
}

bool is_in(const Options& options, const RecurrentOption& option) {
  return std::ranges::find(options, &option) != options.end();
}

// At most two layers, with those options alone that are kept.
RecurrentConfig with_only(const RecurrentConfig& config, const Options& kept) {
  RecurrentConfig result = config;
  for (const RecurrentOption& option : recurrent_options) {
    const bool keeps = is_in(kept, option) || (option.of && is_in(kept, option_named(option.of)));
    if (!keeps) unset(option, result);
  }
  result.layers = std::min(config.layers, 2);
  return result;
}

// Forward and backward of a window through layers whose weights are zero: time is the same.
double seconds_of_window(const Recipe& recipe, const RecurrentConfig& config) {
  ParameterSet params;
  const RecurrentLayer layers(params / "layers", recipe.model.cell, config);
  params.initialize(Init::constant(0));
  params.gradients();  // from here on there is memory for both
  const Tensor x = Tensor::zeros({recipe.data.bptt, recipe.data.batch, config.input});
  const RecurrentState state = layers.zero_state(recipe.data.batch);
  const double begin = clock_seconds();
  Tape tape;
  tape.backward(sum(layers(tape.watch(x), state).y));
  return clock_seconds() - begin;
}

// What the option's row says; times are left out.
LayerOptionCost derived(const Recipe& recipe, const RecurrentConfig& config, const RecurrentOption& option) {
  const OptionCost cost =
      option.cost(option_sizes(cell_of(recipe), config, recipe.data.batch, recipe.data.bptt));
  std::string details;
  if (&option == &option_named("dropout") && config.locked_dropout) details = ", locked";
  if (&option == &option_named("mogrifier") && config.mogrifier_rank)
    details = fmt::format(", rank {}", config.mogrifier_rank);
  return {.option = option.name,
          .value = value_of(option, config) + details,
          .operations = cost.operations,
          .held = cost.held * sizeof(real),
          .how = option.how};
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
    costs.options.push_back(derived(recipe, config, *option));
  }
  if (options.size() > 1) {
    variants.push_back(with_only(config, options));
    LayerOptionCost all{.option = "together"};
    for (const LayerOptionCost& cost : costs.options)
      all.operations += cost.operations, all.held += cost.held;
    costs.options.push_back(all);
  }

  std::vector<double> best(variants.size(), std::numeric_limits<double>::infinity());
  seconds_of_window(recipe, variants[0]);  // threads begin, memory is taken
  for (double spent = 0; spent < 2 || costs.rounds < 2; ++costs.rounds)
    for (size_t i = 0; i < variants.size(); ++i) {
      const double seconds = seconds_of_window(recipe, variants[i]);
      best[i] = std::min(best[i], seconds);
      spent += seconds;
    }
  for (size_t i = 0; i < costs.options.size(); ++i) costs.options[i].time = best[i + 1] / best[0];
  return costs;
}

}  // namespace ptb

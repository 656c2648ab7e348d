#include "examples/timeseries/ensemble/series_model.h"

#include <fmt/ranges.h>

#include "examples/timeseries/recipe/ensemble_keys.h"

namespace timeseries {

static NetworkTask task_of(const Recipe& recipe) {
  return {.name = recipe.name,
          .window = recipe.data.window,
          .horizon = recipe.horizon(),
          .detects = recipe.detects(),
          .quantiles = recipe.has_quantiles() ? recipe.training.quantiles : std::vector<double>(),
          .middle = recipe.middle_output(),
          .pos_weight = recipe.training.pos_weight};
}

SeriesModel::SeriesModel(const Recipe& recipe, const Columns& columns) : params(recipe.training.seed) {
  const auto add = [&](const Recipe& of_network, const std::string& scope, float rate) {
    const auto place = [this, scope](const std::string& name) {
      return scope.empty() ? params / name : params / scope / name;
    };
    networks_.emplace_back(NetworkPlan{of_network.model, task_of(of_network), columns, place});
    parameters_.push_back(params.under(scope));
    for (Parameter* parameter : parameters_.back()) parameter->rate = rate;
  };
  if (!recipe.is_ensemble()) add(recipe, "", 1);
  for (const EnsembleWord& member : ensemble_words(recipe))
    if (member.network) add(*member.network, member.scope, static_cast<float>(member.rate));
}

WindowLoss SeriesModel::loss(const SeriesBatch& batch) const {
  Var sum;
  int trained = 0;
  for (size_t k = 0; k < networks_.size(); ++k) {
    if (parameters_[k].front()->frozen) continue;
    const Var loss = networks_[k].loss(batch);
    sum = trained++ == 0 ? loss : sum + loss;
  }
  require(trained > 0, "series model: all its networks are frozen");
  const auto share_of = [&](size_t networks) {
    return networks == 1 ? sum : sum * (1 / static_cast<real>(networks));
  };
  const Var mean = share_of(static_cast<size_t>(trained));
  const bool all = static_cast<size_t>(trained) == networks_.size();
  return {.objective = all ? mean : share_of(networks_.size()), .mean = mean, .count = batch.observed};
}

double SeriesModel::loss_of(size_t network, const SeriesBatch& batch) const {
  const NoTape guard;
  return static_cast<double>(networks_.at(network).loss(batch).item());
}

const RecurrentLayer* SeriesModel::recurrent() const {
  for (const SeriesNetwork& network : networks_)
    if (network.recurrent()) return network.recurrent();
  return nullptr;
}

std::string describe_layers(const Recipe& recipe) {
  const auto& m = recipe.model;
  if (recipe.is_ensemble()) {
    std::vector<std::string> members;
    for (const EnsembleWord& word : ensemble_words(recipe)) members.push_back(name_of(word));
    return fmt::format("an ensemble of {}", fmt::join(members, ", "));
  }
  std::string layers = unroll::describe_layers(cell_of(recipe), m);
  if (m.segment > 1) layers += fmt::format(" over segments of {} rows", m.segment);
  if (m.highway > 0) layers += fmt::format(" beside a highway of {} rows", m.highway);
  if (!recipe.data.categories.empty())
    layers += fmt::format(" with embeddings of {}", fmt::join(recipe.data.categories, ", "));
  if (!recipe.data.known.empty())
    layers += fmt::format(" and {} of the rows to forecast", fmt::join(recipe.data.known, ", "));
  return fmt::format(fmt::runtime(m.architecture->layers), layers, m.moving_average);
}

double operations_of_step(const Recipe& recipe, const Columns& columns, const ParameterSet& params) {
  const double targets = static_cast<double>(columns.targets.size());
  double rows = recipe.data.batch;
  if (recipe.is_ensemble() || !recipe.model.architecture->is_recurrent())
    rows *= targets;
  else
    rows *= (recipe.model.by_channel() ? targets : 1) * (recipe.data.window / recipe.model.segment);
  return 6.0 * static_cast<double>(params.count()) * rows * recipe.training.accumulate;
}

}  // namespace timeseries

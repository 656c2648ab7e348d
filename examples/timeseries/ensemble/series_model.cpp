// The networks of a model.
#include <cmath>

#include "examples/timeseries/ensemble/ensemble.h"
#include "examples/timeseries/networks/model.h"
#include "framework/kernels/kernels.h"

namespace timeseries {

SeriesModel::SeriesModel(const Recipe& recipe, const Columns& columns) : params(recipe.training.seed) {
  if (!recipe.is_ensemble()) {
    networks_.emplace_back(recipe, columns, [&](const char* name) { return params / name; });
    for (const auto& parameter : params.all())
      parameters_.resize(1), parameters_[0].push_back(parameter.get());
    return;
  }
  for (const EnsembleWord& member : ensemble_words(recipe)) {
    if (!member.network) continue;
    networks_.emplace_back(*member.network, columns,
                           [&](const char* name) { return params / member.scope / name; });
    parameters_.push_back(params.under(member.scope));
    for (Parameter* parameter : parameters_.back()) parameter->rate = static_cast<float>(member.rate);
  }
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

Tensor SeriesModel::predict(const Tensor& input, size_t network) const {
  return networks_.at(network).predict(input);
}

const RecurrentLayer* SeriesModel::recurrent() const {
  for (const SeriesNetwork& network : networks_)
    if (network.recurrent()) return network.recurrent();
  return nullptr;
}

void require_finite(const Tensor& found, const SeriesWindows& windows, int64_t origin) {
  require_input(
      std::isfinite(kernels().sum_of_squares(found.data(), found.size())),
      "{}: the model's values from {} on are not finite: these rows, or its weights, are too large to compute with",
      windows.series().origin, windows.series().times.text(origin));
}

}  // namespace timeseries

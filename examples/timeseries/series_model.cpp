// The networks of a model.
#include <cmath>

#include "ensemble.h"
#include "framework/kernels/kernels.h"
#include "model.h"

namespace timeseries {

SeriesModel::SeriesModel(const Recipe& recipe, const Columns& columns) : params(recipe.training.seed) {
  if (!recipe.is_ensemble()) {
    networks_.emplace_back(recipe, columns, [&](const char* name) { return params / name; });
    return;
  }
  for (const EnsembleWord& member : ensemble_words(recipe)) {
    if (!member.network) continue;
    networks_.emplace_back(*member.network, columns,
                           [&](const char* name) { return params / member.scope / name; });
    for (Parameter* parameter : params.under(member.scope)) parameter->rate = static_cast<float>(member.rate);
  }
}

Var SeriesModel::loss(const SeriesBatch& batch) const {
  Var sum = networks_.front().loss(batch);
  for (size_t k = 1; k < networks_.size(); ++k) sum = sum + networks_[k].loss(batch);
  return networks_.size() == 1 ? sum : sum * (1 / static_cast<real>(networks_.size()));
}

double SeriesModel::score(const SeriesBatch& batch) const {
  const NoTape guard;
  if (networks_.size() == 1) return static_cast<double>(loss(batch).item());
  std::vector<double> sum(static_cast<size_t>(batch.target.size()));
  for (const SeriesNetwork& network : networks_) {
    const std::vector<real> found = network.predict(batch.input).to_host();
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(found[i]);
  }
  const std::vector<real> target = batch.target.to_host(),
                          weights = batch.weights.defined() ? batch.weights.to_host() : std::vector<real>();
  double squares = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    const double error = sum[i] / static_cast<double>(networks_.size()) - static_cast<double>(target[i]);
    squares += (weights.empty() ? 1.0 : static_cast<double>(weights[i])) * error * error;
  }
  return squares / static_cast<double>(batch.observed);
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

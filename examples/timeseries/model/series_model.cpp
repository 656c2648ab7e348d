#include "examples/timeseries/model/series_model.h"

#include <fmt/ranges.h>

namespace timeseries {

static NetworkTask task_of(const Recipe& recipe) {
  return {.name = recipe.name,
          .window = recipe.data.window,
          .horizon = recipe.horizon(),
          .detects = recipe.detects(),
          .quantiles = recipe.has_quantiles() ? recipe.training.quantiles : std::vector<double>(),
          .pos_weight = recipe.training.pos_weight};
}

SeriesModel::SeriesModel(const Recipe& recipe, const Columns& columns)
    : SeriesNetwork({recipe.model, task_of(recipe), columns}, recipe.training.seed) {}

std::string describe_layers(const Recipe& recipe) {
  const auto& m = recipe.model;
  std::string layers = unroll::describe_layers(cell_of(recipe), m);
  if (m.segment > 1) layers += fmt::format(" over segments of {} rows", m.segment);
  if (m.highway > 0) layers += fmt::format(" beside a highway of {} rows", m.highway);
  if (!recipe.data.known.empty())
    layers += fmt::format(" and {} of the rows to forecast", fmt::join(recipe.data.known, ", "));
  return fmt::format(fmt::runtime(m.architecture->layers), layers);
}

double operations_of_step(const Recipe& recipe, const Columns& columns, const ParameterSet& params) {
  const double targets = static_cast<double>(columns.targets.size());
  double rows = recipe.data.batch;
  if (!recipe.model.architecture->is_recurrent())
    rows *= targets;
  else
    rows *= (recipe.model.by_channel() ? targets : 1) * (recipe.data.window / recipe.model.segment);
  return 6.0 * static_cast<double>(params.count()) * rows * recipe.training.accumulate;
}

}  // namespace timeseries

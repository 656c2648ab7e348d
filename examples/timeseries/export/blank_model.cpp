#include "examples/timeseries/export/blank_model.h"

#include <cmath>

#include "examples/timeseries/data/series_data.h"

namespace timeseries {

static Series blank_series(const SavedModel& saved) {
  const auto& names = saved.facts.channels;
  const size_t rows = static_cast<size_t>(saved.recipe.data.window + saved.recipe.horizon());
  Series series = make_series(names, std::vector<double>(rows * names.size(), 1.0));
  series.origin = saved.path.string();
  series.calendar = static_cast<int>(names.size() - saved.columns().size());
  if (saved.recipe.detects()) series.label = series.channel(saved.recipe.data.label);
  return series;
}

BlankModel::BlankModel(const SavedModel& saved, const std::string& form) : series(blank_series(saved)) {
  const ModelFacts& facts = saved.facts;
  const SavedModel one = facts.members.empty() ? saved : saved.of_series(facts.members.front());
  require_input(
      facts.members.empty() || !facts.scaling.has_logs(),
      "{}: {}: each of {} series has a transform of its own (scaling.transform), which has no form here",
      form, saved.path.string(), facts.members.size());
  const SeriesWindows windows =
      make_windows(one.recipe, series, one.facts.scaling, whole_series(series), "exported");
  model = one.make_model(windows);
  const SeriesWindowOptions& options = windows.options();
  inputs = options.inputs, targets = options.targets;
  if (saved.recipe.detects()) return;
  const Series unseen = make_series(series.channels, {});
  const SeriesBounds of(
      unseen, targets,
      {.asked = saved.recipe.data.bounds, .least = facts.trained.least, .most = facts.trained.most});
  for (size_t k = 0; k < targets.size(); ++k) bounds.push_back(of.at(0, k));
}

std::string BlankModel::bounds_text() const {
  std::string text;
  for (size_t k = 0; k < bounds.size(); ++k) {
    const auto& [least, most] = bounds[k];
    if (bounds[k] == Bound{}) continue;
    text += (text.empty() ? "" : ", ") + series.channels[static_cast<size_t>(targets[k])];
    text += !std::isfinite(most)    ? fmt::format(" not below {}", least)
            : !std::isfinite(least) ? fmt::format(" not above {}", most)
                                    : fmt::format(" from {} to {}", least, most);
  }
  return text;
}

std::vector<std::string> BlankModel::names(const std::vector<int>& channels) const {
  std::vector<std::string> result;
  for (const int channel : channels) result.push_back(series.channels[static_cast<size_t>(channel)]);
  return result;
}

}  // namespace timeseries

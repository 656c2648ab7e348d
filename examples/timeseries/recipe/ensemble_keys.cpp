#include "examples/timeseries/recipe/ensemble_keys.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"

namespace timeseries {

std::vector<EnsembleWord> ensemble_words(const Recipe& recipe) {
  std::vector<EnsembleWord> words;
  Recipe alone = recipe;
  alone.ensemble = Recipe().ensemble;
  // A linear network reads no calendar. In an ensemble with networks that do, it ignores it.
  alone.data.calendar.clear();
  const RecipeFile text{recipe.name, "ensemble.members", resolved(alone)};
  for (const std::string& member : recipe.ensemble.members) {
    EnsembleWord word{.name = member};
    words.push_back(word);
    if (baseline_row(member)) continue;
    // Keys that one network of the recipe reads, and another may not, go back first.
    std::vector<Override> resets, overrides;
    std::istringstream parts(member);
    for (std::string part; parts >> part;) {
      if (part.starts_with("rate=")) {
        const auto rate = parse_number(part.substr(5));
        require_input(rate && *rate > 0 && *rate <= 1000,
                      "has '{}' in it: rate= is a number above 0, at most 1000", one_line(part));
        words.back().rate = *rate;
        continue;
      }
      const std::string key = part.substr(0, part.find('='));
      require_input(key.size() < part.size(), "has '{}' in it, neither KEY=VALUE of [model] nor a baseline{}",
                    one_line(part), which_was_meant(part, baseline_words()));
      require_input(key.find('.') == std::string::npos || key.starts_with("model."),
                    "has '{}' in it: a network differs in keys of [model] alone", one_line(part));
      std::string value = part.substr(key.size() + 1);
      std::erase(value, '"');
      for (const NetworkRow& row : series_networks)
        if (value == row.word)
          for (const auto& [read, reset] :
               {std::pair{"highway", "model.highway=0"}, {"segment", "model.segment=1"}})
            if (!row.reads(read)) resets.push_back({reset, "ensemble.members"});
      overrides.push_back({key.starts_with("model.") ? part : "model." + part,
                           fmt::format("has '{}' in it", one_line(member))});
    }
    require_input(!overrides.empty(), "has an empty word in it");
    resets.insert(resets.end(), overrides.begin(), overrides.end());
    Recipe network = load_recipe(text, resets);
    network.data.calendar = recipe.data.calendar;
    words.back().network = std::make_shared<const Recipe>(std::move(network));
    words.back().scope = name_of_member(words.size() - 1);
  }
  return words;
}

std::string name_of_member(size_t member) { return fmt::format("member{}", member + 1); }

void check_ensemble(const RecipeReader& reader, const Recipe& r) {
  if (!r.is_ensemble()) return;
  const char* members = "ensemble.members";
  reader.refuse_if(r.detects(), members, "are for forecasts; there is a label (data.label)");
  reader.refuse_if(r.training.loss == Loss::quantile, "training.loss",
                   "= \"quantile\" is for single models (ensemble.members)");
  reader.refuse_if(
      !r.has_folds() && !r.validates() && r.ensemble.weights != Weighting::equal, "ensemble.weights",
      "must be \"equal\": other weights come from the errors of folds or of a valid split, and there are "
      "neither");
  const bool keeps = !r.has_folds() && r.validates() && r.training.keep == Keep::best;
  reader.refuse_if(
      keeps && r.optimizer.kind == OptimizerKind::asgd, "optimizer.kind",
      "= \"asgd\" averages weights, and the members of an ensemble without folds keep those of their best "
      "epochs (training.keep = \"last\" keeps the averages)");
  reader.refuse_if(
      keeps && r.optimizer.average_decay > 0, "optimizer.average_decay",
      "averages weights, and the members of an ensemble without folds keep those of their best epochs "
      "(training.keep = \"last\" keeps the averages)");
  reader.refuse_if(!r.has_folds() && r.ensemble.fold_rows > 0, "ensemble.fold_rows",
                   "has no effect without folds (ensemble.folds = 0)");
  reader.refuse_if(
      r.has_folds() && r.validates(),
      r.data.split == SplitKind::rows   ? "data.valid_rows"
      : r.data.split == SplitKind::time ? "data.valid_from"
                                        : "data.valid",
      "must leave no rows to validate with: the folds of an ensemble do that, unless ensemble.folds = 0");
  reader.refuse_if(r.has_folds() && r.data.split == SplitKind::shuffled, "data.split",
                   "= \"shuffled\" has no rolling folds (ensemble.members)");
  reader.refuse_if(r.data.drop_last_pairs > 0, "data.drop_last_pairs",
                   "is for single models (ensemble.members)");
  reader.refuse_if(!r.training.init_from.empty(), "training.init_from",
                   "is for single models: the members of an ensemble begin anew (ensemble.members)");
  reader.refuse_if(
      r.has_folds() && r.training.on_divergence == OnDivergence::rollback, "training.on_divergence",
      "= \"rollback\" needs checkpoints, and the folds of an ensemble write none (ensemble.members)");
  reader.refuse_if(r.ensemble.fold_rows > 0 && r.ensemble.fold_rows < r.data.horizon, "ensemble.fold_rows",
                   "= {} is less than the horizon, data.horizon = {}: no window would fit",
                   r.ensemble.fold_rows, r.data.horizon);
  for (const std::string& member : r.ensemble.members)
    if (const auto* row = baseline_row(member); row && !row->missing(r.data).empty())
      reader.refuse(members, fmt::format("have \"{}\" among them, and {}", member, row->missing(r.data)));
  std::vector<EnsembleWord> words;
  try {
    words = ensemble_words(r);
  } catch (const InputError& error) { reader.refuse(members, error.what()); }
  reader.refuse_if(
      std::ranges::none_of(words, [](const EnsembleWord& word) { return word.network != nullptr; }), members,
      "need a network among them: baselines alone train nothing");
  for (const EnsembleWord& word : words)
    reader.refuse_if(
        !r.has_folds() && !word.network, members,
        "have the baseline '{}' among them: without folds (ensemble.folds = 0) all must be networks",
        word.name);
}

std::string name_of(const EnsembleWord& word) {
  if (!word.network) return word.name;
  const auto& m = word.network->model;
  const char* title =
      m.normalization == Normalization::last ? m.architecture->title_of_last : m.architecture->title;
  if (*title) return title;
  std::string name = fmt::format("{} of {}", cell_of(*word.network).title, m.hidden);
  if (m.segment > 1) name += fmt::format(" over segments of {}", m.segment);
  return name;
}

}  // namespace timeseries

#include "examples/timeseries/pretrained/recipe.h"

#include "examples/timeseries/pretrained/window.h"

namespace timeseries {

void declare_keys(RecipeReader& reader, PretrainRecipe& recipe) {
  reader.section("model", "The recurrent layers over segments of a series.");
  declare_cell_key(reader, recipe.model.cell);
  reader.key("hidden", recipe.model.hidden, "width of every layer").at_least(1).at_most(10'000).fixed();
  reader.key("layers", recipe.model.layers, "recurrent layers").at_least(1).at_most(100).fixed();
  reader
      .key("dropout", recipe.model.dropout, "probability that an element is dropped between recurrent layers")
      .at_least(0)
      .below(1)
      .may_change();
  declare_recurrent_keys(reader, recipe.model);
  auto& series = recipe.series;
  reader.section("series", "The synthetic series, each of which is read once.");
  reader.key("seed", series.seed, "of the series; those of validation have another").rescores();
  reader.key("steps", series.steps, "steps of an epoch").at_least(1).at_most(1e9).unit("steps").fixed();
  reader
      .key("segments", series.segments,
           "segments of all series of a step: longer windows come in smaller batches")
      .at_least(2 * (most_context + most_ahead) / segment_rows)
      .at_most(100'000)
      .unit("segments")
      .fixed();
  reader.key("valid", series.valid, "series that each epoch is scored on")
      .at_least(1)
      .at_most(1e7)
      .rescores();
  declare_training_keys(reader, recipe.training, recipe.schedule, [] { return false; });
  declare_optimizer_keys(reader, recipe.optimizer);
  declare_schedule_keys(reader, recipe.schedule);
}

void check_rules(const RecipeReader& reader, const PretrainRecipe& recipe) {
  reader.refuse_if(recipe.training.shards > 1, "training.shards",
                   "= {}: the series of a step are not cut into shards", recipe.training.shards);
  RecurrentConfig made = recipe.model;
  made.input = made.hidden;
  check_recurrent_keys(reader, recipe.model.cell, made);
  check_training_keys(reader, recipe.sections());
}

UnreadKeys unread_keys(const PretrainRecipe& recipe) {
  UnreadKeys unread = unread_training_keys(recipe.sections());
  add_unread_recurrent_keys(unread, recipe.model);
  add_lost_recurrent_keys(unread, recipe.model.cell, recipe.model);
  return unread;
}

bool pretrains(const RecipeFile& file) { return file.text.find("\n[series]") != std::string::npos; }

}  // namespace timeseries

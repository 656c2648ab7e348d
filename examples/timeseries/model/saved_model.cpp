#include "examples/timeseries/model/saved_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "framework/nearest.h"
#include "framework/one_line.h"
#include "training/checkpoint.h"
#include "training/files/json/json.h"
#include "training/files/state_dict.h"
#include "training/program/run/model_file.h"

namespace timeseries {

// The PyTorch modules that fit the model's weights: "lstm = nn.LSTM(3, 8, 1); head = nn.Linear(8, 6)". Or "none: …"
// with the options that PyTorch's modules lack.
static std::string torch_modules(const Recipe& recipe, const ParameterSet& params) {
  std::vector<std::string> modules;
  const auto all = state_dict(params);
  const auto has = [&](const std::string& wanted) {
    return std::ranges::any_of(all, [&](const NamedTensor& entry) { return entry.name == wanted; });
  };
  for (const auto& [name, tensor] : all) {
    const size_t dot = name.rfind('.');
    const std::string module = name.substr(0, dot), leaf = name.substr(dot + 1);
    const std::string last = module.substr(module.rfind('.') + 1);
    if (leaf == "weight" && (last == "position" || last == "channel"))
      modules.push_back(fmt::format("{} = nn.Embedding({}, {})", module, tensor.dim(0), tensor.dim(1)));
    else if (leaf == "weight")
      modules.push_back(fmt::format("{} = nn.Linear({}, {}{})", module, tensor.dim(1), tensor.dim(0),
                                    has(module + ".bias") ? "" : ", bias=False"));
    if (leaf != "weight_ih_l0") continue;
    const std::string recurrent = torch_module(cell_of(recipe), recipe.model.layers_of(tensor.dim(1)));
    if (recurrent.starts_with("none")) return recurrent;
    modules.push_back(fmt::format("{} = {}", module, recurrent));
  }
  return fmt::format("{}", fmt::join(modules, "; "));
}

// Facts that are a single text, by their names in the metadata.
template <class Facts>
static auto texts_of(Facts& facts) {
  return std::array{std::pair{"time", &facts.time}, std::pair{"step", &facts.step}};
}
static constexpr std::pair<const char*, DateOrder> date_orders[] = {{"dmy", DateOrder::day_first},
                                                                    {"mdy", DateOrder::month_first}};

Metadata model_metadata(const Recipe& recipe, const ModelFacts& facts, const SeriesModel& model) {
  nlohmann::ordered_json channels{{"names", facts.channels}};
  for (const ChannelScaling& of : facts.scaling.channels)
    channels["shift"].push_back(of.shift), channels["scale"].push_back(of.scale);
  for (const ChannelScaling& of : facts.scaling.channels) {
    if (!facts.scaling.has_logs()) break;
    // A power of 0 is a logarithm, as Box and Cox count them.
    channels["power"].push_back(of.is_log ? nlohmann::ordered_json(0) : nlohmann::ordered_json());
    channels["inner_shift"].push_back(of.log_shift), channels["inner_scale"].push_back(of.log_scale);
  }
  if (!facts.members.empty()) channels["series"] = facts.members;
  Metadata metadata{{"program", "unroll timeseries"},
                    {"recipe_name", recipe.name},
                    {"recipe", resolved(recipe)},
                    {"pytorch", torch_modules(recipe, model.params)},
                    {"channels", json_text(channels)}};
  for (const auto& [key, text] : texts_of(facts))
    if (!text->empty()) metadata[key] = *text;
  for (const auto& [code, order] : date_orders)
    if (order == facts.date_order) metadata["date_order"] = code;
  metadata.merge(metadata_of(facts.trained));
  return metadata;
}

static Scaling scaling_of(const SafetensorsFile& file, const nlohmann::json& channels, size_t count,
                          int members) {
  Scaling scaling{.channels = std::vector<ChannelScaling>(count), .members = members};
  const auto take = [&](const char* shift_key, double ChannelScaling::*shift, const char* scale_key,
                        double ChannelScaling::*scale) {
    const auto shifts = channels.at(shift_key).get<std::vector<double>>(),
               scales = channels.at(scale_key).get<std::vector<double>>();
    require_input(shifts.size() == count && scales.size() == count,
                  "{}: {} channels in its metadata, {} shifts and {} scales", file.path(), count,
                  shifts.size(), scales.size());
    for (size_t k = 0; k < count; ++k) {
      require_input(std::isfinite(shifts[k]), "{}: a shift in its metadata is {}", file.path(), shifts[k]);
      require_input(std::isfinite(scales[k]) && scales[k] > 0, "{}: a scale in its metadata is {}",
                    file.path(), scales[k]);
      scaling.channels[k].*shift = shifts[k], scaling.channels[k].*scale = scales[k];
    }
  };
  take("shift", &ChannelScaling::shift, "scale", &ChannelScaling::scale);
  if (!channels.contains("power")) return scaling;
  take("inner_shift", &ChannelScaling::log_shift, "inner_scale", &ChannelScaling::log_scale);
  const auto& powers = channels.at("power");
  require_input(powers.size() == count, "{}: {} channels in its metadata, and {} powers", file.path(), count,
                powers.size());
  for (size_t k = 0; k < count; ++k) {
    scaling.channels[k].is_log = !powers[k].is_null();
    require_input(powers[k].is_null() || powers[k].get<double>() == 0, "{}: a power in its metadata is {}",
                  file.path(), powers[k].dump());
  }
  return scaling;
}

// The channels and series in a model's metadata, and their scaling.
static ModelFacts channels_of(const SafetensorsFile& file) {
  ModelFacts facts;
  const auto require_names = [&](std::vector<std::string> names, const char* what) {
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    require_input(twice == names.end(), "{}: two {} in its metadata are '{}'", file.path(), what,
                  twice == names.end() ? "" : one_line(*twice));
  };
  const auto channels = parse_json(metadata_of(file, "timeseries", "channels"));
  try {
    facts.channels = channels.at("names");
    if (channels.contains("series")) facts.members = channels.at("series").get<std::vector<std::string>>();
    require_names(facts.channels, "channels"), require_names(facts.members, "series");
    const size_t members = std::max<size_t>(facts.members.size(), 1);
    facts.scaling = scaling_of(file, channels, facts.channels.size() * members, static_cast<int>(members));
  } catch (const nlohmann::json::exception&) {
    throw InputError(
        fmt::format("{}: the channels in its metadata are no JSON of names, shift and scale", file.path()));
  }
  return facts;
}

static ModelFacts facts_of(const SafetensorsFile& file) {
  ModelFacts facts = channels_of(file);
  for (const auto& [key, text] : texts_of(facts))
    if (const auto found = file.metadata().find(key); found != file.metadata().end()) *text = found->second;
  facts.trained = trained_on(file.metadata(), facts.channels.size(), file.path());
  require_input(facts.step.empty() || parse_step(facts.step),
                "{}: the time between rows is '{}' in its metadata, which says none", file.path(),
                one_line(facts.step));
  if (const auto order = file.metadata().find("date_order"); order != file.metadata().end()) {
    const auto found =
        std::ranges::find(date_orders, order->second, &std::pair<const char*, DateOrder>::first);
    require_input(found != std::end(date_orders),
                  "{}: the order of day and month is '{}' in its metadata, which is neither dmy nor mdy",
                  file.path(), one_line(order->second));
    facts.date_order = found->second;
  }
  return facts;
}

SavedModel read_saved_model(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  check_checkpoint_version(file);
  SavedModel saved{.path = path,
                   .recipe = load_recipe(recipe_of(file, "timeseries"), for_this_machine()),
                   .facts = facts_of(file)};
  require_input(saved.facts.members.empty() == saved.recipe.data.id.empty(),
                "{}: {} series in its metadata, and data.id of its recipe {}", path.string(),
                saved.facts.members.size(),
                saved.recipe.data.id.empty() ? "names no column" : "names a column");
  return saved;
}

SavedModel SavedModel::of_series(const std::string& name) const {
  SavedModel one = *this;
  const auto found = std::ranges::find(facts.members, name);
  require_input(found != facts.members.end(), "{}: it was not trained on a series '{}'{}", path.string(),
                one_line(name), which_was_meant(name, facts.members));
  one.recipe.data.only = recipe.data.id + "=" + name, one.recipe.data.id.clear();
  one.facts.scaling = facts.scaling.of(static_cast<int>(found - facts.members.begin()));
  one.facts.members.clear(), one.facts.trained.ends.clear();
  if (const auto end = facts.trained.ends.find(name); end != facts.trained.ends.end())
    one.facts.trained.to = end->second;
  return one;
}

SavedModel one_series(const SavedModel& saved, const std::string& command, const std::string& name) {
  require_input(name.empty() || !saved.recipe.data.id.empty(),
                "{}: --series {}: the model of {} is of one series (data.id names none)", command,
                one_line(name), saved.path.string());
  if (saved.recipe.data.id.empty()) return saved;
  require_input(!name.empty(),
                "{}: the model of {} is of {} series: --series NAME says which, as in --series {}", command,
                saved.path.string(), saved.facts.members.size(),
                saved.facts.members.empty() ? "" : one_line(saved.facts.members.front()));
  return saved.of_series(name);
}

Scaling scaling_for(const Series& series, const Part& part, const Recipe& recipe, const ModelFacts& facts,
                    std::vector<std::string>& notes) {
  if (series.members.empty()) return facts.scaling;
  std::map<std::string, int> known;
  for (const std::string& name : facts.members) known.emplace(name, static_cast<int>(known.size()));
  std::vector<std::string> of_others, unused;
  std::vector<int> transformed;
  for (int channel = 0; channel < series.width(); ++channel)
    if (facts.scaling.at(channel).is_log) transformed.push_back(channel);
  Scaling scaling =
      fit_scaling(series, part, recipe.scaling.kind, unused, recipe.scaling.transform, transformed);
  for (int member = 0; member < series.count(); ++member) {
    const std::string name = series.name_of(member);
    const auto found = known.find(name);
    if (found == known.end()) {
      of_others.push_back("'" + one_line(name) + "'");
      continue;
    }
    std::copy_n(facts.scaling.channels.begin() + facts.scaling.place(0, found->second), series.width(),
                scaling.channels.begin() + scaling.place(0, member));
  }
  if (const size_t others = of_others.size())
    notes.push_back(fmt::format("{} series that the model was not trained on {} scaled by {} own rows: {}",
                                others, others == 1 ? "is" : "are", others == 1 ? "its" : "their",
                                first_of(of_others)));
  return scaling;
}

std::optional<SavedModel> first_model(const std::filesystem::path& path, const Recipe& recipe) {
  if (path.empty()) return {};
  SavedModel model = read_saved_model(path);
  constexpr std::array of_units = {"data.channels", "data.targets",      "data.calendar", "data.label",
                                   "data.id",       "data.known",        "scaling.kind",  "scaling.transform",
                                   "training.loss", "training.quantiles"};
  for (const DifferingKey& key : differing_keys(model.recipe, recipe))
    require_input(std::ranges::find(of_units, key.path) == of_units.end(),
                  "{}: '{}' is {} in it; its weights mean nothing with {}", path.string(), key.path,
                  key.before, key.after);
  model.recipe = recipe;
  return model;
}

std::vector<std::string> SavedModel::columns() const {
  // Each feature has a sine and a cosine.
  const size_t calendar = 2 * recipe.data.calendar.size();
  const auto& all = facts.channels;
  require_input(calendar <= all.size(), "{}: {} channels in its metadata, {} of the calendar", path.string(),
                all.size(), calendar);
  // Each channel but the label may have an indicator of missing values.
  const size_t both = all.size() - calendar, half = (both + recipe.detects()) / 2;
  const size_t first = both > 1 && recipe.detects() && all[0] == recipe.data.label;
  const bool is_masked = half < both && all[half] == all[first] + " missing",
             masks = recipe.data.missing == Missing::mask;
  require_input(
      is_masked == masks,
      "{}: it was trained {} data.missing = \"mask\", and that cannot change: its networks read what is missing",
      path.string(), is_masked ? "with" : "without");
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(is_masked ? half : both)};
}

std::unique_ptr<SeriesModel> SavedModel::make_model(const SeriesWindows& windows) const {
  auto model = std::make_unique<SeriesModel>(recipe, columns_of(windows));
  if (weights)
    load_state_dict(
        [&](const std::string& name, const Tensor& into) { Tensor(into).copy_from(weights->at(name)); },
        model->params);
  else
    load_state_dict(SafetensorsFile(path), model->params);
  return model;
}

}  // namespace timeseries

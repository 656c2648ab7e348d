#include "training/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "framework/kernels/kernels.h"
#include "framework/one_line.h"
#include "training/files/json/json.h"
#include "training/files/state_dict.h"

namespace unroll {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t version = 1;
constexpr const char *version_key = "checkpoint_version", *state_key = "training";

Json counters_of(const OptimizerState& optimizer) {
  Json counters = Json::object();
  for (const auto& counter : optimizer.counters)
    if (!counter.may_lack || *counter.value != 0) counters[std::string(counter.name)] = *counter.value;
  return counters;
}

// The schedule's part of a file.
struct ScheduleState {
  std::optional<double> best;  // none: infinity
  int divisions = 0;
  std::optional<double> next_rate;
};
struct StoredState {
  TrainerState state;
  std::optional<ScheduleState> schedule;
};

}  // namespace

static void each_field(ScheduleState& schedule, auto f) {
  f("best", schedule.best, "divisions", schedule.divisions);
  f.may_lack("next_rate", schedule.next_rate);
}

static void each_field(LossScale& loss, auto f) {
  f("scale", loss.scale, "good_steps", loss.good_steps, "skipped", loss.skipped, "skipped_in_epoch",
    loss.skipped_in_epoch);
}

static void each_field(StoredState& stored, auto f) {
  TrainerState& state = stored.state;
  f("epoch", state.epoch, "window", state.window, "windows", state.windows, "total", state.total, "count",
    state.count, "interval_total", state.interval_total, "interval_count", state.interval_count, "all_count",
    state.all_count, "learning_rate", state.learning_rate, "train", state.train, "valid", state.valid, "best",
    state.best, "best_epoch", state.best_epoch, "rate_factor", state.rate_factor, "skipped", state.skipped,
    "skipped_in_a_row", state.skipped_in_a_row, "scores", state.trigger.history);
  f.may_lack("loss_scale", state.loss_scale, "schedule", stored.schedule);
}

namespace {

Json to_json(const TrainerState& state, int64_t step) {
  StoredState stored{state, {}};
  if (const auto& schedule = state.schedule) {
    stored.schedule = {.best = {}, .divisions = schedule->divisions, .next_rate = state.next_rate(step)};
    if (std::isfinite(schedule->best)) stored.schedule->best = schedule->best;
  }
  return json_of(stored);
}

void read_state(const Json& training, TrainerState& state) {
  StoredState stored{state, {}};
  TrainerState& read = stored.state;
  read.loss_scale.reset();
  read.rate_expected.reset();
  read_field(training, "state", stored);
  if (read.window > read.windows) throw FieldError("'window' is beyond the last");
  if (const auto& loss = read.loss_scale) {
    int exponent = 0;
    if (loss->scale < LossScale::least || loss->scale > LossScale::most ||
        std::frexp(loss->scale, &exponent) != 0.5)
      throw FieldError("'scale' is no power of two in its range");
  }
  state = read;
  // A schedule that was not in the file knows no scores yet.
  if (!state.schedule || !stored.schedule) return;
  state.schedule->best = stored.schedule->best.value_or(std::numeric_limits<double>::infinity());
  state.schedule->divisions = stored.schedule->divisions;
  state.rate_expected = stored.schedule->next_rate;
}

std::string tensor_name(std::string_view kind, std::string_view name) {
  return fmt::format("training/{}/{}", kind, name);
}

bool is_average(const Optimizer& optimizer, const Tensor& slab) {
  return optimizer.averages() && optimizer.averages()->data() == slab.data();
}

void load_slab(const SafetensorsFile& file, std::string_view kind, const ParameterSet& params,
               const Tensor& slab) {
  for (const auto& p : params.all()) load_finite_into(file, tensor_name(kind, p->name), segment_of(*p, slab));
}

bool has_kind(const SafetensorsFile& file, std::string_view kind) {
  const std::string begin = tensor_name(kind, "");
  return std::ranges::any_of(file.entries(),
                             [&](const auto& entry) { return entry.name.starts_with(begin); });
}

// Refuses a file with more weights than the model: a model of fewer layers would otherwise ignore them.
void check_no_more_weights(const SafetensorsFile& file, const ParameterSet& params,
                           const std::vector<NamedTensor>& also) {
  const std::vector<NamedTensor> weights = state_dict(params);
  for (const auto& entry : file.entries()) {
    const auto is_entry = [&](const NamedTensor& tensor) { return tensor.name == entry.name; };
    require_input(entry.name.starts_with("training/") || std::ranges::any_of(weights, is_entry) ||
                      std::ranges::any_of(also, is_entry),
                  "{}: '{}' {} is in it and not in the model", file.path(), one_line(entry.name),
                  entry.shape_text());
  }
}

template <class T>
T field_of(const Json& json, const char* name) {
  T value{};
  read_field(json, name, value);
  return value;
}

Json object_in(const Json& json, const char* name) {
  const auto object = field_of<Json>(json, name);
  if (!object.is_object()) throw FieldError(fmt::format("'{}' is no object", name));
  return object;
}

void read_optimizer(const SafetensorsFile& file, const Json& json, Optimizer& optimizer) {
  const auto name = field_of<std::string>(json, "name");
  require_input(name == optimizer.name(), "{}: its optimizer is {}; {} cannot go on from that", file.path(),
                one_line(name), optimizer.name());
  read_field(json, "learning_rate", *optimizer.whole_state().learning_rate);
  const Json counters = object_in(json, "counters");
  for (const auto& counter : optimizer.whole_state().counters) {
    const std::string key(counter.name);
    const bool is_there = counters.contains(key);
    if (counter.may_lack && !is_there)
      *counter.value = 0;
    else if (is_there && key == "average_after" && counters[key] == AsgdConfig::never)
      *counter.value = AsgdConfig::never;  // to which nothing is added
    else
      read_field(counters, key.c_str(), *counter.value);
  }
  ParameterSet& params = optimizer.parameters();
  load_state_dict(file, params);
  // The weights of the file may be averages that this optimizer does not keep: it goes on from the weights themselves.
  if (!optimizer.averages() && has_kind(file, "weights")) load_slab(file, "weights", params, params.values());
  for (const auto& slab : optimizer.whole_state().slabs) {
    if (is_average(optimizer, slab.values)) {
      slab.values.copy_from(params.values());
      load_slab(file, "weights", params, params.values());
    } else {
      require_input(has_kind(file, slab.name),
                    "{}: its optimizer kept no {}; {} as it is set now cannot go on from that", file.path(),
                    slab.name, optimizer.name());
      load_slab(file, slab.name, params, slab.values);
    }
  }
}

// The optimizer's and carried tensors of the file that this process has no place for.
Differences what_is_left(const SafetensorsFile& file, Optimizer& optimizer,
                         std::span<const NamedTensor> carried) {
  std::set<std::string> left;
  for (const auto& entry : file.entries()) {
    const std::string_view name = entry.name;
    if (!name.starts_with("training/")) continue;
    const std::string_view kind = name.substr(9, name.find('/', 9) - 9);
    const auto is_slab = [&](const auto& slab) { return slab.name == kind; };
    const auto is_carried = [&](const NamedTensor& tensor) {
      return tensor_name("carried", tensor.name) == name;
    };
    if (kind == "carried" && std::ranges::none_of(carried, is_carried))
      left.insert(one_line(name.substr(9)));
    else if (kind != "carried" && kind != "weights" &&
             std::ranges::none_of(optimizer.whole_state().slabs, is_slab))
      left.insert(one_line(kind));
  }
  Differences differences;
  for (const std::string& name : left) differences.push_back(name + " then, and not now");
  return differences;
}

// Restores all that the file has under `state_key`, and the weights. Throws FieldError.
Differences read_training(const SafetensorsFile& file, const Json& training, Optimizer& optimizer,
                          TrainerState& state, std::span<const NamedTensor> carried) {
  ParameterSet& params = optimizer.parameters();
  read_optimizer(file, object_in(training, "optimizer"), optimizer);
  read_state(training, state);
  for (const NamedTensor& tensor : carried)
    load_finite_into(file, tensor_name("carried", tensor.name), tensor.tensor);
  const auto step = field_of<int64_t>(training, "step");
  if (step > std::numeric_limits<uint32_t>::max()) throw FieldError("'step' is too large");
  params.set_step(static_cast<uint32_t>(step));
  params.spend_gradients();

  Differences differences = what_is_left(file, optimizer, carried);
  if (const std::string then = field_of<std::string>(training, "kernels"); then != kernels().name)
    differences.push_back(fmt::format("kernels for {} then, for {} now", one_line(then), kernels().name));
  if (const std::string then = field_of<std::string>(training, "seed"); then != std::to_string(params.seed()))
    differences.push_back(fmt::format("seed {} then, {} now", one_line(then), params.seed()));
  return differences;
}

// The contents of a file. While it lives, the model's weights are the averages, and the averages' slab holds the
// weights.
struct Contents {
  Contents(Optimizer& optimizer, const TrainerState& state, std::span<const NamedTensor> carried,
           const CheckpointOptions& options)
      : averaged(optimizer), tensors(state_dict(optimizer.parameters())), metadata(options.metadata) {
    const ParameterSet& params = optimizer.parameters();
    const OptimizerState optimizer_state = optimizer.whole_state();
    tensors.insert(tensors.end(), options.also.begin(), options.also.end());
    for (const auto& slab : optimizer_state.slabs)
      for (const auto& p : params.all())
        tensors.push_back({tensor_name(is_average(optimizer, slab.values) ? "weights" : slab.name, p->name),
                           segment_of(*p, slab.values)});
    for (const NamedTensor& tensor : carried)
      tensors.push_back({tensor_name("carried", tensor.name), tensor.tensor});

    const Json training{{"seed", std::to_string(params.seed())},
                        {"step", params.step()},
                        {"kernels", kernels().name},
                        {"optimizer",
                         {{"name", optimizer.name()},
                          {"learning_rate", optimizer.learning_rate()},
                          {"counters", counters_of(optimizer_state)}}},
                        {"state", to_json(state, params.step())}};
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"format", "pt"},
                                     {version_key, std::to_string(version)},
                                     {state_key, json_text(training)}})
      require(metadata.emplace(key, value).second,
              "checkpoint: metadata '{}' is its own, and none of the program's", key);
  }
  const AveragedWeights averaged;
  std::vector<NamedTensor> tensors;
  Metadata metadata;
};

}  // namespace

Diverged TrainerState::diverged(int64_t at_window, const std::string& what, const std::string& first) const {
  return Diverged(fmt::format("training has diverged: {} (epoch {}, window {} of {}{})", what, epoch + 1,
                              at_window + 1, windows, first.empty() ? "" : "; first not finite: " + first));
}

void check_checkpoint(const std::filesystem::path& path, Optimizer& optimizer, const TrainerState& state,
                      std::span<const NamedTensor> carried, const CheckpointOptions& options) {
  const Contents contents(optimizer, state, carried, options);
  check_safetensors(path, contents.tensors, contents.metadata);
}

void write_checkpoint(const std::filesystem::path& path, Optimizer& optimizer, const TrainerState& state,
                      std::span<const NamedTensor> carried, const CheckpointOptions& options) {
  const Contents contents(optimizer, state, carried, options);
  for (const NamedTensor& named : contents.tensors)
    if (!std::isfinite(kernels().sum_of_squares(named.tensor.data(), named.tensor.size())))
      throw Diverged(fmt::format("'{}' is not finite, so {} was not written", named.name, path.string()));
  write_safetensors(path, contents.tensors, contents.metadata);
}

void check_checkpoint_version(const SafetensorsFile& file) {
  const auto found = file.metadata().find(version_key);
  if (found == file.metadata().end() || found->second == std::to_string(version)) return;
  throw InputError(
      fmt::format("{}: a checkpoint of version {}, of a later program; this one reads version {}",
                  file.path(), one_line(found->second), version));
}

int64_t step_of(const std::filesystem::path& path) try {
  const SafetensorsFile file(path, Links::refused);
  check_checkpoint_version(file);
  return field_of<int64_t>(parse_json(Metadata(file.metadata())[state_key]), "step");
} catch (const Error&) { return -1; }

Differences read_checkpoint(const SafetensorsFile& file, Optimizer& optimizer, TrainerState& state,
                            std::span<const NamedTensor> carried, const CheckpointOptions& options) {
  check_checkpoint_version(file);
  const auto found = file.metadata().find(state_key);
  require_input(found != file.metadata().end(),
                "{}: weights alone; there is no training state in it to go on from", file.path());
  check_no_more_weights(file, optimizer.parameters(), options.also);
  try {
    return read_training(file, parse_json(found->second), optimizer, state, carried);
  } catch (const FieldError& error) {
    throw InputError(fmt::format("{}: its training state is damaged: {}", file.path(), error.what()));
  }
}

}  // namespace unroll

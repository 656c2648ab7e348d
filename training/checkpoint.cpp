#include "training/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <type_traits>
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

Json or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

Json to_json(const OptimizerState& optimizer) {
  Json counters = Json::object();
  for (const auto& counter : optimizer.counters)
    if (!counter.may_lack || *counter.value != 0) counters[std::string(counter.name)] = *counter.value;
  return counters;
}

// Calls f(name, field) for each field that every trainer's state has.
template <class State, class F>
void each_field(State& state, F f) {
  f("epoch", state.epoch);
  f("window", state.window);
  f("windows", state.windows);
  f("total", state.total);
  f("count", state.count);
  f("interval_total", state.interval_total);
  f("interval_count", state.interval_count);
  f("all_count", state.all_count);
  f("learning_rate", state.learning_rate);
  f("train", state.train);
  f("valid", state.valid);
  f("best", state.best);
  f("best_epoch", state.best_epoch);
  f("rate_factor", state.rate_factor);
  f("skipped", state.skipped);
  f("skipped_in_a_row", state.skipped_in_a_row);
  f("scores", state.trigger.history);
}

Json to_json(const TrainerState& state, int64_t step) {
  Json json;
  each_field(state, [&](const char* name, const auto& field) {
    if constexpr (std::is_same_v<decltype(field), const std::optional<double>&>)
      json[name] = or_null(field);
    else
      json[name] = field;
  });
  if (const auto& loss = state.loss_scale)
    json["loss_scale"] = {{"scale", loss->scale},
                          {"good_steps", loss->good_steps},
                          {"skipped", loss->skipped},
                          {"skipped_in_epoch", loss->skipped_in_epoch}};
  for (const TrainerState::Member& member : state.members)
    json["members"].push_back({{"best", or_null(member.best)}, {"best_epoch", member.best_epoch}});
  if (state.schedule)
    json["schedule"] = {{"best", number_or_null<Json>(state.schedule->best)},
                        {"divisions", state.schedule->divisions},
                        {"next_rate", state.next_rate(step)}};
  return json;
}

// Reads members of an object. Throws InputError for a member that is missing or of another kind.
class Reader {
 public:
  Reader(const Json& json, const std::string& path) : json_(json), path_(path) {
    if (!json.is_object()) damaged("it is no object");
  }
  void whole(const char* key, int64_t& value) const { whole_number(key, value); }
  void whole(const char* key, int& value) const { whole_number(key, value); }
  // A count, or AsgdConfig::never, to which nothing is added.
  void counter(const char* key, int64_t& value) const {
    if (key == std::string_view("average_after") && at(key) == AsgdConfig::never)
      value = AsgdConfig::never;
    else
      whole(key, value);
  }
  void number(const char* key, double& value) const { value = number(at(key), key); }
  void number(const char* key, std::optional<double>& value) const {
    value.reset();
    if (!at(key).is_null()) value = number(at(key), key);
  }
  void numbers(const char* key, std::vector<double>& values) const {
    if (!at(key).is_array()) damaged(key);
    values.clear();
    for (const Json& element : at(key)) values.push_back(number(element, key));
  }
  std::string text(const char* key) const {
    if (!at(key).is_string()) damaged(key);
    return at(key).get<std::string>();
  }
  Reader object(const char* key) const {
    if (!at(key).is_object()) damaged(key);
    return Reader(at(key), path_);
  }
  std::vector<Reader> objects(const char* key) const {
    if (!at(key).is_array()) damaged(key);
    std::vector<Reader> readers;
    for (const Json& element : at(key)) {
      if (!element.is_object()) damaged(key);
      readers.emplace_back(element, path_);
    }
    return readers;
  }
  bool has(const char* key) const { return json_.contains(key); }
  [[noreturn]] void damaged(const char* what) const {
    throw InputError(fmt::format("{}: its training state is damaged: '{}'", path_, what));
  }

 private:
  const Json& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) damaged(key);
    return *found;
  }
  template <class T>
  void whole_number(const char* key, T& value) const {
    try {
      value = count_in<T>(at(key));
    } catch (const InputError&) { throw; } catch (const Error&) {
      damaged(key);
    }
  }
  double number(const Json& json, const char* key) const {
    if (!json.is_number()) damaged(key);
    return json.get<double>();
  }
  const Json& json_;
  const std::string& path_;
};

void read_state(const Reader& json, TrainerState& state) {
  each_field(state, [&](const char* name, auto& field) {
    using T = std::remove_reference_t<decltype(field)>;
    if constexpr (std::is_integral_v<T>)
      json.whole(name, field);
    else if constexpr (std::is_same_v<T, std::vector<double>>)
      json.numbers(name, field);
    else
      json.number(name, field);
  });
  if (state.window > state.windows) json.damaged("window");
  state.members.clear();
  if (json.has("members"))
    for (const Reader& of_member : json.objects("members")) {
      TrainerState::Member& member = state.members.emplace_back();
      of_member.number("best", member.best);
      of_member.whole("best_epoch", member.best_epoch);
    }
  state.loss_scale.reset();
  if (json.has("loss_scale")) {  // training in fp16; other precisions do not use it
    const Reader object = json.object("loss_scale");
    LossScale& loss = state.loss_scale.emplace();
    object.number("scale", loss.scale);
    object.whole("good_steps", loss.good_steps);
    object.whole("skipped", loss.skipped);
    object.whole("skipped_in_epoch", loss.skipped_in_epoch);
    int exponent = 0;
    if (loss.scale < LossScale::least || loss.scale > LossScale::most ||
        std::frexp(loss.scale, &exponent) != 0.5)
      object.damaged("scale");
  }
  state.rate_expected.reset();
  // A schedule that was not in the file knows no scores yet.
  if (!state.schedule || !json.has("schedule")) return;
  const Reader schedule = json.object("schedule");
  std::optional<double> best;
  schedule.number("best", best);
  state.schedule->best = best.value_or(std::numeric_limits<double>::infinity());
  schedule.whole("divisions", state.schedule->divisions);
  if (schedule.has("next_rate")) schedule.number("next_rate", state.rate_expected);
}

// A parameter's part of a slab.
Tensor segment(const Tensor& slab, const Parameter& p) {
  const int begin = static_cast<int>(p.offset);
  return slab.slice(begin, begin + static_cast<int>(p.size())).reshape(p.shape);
}

std::string tensor_name(std::string_view kind, std::string_view name) {
  return fmt::format("training/{}/{}", kind, name);
}

bool is_average(const Optimizer& optimizer, const Tensor& slab) {
  return optimizer.averages() && optimizer.averages()->data() == slab.data();
}

void load_slab(const SafetensorsFile& file, std::string_view kind, const ParameterSet& params,
               const Tensor& slab) {
  for (const auto& p : params.all()) load_finite_into(file, tensor_name(kind, p->name), segment(slab, *p));
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

void read_optimizer(const SafetensorsFile& file, const Reader& json, Optimizer& optimizer) {
  const std::string name = json.text("name");
  require_input(name == optimizer.name(), "{}: its optimizer is {}; {} cannot go on from that", file.path(),
                one_line(name), optimizer.name());
  json.number("learning_rate", *optimizer.whole_state().learning_rate);
  const Reader counters = json.object("counters");
  for (const auto& counter : optimizer.whole_state().counters) {
    const std::string key(counter.name);
    if (counter.may_lack && !counters.has(key.c_str()))
      *counter.value = 0;
    else
      counters.counter(key.c_str(), *counter.value);
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
    else if (kind != "carried" && kind != "weights" && std::ranges::none_of(optimizer.whole_state().slabs, is_slab))
      left.insert(one_line(kind));
  }
  Differences differences;
  for (const std::string& name : left) differences.push_back(name + " then, and not now");
  return differences;
}

// The contents of a file. While it lives, the model's weights are the averages, and the averages' slab holds the
// weights.
struct Contents {
  Contents(Optimizer& optimizer, const TrainerState& state, std::span<const NamedTensor> carried,
           const CheckpointOptions& options);
  const AveragedWeights averaged;
  std::vector<NamedTensor> tensors;
  Metadata metadata;
};

Contents::Contents(Optimizer& optimizer, const TrainerState& state, std::span<const NamedTensor> carried,
                   const CheckpointOptions& options)
    : averaged(optimizer), tensors(state_dict(optimizer.parameters())), metadata(options.metadata) {
  const ParameterSet& params = optimizer.parameters();
  const OptimizerState optimizer_state = optimizer.whole_state();
  tensors.insert(tensors.end(), options.also.begin(), options.also.end());
  for (const auto& slab : optimizer_state.slabs)
    for (const auto& p : params.all())
      tensors.push_back({tensor_name(is_average(optimizer, slab.values) ? "weights" : slab.name, p->name),
                         segment(slab.values, *p)});
  for (const NamedTensor& tensor : carried)
    tensors.push_back({tensor_name("carried", tensor.name), tensor.tensor});

  if (options.validated)
    for (auto& [key, value] : options.validated()) metadata.insert_or_assign(key, value);
  const Json training{{"seed", std::to_string(params.seed())},
                      {"step", params.step()},
                      {"kernels", kernels().name},
                      {"optimizer",
                       {{"name", optimizer.name()},
                        {"learning_rate", optimizer.learning_rate()},
                        {"counters", to_json(optimizer_state)}}},
                      {"state", to_json(state, params.step())}};
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"format", "pt"},
                                   {version_key, std::to_string(version)},
                                   {state_key, json_text(training)}})
    require(metadata.emplace(key, value).second,
            "checkpoint: metadata '{}' is its own, and none of the program's", key);
}

}  // namespace

bool TrainerState::out_of_patience(int patience) const {
  const auto is_out = [&](const Member& member) { return out_of_patience(member.best_epoch, patience); };
  return members.empty() ? out_of_patience(best_epoch, patience) : std::ranges::all_of(members, is_out);
}

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

Differences read_checkpoint(const std::filesystem::path& path, Optimizer& optimizer, TrainerState& state,
                            std::span<const NamedTensor> carried, const CheckpointOptions& options,
                            Links links) {
  const SafetensorsFile file(path, links);
  check_checkpoint_version(file);
  const auto found = file.metadata().find(state_key);
  require_input(found != file.metadata().end(),
                "{}: weights alone; there is no training state in it to go on from", file.path());
  const Json json = parse_json(found->second);
  const Reader training(json, file.path());

  ParameterSet& params = optimizer.parameters();
  check_no_more_weights(file, params, options.also);
  read_optimizer(file, training.object("optimizer"), optimizer);
  read_state(training.object("state"), state);
  for (const NamedTensor& tensor : carried)
    load_finite_into(file, tensor_name("carried", tensor.name), tensor.tensor);
  int64_t step = 0;
  training.whole("step", step);
  require_input(step <= std::numeric_limits<uint32_t>::max(), "{}: its training state is damaged: 'step'",
                file.path());
  params.set_step(static_cast<uint32_t>(step));
  params.spend_gradients();

  Differences differences = what_is_left(file, optimizer, carried);
  if (const std::string then = training.text("kernels"); then != kernels().name)
    differences.push_back(fmt::format("kernels for {} then, for {} now", one_line(then), kernels().name));
  if (const std::string then = training.text("seed"); then != std::to_string(params.seed()))
    differences.push_back(fmt::format("seed {} then, {} now", one_line(then), params.seed()));
  return differences;
}

}  // namespace unroll

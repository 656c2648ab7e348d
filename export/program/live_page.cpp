#include "export/program/live_page.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "training/program/look/look_values.h"
#include "training/report/run_description.h"

namespace unroll {

namespace {

using Json = nlohmann::ordered_json;

// live.js has the same; the suite `live_in_browser` compares the lists.
constexpr std::string_view kernels_of_page[] = {
    "loop",         "end",          "zero",     "copy", "move",  "add",     "add_apart", "subtract",
    "multiply",     "multiply_add", "scale",    "mix",  "carry", "clip",    "one_minus", "sigmoid",
    "hard_sigmoid", "hard_tanh",    "softsign", "tanh", "relu",  "product", "column",    "standardize"};

// How many numbers from its first place on a call writes.
int numbers_written(const StepCall& call) {
  const std::vector<int>& n = call.sizes;
  if (call.kernel == "product") return n[1];
  if (call.kernel == "standardize") return n[0] * n[1];
  return call.kernel == "move" || call.kernel == "add_apart" ? (n[0] - 1) * n[1] + 1 : n[0];
}

// A gate or a state of a layer, or what it reads.
struct Seen {
  int layer;
  std::string name;
  int array, from, size;
};

std::vector<Seen> seen_in(const StepPlan& plan, const std::string& cell) {
  std::vector<Seen> result;
  const auto add = [&](int layer, const std::string& array, const std::vector<std::string>& names) {
    const auto found = std::ranges::find(plan.arrays, array, &StepArray::name);
    if (found == plan.arrays.end() || names.empty()) return;
    const int size = static_cast<int>(found->size) / static_cast<int>(std::ssize(names));
    for (int k = 0; k < std::ssize(names); ++k)
      result.push_back({layer, names[static_cast<size_t>(k)], static_cast<int>(found - plan.arrays.begin()),
                        k * size, size});
  };
  const auto has = [&](const std::string& name) {
    return std::ranges::find(plan.arrays, name, &StepArray::name) != plan.arrays.end();
  };
  add(0, "embedding.weight_row", {"embedding"});
  for (int k = 0; has(fmt::format("{}.h_l{}", cell, k)); ++k) {
    const auto name = [&](const char* array) { return fmt::format("{}.{}_l{}", cell, array, k); };
    const bool coupled = has(name("i"));
    const std::vector<std::string> of_lstm{"i", "f", "g", "o"}, of_coupled{"f", "g", "o"},
        of_gru{"r", "z", "n"}, none;
    add(k, name("weight_ih_sums"),
        cell == "gru"    ? of_gru
        : cell != "lstm" ? none
        : coupled        ? of_coupled
                         : of_lstm);
    for (const char* state : {"i", "c", "h"}) add(k, name(state), {state});
  }
  return result;
}

// The calls of a step of the layers: of the loop whose product reads their input, or all.
std::pair<size_t, size_t> step_of_layers(const StepPlan& plan, const std::string& cell) {
  std::vector<size_t> open{0};
  for (size_t i = 0; i < plan.calls.size(); ++i) {
    const StepCall& call = plan.calls[i];
    if (call.kernel == "loop") open.push_back(i);
    if (call.kernel == "end") open.pop_back();
    if (call.kernel != "product" ||
        plan.arrays[static_cast<size_t>(call.places[2].array)].name != cell + ".weight_ih_l0")
      continue;
    size_t end = i;
    for (int depth = 0; end < plan.calls.size() && depth >= 0; ++end)
      depth += plan.calls[end].kernel == "loop" ? 1 : plan.calls[end].kernel == "end" ? -1 : 0;
    return {open.back(), end};
  }
  return {0, 0};
}

// The last call of a step that writes a gate or a state: there the page sees and holds it, and there its gradient is whole.
void add_seen(Json& calls, const StepPlan& plan, const std::string& cell) {
  const auto [begin, end] = step_of_layers(plan, cell);
  for (const auto& [layer, name, array, from, size] : seen_in(plan, cell))
    for (size_t i = end; i-- > begin;) {
      const StepCall& call = plan.calls[i];
      if (call.places.empty() || call.places[0].array != array) continue;
      const int at = call.places[0].at;
      if (at >= from + size || at + numbers_written(call) <= from) continue;
      calls[i]["seen"].push_back(
          {{"layer", layer}, {"name", name}, {"array", array}, {"from", from}, {"size", size}});
      break;
    }
}

// Rounds a matrix [in][out], and the parameter [out, in] of its name.
template <class Number>
void add_matrix(Json& json, const StepArray& matrix, const ParameterSet& params) {
  const WholeNumbers<Number> rounded = in_whole_numbers<Number>(matrix);
  const size_t out = rounded.scale.size(), in = rounded.numbers.size() / out;
  const auto weight = params.at(matrix.name).leaf_value().on_host(Access::change);
  for (size_t k = 0; k < out; ++k)
    for (size_t i = 0; i < in; ++i)
      weight[static_cast<int64_t>(k * in + i)] =
          static_cast<float>(rounded.numbers[i * out + k]) * rounded.scale[k];
  json["out"] = matrix.out;
  json["data"] = base64(rounded.numbers.data(), sizeof(Number) * rounded.numbers.size());
  json["scale"] = base64(rounded.scale.data(), sizeof(float) * out);
}

}  // namespace

void LiveOption::add_to(Command& command) {
  command
      .option("live", bits, "BITS",
              "puts the model into the page, which then runs it: its weights, in so many bits each")
      .one_of({"16", "8"})
      .may_stand_alone("16", {"16", "8"})
      .otherwise("");
}

bool LiveOption::is_on(const LookCommand& page) const {
  require_input(bits.empty() || page.against.empty(),
                "look: a page with --live has one model; leave out --against {}", page.against);
  return !bits.empty();
}

Json LiveOption::plan_json(const StepPlan& plan, const std::string& cell, const ParameterSet& params,
                           const std::string& path) const {
  for (const StepCall& call : plan.calls)
    require_input(std::ranges::find(kernels_of_page, call.kernel) != std::end(kernels_of_page),
                  "{}: look --live: the page computes no {}: look without --live shows the model", path,
                  call.kernel == "norm" ? "model.layer_norm" : call.kernel);
  const int64_t count = plan.numbers(StepArray::Kind::matrix);
  require_input(count <= most_numbers, "{}: look --live: the model has {} weights; a page runs {} at most",
                path, with_commas(count), with_commas(most_numbers));
  Json arrays = Json::array(), calls = Json::array();
  for (const StepArray& array : plan.arrays) {
    require_input(std::ranges::all_of(array.values, [](float value) { return std::isfinite(value); }),
                  "{}: look --live: {} has a number that is not finite", path, array.name);
    Json& json = arrays.emplace_back(Json{{"name", array.name}, {"size", array.size}});
    if (array.kind == StepArray::Kind::state) json["state"] = true;
    if (array.kind == StepArray::Kind::constant)
      json["data"] = base64(array.values.data(), sizeof(float) * array.values.size());
    if (array.kind == StepArray::Kind::matrix)
      bits == "16" ? add_matrix<int16_t>(json, array, params) : add_matrix<int8_t>(json, array, params);
  }
  for (const StepCall& call : plan.calls) {
    Json places = Json::array();
    for (const StepPlace& p : call.places) places.push_back({p.array, p.at, p.by_turn[0], p.by_turn[1]});
    calls.push_back(
        {{"kernel", call.kernel}, {"sizes", call.sizes}, {"numbers", call.numbers}, {"places", places}});
    if (!places.empty()) calls.back()["size"] = numbers_written(call);
  }
  add_seen(calls, plan, cell);
  return {{"bits", std::stoi(bits)}, {"arrays", arrays}, {"calls", calls}};
}

}  // namespace unroll

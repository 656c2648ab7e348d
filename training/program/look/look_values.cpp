#include "training/program/look/look_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "layers/inspection.h"

namespace unroll {

using Json = nlohmann::ordered_json;

std::string base64(const void* data, size_t bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* in = static_cast<const unsigned char*>(data);
  std::string text;
  text.reserve((bytes + 2) / 3 * 4);
  for (size_t i = 0; i < bytes; i += 3) {
    unsigned group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (i + k < bytes ? in[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k) text += i + k > bytes ? '=' : digits[group >> (18 - 6 * k) & 63];
  }
  return text;
}

namespace {

Json floats_json(const std::vector<float>& numbers) {
  return {{"data", base64(numbers.data(), sizeof(float) * numbers.size())}};
}

// An order of the units that puts similar ones side by side: by correlation over the steps, greedily.
std::vector<int> order_by_likeness(const Tensor& values) {
  const int steps = values.dim(0), units = values.dim(1);
  const auto numbers = values.to_host();
  std::vector<std::vector<double>> course(static_cast<size_t>(units),
                                          std::vector<double>(static_cast<size_t>(steps)));
  std::vector<double> mean_of(static_cast<size_t>(units));
  for (int j = 0; j < units; ++j) {
    double mean = 0, square = 0;
    for (int t = 0; t < steps; ++t)
      mean += numbers[static_cast<size_t>(t) * units + j] / static_cast<double>(steps);
    for (int t = 0; t < steps; ++t) {
      const double d = numbers[static_cast<size_t>(t) * units + j] - mean;
      course[j][static_cast<size_t>(t)] = d, square += d * d;
    }
    for (double& d : course[j]) d /= square > 0 ? std::sqrt(square) : 1;
    mean_of[j] = mean;
  }
  std::vector<int> order;
  std::vector<bool> taken(static_cast<size_t>(units));
  int next = static_cast<int>(std::ranges::max_element(mean_of) - mean_of.begin());
  while (std::ssize(order) < units) {
    order.push_back(next), taken[next] = true;
    const int last = next;
    double best = -2;
    for (int j = 0; j < units; ++j) {
      if (taken[j]) continue;
      double likeness = 0;
      for (int t = 0; t < steps; ++t)
        likeness += course[last][static_cast<size_t>(t)] * course[j][static_cast<size_t>(t)];
      if (likeness > best) best = likeness, next = j;
    }
  }
  return order;
}

constexpr double least_share = 0.75, least_correlation = 0.5;  // below this a unit is not offered

}  // namespace

double rounded_for_look(double x) {
  return x == 0 || !std::isfinite(x) ? x : std::stod(fmt::format("{:.4e}", x));
}
Json rounded_for_look(const std::optional<double>& x) { return x ? Json(rounded_for_look(*x)) : Json(); }

// Little-endian, like every machine that runs this.
Json sixteen_bit_json(const Tensor& values) {
  const auto numbers = values.to_host();
  double largest = 0;
  for (const real v : numbers) largest = std::max(largest, std::abs(static_cast<double>(v)));
  std::vector<int16_t> rounded;
  for (const real v : numbers)
    rounded.push_back(static_cast<int16_t>(largest > 0 ? std::lround(v / largest * 32767) : 0));
  return {
      {"units", values.dim(1)}, {"largest", largest}, {"data", base64(rounded.data(), 2 * rounded.size())}};
}

Json norms_json(const Tensor& norms) {
  const auto numbers = norms.to_host();
  Json json = floats_json({numbers.begin(), numbers.end()});
  json["columns"] = norms.dim(1);
  return json;
}

Json triangle_json(const Tensor& norms) {
  const auto numbers = norms.to_host();
  std::vector<float> kept;
  for (int t = 0; t < norms.dim(0); ++t)
    for (int s = 0; s <= t; ++s)
      kept.push_back(static_cast<float>(numbers[static_cast<size_t>(t) * norms.dim(1) + s]));
  return floats_json(kept);
}

Json layer_json(const LayerValues& layer, std::span<const std::string> gate_names) {
  Json values = Json::array();
  const auto add = [&](const std::string& name, const Tensor& numbers) {
    values.push_back(sixteen_bit_json(numbers));
    values.back()["name"] = name;
  };
  for (size_t g = 0; g < gate_names.size(); ++g) add(gate_names[g], layer.gates[g]);
  if (layer.c.defined()) add("c", layer.c);
  add("h", layer.h);
  const Tensor& state = state_of(layer);
  return {{"units", state.dim(1)}, {"order", order_by_likeness(state)}, {"values", values}};
}

nlohmann::ordered_json tape_json(const std::vector<TapeGraph>& graphs) {
  using Kind = TapeGraph::Input::Kind;
  Json operations = Json::array(), parameters = Json::array(), norms = Json::array();
  for (const auto& operation : graphs.front().operations) {
    Json shapes = Json::array(), inputs = Json::array();
    for (const auto& value : operation.results) shapes.push_back(value.shape.text());
    for (const auto& input : operation.inputs) {
      Json one{{"shape", input.shape.text()}};
      if (input.kind == Kind::result) one["operation"] = input.number;
      if (input.kind == Kind::parameter) one["parameter"] = input.number;
      inputs.push_back(one);
    }
    operations.push_back({{"name", operation.name},
                          {"file", operation.file},
                          {"line", operation.line},
                          {"shapes", shapes},
                          {"inputs", inputs}});
  }
  for (const auto& p : graphs.front().parameters)
    parameters.push_back(
        {{"name", p.name}, {"shape", p.value.shape.text()}, {"norm", rounded_for_look(p.value.norm)}});
  for (const TapeGraph& graph : graphs) {
    Json values = Json::array(), gradients = Json::array(), of_parameters = Json::array();
    for (const auto& operation : graph.operations) {
      values.push_back(rounded_for_look(operation.results[0].norm));
      gradients.push_back(rounded_for_look(operation.results[0].gradient_norm));
    }
    for (const auto& p : graph.parameters) of_parameters.push_back(rounded_for_look(p.value.gradient_norm));
    norms.push_back({{"values", values}, {"gradients", gradients}, {"parameters", of_parameters}});
  }
  return {{"operations", operations}, {"parameters", parameters}, {"norms", norms}};
}

std::vector<OfferedUnit> units_to_offer(const std::vector<Tensor>& states,
                                        std::span<const UnitProperty> properties, const std::string& from) {
  std::vector<OfferedUnit> offered;
  for (const UnitProperty& property : properties) {
    const bool is_class = !property.classes.empty();
    const auto best = is_class ? units_that_tell(states, property.classes, 1)
                               : units_that_follow(states, property.numbers, 1);
    if (best.empty() || best[0].share < (is_class ? least_share : least_correlation)) continue;
    const double correlation = best[0].above_is_1 ? best[0].share : -best[0].share;
    offered.push_back(
        {.what = property.what,
         .told =
             is_class ? fmt::format("{:.1f} %", 100 * best[0].share) : fmt::format("r {:.2f}", correlation),
         .how =
             is_class
                 ? fmt::format(
                       "by one threshold it is right in {:.1f} % of the cases, both classes counting alike, {}",
                       100 * best[0].share, from)
                 : fmt::format("correlation {:.2f}, {}", correlation, from),
         .layer = best[0].layer,
         .unit = best[0].unit});
  }
  return offered;
}

Json offered_json(std::span<const OfferedUnit> offered) {
  Json json = Json::array();
  for (const OfferedUnit& o : offered)
    json.push_back(
        {{"what", o.what}, {"told", o.told}, {"how", o.how}, {"layer", o.layer}, {"unit", o.unit}});
  return json;
}

}  // namespace unroll

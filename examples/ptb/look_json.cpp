#include "look_json.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "training/files/json_text.h"
#include "training/report/run_description.h"

namespace ptb {

namespace {

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

// [steps, units] in 16 bits a number, times the largest: off by 1/65534 of that at most. Little-endian, as every machine
// that runs this is.
Json gate_json(const char* name, const Tensor& values) {
  const auto numbers = values.to_host();
  double largest = 0;
  for (const real v : numbers) largest = std::max(largest, std::abs(static_cast<double>(v)));
  std::vector<int16_t> rounded;
  for (const real v : numbers)
    rounded.push_back(static_cast<int16_t>(largest > 0 ? std::lround(v / largest * 32767) : 0));
  return {{"name", name},
          {"units", values.dim(1)},
          {"largest", largest},
          {"data", base64(rounded.data(), 2 * rounded.size())}};
}

// The part below the diagonal of [targets, steps], row by row, as 32-bit floats.
Json triangle_json(const Tensor& norms) {
  const auto numbers = norms.to_host();
  std::vector<float> kept;
  for (int t = 0; t < norms.dim(0); ++t)
    for (int s = 0; s <= t; ++s)
      kept.push_back(static_cast<float>(numbers[static_cast<size_t>(t) * norms.dim(1) + s]));
  return {{"data", base64(kept.data(), sizeof(float) * kept.size())}};
}

Json reach_json(const GradientReach& reach, bool with_embedding) {
  Json json;
  if (with_embedding) json["embedding"] = triangle_json(reach.embedding);
  for (const Tensor& h : reach.h) json["h"].push_back(triangle_json(h));
  for (const Tensor& c : reach.c) json["c"].push_back(triangle_json(c));
  return json;
}

// Units in an order in which each is as like the one before it as may be: by correlation over the steps, greedily.
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

Json layer_json(const LayerValues& layer, const std::vector<std::string>& gates) {
  Json values = Json::array();
  for (size_t g = 0; g < gates.size(); ++g) values.push_back(gate_json(gates[g].c_str(), layer.gates[g]));
  if (layer.c.defined()) values.push_back(gate_json("c", layer.c));
  values.push_back(gate_json("h", layer.h));
  const Tensor& state = layer.c.defined() ? layer.c : layer.h;
  return {{"units", state.dim(1)}, {"order", order_by_likeness(state)}, {"values", values}};
}

double four_digits(double x) { return x == 0 || !std::isfinite(x) ? x : std::stod(fmt::format("{:.4e}", x)); }
Json or_null(const std::optional<double>& x) { return x ? Json(four_digits(*x)) : Json(); }

// The operations of the first step stand for all: only the norms differ. A parameter's value is the same in each.
Json tape_json(const std::vector<TapeGraph>& graphs) {
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
        {{"name", p.name}, {"shape", p.value.shape.text()}, {"norm", four_digits(p.value.norm)}});
  for (const TapeGraph& graph : graphs) {
    Json values = Json::array(), gradients = Json::array(), of_parameters = Json::array();
    for (const auto& operation : graph.operations) {
      values.push_back(four_digits(operation.results[0].norm));
      gradients.push_back(or_null(operation.results[0].gradient_norm));
    }
    for (const auto& p : graph.parameters) of_parameters.push_back(or_null(p.value.gradient_norm));
    norms.push_back({{"values", values}, {"gradients", gradients}, {"parameters", of_parameters}});
  }
  return {{"operations", operations}, {"parameters", parameters}, {"norms", norms}};
}

Json likely_json(const std::vector<Likely>& words) {
  Json json = Json::array();
  for (const Likely& one : words) json.push_back({one.word, four_digits(one.p)});
  return json;
}

// "LSTM, 2 layers of 160, tied; 304 words; 478,128 parameters"
std::string summary_of(const SavedModel& saved) {
  const auto& model = saved.recipe.model;
  const CellFacts& cell = cell_of(saved.recipe);
  std::string text = fmt::format("{}, {} layer{} of {}", cell.title, model.layers,
                                 model.layers == 1 ? "" : "s", model.hidden);
  if (model.projection) text += fmt::format(", projected to {}", model.projection);
  if (model.last_hidden) text += fmt::format(", the last of {}", model.last_hidden);
  if (model.tied) text += ", embedding and decoder tied";
  return text + fmt::format("; {} {}s; {} parameters", with_commas(saved.vocabulary.size()),
                            saved.recipe.data.level == Level::word ? "word" : "character",
                            with_commas(saved.model->params.count()));
}

// A word worth to begin with: the most surprising one that has some words before it.
int first_choice(const std::vector<double>& bits) {
  const auto from = bits.begin() + std::min<std::ptrdiff_t>(4, std::ssize(bits) - 1);
  return static_cast<int>(std::max_element(from, bits.end()) - bits.begin());
}

}  // namespace

std::string look_json(const SavedModel& saved, const LookedText& look, const std::string& title,
                      const std::string& path) {
  const Vocabulary& words = saved.vocabulary;
  Json target = Json::array(), input = Json::array(), next = Json::array(), layers = Json::array();
  for (const int32_t id : look.tokens.target) target.push_back(words.word(id));
  input.push_back(Vocabulary::end_of_sentence);
  for (size_t t = 0; t + 1 < look.written.size(); ++t) input.push_back(look.written[t]);
  for (const auto& likely : look.next) next.push_back(likely_json(likely));
  for (const LayerValues& layer : look.seen.layers) layers.push_back(layer_json(layer, look.seen.gate_names));
  Json bits = Json::array();
  for (const double b : look.bits) bits.push_back(four_digits(b));
  Json json{{"title", title},
            {"summary", summary_of(saved)},
            {"made", fmt::format("ptb look {}", path)},
            {"cell", cell_of(saved.recipe).name},
            {"level", saved.recipe.data.level == Level::word ? "word" : "char"},
            {"start", first_choice(look.bits)},
            {"written", look.written},
            {"target", target},
            {"input", input},
            {"bits", bits},
            {"rank", look.rank},
            {"next", next},
            {"layers", layers},
            {"reach", reach_json(look.reach, true)},
            {"untrained", reach_json(look.untrained, false)},
            {"tape", tape_json(look.tapes)}};
  json["offered"] = Json::array();
  for (const OfferedUnit& o : look.offered)
    json["offered"].push_back(
        {{"what", o.what}, {"told", o.told}, {"how", o.how}, {"layer", o.layer}, {"unit", o.unit}});
  if (!look.source.empty()) {
    for (const SourceStep& step : look.source)
      json["source"].push_back({{"bits", or_null(step.bits)}, {"next", likely_json(step.next)}});
  }
  if (look.agreement) json["agreement"] = agreement_json(*look.agreement);
  return json_text(json);
}

}  // namespace ptb

#include "examples/ptb/look/look_json.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/one_line.h"
#include "training/files/json/json.h"
#include "training/program/look/look_values.h"
#include "training/report/run_description.h"

namespace ptb {

namespace {

using Json = nlohmann::ordered_json;

Json reach_json(const GradientReach& reach, bool with_embedding) {
  Json json;
  if (with_embedding) json["embedding"] = triangle_json(reach.embedding);
  for (const Tensor& h : reach.h) json["h"].push_back(triangle_json(h));
  for (const Tensor& c : reach.c) json["c"].push_back(triangle_json(c));
  return json;
}

Json likely_json(const std::vector<Likely>& words) {
  Json json = Json::array();
  for (const Likely& one : words) json.push_back({one.word, rounded_for_look(one.p)});
  return json;
}

// "LSTM, 2 layers of 160, tied; 304 words; 478,128 parameters"
std::string summary_of(const SavedModel& saved) {
  const auto& model = saved.recipe.model;
  const CellFacts& cell = cell_of(saved.recipe);
  std::string text =
      fmt::format("{}, {} layer{} of {}", cell.title, model.layers, plural(model.layers), model.hidden);
  if (model.projection) text += fmt::format(", projected to {}", model.projection);
  if (model.last_hidden) text += fmt::format(", the last of {}", model.last_hidden);
  if (model.tied) text += ", embedding and decoder tied";
  return text + fmt::format("; {} {}s; {} parameters", with_commas(saved.vocabulary.size()),
                            saved.recipe.data.level == Level::word ? "word" : "character",
                            with_commas(saved.model->params.count()));
}

// The word that the page begins with: the most surprising one that has some words before it.
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
  for (const double b : look.bits) bits.push_back(rounded_for_look(b));
  Json json{{"kind", "text"},
            {"title", title},
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
  json["offered"] = offered_json(look.offered);
  for (const SourceStep& step : look.source)
    json["source"].push_back({{"bits", rounded_for_look(step.bits)}, {"next", likely_json(step.next)}});
  if (look.agreement) json["agreement"] = agreement_json(*look.agreement);
  return json_text(json);
}

}  // namespace ptb

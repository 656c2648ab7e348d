#include "recipe_layers.h"

#include <span>

#include <fmt/format.h>

#include "framework/ops.h"

namespace ptb {

static std::vector<std::pair<std::string, Unary>> by_name(std::span<const Unary> functions) {
  std::vector<std::pair<std::string, Unary>> result;
  for (const Unary f : functions) result.emplace_back(name_of(f), f);
  return result;
}

void declare_cell(RecipeReader& reader, Recipe& r) {
  reader
      .choice(
          "cell", r.model.cell, {{"lstm", Cell::lstm}, {"gru", Cell::gru}},
          "of the recurrent layers: long short-term memory, or gated recurrent units, which have no state c")
      .source("Hochreiter and Schmidhuber 1997; Cho et al. 2014");
  reader
      .key("projection", r.model.projection,
           "lstm: width of h, which is then a product of what the cell gives; less than hidden; 0: none")
      .at_least(0)
      .at_most(100'000)
      .source("Sak, Senior, Beaufays 2014");
  reader
      .key("layer_norm", r.model.layer_norm,
           "lstm: each product and the state c are normalised over their units, with gains of their own")
      .source("Ba, Kiros, Hinton 2016");
  reader.key("peepholes", r.model.peepholes, "lstm: the gates see the state c, each unit its own")
      .source("Gers and Schmidhuber 2000");
  reader.choice("gate_activation", r.model.gate_activation, by_name(gate_functions),
                "lstm: function of the three gates; hard_sigmoid is x/6 + 1/2 between 0 and 1");
  reader.choice("cell_activation", r.model.cell_activation, by_name(cell_functions),
                "lstm: function of what enters the state c, and of c on its way to h");
  reader
      .key("residual", r.model.residual,
           "every layer but the first adds its input to its output; needs layers above 1")
      .source("Wu et al. 2016");
}

void check_layers(const RecipeReader& reader, const Recipe& r) {
  const auto& m = r.model;
  if (m.cell == Cell::gru) {
    const std::pair<const char*, bool> of_lstm[] = {{"last_hidden", m.last_hidden > 0},
                                                    {"projection", m.projection > 0},
                                                    {"layer_norm", m.layer_norm},
                                                    {"peepholes", m.peepholes},
                                                    {"gate_activation", m.gate_activation != Unary::sigmoid},
                                                    {"cell_activation", m.cell_activation != Unary::tanh},
                                                    {"zoneout_c", m.zoneout_c > 0},
                                                    {"forget_bias", m.forget_bias != 0}};
    for (const auto& [key, set] : of_lstm)
      if (set)
        reader.refuse(fmt::format("model.{}", key),
                      "is an option of the LSTM; a GRU (model.cell) has no such thing");
  }
  if (m.last_hidden > 0 && m.last_hidden >= m.hidden)
    reader.refuse("model.last_hidden", fmt::format("must be less than model.hidden ({})", m.hidden));
  if (m.last_hidden > 0 && m.layers == 1)
    reader.refuse("model.last_hidden",
                  "needs model.layers above 1; the width of a single one is model.hidden");
  if (m.last_hidden > 0 && (m.projection > 0 || m.residual))
    reader.refuse("model.last_hidden",
                  fmt::format("gives the last layer another width, which model.{} cannot have",
                              m.projection ? "projection" : "residual"));
  if (m.projection >= m.hidden)
    reader.refuse("model.projection", fmt::format("({}) must be less than model.hidden ({}); 0 is for none",
                                                  m.projection, m.hidden));
  if (m.residual && m.layers == 1)
    reader.refuse("model.residual", "is about the layers after the first; model.layers is 1");
  if (m.tied && m.output() != m.embedding)
    reader.refuse("model.tied", fmt::format("needs model.{} ({}) to equal model.embedding ({})",
                                            m.last_hidden  ? "last_hidden"
                                            : m.projection ? "projection"
                                                           : "hidden",
                                            m.output(), m.embedding));
}

std::vector<std::string> layer_options(const Recipe& recipe) {
  const auto& m = recipe.model;
  const std::pair<const char*, bool> options[] = {
      {"recurrent_dropout", m.recurrent_dropout > 0},
      {"weight_drop", m.weight_drop > 0},
      {"zoneout_h", m.zoneout_h > 0},
      {"zoneout_c", m.zoneout_c > 0},
      {"projection", m.projection > 0},
      {"layer_norm", m.layer_norm},
      {"peepholes", m.peepholes},
      {"gate_activation", m.gate_activation != Unary::sigmoid},
      {"cell_activation", m.cell_activation != Unary::tanh},
      {"residual", m.residual},
  };
  std::vector<std::string> result;
  for (const auto& [name, set] : options)
    if (set) result.push_back(name);
  return result;
}

std::string describe_layers(const Recipe& recipe) {
  const auto& m = recipe.model;
  const std::vector<std::string> options = layer_options(recipe);
  return fmt::format("{} {} layer{} of {}{}{}", m.layers, cell_name(recipe), m.layers == 1 ? "" : "s",
                     m.hidden, m.last_hidden ? fmt::format(", the last of {}", m.last_hidden) : "",
                     options.empty() ? "" : fmt::format(" ({})", fmt::join(options, ", ")));
}

std::string unknown_to_torch(const Recipe& recipe) {
  std::vector<std::string> options = layer_options(recipe);
  std::erase_if(options, [](const std::string& name) {
    return name == "recurrent_dropout" || name == "weight_drop" || name == "projection";
  });
  if (recipe.model.last_hidden) options.push_back("last_hidden");
  return fmt::format("{}", fmt::join(options, ", "));
}

std::string torch_modules(const Recipe& recipe, int vocab) {
  const auto& m = recipe.model;
  const char *name = m.cell == Cell::gru ? "gru" : "lstm", *module = cell_name(recipe);
  if (const std::string options = unknown_to_torch(recipe); !options.empty())
    return fmt::format("none: nn.{} does not know {}", module, options);
  return fmt::format(
      "embedding = nn.Embedding({}, {}); {} = nn.{}({}, {}, {}{}); decoder = nn.Linear({}, {})", vocab,
      m.embedding, name, module, m.embedding, m.hidden, m.layers,
      m.projection ? fmt::format(", proj_size={}", m.projection) : "", m.output(), vocab);
}

}  // namespace ptb

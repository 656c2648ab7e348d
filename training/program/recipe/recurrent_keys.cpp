#include "training/program/recipe/recurrent_keys.h"

#include <fmt/format.h>

#include "framework/ops.h"

namespace unroll {

namespace {

template <class E>
std::vector<std::pair<std::string, E>> by_name(const std::vector<E>& values) {
  std::vector<std::pair<std::string, E>> result;
  for (const E value : values) result.emplace_back(name_of(value), value);
  return result;
}

// Prefixes the cell that has the option ("lstm: …"), unless all have it.
std::string description_of(const RecurrentOption& option) {
  const char* cell = option.cells == RecurrentOption::Cells::every ? ""
                     : option.cells == RecurrentOption::Cells::rnn ? "rnn: "
                                                                   : "lstm: ";
  return fmt::format("{}{}", cell, option.does);
}

RecipeKey& declare(RecipeReader& reader, const RecurrentOption& option, RecurrentConfig& config) {
  using Range = RecurrentOption::Range;
  const std::string text = description_of(option);
  if (const auto functions = functions_of(option); !functions.empty())
    return reader.choice(option.name, config.*std::get<Unary RecurrentConfig::*>(option.member),
                         by_name(functions), text);
  if (const auto* on = std::get_if<bool RecurrentConfig::*>(&option.member))
    return reader.key(option.name, config.**on, text);
  // Refuses sizes far beyond any training, before a damaged file allocates them.
  if (const auto* number = std::get_if<int RecurrentConfig::*>(&option.member))
    return reader.key(option.name, config.**number, text)
        .at_least(0)
        .at_most(option.range == Range::count ? 100 : 100'000);
  RecipeKey& key = reader.key(option.name, config.*std::get<float RecurrentConfig::*>(option.member), text);
  if (option.range == Range::limit) return key.at_least(0);
  return option.range == Range::rate ? key.at_least(0).below(1) : key;
}

}  // namespace

void declare_cell_key(RecipeReader& reader, CellKind& cell) {
  std::vector<std::pair<std::string, CellKind>> cells;
  for (const CellFacts& facts : our_cells) cells.emplace_back(facts.name, facts.kind);
  reader
      .choice(
          "cell", cell, cells,
          "of the recurrent layers: long short-term memory, gated recurrent units, or a plain network; the latter two have no "
          "state c")
      .source("Hochreiter and Schmidhuber 1997; Cho et al. 2014; Elman 1990")
      .fixed();
}

void declare_recurrent_keys(RecipeReader& reader, RecurrentConfig& config) {
  for (const RecurrentOption& option : recurrent_options) {
    if (!option.is_key) continue;
    RecipeKey& key = declare(reader, option, config);
    if (option.source) key.source(option.source);
    // A mask may change from one part of a run to the next. Zoneout also acts in scoring, and initial values are drawn
    // once.
    if (option.acts == RecurrentOption::Acts::in_training)
      key.may_change();
    else
      key.fixed();
  }
  reader
      .choice("engine", config.engine,
              by_name(std::vector{Engine::automatic, Engine::cudnn, Engine::fused, Engine::composed}),
              "how the recurrent layers are computed")
      .harmless();  // of the engine counts what it became
  reader
      .choice(
          "algorithm", config.algorithm,
          by_name(std::vector{RecurrentAlgorithm::automatic, RecurrentAlgorithm::standard}),
          "of an LSTM or a GRU by the engine fused on a GPU. auto: one kernel for a window if that serves; standard: step by step")
      .may_change();
}

void check_recurrent_keys(const RecipeReader& reader, CellKind cell, const RecurrentConfig& made) {
  if (const auto fault = fault_in(facts_of(cell), made, "model."))
    reader.refuse("model." + fault->option, fault->text);
}

void add_unread_recurrent_keys(UnreadKeys& unread, const RecurrentConfig& c, bool recurrent,
                               const char* of_recurrent) {
  // "auto" is no request.
  const bool open = c.algorithm == RecurrentAlgorithm::automatic;
  unread.add_unless(recurrent || c.engine == Engine::automatic, of_recurrent, {"model.engine"});
  unread.add_unless(recurrent || open, of_recurrent, {"model.algorithm"});
  if (recurrent)
    unread.add_unless(c.engine == Engine::automatic || c.engine == Engine::fused || open,
                      "model.engine = \"fused\" or \"auto\"", {"model.algorithm"});
  for (const RecurrentOption& option : recurrent_options)
    if (option.is_key)
      unread.add_unless(recurrent, of_recurrent, {fmt::format("model.{}", option.name).c_str()});
}

void add_lost_recurrent_keys(UnreadKeys& unread, CellKind cell, const RecurrentConfig& made) {
  for (const RecurrentOption& option : recurrent_options) {
    const bool acts = has_option(facts_of(cell), option) && (made.layers > 1 || !option.needs_layers) &&
                      (!option.of || is_set(option_named(option.of), made));
    if (is_set(option, made) && !acts) unread.add_lost(fmt::format("model.{}", option.name));
  }
}

}  // namespace unroll

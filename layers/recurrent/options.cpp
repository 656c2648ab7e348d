#include "layers/recurrent/options.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "framework/check.h"
#include "framework/one_line.h"
#include "framework/ops.h"

namespace unroll {

namespace {

using Range = RecurrentOption::Range;
using Acts = RecurrentOption::Acts;
using Cells = RecurrentOption::Cells;

template <class T>
std::string text_of(T value) {
  if constexpr (std::is_same_v<T, Unary>)
    return std::string(name_of(value));
  else
    return fmt::format("{}", value);
}

std::string names(const std::vector<const RecurrentOption*>& options) {
  std::vector<std::string> result;
  for (const RecurrentOption* option : options) result.emplace_back(option->name);
  return fmt::format("{}", fmt::join(result, ", "));
}

const char* owner_of(Cells cells) {
  return cells == Cells::lstm  ? "an option of the LSTM"
         : cells == Cells::rnn ? "an option of the plain RNN"
                               : "about a state c, as the LSTM has it";
}

// The fault of its value; "" if there is none.
std::string range_fault(const RecurrentOption& option, const RecurrentConfig& config,
                        const std::string& prefix) {
  const std::string value = value_of(option, config);
  const double number =
      std::visit([&](auto member) { return static_cast<double>(config.*member); }, option.member);
  if (!std::isfinite(number)) return fmt::format("{} is not a finite number", value);
  switch (option.range) {
    case Range::rate:
      return number >= 0 && number < 1 ? "" : fmt::format("{} is not in [0, 1)", value);
    case Range::limit:
    case Range::count:
      return number >= 0 ? "" : fmt::format("{} must not be negative", value);
    case Range::width:
      return number >= 0 && number < config.hidden
                 ? ""
                 : fmt::format("({}) must be less than {}hidden ({}); 0 is for none", value, prefix,
                               config.hidden);
    case Range::of_gates:
    case Range::of_cell:
    case Range::of_plain: {
      const std::vector<Unary> known = functions_of(option);
      if (std::ranges::find(known, config.*std::get<Unary RecurrentConfig::*>(option.member)) != known.end())
        return "";
      std::vector<std::string_view> all;
      for (const Unary f : known) all.push_back(name_of(f));
      return fmt::format("{} is none of {}", value, fmt::join(all, ", "));
    }
    case Range::on_off:
    case Range::number:
      break;
  }
  return "";
}

}  // namespace

const RecurrentOption& option_named(std::string_view name) {
  for (const RecurrentOption& option : recurrent_options)
    if (option.name == name) return option;
  throw Error(fmt::format("no option of recurrent layers is called {}", name));
}

bool has_option(const CellFacts& cell, const RecurrentOption& option) {
  const bool has_it[] = {true, cell.has_c, cell.kind == CellKind::lstm,
                         cell.kind == CellKind::rnn};  // by Cells
  return has_it[static_cast<size_t>(option.cells)];
}

bool is_set(const RecurrentOption& option, const RecurrentConfig& config) {
  return std::visit([&](auto member) { return config.*member != RecurrentConfig().*member; }, option.member);
}
std::string value_of(const RecurrentOption& option, const RecurrentConfig& config) {
  return std::visit([&](auto member) { return text_of(config.*member); }, option.member);
}
void unset(const RecurrentOption& option, RecurrentConfig& config) {
  std::visit([&](auto member) { config.*member = RecurrentConfig().*member; }, option.member);
}

std::vector<Unary> functions_of(const RecurrentOption& option) {
  if (option.range == Range::of_gates) return {std::begin(gate_functions), std::end(gate_functions)};
  if (option.range == Range::of_cell) return {std::begin(cell_functions), std::end(cell_functions)};
  if (option.range == Range::of_plain) return {std::begin(plain_functions), std::end(plain_functions)};
  return {};
}

std::optional<OptionFault> fault_in(const CellFacts& cell, const RecurrentConfig& c,
                                    const std::string& prefix) {
  for (const RecurrentOption& option : recurrent_options) {
    if (!is_set(option, c)) continue;
    if (!has_option(cell, option))
      return OptionFault{option.name,
                         fmt::format("is {}; the {} has no such thing", owner_of(option.cells), cell.title)};
    if (std::string text = range_fault(option, c, prefix); !text.empty())
      return OptionFault{option.name, text};
    if (option.needs_layers && c.layers == 1)
      return OptionFault{option.name, fmt::format("needs {}layers above 1", prefix)};
  }
  if (c.locked_dropout && c.dropout == 0)
    return OptionFault{
        "locked_dropout",
        fmt::format("is about the dropout between layers, and there is none with {}dropout 0", prefix)};
  if (c.zoneout_c != 0 && cell.c_parts > 1)
    return OptionFault{
        "zoneout_c",
        fmt::format("keeps a unit's c as it was, and the {} has {} numbers there that go together",
                    cell.title, cell.c_parts)};
  if (c.mogrifier_rank && !c.mogrifier)
    return OptionFault{"mogrifier_rank",
                       fmt::format("is about the rounds of a mogrifier, and {}mogrifier is 0", prefix)};
  if (c.last_hidden && (c.projection || c.residual))
    return OptionFault{"last_hidden",
                       fmt::format("gives the last layer another width, which {}{} cannot have", prefix,
                                   c.projection ? "projection" : "residual")};
  return {};
}

std::vector<const RecurrentOption*> options_set(const RecurrentConfig& config) {
  std::vector<const RecurrentOption*> result;
  for (const RecurrentOption& option : recurrent_options)
    if (is_set(option, config) && option.name != std::string_view("dropout") && !option.of &&
        option.acts != Acts::at_first)
      result.push_back(&option);
  return result;
}

std::string describe_layers(const CellFacts& cell, const RecurrentConfig& c) {
  auto set = options_set(c);
  std::erase(set, &option_named("last_hidden"));
  return fmt::format("{} {} layer{} of {}{}{}", c.layers, cell.title, plural(c.layers), c.hidden,
                     c.last_hidden ? fmt::format(", the last of {}", c.last_hidden) : "",
                     set.empty() ? "" : fmt::format(" ({})", names(set)));
}

bool acts_between_layers(const RecurrentConfig& config) {
  return config.layers > 1 && std::ranges::any_of(recurrent_options, [&](const RecurrentOption& option) {
           return option.cudnn == RecurrentOption::Cudnn::between_layers && is_set(option, config);
         });
}

bool is_plain_step(const RecurrentConfig& config) {
  return std::ranges::none_of(recurrent_options, [&](const RecurrentOption& option) {
    return (option.acts == Acts::always || option.acts == Acts::expected) && is_set(option, config);
  });
}

RecurrentConfig without_dropping(RecurrentConfig config) {
  for (const RecurrentOption& option : recurrent_options)
    if (option.acts == Acts::in_training || option.acts == Acts::expected) unset(option, config);
  return config;
}

std::string unknown_to_torch(const RecurrentConfig& config) {
  auto set = options_set(config);
  std::erase_if(set, [](const auto* option) { return option->acts == Acts::in_training || option->torch; });
  return names(set);
}

std::string torch_module(const CellFacts& cell, const RecurrentConfig& config) {
  if (const std::string unknown = unknown_to_torch(config); !unknown.empty())
    return fmt::format("none: nn.{} does not know {}", cell.title, unknown);
  std::string known;
  for (const RecurrentOption* option : options_set(config))
    if (option->torch) {
      const char* quote = functions_of(*option).empty() ? "" : "'";
      const std::string value = option->range == Range::on_off ? "True" : value_of(*option, config);
      known += fmt::format(", {}={}{}{}", option->torch, quote, value, quote);
    }
  return fmt::format("nn.{}({}, {}, {}{})", cell.title, config.input, config.hidden, config.layers, known);
}

}  // namespace unroll

// LSTMs with options, each alone and many together, for the suites that compare and differentiate them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "layers/recurrent/lstm.h"
#include "tests/support.h"

namespace unroll {

struct LstmCase {
  RecurrentConfig config;
  int steps = 3, batch = 2;
  bool padded = false;  // rows have lengths of their own
  Padding padding = Padding::after;

  // x, h0 and c0
  std::vector<Shape> shapes() const {
    const int states = config.layers * config.directions();
    return {{steps, batch, config.input}, {states, batch, config.width()}, {states, batch, config.hidden}};
  }
  Lengths lengths() const {
    if (!padded) return {};
    IdTensor result({batch});
    for (int b = 0; b < batch; ++b) result.data()[b] = (7 * b + steps - 1) % (steps + 1);
    return {result, padding};
  }
  std::string name() const {
    const RecurrentConfig& c = config;
    std::string text = fmt::format("{} lstm {}->{} layers {} steps {} batch {}", name_of(c.engine), c.input,
                                   c.hidden, c.layers, steps, batch);
    const auto add = [&](bool there, const std::string& option) {
      if (there) text += " " + option;
    };
    add(padded, padding == Padding::before ? "padded before" : "padded after");
    for (const RecurrentOption& option : recurrent_options)
      add(is_set(option, c), fmt::format("{} {}", option.name, value_of(option, c)));
    return text;
  }
  LstmCase with(Engine engine) const {
    LstmCase result = *this;
    result.config.engine = engine;
    return result;
  }
};

// Every option that a cell has by itself, and what it needs beside it.
inline std::vector<RecurrentConfig> options_alone(const CellFacts& cell, const RecurrentConfig& plain) {
  std::vector<RecurrentConfig> result;
  for (const RecurrentOption& option : recurrent_options) {
    const auto add = [&](auto value) {
      RecurrentConfig& config = result.emplace_back(plain);
      config.*std::get<decltype(value) RecurrentConfig::*>(option.member) = value;
      if (&option == &option_named("locked_dropout")) config.dropout = 0.4f;
      if (&option == &option_named("mogrifier_rank")) config.mogrifier = 4;
      if (fault_in(cell, config) || option.acts == RecurrentOption::Acts::at_first)
        result.pop_back();  // another cell's, or for more layers or units
    };
    switch (option.range) {
      case RecurrentOption::Range::on_off:
        add(true);
        break;
      case RecurrentOption::Range::rate:
        add(0.4f);
        break;
      case RecurrentOption::Range::limit:
        add(0.25f);
        break;
      case RecurrentOption::Range::number:
        add(0.5f);
        break;
      case RecurrentOption::Range::count:
        add(3);
        break;
      case RecurrentOption::Range::width:
        if (plain.hidden > 1) add(plain.hidden / 2);
        break;
      case RecurrentOption::Range::of_gates:
      case RecurrentOption::Range::of_cell:
      case RecurrentOption::Range::of_plain:
        for (const Unary f : functions_of(option))
          if (f != plain.*std::get<Unary RecurrentConfig::*>(option.member)) add(f);
    }
  }
  return result;
}
inline std::vector<LstmCase> lstm_options_alone(int input, int hidden, int layers, int steps, int batch) {
  const LstmCase plain{
      .config = {.input = input, .hidden = hidden, .layers = layers}, .steps = steps, .batch = batch};
  std::vector<LstmCase> result;
  for (const RecurrentConfig& config : options_alone(Lstm::facts, plain.config)) {
    result.push_back(plain);
    result.back().config = config;
  }
  for (const Padding padding : {Padding::after, Padding::before}) {
    result.push_back(plain);
    result.back().padded = true, result.back().padding = padding;
  }
  return result;
}

// Sizes and options at random, sizes from 1 to `largest`.
inline LstmCase random_lstm_case(RandomStream& random, uint32_t largest) {
  const auto size = [&] { return static_cast<int>(1 + random.below(largest)); };
  const auto chance = [&] { return random.below(2) == 0; };
  const auto rate = [&] { return chance() ? 0.f : 0.1f + 0.6f * static_cast<float>(random.uniform()); };
  LstmCase c{.config = {.input = size(), .hidden = size(), .layers = static_cast<int>(1 + random.below(2))},
             .steps = size(),
             .batch = size(),
             .padded = chance(),
             .padding = chance() ? Padding::after : Padding::before};
  if (c.config.layers > 1)
    c.config.dropout = rate(), c.config.locked_dropout = c.config.dropout > 0 && chance();
  c.config.residual = c.config.layers > 1 && chance();
  c.config.bidirectional = chance();
  c.config.projection = c.config.hidden > 1 && chance() ? 1 : 0;
  if (c.config.layers > 1 && c.config.hidden > 1 && !c.config.residual && !c.config.projection && chance())
    c.config.last_hidden = 1 + static_cast<int>(random.below(static_cast<uint32_t>(c.config.hidden - 1)));
  c.config.layer_norm = chance() && chance();
  c.config.peepholes = chance();
  c.config.coupled_gates = chance() && chance();
  if (chance()) c.config.gate_activation = Unary::hard_sigmoid;
  if (chance()) c.config.cell_activation = Unary::softsign;  // the others have kinks
  c.config.recurrent_dropout = rate();
  c.config.weight_drop = rate();
  c.config.zoneout_h = rate();
  c.config.zoneout_c = rate();
  RandomStream next = random;  // a copy: what was drawn here first stays as it was
  if (next.below(4) == 0) {
    c.config.mogrifier = static_cast<int>(1 + next.below(5));
    if (c.config.hidden > 1 && next.below(2) == 0)
      c.config.mogrifier_rank = 1 + static_cast<int>(next.below(static_cast<uint32_t>(c.config.hidden - 1)));
  }
  if (next.below(3) == 0) c.config.cell_clip = 0.25f;
  return c;
}

// How many of x are exactly zero.
inline int64_t zeros(const Tensor& x) { return std::ranges::count(x.span(), real{0}); }

}  // namespace unroll

// LSTMs with options, each alone and many together, for the suites that compare and differentiate them.
#pragma once

#include <string>
#include <vector>

#include "layers/recurrent/lstm.h"
#include "tests/support.h"

namespace unroll {

struct LstmCase {
  LstmConfig config;
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
    const LstmConfig& c = config;
    std::string text = fmt::format("{} lstm {}->{} layers {} steps {} batch {}", name_of(c.engine), c.input,
                                   c.hidden, c.layers, steps, batch);
    const auto add = [&](bool there, const std::string& option) {
      if (there) text += " " + option;
    };
    add(padded, padding == Padding::before ? "padded before" : "padded after");
    add(c.dropout > 0, fmt::format("dropout {}{}", c.dropout, c.locked_dropout ? " locked" : ""));
    add(c.recurrent_dropout > 0, fmt::format("recurrent_dropout {}", c.recurrent_dropout));
    add(c.weight_drop > 0, fmt::format("weight_drop {}", c.weight_drop));
    add(c.zoneout_h > 0 || c.zoneout_c > 0, fmt::format("zoneout {} {}", c.zoneout_h, c.zoneout_c));
    add(c.projection > 0, fmt::format("projection {}", c.projection));
    add(c.last_hidden > 0, fmt::format("last_hidden {}", c.last_hidden));
    add(c.layer_norm, "layer_norm");
    add(c.peepholes, "peepholes");
    add(c.residual, "residual");
    add(c.bidirectional, "bidirectional");
    add(c.gate_activation != Unary::sigmoid, fmt::format("gates' {}", name_of(c.gate_activation)));
    add(c.cell_activation != Unary::tanh, fmt::format("cell's {}", name_of(c.cell_activation)));
    return text;
  }
  LstmCase with(LstmEngine engine) const {
    LstmCase result = *this;
    result.config.engine = engine;
    return result;
  }
};

// Every option by itself.
inline std::vector<LstmCase> lstm_options_alone(int input, int hidden, int layers, int steps, int batch) {
  const LstmCase plain{
      .config = {.input = input, .hidden = hidden, .layers = layers}, .steps = steps, .batch = batch};
  std::vector<LstmCase> result;
  const auto add = [&](auto change) { change(result.emplace_back(plain)); };
  if (layers > 1) {
    add([](LstmCase& c) { c.config.dropout = 0.4f; });
    add([](LstmCase& c) { c.config.dropout = 0.4f, c.config.locked_dropout = true; });
  }
  add([](LstmCase& c) { c.config.recurrent_dropout = 0.3f; });
  add([](LstmCase& c) { c.config.weight_drop = 0.5f; });
  add([](LstmCase& c) { c.config.zoneout_h = 0.3f; });
  add([](LstmCase& c) { c.config.zoneout_c = 0.6f; });
  if (hidden > 1) add([=](LstmCase& c) { c.config.projection = hidden / 2; });
  add([](LstmCase& c) { c.config.layer_norm = true; });
  add([](LstmCase& c) { c.config.peepholes = true; });
  for (const Unary f : gate_functions)
    if (f != plain.config.gate_activation) add([=](LstmCase& c) { c.config.gate_activation = f; });
  for (const Unary f : cell_functions)
    if (f != plain.config.cell_activation) add([=](LstmCase& c) { c.config.cell_activation = f; });
  if (layers > 1 && hidden > 1) add([=](LstmCase& c) { c.config.last_hidden = hidden / 2; });
  if (layers > 1) add([](LstmCase& c) { c.config.residual = true; });
  add([](LstmCase& c) { c.config.bidirectional = true; });
  add([](LstmCase& c) { c.padded = true; });
  add([](LstmCase& c) { c.padded = true, c.padding = Padding::before; });
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
  if (chance()) c.config.gate_activation = Unary::hard_sigmoid;
  if (chance()) c.config.cell_activation = Unary::softsign;  // the others have kinks
  c.config.recurrent_dropout = rate();
  c.config.weight_drop = rate();
  c.config.zoneout_h = rate();
  c.config.zoneout_c = rate();
  return c;
}

}  // namespace unroll

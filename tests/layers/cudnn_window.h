// Shared by the suites of the engine `cudnn` that need no stand-in: a layer with its window, of sizes and options
// that cuDNN takes.
#pragma once

#include <vector>

#include "tests/layers/agreement.h"

namespace unroll {

struct Case {
  bool lstm = true;  // else:
  CellKind other = CellKind::gru;
  RecurrentConfig config = {};
  int steps = 4, batch = 3;
  std::vector<int32_t> lengths = {};

  WindowCase window() const {
    const RecurrentConfig& c = config;
    const std::string name = fmt::format(
        "{} {}->{} layers {} projection {} last {} dropout {}{}{}{} steps {} batch {} lengths {}",
        facts_of(lstm ? CellKind::lstm : other).name, c.input, c.hidden, c.layers, c.projection,
        c.last_hidden, c.dropout, c.locked_dropout ? " locked" : "", c.residual ? " residual" : "",
        c.bidirectional ? " bidirectional" : "", steps, batch, lengths.size());
    return {.name = name,
            .layer = [self = *this](ParameterSet& params, Engine engine) -> RecurrentLayer {
              RecurrentConfig c = self.config;
              c.engine = engine;
              const CellFacts& cell = facts_of(self.lstm ? CellKind::lstm : self.other);
              return {params / cell.name, cell.kind, c};
            },
            .steps = steps,
            .batch = batch,
            .lengths = {lengths.empty() ? IdTensor() : ids({batch}, lengths), Padding::after}};
  }
};

inline constexpr bool has_16_bits =
    sizeof(real) == sizeof(float);  // the core in double has no other precision

inline const std::vector<Precision>& precisions_of_16_bits() {
  static const std::vector<Precision> all =
      has_16_bits ? std::vector{Precision::bf16, Precision::fp16} : std::vector<Precision>{};
  return all;
}
// And all in which cuDNN has numbers of its own.
inline const std::vector<Precision>& precisions() {
  static const std::vector<Precision> all = [] {
    std::vector<Precision> with_32 = precisions_of_16_bits();
    with_32.insert(with_32.begin(), Precision::fp32);
    return with_32;
  }();
  return all;
}

inline const Case two_layers{.config = {.input = 3, .hidden = 5, .layers = 2}};

}  // namespace unroll

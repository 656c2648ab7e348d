#include "layers/recurrent/recurrent_layer.h"

namespace unroll {

Lstm::Output RecurrentLayer::operator()(const Var& x, const RecurrentVars& state,
                                        const Lengths& lengths) const {
  if (lstm()) return (*lstm())(x, state, lengths);
  const auto [y, h] = (*gru())(x, state.h, lengths);
  return {y, {h, Var()}};
}

RecurrentState RecurrentLayer::zero_state(int batch) const {
  return lstm() ? lstm()->zero_state(batch) : gru()->zero_state(batch);
}

const LstmChoice& RecurrentLayer::choice() const& {
  return std::visit([](const auto& layer) -> const LstmChoice& { return layer.choice(); }, layer_);
}
LstmChoice RecurrentLayer::choice_for(const WindowFacts& window) const {
  return lstm() ? choose_lstm(lstm()->config(), engine_facts(), window)
                : choose_gru(gru()->config(), engine_facts(), window);
}
int RecurrentLayer::input() const {
  return std::visit([](const auto& layer) { return layer.config().input; }, layer_);
}
int RecurrentLayer::output() const {
  return std::visit([](const auto& layer) { return layer.config().output(); }, layer_);
}
bool RecurrentLayer::bidirectional() const {
  return std::visit([](const auto& layer) { return layer.config().bidirectional; }, layer_);
}

}  // namespace unroll

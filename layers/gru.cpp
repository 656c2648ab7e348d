#include "layers/gru.h"

#include <cmath>

namespace unroll::inline UNROLL_REAL {

LstmChoice choose_gru(const GruConfig& config) {
  return choose_engine(config.engine, named({{"recurrent_dropout", config.recurrent_dropout > 0},
                                             {"weight_drop", config.weight_drop > 0},
                                             {"zoneout", config.zoneout > 0}}));
}

// Weights uniform in ±1/√hidden, as PyTorch's nn.GRU.
Gru::Gru(Scope scope, const GruConfig& c)
    : config_(c),
      choice_(choose_gru(c)),
      stack_(scope, {.name = "gru",
                     .input = c.input,
                     .hidden = c.hidden,
                     .layers = c.layers,
                     .directions = c.directions(),
                     .width = c.hidden,
                     .cells = 0,
                     .dropout = c.dropout,
                     .locked_dropout = c.locked_dropout,
                     .residual = c.residual,
                     .recurrent_dropout = c.recurrent_dropout,
                     .weight_drop = c.weight_drop,
                     .zoneout_h = c.zoneout,
                     .zoneout_c = 0}) {
  const int gates = 3 * c.hidden;
  const float bound = 1 / std::sqrt(static_cast<float>(c.hidden));
  for (int k = 0; k < stack_.count(); ++k) {
    const auto add = [&](const char* name, const Shape& shape) {
      Parameter& p =
          scope.add(name + RecurrentStack::suffix(k, c.directions()), shape, Init::uniform(-bound, bound));
      p.decay = shape.rank() > 1;
      return p.var();
    };
    const Var weight_ih = add("weight_ih", {gates, stack_.input_of(k)}),
              weight_hh = add("weight_hh", {gates, c.hidden});
    layers_.push_back({weight_ih, weight_hh, add("bias", {gates}), add("bias_hn", {c.hidden})});
  }
}

GruState Gru::zero_state(int batch) const { return {Tensor::zeros({stack_.count(), batch, config_.hidden})}; }

Gru::Output Gru::operator()(const Var& x, const Var& h, const Lengths& lengths) const {
  const auto layer_of = choice_.engine == LstmEngine::composed ? gru_layer_composed : gru_layer_fused;
  Vars last;
  const Var y = stack_(x, lengths, [&](int k, const Var& in, const RecurrentMasks& masks) {
    const Shape expected{stack_.count(), x.dim(1), config_.hidden};
    require(h.shape() == expected, "gru: state {} must be {} for x {}", h.shape(), expected, x.shape());
    const auto out = layer_of(in, row(h, k), layers_[static_cast<size_t>(k)], masks);
    last.push_back(out.h);
    return out.y;
  });
  return {y, stack(last)};
}

}  // namespace unroll::inline UNROLL_REAL

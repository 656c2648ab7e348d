#include "layers/stepper.h"

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"

namespace unroll::inline UNROLL_REAL {

LstmStepper::LstmStepper(const Lstm& lstm, int batch)
    : lstm_(lstm), state_(lstm.zero_state(batch)), gates_({batch, 4 * lstm.config().hidden}) {
  const LstmConfig& c = lstm.config();
  require(!c.bidirectional,
          "stepper: a bidirectional lstm reads the steps to come too; call it on whole windows");
  plain_ = c.zoneout_h == 0 && c.zoneout_c == 0 && !c.layer_norm && !c.peepholes && !c.projection &&
           !c.last_hidden && !c.residual && c.gate_activation == Unary::sigmoid &&
           c.cell_activation == Unary::tanh;
}

// The equations stand in lstm_fused.cpp. Nobody asks for h_{t-1} and c_{t-1} again: they are overwritten.
Tensor LstmStepper::operator()(const Tensor& x) {
  const int batch = state_.h.dim(1), hidden = state_.c.dim(2), input = lstm_.config().input;
  require(x.rank() == 2 && x.dim(0) == batch && x.dim(1) == input, "stepper: x {} must be [{}, {}]",
          x.shape(), batch, input);
  if (!plain_) {  // a window of one step
    const NoTape guard;
    const auto out = lstm_(Var(x.reshape({1, batch, input})), state_);
    state_ = out.state;
    return out.y.value()[0];
  }
  Tensor y = x;
  for (size_t k = 0; k < lstm_.layers().size(); ++k) {
    const Lstm::Layer& layer = lstm_.layers()[k];
    const Tensor h = state_.h[static_cast<int>(k)], c = state_.c[static_cast<int>(k)];
    kernels().broadcast_rows(layer.bias.value().data(), batch, 4 * hidden, gates_.data());
    gemm(y, transposed(layer.weight_ih.value()), add_to(gates_));
    gemm(h, transposed(layer.weight_hh.value()), add_to(gates_));
    kernels().lstm_cell({.batch = batch,
                         .hidden = hidden,
                         .gates = gates_.data(),
                         .c_prev = c.data(),
                         .c = c.data(),
                         .h = h.data()});
    y = h;
  }
  return y;
}

TokenStepper::TokenStepper(const Embedding& embedding, const Lstm& lstm_layers, const Dense& decoder)
    : lstm(lstm_layers), embedding_(embedding), decoder_(decoder), out_({1, decoder.config.out}) {
  require(embedding.config.dim == lstm_layers.config().input &&
              decoder.config.in == lstm_layers.config().output(),
          "stepper: an embedding of {} and a decoder of {} do not fit an lstm of input {} and output {}",
          embedding.config.dim, decoder.config.in, lstm_layers.config().input, lstm_layers.config().output());
}

std::span<const real> TokenStepper::operator()(int32_t token) {
  require(token >= 0 && token < embedding_.config.vocab, "stepper: no token {} in a vocabulary of {}", token,
          embedding_.config.vocab);
  decoder_.compute(lstm(embedding_.weight.value().slice(token, token + 1)), out_);
  return out_.span();
}

}  // namespace unroll::inline UNROLL_REAL

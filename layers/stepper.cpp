#include "layers/stepper.h"

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"

namespace unroll {

namespace {

// Whether a step is two products and one pass of the cell's kernel.
bool is_plain(const LstmConfig& c) {
  return c.zoneout_h == 0 && c.zoneout_c == 0 && !c.layer_norm && !c.peepholes && !c.projection &&
         !c.last_hidden && !c.residual && c.gate_activation == Unary::sigmoid &&
         c.cell_activation == Unary::tanh;
}
bool is_plain(const GruConfig& c) { return c.zoneout == 0 && !c.residual; }

}  // namespace

Stepper::Stepper(const RecurrentLayer& layers, int batch)
    : layers_(layers),
      plain_(layers.lstm() ? is_plain(layers.lstm()->config()) : is_plain(layers.gru()->config())),
      state_(layers.zero_state(batch)) {
  require(!layers.bidirectional(),
          "stepper: a bidirectional layer reads the steps to come too; call it on whole windows");
  if (!plain_) return;
  const int hidden = state_.h.dim(2);
  gates_ = Tensor({batch, (layers.lstm() ? 4 : 3) * hidden});
  if (layers.gru()) sums_ = Tensor({batch, 3 * hidden});
}

// The equations stand in lstm_fused.cpp and gru_fused.cpp. Nobody asks for the state before the step again:
// it is overwritten.
void Stepper::step(const Lstm::Layer& layer, int k, const Tensor& x) {
  Tensor h = state_.h[k], c = state_.c[k];
  gemm(x, transposed(layer.weight_ih.value()), layer.bias.value(), gates_);
  gemm(h, transposed(layer.weight_hh.value()), add_to(gates_));
  kernels().lstm_cell({.batch = h.rows(),
                       .hidden = h.cols(),
                       .gates = gates_.data(),
                       .c_prev = c.data(),
                       .c = c.data(),
                       .h = h.data()});
}

void Stepper::step(const Gru::Layer& layer, int k, const Tensor& x) {
  Tensor h = state_.h[k];
  gemm(x, transposed(layer.weight_ih.value()), layer.bias.value(), gates_);
  gemm(h, transposed(layer.weight_hh.value()), overwrite(sums_));
  kernels().gru_cell(gates_.data(), sums_.data(), layer.bias_hn.value().data(), h.data(), h.rows(), h.cols(),
                     h.data());
}

Tensor Stepper::operator()(const Tensor& x) {
  const int batch = state_.h.dim(1), input = layers_.input();
  require(x.rank() == 2 && x.dim(0) == batch && x.dim(1) == input, "stepper: x {} must be [{}, {}]",
          x.shape(), batch, input);
  if (!plain_) {  // a window of one step
    const NoTape guard;
    const auto out = layers_(Var(x.reshape({1, batch, input})), state_);
    state_ = out.state;
    return out.y.value()[0];
  }
  for (int k = 0; k < state_.h.dim(0); ++k) {
    const Tensor in = k == 0 ? x : state_.h[k - 1];
    const auto at = static_cast<size_t>(k);
    if (layers_.lstm())
      step(layers_.lstm()->layers()[at], k, in);
    else
      step(layers_.gru()->layers()[at], k, in);
  }
  return state_.h[state_.h.dim(0) - 1];
}

TokenStepper::TokenStepper(const Embedding& embedding, const RecurrentLayer& recurrent, const Dense& decoder)
    : layers(recurrent), embedding_(embedding), decoder_(decoder), out_({1, decoder.config.out}) {
  require(embedding.config.dim == recurrent.input() && decoder.config.in == recurrent.output(),
          "stepper: an embedding of {} and a decoder of {} do not fit layers of input {} and output {}",
          embedding.config.dim, decoder.config.in, recurrent.input(), recurrent.output());
}

std::span<const real> TokenStepper::operator()(int32_t token) & {
  require(token >= 0 && token < embedding_.config.vocab, "stepper: no token {} in a vocabulary of {}", token,
          embedding_.config.vocab);
  decoder_.compute(layers(embedding_.weight.value().slice(token, token + 1)), out_);
  if (!on_gpu()) return out_.span();
  out_on_host_ = out_.to_host();
  return out_on_host_;
}

}  // namespace unroll

#include "layers/stepper.h"

#include "framework/check.h"

namespace unroll {

Stepper::Stepper(const RecurrentLayer& layers, int batch)
    : layers_(layers), state_(layers.zero_state(batch)) {
  require(!layers.config().bidirectional,
          "stepper: a bidirectional layer reads the steps to come too; call it on whole windows");
  if (const int room = layers.plain_step_room()) room_ = Tensor({batch, room});
}

Var Stepper::window_of(const Tensor& x) const {
  const int batch = state_.h.dim(1), input = layers_.config().input;
  require(x.rank() == 2 && x.dim(0) == batch && x.dim(1) == input, "stepper: x {} must be [{}, {}]",
          x.shape(), batch, input);
  return x.reshape({1, batch, input});
}

Tensor Stepper::operator()(const Tensor& x) {
  const Var window = window_of(x);
  if (!room_.defined()) {
    const NoTape guard;
    const auto out = layers_(window, state_);
    state_ = out.state;
    return out.y.value()[0];
  }
  for (int k = 0; k < state_.h.dim(0); ++k) {
    const Tensor in = k == 0 ? x : state_.h[k - 1];
    layers_.plain_step(k, in, state_.h[k], state_.c.defined() ? state_.c[k] : Tensor(), room_);
  }
  return state_.h[state_.h.dim(0) - 1];
}

RecurrentTrace Stepper::trace(const Tensor& x) {
  const NoTape guard;
  RecurrentTrace result = layers_.trace(window_of(x), state_);
  state_ = result.state;
  return result;
}

TokenStepper::TokenStepper(const Embedding& embedding, const RecurrentLayer& recurrent, const Dense& decoder)
    : layers(recurrent), embedding_(embedding), decoder_(decoder), out_({1, decoder.config.out}) {
  require(
      embedding.config.dim == recurrent.config().input && decoder.config.in == recurrent.config().output(),
      "stepper: an embedding of {} and a decoder of {} do not fit layers of input {} and output {}",
      embedding.config.dim, decoder.config.in, recurrent.config().input, recurrent.config().output());
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

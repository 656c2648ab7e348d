// The functions of one element, by name. Formulas and slopes stand in kernels/pointwise.h.
#pragma once

#include <cstdint>

#include "framework/real.h"

namespace unroll {

// A function of one element.
enum class Unary : uint8_t {
  exp,
  log,
  sqrt,
  sigmoid,
  tanh,
  softplus,  // log(1 + e^x)
  erf,
  gelu,       // x Φ(x), with the normal distribution Φ(x) = (1 + erf(x / √2)) / 2
  gelu_tanh,  // x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, close to it
  silu,       // x σ(x)
  sin,
  cos,
  relu,
  hard_sigmoid,  // x/6 + 1/2 between 0 and 1
  hard_tanh,     // x between -1 and 1
  softsign,      // x / (1 + |x|)
  abs            // |x|, of slope 0 at 0
};
// In the order of Unary.
inline constexpr const char* unary_names[] = {
    "exp",  "log", "sqrt", "sigmoid", "tanh",         "softplus",  "erf",      "gelu", "gelu_tanh",
    "silu", "sin", "cos",  "relu",    "hard_sigmoid", "hard_tanh", "softsign", "abs"};
// Functions whose slope is taken from x; that of all others follows from the value.
inline constexpr Unary slopes_of_x[] = {Unary::log,  Unary::softplus,  Unary::erf,
                                        Unary::gelu, Unary::gelu_tanh, Unary::silu,
                                        Unary::sin,  Unary::cos,       Unary::abs};

// gate_functions: those that an LSTM's gates may have; cell_functions: g, and c on its way to h. Slopes follow from values.
inline constexpr Unary gate_functions[] = {Unary::sigmoid, Unary::hard_sigmoid};
inline constexpr Unary cell_functions[] = {Unary::tanh, Unary::relu, Unary::hard_tanh, Unary::softsign};
// And those of a plain network, as PyTorch and cuDNN have them.
inline constexpr Unary plain_functions[] = {Unary::tanh, Unary::relu};

}  // namespace unroll

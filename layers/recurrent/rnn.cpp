#include "layers/recurrent/rnn.h"

namespace unroll {

RnnCell::RnnCell(const LayerScope& scope)
    : weight_ih(scope.add("weight_ih", {scope.hidden, scope.input}).var()),
      weight_hh(scope.add("weight_hh", {scope.hidden, scope.hidden}).var()),
      bias(scope.add("bias", {scope.hidden}).var()),
      nonlinearity(scope.config.nonlinearity) {}

RecurrentVars RnnCell::step(const Var& x, const Var& h_in, const RecurrentVars&) const {
  return {unary(nonlinearity, linear(x, weight_ih, bias) + linear(h_in, weight_hh)), {}};
}

template class Recurrent<RnnCell>;

}  // namespace unroll

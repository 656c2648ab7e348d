#include "layers/recurrent/gru.h"

namespace unroll {

GruCell::GruCell(const LayerScope& scope)
    : weight_ih(scope.add("weight_ih", {3 * scope.hidden, scope.input}).var()),
      weight_hh(scope.add("weight_hh", {3 * scope.hidden, scope.hidden}).var()),
      bias(scope.add("bias", {3 * scope.hidden}).var()),
      bias_hn(scope.add("bias_hn", {scope.hidden}).var()) {}

template class Recurrent<GruCell>;

}  // namespace unroll

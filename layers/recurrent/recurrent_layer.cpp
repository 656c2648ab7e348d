#include "layers/recurrent/recurrent_layer.h"

#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "layers/recurrent/rnn.h"

namespace unroll {

static RecurrentLayer make(const Scope& scope, CellKind cell, const RecurrentConfig& config) {
  switch (cell) {
    case CellKind::lstm:
      return Lstm(scope, config);
    case CellKind::gru:
      return Gru(scope, config);
    case CellKind::rnn:
      return Rnn(scope, config);
    case CellKind::other:
      break;
  }
  throw Error("a cell from outside is made by Recurrent<Cell>");
}

RecurrentLayer::RecurrentLayer(const Scope& scope, CellKind cell, const RecurrentConfig& config)
    : RecurrentLayer(make(scope, cell, config)) {}

}  // namespace unroll

#include "layers/recurrent/lstm.h"

namespace unroll {

LstmCell::LstmCell(const LayerScope& scope)
    : gate(scope.config.gate_activation),
      cell(scope.config.cell_activation),
      clip(scope.config.cell_clip),
      step_by_step(scope.config.algorithm == RecurrentAlgorithm::standard),
      coupled(scope.config.coupled_gates) {
  const RecurrentConfig& config = scope.config;
  const int hidden = scope.hidden, gates = (coupled ? 3 : 4) * hidden, of_f = coupled ? 0 : hidden;
  const auto constant = [&](const char* name, int size, float value) {
    return scope.add(name, {size}, Init::centered_at(value, size)).var();
  };
  weight_ih = scope.add("weight_ih", {gates, scope.input}).var();
  weight_hh = scope.add("weight_hh", {gates, scope.width()}).var();
  Parameter& sums = scope.add("bias", {gates});
  sums.init.offset = {config.forget_bias, of_f, of_f + hidden};
  bias = sums.var();
  if (config.projection) weight_hr = scope.add("weight_hr", {config.projection, hidden}).var();
  if (config.peepholes) peepholes = scope.add("peepholes", {coupled ? 2 : 3, hidden}).var();
  if (!config.layer_norm) return;
  norm_ih = constant("norm_ih", gates, 1);
  norm_hh = constant("norm_hh", gates, 1);
  norm_c = constant("norm_c", hidden, 1);
  norm_c_bias = constant("norm_c_bias", hidden, 0);
}

template class Recurrent<LstmCell>;

}  // namespace unroll

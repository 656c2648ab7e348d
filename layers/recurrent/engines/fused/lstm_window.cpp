#include "layers/recurrent/engines/fused/lstm_window.h"

namespace unroll::fused {

LstmLayerWindow::LstmLayerWindow(const LstmCell& layer, const Var& x, const RecurrentVars& state,
                                 const RecurrentMasks& masks)
    : layer(layer),
      x(x),
      h0(state.h),
      c0(state.c),
      masks(masks),
      steps(x.dim(0)),
      batch(x.dim(1)),
      hidden(c0.dim(1)),
      width(h0.dim(1)),
      gates({steps, batch, layer.weight_ih.dim(0)}),
      h({steps + 1, batch, width}),
      c({steps + 1, batch, hidden}),
      h_options{masks.new_h, masks.h, masks.resets},
      c_options{masks.new_c, {}, masks.resets},
      cell(masks.new_c.defined() ? Tensor({steps, batch, hidden}) : c.slice(1, steps + 1)),
      out(projects() ? Tensor({steps, batch, hidden}) : h.slice(1, steps + 1)),
      of_x(layer.norm_ih, layer.bias, gates.shape()),
      of_h(layer.norm_hh, gates.shape()),
      of_c(layer.norm_c, layer.norm_c_bias, cell.shape()),
      dpeepholes(has(layer.peepholes)
                     ? Tensor::zeros({batch, static_cast<int>(layer.peepholes.value().size())})
                     : Tensor()),
      cell_row(row_of_cell(masks, has(layer.norm_c), has(layer.peepholes))),
      mogrified(masks, x, layer.weight_ih, width),
      rounded_h(mogrified ? RoundedTensor() : RoundedTensor({steps, batch, width})) {}

LstmStep LstmLayerWindow::step(int t, const Tensor& c_before) {
  return {.batch = batch,
          .hidden = hidden,
          .gates = gates[t].data(),
          .c_prev = c_before.data(),
          .c = cell[t].data(),
          .h = out[t].data(),
          .gate = layer.gate,
          .cell = layer.cell,
          .clip = layer.clip,
          .coupled = layer.coupled,
          .peepholes = layer.peepholes.value().data(),
          .dpeepholes = dpeepholes.data(),
          .norm_eps = norm_eps,
          .norm_h = of_h.step(t),
          .norm_c = of_c.step(t)};
}

LstmForward::LstmForward(LstmLayerWindow& window, Multiplied multiplied, const Tensor& bias, bool elsewhere)
    : w(window),
      product_of_x(w.x, w.layer.weight_ih, bias, w.of_x.place(w.gates), w.masks.part,
                   w.mogrified || elsewhere),
      h(w.h0.value(), w.h, w.h_options, multiplied, w.rounded_h),
      c(w.c0.value(), w.c, w.c_options, Multiplied::no) {
  if (!product_of_x.at_once()) return;
  w.rounded_x = product_of_x.rounded_x();
  w.of_x.forward(w.gates, 0, w.steps);
}

LstmStep LstmForward::step(int t) {
  LstmStep s = w.step(t, c.met(t));
  s.c_on = c.after(t);
  if (w.masks.new_c.defined()) s.c_after = w.c[t + 1].data();
  return s;
}

LstmBackward::LstmBackward(LstmLayerWindow& window, const Var& y, const Var& h_last, const Var& c_last,
                           bool elsewhere)
    : w(window),
      dh(h_last.grad().clone()),
      dout(w.projects() ? Tensor({w.batch, w.hidden}) : dh),
      dc(c_last.grad().clone()),
      da_rounded(w.gates.shape()),
      h({.d = dh, .steps = w.steps, .options = w.h_options, .dy = gradient_of(y)}),
      c({.d = dc, .steps = w.steps, .options = w.c_options, .product = false}),
      c_met(met(w.c, w.c_options)),
      mogrify(w.mogrified, entered(w.h, w.h_options, w.rounded_h)),
      to_x(w.x, w.layer.weight_ih, w.masks.part, w.mogrified || elsewhere) {}

LstmStep LstmBackward::step(int t) {
  LstmStep s = w.step(t, c_met[t]);
  s.c_on = c.at(t), s.rounded_gates = da_rounded.copy(t);
  return s;
}

void LstmBackward::contribute() {
  if (!w.mogrified) w.of_x.backward(w.gates, 0, w.steps, !to_x);
  const Matrix da_x = w.of_x.operand(w.gates, da_rounded, 0, w.steps),
               da_h = da_rounded.operand(w.of_h.place(w.gates));
  to_x.contribute(da_x, w.mogrified ? Matrix(mogrify.seen_x()) : w.rounded_x.operand(w.x.value()));
  mogrify.contribute_rounds();
  contribute_product(da_h, mogrify.seen_h(), w.layer.weight_hh, w.masks.weight_hh);
  contribute_rows(w.gates, w.layer.bias);
  if (has(w.layer.peepholes)) contribute_rows(w.dpeepholes, w.layer.peepholes);
  w.of_x.contribute(), w.of_h.contribute(), w.of_c.contribute(w.cell);
  if (w.h0.wants_grad()) h.finish();
  if (w.c0.wants_grad()) c.finish();
  unroll::contribute(dh, w.h0);
  unroll::contribute(dc, w.c0);
}

}  // namespace unroll::fused

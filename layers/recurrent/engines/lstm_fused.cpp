// The LSTM's fast engine: everything that does not depend on time is one product over all steps, and what
// does is one recurrent product and one pass over the gates per step. Beside other layers of a stack the steps come in chunks
// (layers/recurrent/wavefront.h), else in one. An option is a line of the loops; what it does there stands in fused/, and inside the
// cell in kernels/cpu/lstm_cell.cpp.
#include <optional>

#include "layers/recurrent/engines/fused/input_product.h"
#include "layers/recurrent/engines/fused/mogrifier.h"
#include "layers/recurrent/engines/fused/options.h"
#include "layers/recurrent/engines/fused/projection.h"
#include "layers/recurrent/engines/fused/window.h"
#include "layers/recurrent/lstm.h"

namespace unroll {

using namespace fused;

// For t = 0 … T-1, gates a_t [batch, 4*hidden] in order i f g o; or [batch, 3*hidden], f g o, with i = 1 - f:
//   a_t = x_t W_ihᵀ + b + h_{t-1} W_hhᵀ;   i f o = σ(a), g = tanh(a)
//   c_t = f c_{t-1} + i g;   h_t = o tanh(c_t)
// and back, for t = T-1 … 0:
//   dh_t = dy_t + da_{t+1} W_hh;   (da_t, dc_{t-1}) = cell's gradient of (dh_t, dc_t)
// So a step is a product and a pass, and back a pass and a product. A projection is one more product each way, with a pass for
// what options do to h after it.
//   dx = da W_ih     dW_ih = daᵀ x     dW_hh = Σ_t da_tᵀ h_{t-1}     db = Σ da
RecurrentOutput LstmCell::fused(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks,
                                const Mogrifier& mogrifier) const {
  const LstmCell& layer = *this;  // the closure has a copy
  const WavePart& part = masks.part;
  PartInLane lane(part, PartInLane::Way::forward);
  const Var h0 = state.h, c0 = state.c;
  const int steps = x.dim(0), batch = x.dim(1), hidden = c0.dim(1), width = h0.dim(1);

  Tensor gates(
      {steps, batch, layer.weight_ih.dim(0)});  // overwritten: sums, then activations, then their gradients
  Tensor h({steps + 1, batch, width});          // h[0] is the state before the first step
  Tensor c({steps + 1, batch, hidden});
  const bool projects = has(layer.weight_hr);
  std::optional<PersistentPlan> plan;  // of one kernel for all steps
  if (!part && !layer.step_by_step && !projects && !has(layer.norm_hh) && mogrifier.rounds.empty())
    plan = persistent_plan_here(
        {.hidden = hidden, .gates = layer.weight_hh.dim(0) / hidden, .batch = batch, .steps = steps});
  const Resets resets = plan ? at_each_step(masks.resets) : masks.resets;
  const StateOptions h_options{masks.new_h, masks.h, resets}, c_options{masks.new_c, {}, resets};
  // The cell's own results, where an option makes the state of them.
  Tensor cell = masks.new_c.defined() ? Tensor({steps, batch, hidden}) : c.slice(1, steps + 1);
  Tensor out = projects ? Tensor({steps, batch, hidden}) : h.slice(1, steps + 1);
  NormedInputs of_x(layer.norm_ih, layer.bias, gates.shape());
  NormedProduct of_h(layer.norm_hh, gates.shape());
  NormedState of_c(layer.norm_c, layer.norm_c_bias, cell.shape());
  Tensor dpeepholes = has(layer.peepholes)
                          ? Tensor::zeros({batch, static_cast<int>(layer.peepholes.value().size())})
                          : Tensor();
  const std::string_view cell_row = row_of_cell(masks, has(layer.norm_c), has(layer.peepholes));
  auto step = [=](int t, const Tensor& c_before) mutable {
    return LstmStep{.batch = batch,
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
  };

  const Mogrified mogrified(mogrifier, x, layer.weight_ih, width);
  MogrifierForward mogrify(mogrified);
  const Tensor bias_of_x = has(layer.norm_ih) ? Tensor() : layer.bias.value();
  const InputProduct product_of_x(x, layer.weight_ih, bias_of_x, of_x.place(gates), part, bool{mogrified});
  if (product_of_x.at_once()) of_x.forward(gates, 0, steps);
  const Tensor weight_hh = dropped(layer.weight_hh.value(), masks.weight_hh);
  std::optional<StepWeights> recurrent;
  if (!plan) recurrent.emplace(transposed(weight_hh), steps);
  std::optional<Projection> project;
  if (projects) project.emplace(transposed(layer.weight_hr.value()), steps);
  HandedOn to_next_h(h0.value(), h, h_options, mogrified || plan ? Multiplied::as_floats : Multiplied::yes),
      to_next_c(c0.value(), c, c_options, Multiplied::no);
  RoundedTensor projected_from;
  if (projects) projected_from = RoundedTensor({batch, hidden});
  const auto step_of_c = [&](int t) {
    LstmStep s = step(t, to_next_c.met(t));
    s.c_on = to_next_c.after(t);
    if (masks.new_c.defined()) s.c_after = c[t + 1].data();
    return s;
  };
  if (plan) {
    const Profile::Within measured(persistent_row);
    const auto whole_step = [&](int t) {
      LstmStep s = step_of_c(t);
      s.h_on = to_next_h.after(t);
      return s;
    };
    persistent_kernels_in(precision())
        .forward({.plan = *plan,
                  .steps = steps,
                  .first = whole_step(0),
                  .second = whole_step(1),
                  .weight_hh = weight_hh.data(),
                  .entering = to_next_h.entering(0).tensor.data()});
  }
  const auto by_steps = [&](int begin, int end) {
    if (product_of_x.of_chunk(begin, end)) of_x.forward(gates, begin, end);
    for (int t = begin; t < end; ++t) {
      const Matrix h_in = mogrify(t, to_next_h.entering(t), bias_of_x, of_x.place(gates)[t]);
      if (mogrified) of_x.forward(gates, t, t + 1);
      gemm(h_in, *recurrent, of_h.into(gates, t));
      LstmStep s = step_of_c(t);
      HandOn after = to_next_h.after(t);
      {
        const Profile::Within measured(cell_row);
        projects ? void(s.h_on.rounded = projected_from.copy()) : void(s.h_on = after);
        kernels().lstm_cell(s);
      }
      if (!projects) continue;
      (*project)(projected_from.operand(out[t]), h[t + 1]);
      const Profile::Within measured(cell_row);
      Tensor next = h[t + 1];
      if (acts(after)) kernels().hand_on(after, next.data(), batch, width, next.data());
    }
  };
  if (!plan) lane.each_chunk(steps, by_steps);

  auto [y_out, h_out, c_out] = record<3>(
      "lstm_layer_fused", std::array{h.slice(1, steps + 1), h[steps].clone(), c[steps].clone()},
      inputs(layer.weights(), x, h0, c0), [=](const Var& y, const Var& h_last, const Var& c_last) mutable {
        const WavePart& part = masks.part;
        PartInLane lane(part, PartInLane::Way::back);
        Tensor dh = h_last.grad().clone(), dout = dh, dc = c_last.grad().clone();
        Tensor projected = projects ? Tensor({steps, batch, width}) : Tensor();  // gradients of
        const Tensor weight_hh = dropped(layer.weight_hh.value(), masks.weight_hh);
        std::optional<StepWeights> recurrent;
        if (!plan) recurrent.emplace(weight_hh, steps);
        std::optional<Projection> project;
        RoundedTensor da_rounded(gates.shape()), projected_rounded;
        if (projects) {
          project.emplace(layer.weight_hr.value(), steps);
          dout = Tensor({batch, hidden}), projected_rounded = RoundedTensor(projected.shape());
        }
        HandedBack h_back({.d = dh, .steps = steps, .options = h_options, .dy = gradient_of(y)}),
            c_back({.d = dc, .steps = steps, .options = c_options, .product = false});
        const Tensor c_met = met(c, c_options);
        MogrifierBackward mogrify(mogrified, entered(h, h_options));
        const auto step_of_c = [&](int t) {
          LstmStep s = step(t, c_met[t]);
          s.c_on = c_back.at(t), s.rounded_gates = da_rounded.copy(t);
          return s;
        };
        if (plan) {
          const Profile::Within measured(persistent_row);
          const auto whole_step = [&](int t) {
            LstmStep s = step_of_c(t);
            s.h_on = h_back.at(t);
            return s;
          };
          persistent_kernels_in(precision())
              .backward({.plan = *plan,
                         .steps = steps,
                         .first = whole_step(0),
                         .second = whole_step(1),
                         .weight_hh = weight_hh.data(),
                         .dh = dout.data(),
                         .dc = dc.data(),
                         .gradient_of_entering = h0.wants_grad()});
        }
        const InputGradient to_x(x, layer.weight_ih, part, bool{mogrified});
        const auto by_steps = [&](int begin, int end) {
          for (int t = end - 1; t >= begin; --t) {
            LstmStep s = step_of_c(t);
            HandOn back = h_back.at(t);
            if (projects) {
              back.rounded = projected_rounded.copy(t);
              Tensor d = projected[t];
              {
                const Profile::Within measured(cell_row);
                kernels().hand_on_gradient(back, dh.data(), batch, width, d.data());
              }
              (*project)(projected_rounded.operand(projected, t), dout);
            } else {
              s.h_on = back;
            }
            {
              const Profile::Within measured(cell_row);
              kernels().lstm_cell_gradient(s, dout.data(), dc.data(), dc.data());
            }
            if (t > 0 || h0.wants_grad() || mogrified)
              gemm(da_rounded.operand(of_h.place(gates), t), *recurrent, overwrite(dh));
            if (mogrified) of_x.backward(gates, t, t + 1);
            mogrify(t, of_x.operand(gates, da_rounded, t, t + 1), dh);
          }
          if (!to_x) return;
          of_x.backward_to_inputs(gates, begin, end);
          to_x.of_chunk(of_x.operand(gates, da_rounded, begin, end), begin, end);
        };
        if (!plan) lane.each_chunk(steps, by_steps);
        if (!mogrified) of_x.backward(gates, 0, steps, !to_x);
        const Matrix da_x = of_x.operand(gates, da_rounded, 0, steps),
                     da_h = da_rounded.operand(of_h.place(gates));
        mogrify.contribute(da_x, !to_x);
        contribute_product(da_h, mogrify.after(), layer.weight_hh, masks.weight_hh);
        contribute_rows(gates, layer.bias);
        if (projected.defined()) {
          const Profile::Within measured(projection_row);
          contribute_product(projected_rounded.operand(projected), out, layer.weight_hr);
        }
        if (has(layer.peepholes)) contribute_rows(dpeepholes, layer.peepholes);
        of_x.contribute(), of_h.contribute(), of_c.contribute();
        if (h0.wants_grad()) h_back.finish();
        if (c0.wants_grad()) c_back.finish();
        contribute(dh, h0);
        contribute(dc, c0);
      });
  return {y_out, {h_out, c_out}};
}

// The state before the step is not needed again: it is overwritten.
void LstmCell::plain_step(const Tensor& x, Tensor h, Tensor c, Tensor gates) const {
  gemm(x, transposed(weight_ih.value()), bias.value(), gates);
  gemm(h, transposed(weight_hh.value()), add_to(gates));
  kernels().lstm_cell({.batch = h.rows(),
                       .hidden = h.cols(),
                       .gates = gates.data(),
                       .c_prev = c.data(),
                       .c = c.data(),
                       .h = h.data()});
}

}  // namespace unroll

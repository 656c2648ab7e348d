// Step by step: forward a product and a pass per step, backward a pass and a product. If layers run side by side, steps
// come in chunks (layers/recurrent/wavefront.h), else in one.
#include "layers/recurrent/engines/fused/projection.h"

namespace unroll::fused {

void forward_by_steps(LstmLayerWindow& w, PartInLane& lane) {
  if (forward_in_few_launches(w, lane)) return;
  MogrifierForward mogrify(w.mogrified);
  ProjectionForward project(w);
  LstmForward go(w, w.mogrified ? Multiplied::as_floats : Multiplied::yes);
  const StepWeights recurrent = recurrent_weights(w.layer.weight_hh, w.masks.weight_hh, true, w.steps);
  lane.each_chunk(w.steps, [&](int begin, int end) {
    if (go.product_of_x.of_chunk(begin, end)) w.of_x.forward(w.gates, begin, end);
    for (int t = begin; t < end; ++t) {
      const Matrix h_in = mogrify(t, go.h.entering(t), w.bias_of_x(), w.of_x.place(w.gates)[t]);
      if (w.mogrified) w.of_x.forward(w.gates, t, t + 1);
      gemm(h_in, recurrent, w.of_h.into(w.gates, t));
      LstmStep s = go.step(t);
      const HandOn after = go.h.after(t);
      {
        const Profile::Within measured(w.cell_row);
        s.h_on = project.in_cell(after);
        kernels().lstm_cell(s);
      }
      project(w, t, after);
    }
  });
}

void backward_by_steps(LstmBackward& back, PartInLane& lane) {
  if (backward_in_few_launches(back, lane)) return;
  LstmLayerWindow& w = back.w;
  ProjectionBackward project(w);
  const StepWeights recurrent = recurrent_weights(w.layer.weight_hh, w.masks.weight_hh, false, w.steps);
  lane.each_chunk(w.steps, [&](int begin, int end) {
    for (int t = end - 1; t >= begin; --t) {
      LstmStep s = back.step(t);
      s.h_on = project(back, t);
      {
        const Profile::Within measured(w.cell_row);
        kernels().lstm_cell_gradient(s, back.dout.data(), back.dc.data(), back.dc.data());
      }
      if (t > 0 || w.h0.wants_grad() || w.mogrified)
        gemm(back.da_rounded.operand(w.of_h.place(w.gates), t), recurrent, overwrite(back.dh));
      if (w.mogrified) w.of_x.backward(w.gates, t, t + 1);
      back.mogrify(t, w.of_x.operand(w.gates, back.da_rounded, t, t + 1), back.dh);
    }
    if (!back.to_x) return;
    w.of_x.backward_to_inputs(w.gates, begin, end);
    back.to_x.of_chunk(w.of_x.operand(w.gates, back.da_rounded, begin, end), begin, end);
  });
  back.contribute();
  project.contribute(w);
}

}  // namespace unroll::fused

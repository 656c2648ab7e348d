// On a GPU, where rows are few: a step is one launch each way, of a product and the cell. With a mogrifier each of its matrices is
// one more. With layer norm, which wants whole rows of the product and of c, rows are a launch behind the product.
#include <tuple>

#include "layers/recurrent/engines/fused/few_launches.h"
#include "layers/recurrent/engines/fused/lstm_window.h"

namespace unroll::fused {

namespace {

const FewRowsKernels* kernels_for(const LstmLayerWindow& w) {
  return w.projects() ? nullptr : few_rows_kernels(w.steps, w.batch);
}
bool normalises(const LstmLayerWindow& w) { return has(w.layer.norm_hh); }

}  // namespace

bool forward_in_few_launches(LstmLayerWindow& w, PartInLane& lane) {
  const FewRowsKernels* const k = kernels_for(w);
  if (!k) return false;
  LstmForward go(w, Multiplied::by_turns);
  const MogrifierInFewLaunches mogrify(*k, w.mogrified, true);
  const FewRowsLines of_h(*k, {w.weight_hh()});
  std::optional<FewRowsLines> of_x;
  if (w.mogrified) of_x.emplace(*k, std::initializer_list<Matrix>{w.layer.weight_ih.value()});
  const int64_t gates = w.gates.dim(2) / w.hidden;
  // The sums of all gates, side by side.
  const auto sums = [&](const FewRowsLines& lines, const Tensor& in, Tensor out) {
    put(*k, {.rows = w.batch, .width = gates * w.hidden, .terms = {lines.times(in)}}, {.y = out.data()});
  };
  lane.each_chunk(w.steps, [&](int begin, int end) {
    if (go.product_of_x.of_chunk(begin, end)) w.of_x.forward(w.gates, begin, end);
    for (int t = begin; t < end; ++t) {
      Tensor x, h = go.h.entering(t).tensor;
      if (w.mogrified) std::tie(x, h) = mogrify.forward(t, h);
      if (normalises(w) && w.mogrified)
        sums(*of_x, x, w.of_x.place(w.gates)[t]), w.of_x.forward(w.gates, t, t + 1);
      LstmStep s = go.step(t);
      s.h_on = go.h.after(t);
      const Profile::Within row(w.cell_row);
      FewRows p{.rows = w.batch, .width = w.hidden, .gates = gates, .terms = {of_h.times(h)}};
      const bool joint = w.mogrified && !normalises(w);
      if (joint) p.terms[1] = of_x->times(x);
      const Profile::Product measured = fused::measured(p);
      k->lstm_cell(p, s, joint ? w.layer.bias.value().data() : nullptr);
    }
  });
  return true;
}

bool backward_in_few_launches(LstmBackward& back, PartInLane& lane) {
  LstmLayerWindow& w = back.w;
  const FewRowsKernels* const k = kernels_for(w);
  if (!k) return false;
  ToStates to_states(*k, w.mogrified, back.mogrify, w.layer.weight_ih.value(), w.weight_hh(), !normalises(w),
                     back.dh);
  const auto step = [&](int t) {
    LstmStep s = back.step(t);
    s.h_on = back.h.at(t);
    return s;
  };
  const auto cell = [&](int t) {
    const LstmStep s = step(t);
    const Profile::Within row(w.cell_row);
    if (normalises(w))  // as behind a product, so that a chunk's end changes no bit
      return k->lstm_cell_gradient({.rows = w.batch, .width = w.hidden}, s, back.dh.data(), back.dc.data(),
                                   back.dc.data());
    kernels().lstm_cell_gradient(s, back.dh.data(), back.dc.data(), back.dc.data());
  };
  lane.each_chunk(w.steps, [&](int begin, int end) {
    cell(end - 1);
    for (int t = end - 1; t >= begin; --t) {
      // The last product of a step ends with the cell of the step before it, but at the chunk's end.
      const bool goes_on = t > begin;
      if (w.mogrified && normalises(w)) w.of_x.backward(w.gates, t, t + 1);
      if (goes_on || t > 0 || w.h0.wants_grad() || w.mogrified)
        to_states(t, w.of_x.place(w.gates)[t], w.of_h.place(w.gates)[t],
                  [&](const FewRows& p, const real* before) {
                    if (!goes_on) return put(*k, p, {.y = back.dh.data(), .before = before});
                    const Profile::Within row(w.cell_row);
                    const Profile::Product measured = fused::measured(p);
                    k->lstm_cell_gradient(p, step(t - 1), before, back.dc.data(), back.dc.data());
                  });
    }
    if (!back.to_x) return;
    w.of_x.backward_to_inputs(w.gates, begin, end);
    back.to_x.of_chunk(w.of_x.operand(w.gates, back.da_rounded, begin, end), begin, end);
  });
  back.contribute();
  return true;
}

}  // namespace unroll::fused

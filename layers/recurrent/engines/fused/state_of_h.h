// A layer whose state is h alone, over a window: one product for the inputs of all steps, or of a chunk, and a recurrent
// product and one pass of the cell per step. GRU and plain network bring the pass.
#pragma once

#include <optional>
#include <tuple>

#include "layers/recurrent/engines/fused/few_launches.h"
#include "layers/recurrent/engines/fused/input_product.h"
#include "layers/recurrent/engines/fused/mogrifier.h"
#include "layers/recurrent/engines/fused/one_kernel.h"
#include "layers/recurrent/engines/fused/options.h"
#include "layers/recurrent/persistent.h"

namespace unroll::fused {

// A pass has
//   layer            the cell, with weight_ih, weight_hh and bias
//   of_x, of_h       [steps, batch, …]: the products of x, plus bias, and of h; after the way back their gradients
//   one_sum          of_h is of_x: the product of h is added to that of x
//   forward(t, h_before, h, on)                       h [batch, hidden] of step t
//   backward(t, h_before, h, on, rounded, dh, direct) the gradients of of_x and of_h, from dh; unless one_sum, `direct` becomes
//                                                     what h_before gains besides its product
//   forward(few, t, …), backward(few, t, …)   the same behind a product of few rows, in one launch
//   one_kernel(), step(t, h_before, h, on), step_back(…, rounded)    if there are kernels for all steps of a window
//   contribute()     the gradients of weights that are not named above
// A product of few rows, behind which a pass comes. bias: of the product; before: added to its sums. Either may be null.
struct FewRowsPass {
  const FewRowsKernels& kernels;
  const FewRows& product;
  const real *bias = nullptr, *before = nullptr;
};

template <class Pass>
struct WindowOfH {
  static constexpr bool has_one_kernel = requires { Pass::one_kernel(); };
  WindowOfH(const Pass& cell, const Var& x, const Var& h0, const RecurrentMasks& masks)
      : cell(cell),
        x(x),
        h0(h0),
        masks(masks),
        steps(x.dim(0)),
        h({steps + 1, x.dim(1), h0.dim(1)}),
        options{masks.new_h, masks.h, masks.resets},
        cell_row(row_of_cell(masks)),
        mogrified(masks, x, cell.layer.weight_ih, h0.dim(1)),
        rounded_h(mogrified ? RoundedTensor() : RoundedTensor({steps, x.dim(1), h0.dim(1)})) {
    if constexpr (has_one_kernel)
      if (!one_kernel_was_refused() && !masks.part && !cell.layer.step_by_step && !mogrified)
        plan = persistent_plan_here({.hidden = h0.dim(1),
                                     .gates = cell.of_h.dim(2) / h0.dim(1),
                                     .batch = x.dim(1),
                                     .steps = steps,
                                     .gru = true});
  }

  void forward(PartInLane& lane) {
    if (forward_in_one_kernel()) return;
    if (const FewRowsKernels* few = few_rows_kernels(steps, x.dim(1)))
      return forward_in_few_launches(*few, lane);
    const auto& layer = cell.layer;
    MogrifierForward mogrify(mogrified);
    const InputProduct product_of_x(x, layer.weight_ih, layer.bias.value(), cell.of_x, masks.part,
                                    bool{mogrified});
    product_of_x.at_once();
    const StepWeights recurrent = recurrent_weights(layer.weight_hh, masks.weight_hh, true, steps);
    HandedOn to_next(h0.value(), h, options, mogrified ? Multiplied::as_floats : Multiplied::yes, rounded_h);
    lane.each_chunk(steps, [&](int begin, int end) {
      product_of_x.of_chunk(begin, end);
      for (int t = begin; t < end; ++t) {
        gemm(mogrify(t, to_next.entering(t), layer.bias.value(), cell.of_x[t]), recurrent,
             {cell.of_h[t], Pass::one_sum});
        const Tensor h_before = to_next.met(t);
        const HandOn on = to_next.after(t);
        const Profile::Within measured(cell_row);
        cell.forward(t, h_before, h[t + 1], on);
      }
    });
  }

  void backward(const Var& y, const Var& h_last) const {
    PartInLane lane(masks.part, PartInLane::Way::back);
    const auto& layer = cell.layer;
    const Tensor dh = h_last.grad().clone(), direct = Pass::one_sum ? Tensor() : Tensor(dh.shape());
    HandedBack back({.d = dh, .steps = steps, .options = options, .dy = gradient_of(y), .direct = direct});
    const Tensor h_met = Pass::one_sum ? Tensor() : met(h, options);
    MogrifierBackward mogrify(mogrified, entered(h, options, rounded_h));
    RoundedTensor rounded(cell.of_h.shape());
    const auto da = [&](int begin, int end) {
      return Pass::one_sum ? steps_of(cell.of_h, rounded, begin, end) : Matrix(cell.of_x.slice(begin, end));
    };
    const InputGradient to_x(x, layer.weight_ih, masks.part, bool{mogrified});
    const Tensor weight_hh = dropped(layer.weight_hh.value(), masks.weight_hh);
    const auto step_by_step = [&] {
      const FewRowsKernels* const few = few_rows_kernels(steps, x.dim(1));
      std::optional<StepWeights> recurrent;
      std::optional<ToStates> to_states;
      if (few)
        to_states.emplace(*few, mogrified, mogrify, layer.weight_ih.value(), weight_hh, Pass::one_sum, dh);
      else
        recurrent.emplace(recurrent_weights(layer.weight_hh, masks.weight_hh, false, steps));
      const auto h_before = [&](int t) { return Pass::one_sum ? Tensor() : h_met[t]; };
      const auto pass = [&](int t) {
        const HandOn on = back.at(t);
        const Profile::Within measured(cell_row);
        cell.backward(t, h_before(t), h[t + 1], on, rounded.copy(t), dh, direct);
      };
      lane.each_chunk(steps, [&](int begin, int end) {
        for (int t = end - 1; t >= begin; --t) {
          if (!few || t == end - 1) pass(t);  // else it came behind the product of the step before
          const bool to_h = t > 0 || h0.wants_grad() || mogrified;
          if (few && to_h)
            (*to_states)(t, cell.of_x[t], cell.of_h[t], [&](const FewRows& p, const real* before) {
              const Profile::Product measured = fused::measured(p);
              Tensor d = dh;
              if (t == begin) return few->put(p, p.width, {.y = d.data(), .before = before}, {});
              cell.backward(FewRowsPass{*few, p, nullptr, before}, t - 1, h_before(t - 1), h[t],
                            back.at(t - 1), rounded.copy(t - 1), direct);
            });
          if (few) continue;
          if (to_h) gemm(rounded.operand(cell.of_h, t), *recurrent, overwrite(dh));
          mogrify(t, da(t, t + 1), dh);
        }
        if (to_x) to_x.of_chunk(da(begin, end), begin, end);
      });
    };
    if (!backward_in_one_kernel(back, h_met, rounded, weight_hh, dh, direct)) step_by_step();
    to_x.contribute(da(0, steps), mogrify.seen_x());
    mogrify.contribute_rounds();
    contribute_product(rounded.operand(cell.of_h), mogrify.seen_h(), layer.weight_hh, masks.weight_hh);
    contribute_rows(cell.of_x, layer.bias);
    cell.contribute();
    if (h0.wants_grad()) back.finish();
    contribute(dh, h0);
  }

  // One kernel each way for all steps. False: there is no plan, or the GPU does not take its blocks; nothing was done.
  bool forward_in_one_kernel() {
    if constexpr (has_one_kernel) {
      if (!plan) return false;
      const auto& layer = cell.layer;
      options.resets = at_each_step(masks.resets);
      InputProduct(x, layer.weight_ih, Tensor(), cell.of_x, masks.part, false).at_once();
      HandedOn to_next(h0.value(), h, options, Multiplied::as_floats, rounded_h);
      const auto step = [&](int t) {
        const Tensor h_before = to_next.met(t);
        return cell.step(t, h_before, h[t + 1], to_next.after(t));
      };
      const Tensor weight_hh = dropped(layer.weight_hh.value(), masks.weight_hh);
      const RoundedTensor rounded_hh = rounded_weight_hh();
      const Profile::Within measured(one_kernel_row);
      if (in_this_precision(Pass::one_kernel())
              .forward({.plan = *plan,
                        .steps = steps,
                        .first = step(0),
                        .second = step(1),
                        .weight_hh = weight_hh.data(),
                        .rounded_weight_hh = rounded_hh.copy().data,
                        .bias = layer.bias.value().data(),
                        .entering = to_next.entering(0).tensor.data()}))
        return true;
      refuse_one_kernel(*std::exchange(plan, {}));
    }
    return false;
  }
  bool backward_in_one_kernel(HandedBack& back, const Tensor& h_met, RoundedTensor& rounded,
                              const Tensor& weight_hh, Tensor dh, Tensor direct) const {
    if constexpr (has_one_kernel) {
      if (!plan) return false;
      const auto step = [&](int t) {
        return cell.step_back(t, h_met[t], h[t + 1], back.at(t), rounded.copy(t));
      };
      const RoundedTensor rounded_hh = rounded_weight_hh();
      const Profile::Within measured(one_kernel_row);
      return in_this_precision(Pass::one_kernel())
                 .backward({.plan = *plan,
                            .steps = steps,
                            .first = step(0),
                            .second = step(1),
                            .weight_hh = weight_hh.data(),
                            .rounded_weight_hh = rounded_hh.copy().data,
                            .dh = dh.data(),
                            .gradient_of_entering = h0.wants_grad(),
                            .carried = direct.data()}) ||
             refuse_one_kernel(*plan);
    }
    return false;
  }
  // Empty if weights are dropped.
  RoundedTensor rounded_weight_hh() const {
    return masks.weight_hh.rate == 0 ? rounded(cell.layer.weight_hh) : RoundedTensor();
  }

  // As forward(), but a step is one launch; with two sums and a mogrifier x's product is another.
  void forward_in_few_launches(const FewRowsKernels& few, PartInLane& lane) const {
    const auto& layer = cell.layer;
    const InputProduct product_of_x(x, layer.weight_ih, layer.bias.value(), cell.of_x, masks.part,
                                    bool{mogrified});
    product_of_x.at_once();
    const MogrifierInFewLaunches mogrify(few, mogrified, true);
    const FewRowsLines of_h(few, {dropped(layer.weight_hh.value(), masks.weight_hh)});
    std::optional<FewRowsLines> of_x;
    if (mogrified) of_x.emplace(few, std::initializer_list<Matrix>{layer.weight_ih.value()});
    HandedOn to_next(h0.value(), h, options, Multiplied::by_turns, rounded_h);
    const real* const bias = layer.bias.value().data();
    const int64_t rows = x.dim(1), hidden = h.dim(2), sums = cell.of_h.dim(2);
    lane.each_chunk(steps, [&](int begin, int end) {
      product_of_x.of_chunk(begin, end);
      for (int t = begin; t < end; ++t) {
        Tensor x_in, h_in = to_next.entering(t).tensor;
        if (mogrified) std::tie(x_in, h_in) = mogrify.forward(t, h_in);
        FewRows p{.rows = rows, .width = hidden, .gates = sums / hidden, .terms = {of_h.times(h_in)}};
        const bool joint = mogrified && Pass::one_sum;
        if (joint)
          p.terms[1] = of_x->times(x_in);
        else if (mogrified)
          put(few, {.rows = rows, .width = sums, .terms = {of_x->times(x_in)}},
              {.y = Tensor(cell.of_x[t]).data(), .bias = bias});
        const Tensor h_before = to_next.met(t);
        const HandOn on = to_next.after(t);
        const Profile::Within row(cell_row);
        const Profile::Product measured = fused::measured(p);
        cell.forward(FewRowsPass{few, p, joint ? bias : nullptr}, t, h_before, h[t + 1], on);
      }
    });
  }

  const Pass cell;
  const Var x, h0;
  const RecurrentMasks masks;
  const int steps;
  const Tensor h;  // [steps + 1, batch, hidden]: the first is the state before the window
  StateOptions options;
  const std::string_view cell_row;  // of a profile
  const Mogrified mogrified;
  const RoundedTensor rounded_h;            // as it enters the products of steps; empty with a mogrifier
  std::optional<PersistentPlan> plan = {};  // of one kernel each way
};

// `lane` lives from before the pass has its memory: what is asked for goes there.
template <class Pass>
RecurrentOutput over_window(const char* name, const Pass& cell, const Var& x, const Var& h0,
                            const RecurrentMasks& masks, PartInLane& lane) {
  WindowOfH<Pass> window(cell, x, h0, masks);
  window.forward(lane);
  auto [y, h] =
      record<2>(name, std::array{window.h.slice(1, window.steps + 1), window.h[window.steps].clone()},
                inputs(masks.weights->all, x, h0),
                [window](const Var& y, const Var& h_last) { window.backward(y, h_last); });
  return {y, {h, {}}};
}

}  // namespace unroll::fused

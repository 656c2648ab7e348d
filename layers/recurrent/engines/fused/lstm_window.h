// A layer of an LSTM over a window, in the engine `fused`: its buffers, and everything that all ways over its steps
// need. An option is a member here; the other headers of this folder say what it does.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "framework/kernels/persistent.h"
#include "layers/recurrent/engines/fused/input_product.h"
#include "layers/recurrent/engines/fused/layer_pair.h"
#include "layers/recurrent/engines/fused/mogrifier.h"
#include "layers/recurrent/engines/fused/options.h"
#include "layers/recurrent/lstm.h"

namespace unroll::fused {

// Lives from the forward pass to the backward pass.
struct LstmLayerWindow {
  LstmLayerWindow(const LstmCell& layer, const Var& x, const RecurrentVars& state,
                  const RecurrentMasks& masks);

  bool projects() const { return has(layer.weight_hr); }
  Tensor weight_hh() const { return dropped(layer.weight_hh.value(), masks.weight_hh); }
  // Empty if weights are dropped.
  RoundedTensor rounded_weight_hh() const {
    return masks.weight_hh.rate == 0 ? rounded(layer.weight_hh) : RoundedTensor();
  }
  // Layer norm adds the bias after it has normalised x's products.
  Tensor bias_of_x() const { return has(layer.norm_ih) ? Tensor() : layer.bias.value(); }
  // The cell's arguments in step t, which meets c_before [batch, hidden].
  LstmStep step(int t, const Tensor& c_before);
  // y [steps, batch, width], and h and c after the last step.
  std::array<Tensor, 3> outputs() {
    if (!masks.part.pair || masks.part.pair->lower.get() != this)
      return {h.slice(1, steps + 1), h[steps].clone(), c[steps].clone()};
    late = {Tensor(h[steps].shape()), Tensor(c[steps].shape())};
    return {h.slice(1, steps + 1), late[0], late[1]};
  }

  const LstmCell layer;
  const Var x, h0, c0;
  const RecurrentMasks masks;
  const int steps, batch, hidden, width;  // width: of h
  Tensor gates;  // [steps, batch, 4*hidden], overwritten: sums, then activations, then their gradients
  Tensor h, c;   // [steps + 1, batch, …]: the first is the state before the window
  StateOptions h_options, c_options;
  Tensor cell,
      out;  // the cell's own c and h [steps, batch, hidden]; apart from c and h where an option acts between
  NormedInputs of_x;
  NormedProduct of_h;
  NormedState of_c;
  Tensor dpeepholes;                // [batch, 3*hidden], gathered over the steps
  const std::string_view cell_row;  // of a profile
  const Mogrified mogrified;
  const RoundedTensor rounded_h;  // as it enters the products of steps; empty with a mogrifier
  RoundedTensor rounded_x = {};   // as its one product took it; empty if there are several
  // For two layers in one kernel: the upper knows the lower; the lower's outputs get their numbers late.
  std::shared_ptr<LstmLayerWindow> lower = {};
  std::array<Tensor, 2> late = {};  // h and c after the last step
};

// Lives during the forward pass. Makes x's product at once, unless it is made chunk by chunk.
struct LstmForward {
  LstmForward(LstmLayerWindow& window, Multiplied multiplied)
      : LstmForward(window, multiplied, window.bias_of_x()) {}
  // With another bias of x's product, or none; elsewhere: that product is not made here.
  LstmForward(LstmLayerWindow& window, Multiplied multiplied, const Tensor& bias, bool elsewhere = false);
  LstmStep step(int t);  // without the options that act on h

  LstmLayerWindow& w;
  const InputProduct product_of_x;
  HandedOn h, c;
};

// Lives during the backward pass.
struct LstmBackward {
  // elsewhere: x's gradient is not made here.
  LstmBackward(LstmLayerWindow& window, const Var& y, const Var& h_last, const Var& c_last,
               bool elsewhere = false);
  LstmStep step(int t);  // without the options that act on h
  // After all steps: the gradients of weights, of x, and of the state before the window.
  void contribute();

  LstmLayerWindow& w;
  // Gradients of h, of the cell's own h (without a projection the same memory), and of c: [batch, …].
  Tensor dh, dout, dc;
  RoundedTensor da_rounded;
  HandedBack h, c;
  const Tensor c_met;
  MogrifierBackward mogrify;
  const InputGradient to_x;
};

// The three ways over the steps, forward and back, with all gradients. lstm_steps.cpp: a product and a pass per step, on any
// device, with every option.
void forward_by_steps(LstmLayerWindow& window, PartInLane& lane);
void backward_by_steps(LstmBackward& back, PartInLane& lane);
// lstm_few_launches.cpp: on a GPU, a step's products of few rows with the passes behind them. False: they do not serve this window,
// and nothing was done.
bool forward_in_few_launches(LstmLayerWindow& window, PartInLane& lane);
bool backward_in_few_launches(LstmBackward& back, PartInLane& lane);
// lstm_one_kernel.cpp: one kernel for all steps of a window on a GPU, split as the plan says. No plan: it does not serve this
// window. False: the GPU does not take so many blocks at once. Nothing was done, and no window has a plan from then on.
std::optional<PersistentPlan> plan_of_one_kernel(const LstmLayerWindow& window);
bool forward_in_one_kernel(LstmLayerWindow& window, const PersistentPlan& plan);
bool backward_in_one_kernel(LstmBackward& back, const PersistentPlan& plan);
// lstm_pair.cpp: one kernel for two layers (layer_pair.h). True: this layer is the lower, and waits for the upper; or is the
// upper, and both are computed. False: it goes its own way, and so does the lower.
bool forward_with_other_layer(const std::shared_ptr<LstmLayerWindow>& window);
// After the window was recorded.
void keep_outputs(const LstmLayerWindow& window, const std::array<Var, 3>& outputs);
bool backward_with_other_layer(LstmLayerWindow& window, const Var& y, const Var& h_last, const Var& c_last);

}  // namespace unroll::fused

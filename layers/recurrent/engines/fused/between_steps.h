// Options that act on a state between two steps: zoneout and lengths, resets, recurrent dropout. The cell's kernels
// carry them out (HandOn in kernels.h); this header prepares their arguments, step by step.
#pragma once

#include <array>
#include <string>

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "layers/recurrent/state.h"

namespace unroll::fused {

// The options of one state, h or c.
struct StateOptions {
  Tensor share = {};  // [steps, batch, width]
  Tensor mask = {};   // [batch, width]
  Resets resets = {};
};
// How a state enters products: not at all; as floats, since something else reads them first; or rounded if that helps.
enum class Multiplied : uint8_t { no, as_floats, yes };
// True if a separate pass would have anything to do.
inline bool acts(const HandOn& on) { return on.share || on.met || on.entering || on.rounded.data; }

// Name of a cell's pass in a profile, which cannot tell its parts apart: one row with the names of the active options,
// or the operation's own name.
inline std::string_view row_of_cell(const RecurrentMasks& masks, bool norm = false, bool peepholes = false) {
  static constexpr const char* names[] = {"layer_norm", "peepholes", "recurrent_dropout", "resets",
                                          "zoneout and lengths"};
  static const auto rows = [] {
    std::array<std::string, 32> result;
    for (size_t set = 1; set < result.size(); ++set)
      for (size_t i = 0; i < std::size(names); ++i)
        if (set >> i & 1)
          result[set] += (result[set].empty() ? "recurrent: cell with " : " and ") + std::string(names[i]);
    return result;
  }();
  const bool set[] = {norm, peepholes, masks.h.defined(), masks.resets.kept.defined(),
                      masks.new_h.defined() || masks.new_c.defined()};
  size_t index = 0;
  for (size_t i = 0; i < std::size(set); ++i) index += size_t{set[i]} << i;
  return rows[index];
}

// A state on its way forward. states [steps + 1, batch, width]: before the first step (set to `first`), and after each.
class HandedOn {
 public:
  HandedOn(const Tensor& first, const Tensor& states, StateOptions options, Multiplied multiplied)
      : states_(states), options_(std::move(options)), multiplied_(multiplied) {
    const Shape& shape = first.shape();
    if (options_.resets.kept.defined()) met_ = Tensor(shape);
    if (multiplied == Multiplied::yes && RoundedTensor::is_of_use()) rounded_ = RoundedTensor(shape);
    has_rounded_ = rounded_.copy().data;
    if (options_.mask.defined() && !has_rounded_) entering_ = Tensor(shape);
    const HandOn on = into(0);
    Tensor before = states_[0];
    kernels().hand_on(on, first.data(), shape[0], shape[1], before.data());
  }
  // The state that step t meets.
  Tensor met(int t) const { return options_.resets.act_at(t) ? met_ : states_[t]; }
  // The state as it enters the product of step t.
  Matrix entering(int t) const {
    return rounded_.operand(options_.mask.defined() && !has_rounded_ ? entering_ : met(t));
  }
  // Arguments for the pass of step t, which computes the state.
  HandOn after(int t) {
    HandOn on = into(t + 1);
    if (options_.share.defined())
      on.share = options_.share[t].data(), on.before = std::as_const(*this).met(t).data();
    return on;
  }

 private:
  // Prepares the state for step t. Nothing to do after the last step.
  HandOn into(int t) {
    HandOn on;
    if (t == states_.dim(0) - 1) return on;
    if (options_.resets.act_at(t)) on.kept = options_.resets.kept[t].data(), on.met = met_.data();
    if (multiplied_ == Multiplied::no) return on;
    if (options_.mask.defined()) on.mask = options_.mask.data();
    if (entering_.defined()) on.entering = entering_.data();
    on.rounded = rounded_.copy();
    return on;
  }

  Tensor states_;
  const StateOptions options_;
  const Multiplied multiplied_;
  bool has_rounded_ = false;
  Tensor met_ = {}, entering_ = {};
  RoundedTensor rounded_;
};

// The states as all steps met them, and as they entered the products. states: as above.
inline Tensor met(const Tensor& states, const StateOptions& options) {
  const Tensor before = states.slice(0, states.dim(0) - 1);
  if (!options.resets.kept.defined()) return before;
  const Profile::Within measured("recurrent: resets");
  Tensor result(before.shape());
  kernels().keep_rows(before.data(), options.resets.kept.data(), before.rows(), before.cols(), result.data(),
                      false);
  return result;
}
inline Tensor entered(const Tensor& states, const StateOptions& options) {
  const Tensor before = met(states, options);
  if (!options.mask.defined()) return before;
  const Profile::Within measured("recurrent: recurrent_dropout");
  Tensor result(before.shape());
  kernels().binary(Binary::mul, before.data(), before.size(), options.mask.data(), options.mask.size(),
                   result.data(), before.size());
  return result;
}

// A state's gradient on its way back.
struct BackTo {
  Tensor
      d;  // [batch, width]: of the state after the last step at first, and then what each step leaves there
  int steps;
  StateOptions options;
  Tensor dy = {};          // of y, the state in all steps; undefined: none
  Tensor direct = {};      // the state's gradient besides the product's, from the pass of the step after
  bool product = true;     // if false, the cell adds the waiting `rest` to d at once
};
class HandedBack {
 public:
  explicit HandedBack(BackTo to) : to_(std::move(to)) {
    if (to_.options.share.defined()) rest_ = Tensor(to_.d.shape());
  }
  // Arguments for the pass of step t.
  HandOn at(int t) {
    HandOn on = from(t + 1);
    if (to_.dy.defined()) on.dy = to_.dy[t].data();
    if (to_.options.share.defined()) on.share = to_.options.share[t].data(), on.rest_of_before = rest_.data();
    return on;
  }
  // Turns d into the gradient of the state before the first step.
  void finish() {
    const HandOn on = from(0);
    if (on.mask || on.kept || on.direct || on.rest)
      kernels().hand_on_gradient(on, on.room, to_.d.dim(0), to_.d.dim(1), on.room);
  }

 private:
  // Arguments that bring in the gradient from step t. Nothing to add after the last step.
  HandOn from(int t) {
    Tensor d = to_.d;
    HandOn on{.room = d.data()};
    if (t == to_.steps) return on;
    if (to_.options.resets.act_at(t)) on.kept = to_.options.resets.kept[t].data();
    if (to_.options.mask.defined()) on.mask = to_.options.mask.data();
    if (to_.direct.defined()) on.direct = to_.direct.data();
    if (to_.product && rest_.defined()) on.rest = rest_.data();
    return on;
  }

  const BackTo to_;
  Tensor rest_ = {};
};

}  // namespace unroll::fused

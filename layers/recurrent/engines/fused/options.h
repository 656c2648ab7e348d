// The options of a recurrent layer in a fused loop. Each does nothing if its tensors are undefined; otherwise it is a
// row of its own in a profile.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "layers/recurrent/state.h"

namespace unroll::fused {

// Adds the sum of d's rows to x's gradient.
inline void contribute_rows(const Tensor& d, const Var& x) {
  if (!x.wants_grad()) return;
  const Into dx = x.gradient();
  kernels().sum_rows(d.data(), d.rows(), d.cols(), dx.tensor.data(), dx.add);
}

// Weight drop: the weights without the dropped ones. Needed only until they are packed.
inline Tensor dropped(const Tensor& w, const RecurrentMasks::Drop& drop) {
  if (drop.rate == 0) return w;
  const Profile::Within measured("recurrent: weight_drop");
  Tensor result(w.shape());
  kernels().dropout(w.data(), drop.rate, drop.key, w.size(), result.data(), w.size(), false);
  return result;
}
// Adds aᵀ b, without the dropped weights, to the gradient of w.
inline void contribute_product(const Matrix& a, const Matrix& b, const Var& w,
                               const RecurrentMasks::Drop& drop = {}) {
  if (!w.wants_grad()) return;
  const Into dw = w.gradient();
  if (drop.rate == 0) return gemm(transposed(a), b, dw);
  const Tensor product(w.shape());
  gemm(transposed(a), b, overwrite(product));
  const Profile::Within measured("recurrent: weight_drop");
  kernels().dropout(product.data(), drop.rate, drop.key, product.size(), dw.tensor.data(), product.size(),
                    dw.add);
}

// The weights that the state is multiplied with at each step of a window, in the form that products take directly:
// packed, or on a GPU rounded if products round at all. A single step, as in inference, uses them as they are: to
// convert would take longer than the product.
class StepWeights {
 public:
  StepWeights(const Matrix& weights, int steps) : as_they_are_(weights) {
    if (steps == 1) return;
    if (RoundedTensor::is_of_use())
      rounded_ = RoundedTensor(weights.tensor);
    else if (!on_gpu())
      packed_.emplace(weights);
  }
  // A parameter's are rounded once for all windows, until they change.
  StepWeights(const Var& w, bool transposed, int steps) : as_they_are_(w.value(), transposed) {
    if (RoundedTensor::is_of_use())
      rounded_ = w.leaf() || steps > 1 ? rounded(w) : RoundedTensor();
    else if (steps > 1 && !on_gpu())
      packed_.emplace(as_they_are_);
  }
  friend void gemm(const Matrix& a, const StepWeights& b, const Into& c) {
    b.packed_ ? gemm(a, *b.packed_, c) : gemm(a, b.operand(), c);
  }
  friend void gemm(const Matrix& a, const StepWeights& b, const Tensor& bias, const Tensor& c) {
    b.packed_ ? gemm(a, *b.packed_, bias, c) : gemm(a, b.operand(), bias, c);
  }

 private:
  Matrix operand() const {
    return {as_they_are_.tensor, as_they_are_.transposed, rounded_.operand(as_they_are_.tensor).rounded};
  }
  std::optional<PackedMatrix> packed_;
  RoundedTensor rounded_;
  Matrix as_they_are_;
};

inline StepWeights recurrent_weights(const Var& weight_hh, const RecurrentMasks::Drop& drop, bool transpose,
                                     int steps) {
  if (drop.rate == 0) return {weight_hh, transpose, steps};
  return {Matrix(dropped(weight_hh.value(), drop), transpose), steps};
}

// Steps begin … end-1 of a window as an operand. Uses the rounded copy of all steps if there is one.
inline Matrix steps_of(const Tensor& floats, const RoundedTensor& rounded, int begin, int end) {
  return {floats.slice(begin, end), false, rounded.operand(floats, begin).rounded};
}

// Layer norm of rows [steps, batch, width]. Without a gain nothing happens.

constexpr real norm_eps = real(1e-5);

struct NormedRows {
  Var gain, bias;
  Tensor rows = {}, mean = {}, rstd = {}, dgain = {};

  NormedRows(const Var& gain, const Var& bias, const Shape& shape) : gain(gain), bias(bias) {
    if (has(gain)) rows = Tensor(shape), mean = Tensor({shape[0], shape[1]}), rstd = Tensor(mean.shape());
  }
  // Products that are to be normalised are stored here.
  const Tensor& place(const Tensor& gates) const { return has(gain) ? rows : gates; }
  void contribute() const {
    if (dgain.defined()) contribute_rows(dgain, gain);
  }

 protected:
  // Steps begin … end-1: x's gradient into dx, and the gain's added to sums, from dy of the norm. Either may be undefined.
  void slope(const Tensor& x, const Tensor& dy, int begin, int end, const Tensor& dx, Tensor sums) const {
    const Tensor of_x = x.slice(begin, end), of_y = dy.slice(begin, end);
    Tensor into = dx.defined() ? dx.slice(begin, end) : Tensor();
    kernels().layer_norm_gradient(of_x.data(), gain.value().data(), mean.slice(begin, end).data(),
                                  rstd.slice(begin, end).data(), of_y.data(), of_x.rows(), of_x.cols(),
                                  dx.defined() ? into.data() : nullptr, false,
                                  sums.defined() ? sums.data() : nullptr, nullptr);
  }
};

// Layer norm of x's products, which begin the gates: gates = x̂·gain + bias, with x̂ the normalised rows of the
// products. Works on steps begin … end-1: all at once, step by step, or chunk by chunk. With chunks the gain's
// gradient, a sum over rows, comes at the end.
struct NormedInputs : NormedRows {
  using NormedRows::NormedRows;
  Tensor dproduct = {};

  // Their gradient as an operand. Uses the rounded copy of the gates' gradient if there is one.
  Matrix operand(const Tensor& gates, const RoundedTensor& rounded, int begin, int end) const {
    if (has(gain)) return (dproduct.defined() ? dproduct : rows).slice(begin, end);
    return steps_of(gates, rounded, begin, end);
  }
  void forward(const Tensor& gates, int begin, int end) const {
    if (!has(gain)) return;
    const Tensor x = rows.slice(begin, end);
    Tensor y = gates.slice(begin, end), means = mean.slice(begin, end), rstds = rstd.slice(begin, end);
    kernels().layer_norm(x.data(), gain.value().data(), bias.value().data(), norm_eps, x.rows(), x.cols(),
                         y.data(), false, means.data(), rstds.data());
  }
  // Adds to the gain's gradient. If to_products, also replaces the products by their gradient.
  void backward(const Tensor& gates, int begin, int end, bool to_products = true) {
    if (!has(gain)) return;
    if (!dgain.defined()) dgain = Tensor::zeros({static_cast<int>(rows.cols())});
    slope(rows, gates, begin, end, to_products ? rows : Tensor(), dgain);
  }
  // Computes only the products' gradient, and keeps the products.
  void backward_to_inputs(const Tensor& gates, int begin, int end) {
    if (!has(gain)) return;
    if (!dproduct.defined()) dproduct = Tensor(rows.shape());
    slope(rows, gates, begin, end, dproduct, Tensor());
  }
};

// Layer norm of h's product in a step. The cell applies it while rows are in a cache; this holds its arguments, and the
// gradients that each row of the batch gathers over the steps. The rows' gradient replaces them in the end.
struct NormedProduct : NormedRows {
  NormedProduct(const Var& gain, const Shape& gates) : NormedRows(gain, {}, gates) {
    if (has(gain)) dgain = Tensor::zeros({gates[1], gates[2]});
  }
  Into into(const Tensor& gates, int t) const { return {place(gates)[t], !has(gain)}; }
  LstmStep::Norm step(int t) {
    if (!has(gain)) return {};
    return {.gain = gain.value().data(),
            .product = rows[t].data(),
            .mean = mean[t].data(),
            .rstd = rstd[t].data(),
            .dgain = dgain.data()};
  }
};

// Layer norm of c on its way to h. Its rows are what h sees, and then their gradient.
struct NormedState : NormedRows {
  using NormedRows::NormedRows;
  LstmStep::StateNorm step(int t) {
    if (!has(gain)) return {};
    return {.gain = gain.value().data(),
            .bias = bias.value().data(),
            .y = rows[t].data(),
            .mean = mean[t].data(),
            .rstd = rstd[t].data()};
  }
  // After all steps. c [steps, batch, hidden], as it was normalised
  void contribute(const Tensor& c) const {
    if (!has(gain)) return;
    const Tensor of_gain = Tensor::zeros({static_cast<int>(c.cols())});
    slope(c, rows, 0, c.dim(0), Tensor(), of_gain);
    contribute_rows(of_gain, gain), contribute_rows(rows, bias);
  }
};

// --- between two steps ------------------------------------------------------------------------------

// Options that act on a state between two steps: zoneout and lengths, resets, recurrent dropout. The cell's kernels
// carry them out (HandOn in kernels.h); this prepares their arguments, step by step.

// The options of one state, h or c.
struct StateOptions {
  Tensor share = {};  // [steps, batch, width]
  Tensor mask = {};   // [batch, width]
  Resets resets = {};
};
// How a state enters products: not at all; as floats, since something else reads them first; so, and in two places by turns, since the
// launch that reads one makes the next; or rounded if that helps.
enum class Multiplied : uint8_t { no, as_floats, by_turns, yes };
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
// rounded [steps, batch, width]: what enters the products, where they round; empty: nobody asks for it. Unless the steps'
// own products read it, only the way back does.
class HandedOn {
 public:
  HandedOn(const Tensor& first, const Tensor& states, StateOptions options, Multiplied multiplied,
           const RoundedTensor& rounded = {})
      : states_(states),
        options_(std::move(options)),
        multiplied_(multiplied),
        rounded_(multiplied == Multiplied::yes || Tape::recording() ? rounded : RoundedTensor()) {
    const Shape& shape = first.shape();
    places_ = multiplied == Multiplied::by_turns ? 2 : 1;
    for (int i = 0; options_.resets.kept.defined() && i < places_; ++i) met_[i] = Tensor(shape);
    enters_rounded_ = multiplied == Multiplied::yes && rounded_.copy().data;
    for (int i = 0; options_.mask.defined() && !enters_rounded_ && i < places_; ++i)
      entering_[i] = Tensor(shape);
    const HandOn on = into(0);
    Tensor before = states_[0];
    kernels().hand_on(on, first.data(), shape[0], shape[1], before.data());
  }
  // The state that step t meets.
  Tensor met(int t) const { return options_.resets.act_at(t) ? met_[t % places_] : states_[t]; }
  // The state as it enters the product of step t.
  Matrix entering(int t) const {
    if (enters_rounded_) return {met(t), false, rounded_.copy(t).data};
    return options_.mask.defined() ? entering_[t % places_] : met(t);
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
    if (options_.resets.act_at(t))
      on.kept = options_.resets.kept[t].data(), on.met = met_[t % places_].data();
    if (multiplied_ == Multiplied::no) return on;
    if (options_.mask.defined()) on.mask = options_.mask.data();
    if (entering_[0].defined()) on.entering = entering_[t % places_].data();
    on.rounded = rounded_.copy(t);
    return on;
  }

  Tensor states_;
  const StateOptions options_;
  const Multiplied multiplied_;
  const RoundedTensor rounded_;
  bool enters_rounded_ = false;
  int places_ = 1;
  Tensor met_[2] = {}, entering_[2] = {};
};

// The states as all steps met them, and as they entered the products. states and rounded: as above.
inline Tensor met(const Tensor& states, const StateOptions& options) {
  const Tensor before = states.slice(0, states.dim(0) - 1);
  if (!options.resets.kept.defined()) return before;
  const Profile::Within measured("recurrent: resets");
  Tensor result(before.shape());
  kernels().keep_rows(before.data(), options.resets.kept.data(), before.rows(), before.cols(), result.data(),
                      false);
  return result;
}
inline Matrix entered(const Tensor& states, const StateOptions& options, const RoundedTensor& rounded) {
  if (rounded.copy().data) return rounded.operand(states.slice(0, states.dim(0) - 1));
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
  Tensor dy = {};       // of y, the state in all steps; undefined: none
  Tensor direct = {};   // the state's gradient besides the product's, from the pass of the step after
  bool product = true;  // if false, the cell adds the waiting `rest` to d at once
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

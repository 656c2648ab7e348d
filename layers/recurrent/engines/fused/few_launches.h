// Products of few rows for the steps of a layer on a GPU, each with the pass behind it in one launch
// (framework/kernels/few_rows.h), and the mogrifier's rounds made of them.
#pragma once

#include <initializer_list>
#include <optional>

#include "framework/kernels/few_rows.h"
#include "framework/plain.h"
#include "layers/recurrent/engines/fused/mogrifier.h"

namespace unroll::fused {

// The kernels in the precision in use, if they serve: on a GPU, for at most 64 rows, and for steps enough that the copies of the
// weights are worth making. Null: they do not.
inline const FewRowsKernels* few_rows_kernels(int steps, int rows) {
  constexpr int least_steps = 3;
  static const bool plain = is_plain("few-rows");
  if (!on_gpu() || plain || steps < least_steps || rows > FewRows::most_rows || rows == 0) return nullptr;
  const FewRowsProducts* all = few_rows_products();
  if (!all) return nullptr;
  constexpr FewRowsKernels FewRowsProducts::*of[] = {&FewRowsProducts::fp32, &FewRowsProducts::tf32,
                                                     &FewRowsProducts::bf16, &FewRowsProducts::fp16};
  const FewRowsKernels& kernels = all->*of[static_cast<size_t>(precision())];
  return kernels.pack ? &kernels : nullptr;
}

// Matrices [lines, depth], one below the other, as the kernels read them. For a window: later changes do not reach them.
class FewRowsLines {
 public:
  FewRowsLines(const FewRowsKernels& kernels, std::initializer_list<Matrix> matrices)
      : depth_(matrices.begin()->cols()) {
    int64_t lines = 0;
    for (const Matrix& m : matrices) lines += m.rows();
    memory_ = Memory(static_cast<size_t>(kernels.packed_bytes(lines, depth_)));
    auto* to = static_cast<char*>(memory_.data());
    for (const Matrix& m : matrices) {
      const int64_t row = m.tensor.cols();
      kernels.pack({m.tensor.data(), m.transposed ? 1 : row, m.transposed ? row : 1}, m.rows(), depth_, to);
      to += kernels.packed_bytes(m.rows(), depth_);
    }
  }
  FewRows::Term times(const Tensor& x) const { return {x.data(), memory_.data(), depth_}; }

 private:
  int64_t depth_;
  Memory memory_;
};

// A product's time and work in a profile.
inline Profile::Product measured(const FewRows& p) {
  return Profile::Product(2 * p.rows * p.gates * p.width * (p.terms[0].depth + p.terms[1].depth));
}
inline void put(const FewRowsKernels& kernels, const FewRows& product, const FewRowsPut& into) {
  const Profile::Product measured = fused::measured(product);
  kernels.put(product, product.width, into, {});
}

// The rounds of each step, a launch for each matrix.
class MogrifierInFewLaunches {
 public:
  // weights: of each round's matrices, as the way forward or back multiplies with them.
  MogrifierInFewLaunches(const FewRowsKernels& kernels, const Mogrified& m, bool forward)
      : k_(kernels), m_(m) {
    if (!m) return;
    const auto add = [&](Weights& to, const Var& weight) {
      const Matrix w = weight.value();
      to.emplace_back(kernels, std::initializer_list<Matrix>{forward ? w : transposed(w)});
    };
    left_.reserve(m.mogrifier_->rounds.size()), right_.reserve(m.mogrifier_->rounds.size());
    for (const auto& [left, right] : m.mogrifier_->rounds) {
      add(left_, left);
      if (has(right)) add(right_, right);
    }
  }

  // x and h [batch, …] of step t after the rounds, from h as it enters them.
  std::pair<Tensor, Tensor> forward(int t, const Tensor& h) const {
    Tensor both[] = {m_.x_.value()[t], h};
    const Profile::Within row(mogrifier_row);
    for (int i = 0; i < m_.count(); ++i) {
      const size_t round = static_cast<size_t>(i);
      Tensor seen = both[1 - i % 2], gate = m_.gate(i)[t], scaled = m_.scaled(i)[t];
      if (m_.has_rank()) {
        Tensor low = m_.low_[i][t];
        put(k_, product(right_[round], seen, low), {.y = low.data()});
        seen = low;
      }
      const FewRows p = product(left_[round], seen, gate);
      const Profile::Product measured = fused::measured(p);
      k_.gate(p, gate.data(), std::as_const(both[i % 2]).data(), scaled.data());
      both[i % 2] = scaled;
    }
    return {both[0], both[1]};
  }

  // Puts the gradient of a side of step t, the sums of a product: `next` is the round that comes next on the way back,
  // whose gate follows if it scales this side. Round 0 leaves x's gradient where it belongs.
  FewRowsPut into(const MogrifierBackward& back, int t, int side, int next, Tensor& dh, bool add) const {
    Tensor& d = side ? dh : const_cast<Tensor&>(back.dx_);
    FewRowsPut to{.y = d.data(), .before = add ? std::as_const(d).data() : nullptr};
    if (next < 0 || next % 2 != side) return to;
    Tensor gate = m_.gate(next)[t];
    to.s = gate.data(), to.x = m_.before(next, side, back.h_)[t].data();
    if (next == 0 && back.into_x_) to.y = back.into_x_->tensor[t].data(), to.add = back.into_x_->add;
    return to;
  }
  // The rounds of step t, last one first. The gates of the last are followed already: by the products of `into` that gave dx and
  // dh. last(product): the one that is left, to be added to dh, which are then the gradients of h before the rounds.
  template <class Last>
  void backward(const MogrifierBackward& back, int t, Tensor& dh, Last last) const {
    const Profile::Within row(mogrifier_row);
    for (int i = m_.count() - 1; i >= 0; --i) {
      const size_t round = static_cast<size_t>(i);
      Tensor dgate = m_.gate(i)[t];
      const FewRowsLines* lines = &left_[round];
      if (m_.has_rank()) {
        Tensor dlow = back.dlow_[i][t];
        put(k_, product(*lines, dgate, dlow), {.y = dlow.data()});
        dgate = dlow, lines = &right_[round];
      }
      const int seen = 1 - i % 2;
      const FewRows p = product(*lines, dgate, seen ? dh : back.dx_);
      i > 0 ? put(k_, p, into(back, t, seen, i - 1, dh, true)) : last(p);
    }
  }
  int count() const { return m_.count(); }

 private:
  using Weights = std::vector<FewRowsLines, PoolAllocator<FewRowsLines>>;
  static FewRows product(const FewRowsLines& lines, const Tensor& x, const Tensor& y) {
    return {.rows = x.rows(), .width = y.cols(), .terms = {lines.times(x)}};
  }

  const FewRowsKernels& k_;
  const Mogrified& m_;
  Weights left_ = {}, right_ = {};
};

// From the gradients of x's and h's products of a step to those of its states: dx with a mogrifier, and dh.
class ToStates {
 public:
  // one_gradient: x's product and h's have the same.
  ToStates(const FewRowsKernels& kernels, const Mogrified& m, const MogrifierBackward& back,
           const Tensor& weight_ih, const Tensor& weight_hh, bool one_gradient, const Tensor& dh)
      : k_(kernels), mogrify_(kernels, m, false), back_(back), input_(weight_ih.dim(1)), dh_(dh) {
    const Matrix of_x = transposed(weight_ih), of_h = transposed(weight_hh);
    if (m && one_gradient) {
      lines_.emplace(k_, std::initializer_list<Matrix>{of_x, of_h});
      return;
    }
    lines_.emplace(k_, std::initializer_list<Matrix>{of_h});
    if (m) lines_of_x_.emplace(k_, std::initializer_list<Matrix>{of_x});
  }
  // da_x is not read without a mogrifier, or if there is one gradient. last(product, before): the product whose sums, with `before`
  // added where it is given, are dh.
  template <class Last>
  void operator()(int t, const Tensor& da_x, const Tensor& da_h, Last last) {
    if (mogrify_.count() == 0) return last(product(*lines_, da_h, dh_.cols()), nullptr);
    const int next = mogrify_.count() - 1;
    const auto into = [&](int side) { return mogrify_.into(back_, t, side, next, dh_, false); };
    if (lines_of_x_) {
      put(k_, product(*lines_of_x_, da_x, input_), into(0));
      put(k_, product(*lines_, da_h, dh_.cols()), into(1));
    } else {
      const FewRows p = product(*lines_, da_h, input_ + dh_.cols());
      const Profile::Product measured = fused::measured(p);
      k_.put(p, input_, into(0), into(1));
    }
    mogrify_.backward(back_, t, dh_, [&](const FewRows& p) { last(p, std::as_const(dh_).data()); });
  }

 private:
  static FewRows product(const FewRowsLines& lines, const Tensor& d, int64_t width) {
    return {.rows = d.rows(), .width = width, .terms = {lines.times(d)}};
  }

  const FewRowsKernels& k_;
  const MogrifierInFewLaunches mogrify_;
  const MogrifierBackward& back_;
  const int64_t input_;
  Tensor dh_;
  std::optional<FewRowsLines> lines_, lines_of_x_;
};

}  // namespace unroll::fused

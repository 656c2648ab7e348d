// The mogrifier in a fused loop. x is final only within its step, so each step makes its product with weight_ih, and x's
// gradient. The rounds' values are kept for a whole window, so each weight's gradient is one product. Without rounds x and h
// pass through.
#pragma once

#include "layers/recurrent/engines/fused/options.h"
#include "layers/recurrent/mogrifier.h"

namespace unroll::fused {

inline constexpr const char* mogrifier_row = "recurrent: mogrifier";

// A window's values. Side 0 is x [batch, input], side 1 is h [batch, width]; round i, from 0, scales side i % 2.
class Mogrified {
 public:
  Mogrified(const RecurrentMasks& masks, const Var& x, const Var& weight_ih, int width)
      : mogrifier_(masks.mogrifier), x_(x), weight_ih_(weight_ih) {
    const int steps = x.dim(0), batch = x.dim(1), sizes[] = {x.dim(2), width};
    if (count() == 0) return;
    for (int side : {0, 1}) {
      const Shape shape{(count() + 1 - side) / 2, steps, batch, sizes[side]};
      scaled_[side] = Tensor(shape), gates_[side] = Tensor(shape);
    }
    if (has_rank()) low_ = Tensor({count(), steps, batch, mogrifier_->rounds[0].right.dim(0)});
  }
  explicit operator bool() const { return count() > 0; }

 private:
  friend class MogrifierWeights;
  friend class MogrifierForward;
  friend class MogrifierBackward;
  friend class MogrifierInFewLaunches;

  int count() const { return mogrifier_ ? static_cast<int>(mogrifier_->rounds.size()) : 0; }
  bool has_rank() const { return has(mogrifier_->rounds[0].right); }
  // For all steps: the scaled value of round i, and its gate σ; in the backward pass the gradient of σ's argument.
  Tensor scaled(int i) const { return scaled_[i % 2][i / 2]; }
  Tensor gate(int i) const { return gates_[i % 2][i / 2]; }
  // A side's value before round i. h: as it entered the rounds.
  const Tensor before(int i, int side, const Tensor& h) const {
    const int rounds = (i + 1 - side) / 2;  // that have scaled it
    return rounds > 0 ? scaled_[side][rounds - 1] : side == 0 ? x_.value() : h;
  }

  std::shared_ptr<const Mogrifier> mogrifier_;
  Var x_, weight_ih_;
  Tensor scaled_[2] = {}, gates_[2] = {};  // [rounds, steps, batch, size]
  Tensor low_ = {};                        // [rounds, steps, batch, rank]: the other side, times right
};

// The matrices in the form that steps multiply with: weight_ih, and left and, with a rank, right of each round. Made for the first
// step, since not every way over the steps asks for them.
class MogrifierWeights {
 protected:
  explicit MogrifierWeights(const Mogrified& m) : m_(m) {}
  void make(bool forward) {
    if (weight_ih_) return;
    const auto of_steps = [&](const Var& weight) { return StepWeights(weight, forward, m_.x_.dim(0)); };
    weight_ih_.emplace(of_steps(m_.weight_ih_));
    left_.reserve(m_.mogrifier_->rounds.size()), right_.reserve(m_.mogrifier_->rounds.size());
    for (const auto& [left, right] : m_.mogrifier_->rounds) {
      left_.push_back(of_steps(left));
      if (has(right)) right_.push_back(of_steps(right));
    }
  }

  const Mogrified& m_;
  std::optional<StepWeights> weight_ih_ = {};
  std::vector<StepWeights, PoolAllocator<StepWeights>> left_ = {}, right_ = {};
};

// The rounds of each step, and the product of x after them.
class MogrifierForward : MogrifierWeights {
 public:
  explicit MogrifierForward(const Mogrified& m) : MogrifierWeights(m) {}
  // h [batch, width], as it enters the recurrent product -> h after the rounds. Fills `sums` with x's product, plus the
  // bias if there is one.
  Matrix operator()(int t, const Matrix& h, const Tensor& bias, const Tensor& sums) {
    if (!m_) return h;
    make(true);
    Tensor both[] = {m_.x_.value()[t], h.tensor};
    {
      const Profile::Within measured(mogrifier_row);
      for (int i = 0; i < m_.count(); ++i) {
        const size_t round = static_cast<size_t>(i);
        Tensor seen = both[1 - i % 2], gate = m_.gate(i)[t], scaled = m_.scaled(i)[t];
        if (m_.has_rank()) {
          const Tensor low = m_.low_[i][t];
          gemm(seen, right_[round], overwrite(low));
          seen = low;
        }
        gemm(seen, left_[round], overwrite(gate));
        kernels().gate(gate.data(), std::as_const(both[i % 2]).data(), scaled.data(), gate.size());
        both[i % 2] = scaled;
      }
    }
    bias.defined() ? gemm(both[0], *weight_ih_, bias, sums) : gemm(both[0], *weight_ih_, overwrite(sums));
    return both[1];
  }
};

// The backward pass of both, last step first; then the gradients of the rounds' weights.
class MogrifierBackward : MogrifierWeights {
 public:
  // h [steps, batch, width]: as it entered the rounds, for all steps. Only without rounds it may have rounded numbers.
  MogrifierBackward(const Mogrified& m, const Matrix& h)
      : MogrifierWeights(m), h_(h.tensor), rounded_h_(h.rounded) {
    if (!m) return;
    dx_ = Tensor({m.x_.dim(1), m.x_.dim(2)});
    if (m.has_rank()) dlow_ = Tensor(m.low_.shape());
    if (m.x_.wants_grad()) into_x_ = m.x_.gradient();
  }
  // x and h as they were multiplied with weight_ih and weight_hh.
  Tensor seen_x() const { return m_.before(m_.count(), 0, h_); }
  Matrix seen_h() const { return {m_.before(m_.count(), 1, h_), false, rounded_h_}; }

  // da: gradient of x's product. dh: gradient of h after the rounds; becomes that of h before them.
  void operator()(int t, const Matrix& da, const Tensor& dh) {
    if (!m_) return;
    make(false);
    gemm(da, *weight_ih_, overwrite(dx_));
    const Profile::Within measured(mogrifier_row);
    Tensor d[] = {dx_, dh};
    for (int i = m_.count() - 1; i >= 0; --i) {
      const size_t round = static_cast<size_t>(i);
      Tensor gate = m_.gate(i)[t], dgate = gate, &seen = d[1 - i % 2];
      kernels().gate_gradient(gate.data(), m_.before(i, i % 2, h_)[t].data(), d[i % 2].data(), gate.size());
      if (m_.has_rank()) {
        dgate = dlow_[i][t];
        gemm(gate, left_[round], overwrite(dgate));
      }
      gemm(dgate, m_.has_rank() ? right_[round] : left_[round], add_to(seen));
    }
    if (!into_x_) return;
    Tensor into = into_x_->tensor[t];
    kernels().affine(dx_.data(), 1, 0, into.data(), dx_.size(), into_x_->add);
  }
  // Adds the gradients of the rounds' weights, for all steps at once.
  void contribute_rounds() const {
    if (!m_) return;
    const Profile::Within measured(mogrifier_row);
    for (int i = 0; i < m_.count(); ++i) {
      const auto& [left, right] = m_.mogrifier_->rounds[static_cast<size_t>(i)];
      const Tensor seen = m_.before(i, 1 - i % 2, h_);
      contribute_product(m_.gate(i), m_.has_rank() ? m_.low_[i] : seen, left);
      if (m_.has_rank()) contribute_product(dlow_[i], seen, right);
    }
  }

 private:
  friend class MogrifierInFewLaunches;
  const Tensor h_;
  const void* const rounded_h_;
  Tensor dx_ = {}, dlow_ = {};
  std::optional<Into> into_x_ = {};
};

}  // namespace unroll::fused

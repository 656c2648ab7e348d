// The product of x with weight_ih. It does not depend on earlier steps, so one product serves a whole window.
// Above the first layer of a wavefront (layers/recurrent/wavefront.h) there is one product per chunk, made once the
// layer below has computed it. On the way back there is one for x's gradient of the chunk, which that layer waits for.
// With a mogrifier each step makes its own product (mogrifier.h), and the upper of two layers in one kernel has it there (lstm_pair.cpp):
// `elsewhere`, and none is made here.
#pragma once

#include <optional>

#include "layers/recurrent/engines/fused/options.h"
#include "layers/recurrent/wavefront.h"

namespace unroll::fused {

class InputProduct {
 public:
  // Fills sums [steps, batch, gates*hidden] with x's products, plus the bias if there is one.
  InputProduct(const Var& x, const Var& weight_ih, const Tensor& bias, const Tensor& sums,
               const WavePart& part, bool elsewhere)
      : x_(x.value()),
        bias_(bias),
        sums_(sums),
        by_chunks_(!elsewhere && part.waits()),
        at_once_(!elsewhere && !part.waits()),
        weight_(weight_ih, true, by_chunks_ ? part.chunks() : 1),
        rounded_x_(at_once_ ? RoundedTensor(x_) : RoundedTensor()) {}
  // Make the product, of the window before its steps or of a chunk before its steps. True if it was made.
  bool at_once() const {
    if (at_once_) make(0, x_.dim(0));
    return at_once_;
  }
  const RoundedTensor& rounded_x() const { return rounded_x_; }
  bool of_chunk(int begin, int end) const {
    if (by_chunks_) make(begin, end);
    return by_chunks_;
  }

 private:
  void make(int begin, int end) const {
    const Matrix x = at_once_ ? rounded_x_.operand(x_) : Matrix(x_.slice(begin, end));
    const Tensor sums = sums_.slice(begin, end);
    bias_.defined() ? gemm(x, weight_, bias_, sums) : gemm(x, weight_, overwrite(sums));
  }

  const Tensor x_, bias_, sums_;
  const bool by_chunks_, at_once_;
  const StepWeights weight_;
  const RoundedTensor rounded_x_;  // for the one product of a window, and that of the gradient
};

// The gradients of weight_ih and of x. That of x comes chunk by chunk if this is true, else with weight_ih's at the end.
class InputGradient {
 public:
  InputGradient(const Var& x, const Var& weight_ih, const WavePart& part, bool elsewhere)
      : x_(x), weight_ih_(weight_ih), at_once_(!elsewhere && x.wants_grad() && !part.waits()) {
    if (elsewhere || !part.waits() || !x.wants_grad()) return;
    by_chunks_.emplace(weight_ih, false, part.chunks());
    into_ = x.gradient();
  }
  explicit operator bool() const { return by_chunks_.has_value(); }
  // da: gradient of the sums of steps begin … end-1
  void of_chunk(const Matrix& da, int begin, int end) const {
    gemm(da, *by_chunks_, {into_.tensor.slice(begin, end), into_.add});
  }
  // da: of all steps. seen: x as it was multiplied.
  void contribute(const Matrix& da, const Matrix& seen) const {
    if (at_once_) gemm(da, rounded(weight_ih_).operand(weight_ih_.value()), x_.gradient());
    contribute_product(da, seen, weight_ih_);
  }

 private:
  const Var x_, weight_ih_;
  const bool at_once_;
  std::optional<StepWeights> by_chunks_;
  Into into_;
};

}  // namespace unroll::fused

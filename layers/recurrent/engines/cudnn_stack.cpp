// Which calls of cuDNN make up a stack of layers. Nothing here needs cuDNN itself.
#include "layers/recurrent/engines/cudnn.h"

namespace unroll {

namespace {

// The order of cuDNN's weight space: the matrices of all layers, then the biases of all.
Vars in_order(const std::vector<CudnnWeights>& weights) {
  Vars result;
  for (const CudnnWeights& w : weights) {
    result.push_back(w.weight_ih), result.push_back(w.weight_hh);
    if (w.weight_hr.leaf()) result.push_back(w.weight_hr);  // has() would have it take its memory
  }
  for (const CudnnWeights& w : weights) result.push_back(w.bias);
  return result;
}

}  // namespace

CudnnStack::CudnnStack(const Scope& scope, const RecurrentStack& stack, std::vector<CudnnWeights> weights,
                       CudnnAlgorithm algorithm) {
  const StackConfig& c = stack.config();
  const bool lstm = c.cells > 0;
  const int in_a_call = stack.acts_between_layers() ? c.directions : stack.count();
  for (int k = 0; k < stack.count(); k += in_a_call) {
    std::vector<CudnnWeights> of_call(weights.begin() + k, weights.begin() + k + in_a_call);
    if (CudnnNetwork::has_one_bias(lstm, algorithm)) scope.join(in_order(of_call));
    networks_.emplace_back(CudnnConfig{.lstm = lstm,
                                       .input = stack.scope_of(k).input,
                                       .hidden = lstm ? stack.cells_of(k) : stack.width_of(k),
                                       .width = stack.width_of(k),
                                       .layers = in_a_call / c.directions,
                                       .directions = c.directions,
                                       .algorithm = algorithm},
                           std::move(of_call));
  }
}

CudnnNetwork::Output CudnnStack::operator()(const RecurrentStack& stack, const Var& x,
                                            const RecurrentVars& state, const Lengths& lengths) const {
  const bool lstm = stack.config().cells > 0;
  if (!stack.acts_between_layers()) {
    CudnnNetwork::Output out;
    const Var y = stack.layer_by_layer(
        x, lengths,
        [&](int, const Var& in, const Tensor& real_steps) {
          out = networks_[0](in, state.h, state.c, lengths.steps, real_steps);
          return out.y;
        },
        true);
    return {y, out.h, out.c};
  }
  // A layer that is narrower than the others has states that fill the first elements of their rows.
  const auto narrowed = [](const Var& s, int width) { return s.dim(2) > width ? slice(s, 2, 0, width) : s; };
  const auto widened = [](const Var& s, int width) {
    return s.dim(2) < width ? concat({s, Var(Tensor::zeros({s.dim(0), s.dim(1), width - s.dim(2)}))}, 2) : s;
  };
  const int directions = stack.config().directions;
  Vars h, c;
  const Var y = stack.layer_by_layer(x, lengths, [&](int k, const Var& in, const Tensor& real_steps) {
    const Var h0 = narrowed(slice(state.h, 0, k, k + directions), stack.width_of(k));
    const Var c0 = lstm ? narrowed(slice(state.c, 0, k, k + directions), stack.cells_of(k)) : Var();
    const auto out = networks_[static_cast<size_t>(k / directions)](in, h0, c0, lengths.steps, real_steps);
    h.push_back(widened(out.h, state.h.dim(2)));
    if (lstm) c.push_back(widened(out.c, state.c.dim(2)));
    return out.y;
  });
  return {y, concat(h, 0), lstm ? concat(c, 0) : Var()};
}

}  // namespace unroll

// The engine `cudnn`: recurrent layers by cuDNN's RNN interface, on an NVIDIA GPU.
//
// A CudnnNetwork is one call of cuDNN's, for one layer or several. over_cudnn() (layers/recurrent/recurrent.h) makes those of a
// stack: one for all layers where nothing acts between them, else one for each, with the stack's own masks between. Those
// go side by side, a call for each chunk of steps (layers/recurrent/wavefront.h).
#pragma once

#include <memory>

#include "layers/recurrent/state.h"

namespace unroll {

// A network: its cell, input, hidden and width, layers and directions.
struct CudnnConfig {
  CellKind cell = CellKind::lstm;
  Unary nonlinearity = Unary::tanh;  // of a plain network
  int input = 0, hidden = 0, width = 0, layers = 1,
      directions = 1;  // width: of h, hidden where nothing projects

  const CellFacts& facts() const { return facts_of(cell); }  // of the cell
  // One bias is enough if none is inside a gate. Then the parameters themselves are the weight space.
  bool has_one_bias() const { return cell != CellKind::gru; }
};

class CudnnNetwork {
 public:
  // Its numbers are of the process's precision now. Throws Error where cuDNN refuses them or a build has no CUDA. A weight that
  // has no place in cuDNN's weight space is an Error of the first call.
  CudnnNetwork(const CudnnConfig& config, ListedWeights weights);

  // x [steps, batch, input], h and c [layers*directions, batch, …]. Row b has lengths[b] steps, one at least, padded after;
  // undefined: all have all. real_steps [steps, batch]: the same as factors, for the gradient of x, which is 0 in padding, as y is.
  // A part of a wavefront, which has no lengths, is a call for each chunk in the part's lane.
  RecurrentOutput operator()(const Var& x, const RecurrentVars& state, const IdTensor& lengths,
                             const Tensor& real_steps, const WavePart& part) const;

 private:
  struct Parts;
  struct Window;
  std::shared_ptr<Parts> parts_;  // shared by copies, as the weights are
};

}  // namespace unroll

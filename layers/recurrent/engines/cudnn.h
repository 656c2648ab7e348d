// The engine `cudnn`: recurrent layers by cuDNN's RNN interface, on an NVIDIA GPU.
//
// A CudnnNetwork is one call of cuDNN's, for one layer or several; a CudnnStack the calls that make up an Lstm or a
// Gru: one for all layers where nothing acts between them, else one for each, with the stack's own masks between.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "framework/tape.h"
#include "layers/recurrent/engine.h"
#include "layers/recurrent/recurrent.h"

namespace unroll {

// One layer in one direction: the parameters of an Lstm::Layer or a Gru::Layer.
struct CudnnWeights {
  Vars all;  // the layer's weights(); one that has no place in cuDNN's weight space is an Error
  Var weight_ih, weight_hh, bias;
  Var bias_hn = {};    // of a GRU
  Var weight_hr = {};  // of an LSTM's projection
};

// cuDNN cannot do what it was asked: these sizes are none of this algorithm's, say.
struct CudnnRefusal : Error {
  using Error::Error;
};

struct CudnnConfig {
  bool lstm = true;  // else a GRU
  int input = 0, hidden = 0, width = 0, layers = 1,
      directions = 1;  // width: of h, hidden where nothing projects
  CudnnAlgorithm algorithm = CudnnAlgorithm::automatic;
};

class CudnnNetwork {
 public:
  // `weights` forwards, backwards, forwards, …. Its numbers are of the process's precision now. Throws CudnnRefusal, or
  // Error where a build has no CUDA.
  CudnnNetwork(const CudnnConfig& config, std::vector<CudnnWeights> weights);
  // One bias is enough for an LSTM by the standard algorithm. Then its parameters can be the weight space themselves.
  static bool has_one_bias(bool lstm, CudnnAlgorithm algorithm) {
    return lstm && (algorithm == CudnnAlgorithm::automatic || algorithm == CudnnAlgorithm::standard);
  }

  struct Output {
    Var y, h, c;  // as those of an Lstm; of a GRU c is empty
  };
  // x [steps, batch, input], h and c [layers*directions, batch, …]. Row b has lengths[b] steps, padded after; undefined:
  // all have all. real_steps [steps, batch]: the same as factors, for the gradient of x, which is 0 in padding, as y is.
  Output operator()(const Var& x, const Var& h, const Var& c, const IdTensor& lengths,
                    const Tensor& real_steps) const;

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;  // shared by copies, as the weights are
};

// What one window is asked of the engine beside what its layer is: lengths, and more steps than it knows. `choose` is
// choose_lstm or choose_gru. Throws InputError where cuDNN cannot serve.
template <class Config, class Choose>
void require_cudnn_serves(Config config, const Var& x, const Lengths& lengths, Choose choose) {
  using Known = WindowFacts::Lengths;
  if (!lengths.steps.defined() && x.dim(0) <= most_cudnn_steps) return;
  config.engine = LstmEngine::cudnn;
  choose(config, engine_facts(),
         {.steps = x.dim(0),
          .batch = x.dim(1),
          .lengths = !lengths.steps.defined()             ? Known::none
                     : lengths.padding == Padding::before ? Known::padded_before
                                                          : Known::padded_after});
}

class CudnnStack {
 public:
  CudnnStack() = default;  // of a layer with another engine
  // `weights` of all layers. Lays them out in `scope`'s slab as cuDNN's weight spaces, where one bias serves.
  CudnnStack(const Scope& scope, const RecurrentStack& stack, std::vector<CudnnWeights> weights,
             CudnnAlgorithm algorithm = CudnnAlgorithm::automatic);

  // y of all layers, and their state; as Lstm's and Gru's own operator, whose checks were made.
  CudnnNetwork::Output operator()(const RecurrentStack& stack, const Var& x, const RecurrentVars& state,
                                  const Lengths& lengths) const;

 private:
  std::vector<CudnnNetwork> networks_;
};

}  // namespace unroll

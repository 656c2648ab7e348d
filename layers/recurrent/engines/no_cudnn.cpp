// The engine `cudnn` of builds without it: the core in double, and builds without CUDA. No layer chooses its engine here.
#include "framework/check.h"
#include "layers/recurrent/engine.h"
#include "layers/recurrent/engines/cudnn.h"

namespace unroll {

EngineFacts engine_facts() { return {.no_gpu = "this build has no CUDA", .precision = precision()}; }

struct CudnnNetwork::Parts {};
CudnnNetwork::CudnnNetwork(const CudnnConfig&, ListedWeights) { throw Error("this build has no CUDA"); }
RecurrentOutput CudnnNetwork::operator()(const Var&, const RecurrentVars&, const IdTensor&, const Tensor&,
                                         const WavePart&) const {
  throw Error("this build has no CUDA");
}

}  // namespace unroll

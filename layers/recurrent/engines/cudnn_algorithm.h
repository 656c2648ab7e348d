// Which of cuDNN's algorithms is the fastest, by measuring. The documentation cannot say: it depends on the GPU, on the
// library's version and on every size.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "layers/recurrent/options.h"

namespace unroll {

struct MeasuredAlgorithm {
  CudnnAlgorithm algorithm;
  double seconds = 0;        // of a window forward and backward, the best of three
  std::string why_not = {};  // it cannot compute this layer; empty if it can
  bool lasting = true;       // it never can; false: this time there was not the memory for it, or it failed
};

// All algorithms on windows of these sizes, in a layer made for it. `now` is a clock in seconds; none: the machine's. As a graph
// (framework/graph.h) the GPU's time counts; else the host's, too, whose launches may take longer: in small layers the
// fastest are then those that launch least.
// Throws InputError where the engine cudnn cannot serve, OutOfMemory where not even the standard one finds room, and Error
// where that one fails or the GPU itself does.
std::vector<MeasuredAlgorithm> measure_algorithms(CellKind cell, const RecurrentConfig& config, int steps,
                                                  int batch, const std::function<double()>& now = {},
                                                  bool as_graph = false);
// The one to train with on windows of these sizes, where it need not be measured: that of `config` where it names
// one or the engine is another; where two runs are to have the same bits, the documented one, which is the
// standard one. Else nothing: training/files/algorithm_cache.h chooses it. Throws InputError where cuDNN does not promise the same
// bits: before version 9 it wants CUBLAS_WORKSPACE_CONFIG=:4096:2 or :16:8 in the environment for that.
std::optional<CudnnAlgorithm> algorithm_without_measuring(CellKind cell, const RecurrentConfig& config,
                                                          int steps, int batch, bool deterministic);
// The earlier of two that took as long: the standard one is the first.
CudnnAlgorithm fastest(const std::vector<MeasuredAlgorithm>& measured);

}  // namespace unroll

// Which of cuDNN's algorithms is the fastest, by measuring. The documentation cannot say: it depends on the GPU, on the
// library's version and on every size.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layers/gru.h"
#include "layers/lstm.h"

namespace unroll::inline UNROLL_REAL {

struct MeasuredAlgorithm {
  CudnnAlgorithm algorithm;
  double seconds = 0;        // of a window forward and backward, the best of three
  std::string why_not = {};  // it cannot compute this layer; empty if it can
};

// All algorithms on windows of these sizes, in a layer made for it. `now` is a clock in seconds; none: the machine's.
// Throws InputError where the engine cudnn cannot serve.
std::vector<MeasuredAlgorithm> measure_algorithms(const LstmConfig& config, int steps, int batch,
                                                  const std::function<double()>& now = {});
std::vector<MeasuredAlgorithm> measure_algorithms(const GruConfig& config, int steps, int batch,
                                                  const std::function<double()>& now = {});
// The one to train with on windows of these sizes, where `config` leaves it open and the engine is cudnn: the fastest,
// which is measured; or, where two runs are to have the same bits, the documented one, which is the standard one. Else
// that of `config`. To be written down: a later measurement may come out otherwise.
CudnnAlgorithm algorithm_to_train_with(const LstmConfig& config, int steps, int batch, bool deterministic,
                                       const std::function<double()>& now = {});
CudnnAlgorithm algorithm_to_train_with(const GruConfig& config, int steps, int batch, bool deterministic,
                                       const std::function<double()>& now = {});
// The earlier of two that took as long: the standard one is the first.
CudnnAlgorithm fastest(const std::vector<MeasuredAlgorithm>& measured);

}  // namespace unroll::inline UNROLL_REAL

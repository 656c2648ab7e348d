// Decides how the engine `fused` computes the recurrence of an LSTM or a GRU over a window: by a product and a pass per step, or by
// one kernel each way. The kernel keeps the recurrent weights in the shared memory of a GPU's processors
// (framework/kernels/recurrent_window.h).
#pragma once

#include <optional>
#include <string>

#include "framework/gemm.h"
#include "layers/recurrent/engine.h"

namespace unroll {

struct PersistentPlan;  // framework/kernels/persistent.h

// A layer, with hidden and gates, in a window. 0: batch or steps are not known. layers: 1 or 2 like it in one launch, which
// share the processors.
struct PersistentSizes {
  int64_t hidden, gates = 4, batch = 0, steps = 0, layers = 1;
  Precision precision = Precision::fp32;  // of the recurrent product
  bool layer_norm = false, gru = false;    // the cell
};
// How the kernel is split on this GPU. None if it does not serve; `why`, if given, says why: "batch 80 is above 64".
std::optional<PersistentPlan> persistent_plan(const PersistentSizes& sizes, const EngineFacts& gpu,
                                              std::string* why = nullptr);
// As above, for a layer of this cell with its options. None for a plain cell, a projection or a mogrifier, whose steps are more than a
// product and a pass, and for algorithm = "standard", which asks for steps.
std::optional<PersistentPlan> persistent_plan(const CellFacts& cell, const RecurrentConfig& config,
                                              const EngineFacts& gpu, const WindowFacts& window,
                                              std::string* why = nullptr);
// How both layers of a stack of two are computed in one launch, each on half of the processors: LstmPair in
// framework/kernels/recurrent_window.h. None, and `why`: "there are 3 layers".
std::optional<PersistentPlan> persistent_pair(const CellFacts& cell, const RecurrentConfig& config,
                                              const EngineFacts& gpu, const WindowFacts& window,
                                              std::string* why = nullptr);
// On the GPU in use, in the precision in use; none on a CPU.
std::optional<PersistentPlan> persistent_plan_here(PersistentSizes sizes);

}  // namespace unroll

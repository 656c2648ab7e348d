// Times the engines of a recurrent layer where choose_engine() has no figures.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "layers/recurrent/engine.h"

namespace unroll {

// Asks the GPU for a window of a layer in that engine, forward and back, each time that it is called.
using EngineWindow = std::function<void()>;
using MakeEngineWindow = std::function<EngineWindow(Engine)>;  // makes such a window, and its layer

// Adds to the facts what `auto` goes by where cuDNN and `fused` both serve this layer: the engine that the run began with; else
// times of both, taken once for such a layer in this process. Adds nothing where there are figures (has_figures), on a CPU, among several
// processes, while a tape is alive, or where the memory does not suffice.
EngineFacts with_trial(EngineFacts facts, const CellFacts& cell, const RecurrentConfig& config,
                       const MakeEngineWindow& make);
// The times that are there already.
EngineFacts with_known_trial(EngineFacts facts, const CellFacts& cell, const RecurrentConfig& config);

// From now on in this process: a run that goes on keeps its engine, and with it its bits. A name that is none is ignored.
void keep_engine(const std::string& name);

namespace detail {
extern double (*clock_of_trials)();  // milliseconds; tests have one of their own
void forget_trials();
}  // namespace detail

}  // namespace unroll

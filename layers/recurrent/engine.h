// Which engine computes a recurrent layer, and why: cuDNN's criteria, each a line of a table.
//
// The choice is a pure function of the layer's options and of facts about the machine, so one machine can say what
// another would choose.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/precision.h"

namespace unroll {

struct CellFacts;  // layers/recurrent/options.h
struct RecurrentConfig;

enum class Engine : uint8_t {
  automatic,  // the fastest that serves
  cudnn,      // cuDNN's RNN interface, on an NVIDIA GPU; does not take rows padded before their steps
  fused,  // one product for the inputs of all steps; per step a recurrent product and one pass of arithmetic
  composed  // the cell spelled out in elementary operations: for reading, and as reference for the others
};
std::string_view name_of(Engine engine);
Engine engine_named(std::string_view name);  // throws InputError listing the names

// How the engine `fused` goes through the steps of an LSTM or a GRU on a GPU.
enum class RecurrentAlgorithm : uint8_t {
  automatic,  // one kernel for a window if that serves (layers/recurrent/persistent.h), else step by step
  standard    // step by step
};
std::string_view name_of(RecurrentAlgorithm algorithm);  // "auto", "standard"

// Milliseconds of a window, forward and back.
struct EngineTimes {
  double cudnn, fused;  // of each engine
};

// Facts about the machine. Versions are numbered as the libraries do it.
struct EngineFacts {
  std::string gpu = {};                   // "NVIDIA H100"; empty: the CPU computes, and no_gpu says why
  std::string no_gpu = {};                // "this build has no CUDA"
  int capability = 0;                     // 90: compute capability 9.0
  int driver = 0;                         // the newest CUDA that the driver runs: 13000
  int toolkit = 0;                        // the CUDA that this build was made with
  int cudnn = 0;                          // 91900: cuDNN 9.19.0; 0: not available, and no_cudnn says why
  std::string no_cudnn = {};              // "this build has no CUDA"
  Precision precision = Precision::fp32;  // of products
  // For the persistent kernel of `fused` (layers/recurrent/persistent.h). 0: not known.
  int processors = 0, code = 0;  // code: the compute capability that this build's kernels are for
  int64_t shared_memory = 0;     // bytes that a block may have
  // Of engine_trial.h, where there are no figures for the layer.
  int processes = 1;                      // that share the training
  std::optional<EngineTimes> times = {};  // of the layer
  std::optional<Engine> begun_with = {};  // by the run that goes on
};
EngineFacts engine_facts();  // of this process, as it computes now
// Whether it was measured on this kind of GPU which engine is the faster for this layer: on H100 and H200 (bench/results/gpu.md), but not
// for the persistent kernel of a GRU.
bool has_figures(const EngineFacts& facts, const CellFacts& cell, const RecurrentConfig& config);

// Throws InputError if two runs with this engine may differ in their bits: cuDNN before version 9 needs
// CUBLAS_WORKSPACE_CONFIG=:4096:2 or :16:8 in the environment.
void require_repeatable(Engine engine, const EngineFacts& facts = engine_facts());

// The windows that a layer will be called with, their `lengths` as Lengths says; 0: not known.
struct WindowFacts {
  int steps = 0, batch = 0;  // the window's
  enum class Lengths : uint8_t { none, padded_after, padded_before } lengths = Lengths::none;
  bool resets = false;  // rows begin anew inside a window
};

inline constexpr int most_cudnn_steps = 65'535;  // of its kernels

// One criterion of cuDNN, and how this layer on this machine meets it.
struct EngineReason {
  enum class Fits : uint8_t { yes, at_a_cost, no } fits;  // whether it holds
  std::string criterion, value;                           // "recurrent_dropout", "0.25"
  std::string verdict = {};                               // what it costs: "fused and composed compute it"
  std::string because = {};  // of one that does not fit: "cudnn does not compute recurrent_dropout = 0.25"
};
std::string_view name_of(EngineReason::Fits fits);  // "yes", "at a cost", "no"

// Which engine computes a layer, and why.
struct EngineChoice {
  Engine engine;
  std::string
      text;  // "lstm: cudnn, 2 x 1500", "lstm: fused, because …; persistent: no, batch 80 is above 64"
  std::vector<EngineReason> reasons;  // cuDNN's criteria, each with its verdict
};
// Chooses the engine for a layer of this cell, by default on this machine. config.engine is the requested one. Throws
// InputError if that one cannot serve, naming every reason.
EngineChoice choose_engine(const CellFacts& cell, const RecurrentConfig& config,
                           const EngineFacts& facts = engine_facts(), const WindowFacts& window = {});

}  // namespace unroll

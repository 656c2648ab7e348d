// How long a GPU would take for a step of training a language model: an estimate from the GPU's rates, what must be computed
// and moved, and how many kernels are launched. Nothing is measured.
//
// The parts follow one after the other on the GPU: products over all steps of the window; the recurrent products, which read
// the recurrent weights at each step; the short kernels between them; passes over memory. Beside them the host launches
// kernels, which takes longer than all of it where a model is small. A graph (training.graph) spares that.
#pragma once

#include <cstdint>
#include <string>

#include "framework/gpu_rates.h"
#include "layers/recurrent/options.h"

namespace unroll {

struct StepSizes {
  CellFacts cell;
  RecurrentConfig layers;  // input: the embedding's width
  int steps = 0, batch = 0, vocab = 0;
  float input_dropout = 0, output_dropout = 0;
  int64_t parameters = 0;
  int moments = 0;  // numbers that the optimizer keeps for each parameter
  Precision precision = Precision::fp32;
};

// What an estimate takes for granted: seconds of the shortest kernel, between two that wait for each other, and of a launch
// on the host with all that this library does for it (as a small model took beside an H100); the share of the published rates that is
// reached, and of the memory's by the passes of loss, update and rounding; how many times as fast as memory its cache is.
//
// A product of few rows waits for its sums, one piece after the other: seconds for each of a sum's elements, on tensor cores and without them, as layers of 200, 650 and 1500 units took on an H100
// (without tensor cores 650 alone; bench/results/gpu.md). Where rows are normalised each has one block of threads: bytes in a second
// that it moves to and from the cache, and seconds that it waits in each step, each way, for sums of the row (200, 650 and 1500 units in
// bf16, step by step).
struct StepAssumptions {
  double kernel = 2e-6, launch = 10e-6, share = 0.8, passes = 0.3, cache = 2, element = 14e-9,
         element_fp32 = 33e-9, row = 22e9, norm = 2.4e-6;
  // Of the persistent kernel of `fused`, as layers of 200, 650 and 1500 units in bf16 took on an H100: seconds of a step for its barrier
  // and the cell, for each 64 bytes of 8 rows that a block reads, and for its product of these with 8 lines; and bytes of weights
  // that a block reads in a second.
  double step = 3.6e-6, reading = 7.3e-9, product = 1.3e-9, weights = 10e9;
};

// Launches of a step, as the stand-in for CUDA counts them: kernels and products of this library. What cuDNN launches
// within its calls is assumed: a product and a kernel for each step of a layer, each way.
struct StepLaunches {
  int64_t ours = 0, in_cudnn = 0;
};
// persistent: the engine `fused` computes each layer's windows by one kernel each way (layers/recurrent/persistent.h). chunks: it
// computes layers side by side, by so many chunks of a window (layers/recurrent/wavefront.h).
StepLaunches launches_of_step(Engine engine, const StepSizes& sizes, bool persistent = false, int chunks = 1);

struct StepEstimate {
  StepLaunches launches;
  double products = 0, recurrent = 0, kernels = 0, passes = 0;  // seconds on the GPU
  double host = 0;                                              // of launching
  bool persistent = false;                                      // by the kernel for a whole window
  int chunks = 1;                                               // of a window, where layers are side by side

  double seconds(bool graph) const;
  std::string limit(bool graph) const;  // what takes the largest part: "launches by the host"
};
// Throws InputError where the GPU has no numbers of this precision.
StepEstimate estimate_step(Engine engine, const StepSizes& sizes, const GpuRates& gpu,
                           const StepAssumptions& assumed = {});

}  // namespace unroll

// Layers of a stack side by side on a GPU (Appleyard, Kocisky and Blunsom 2016, "Optimizing Performance of Recurrent Neural
// Networks on GPUs"). A window is cut into chunks of steps. A layer computes a chunk while the layer below computes the next; the
// backward pass goes the other way round. Layers take two lanes of the GPU by turns (framework/lanes.h), dropout between them a
// third, residual connections a fourth: a lane has the chunks of one part before those of the next.
//
// The engine `fused`: a sum over the window is one product of the whole window, as layer by layer. The product of x and its
// gradient is a product for each chunk, since the next layer waits for it. The engine `cudnn`: a chunk is a call each way, and one
// more that adds to the gradients of the weights.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/lanes.h"
#include "layers/recurrent/layer_order.h"

namespace unroll {

struct EngineFacts;  // layers/recurrent/engine.h

struct Wavefront {
  static constexpr int streams = 2, least_steps = 6, most_chunks = 8, most_calls = 4;  // its limits
  int chunks;                                                                          // of a window

  // Chunks of about five steps. Fewer chunks leave lanes idle for longer at both ends, more cost more products and kernels.
  static Wavefront of(int steps) { return {.chunks = std::clamp(steps / 5, 2, most_chunks)}; }
  // Of about ten steps where a chunk is a call of cuDNN's: each call reads and writes all gradients of the weights.
  static Wavefront of_calls(int steps) { return {.chunks = std::clamp(steps / 10, 2, most_calls)}; }
};
// How the engine, `fused` or `cudnn`, computes a window of this layer on this GPU. None, and `why`: layer by layer, since "there is
// one layer". steps = 0: not known, taken for enough.
std::optional<Wavefront> wavefront(Engine engine, const CellFacts& cell, const RecurrentConfig& config,
                                   const EngineFacts& gpu, const WindowFacts& window,
                                   std::string* why = nullptr);

namespace detail {
// For tests: no wavefront in this process; or all its parts in one lane, where each waits for all before it.
extern bool layer_by_layer, one_lane;
}

// One window, forward and back.
class Wave {
 public:
  enum Way : uint8_t { forward, back };  // through a window
  explicit Wave(int count) : chunks(count) { lanes_[forward].emplace(); }
  // Work that is asked for from then on waits for the last layer.
  void end_forward() { lanes_[forward].reset(); }

  const int chunks;  // of the window

 private:
  friend class WavePart;
  friend class PartInLane;
  struct Part {
    std::array<int, Wavefront::most_chunks>
        marks[2];  // by way: where the part had computed a chunk; -1: not yet
  };
  std::optional<Lanes> lanes_[2];  // by way. Those back live until the last part's gradient has gone
  std::vector<Part, PoolAllocator<Part>> parts_;  // from below
};

// While one lives, what is asked for goes to the part's lane. Does nothing without a wave.
class PartInLane {
 public:
  using Way = Wave::Way;  // forward or back
  PartInLane(const WavePart& part, Way way);
  // compute(begin, end) is asked for the steps of each chunk, in the order of this way, when the part before has that chunk.
  template <class Compute>
  void each_chunk(int steps, Compute compute) {
    for (int i = 0; i < part_.chunks(); ++i) {
      const int chunk = way_ == Way::forward ? i : part_.chunks() - 1 - i;
      await(chunk);
      compute(part_.begin(chunk, steps), part_.begin(chunk + 1, steps));
      done(chunk);
    }
  }

 private:
  void await(int chunk);
  void done(int chunk);

  WavePart part_;
  Way way_;
  std::optional<Lanes::In> in_;
};

}  // namespace unroll

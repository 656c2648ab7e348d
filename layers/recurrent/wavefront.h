// Layers of a stack side by side on a GPU (Appleyard, Kocisky and Blunsom 2016, "Optimizing Performance of Recurrent Neural
// Networks on GPUs"): a window is cut into chunks of steps, and a layer computes a chunk while the one below computes the next; on
// the way back the other way round. Layers take two lanes of the GPU by turns (framework/lanes.h), dropout between them a third.
//
// A sum over the window is one product of the whole window, as layer by layer. What a layer makes of each step for the
// next, the product of x and its gradient, is a product for each chunk.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/lanes.h"
#include "framework/random.h"
#include "framework/tape.h"

namespace unroll {

struct CellFacts;  // layers/recurrent/options.h
struct EngineFacts;
struct RecurrentConfig;
struct WindowFacts;
class Wave;

struct Wavefront {
  static constexpr int streams = 2, least_steps = 6, most_chunks = 8;
  int chunks;

  // Of about five steps each: fewer leave the lanes idle for longer at both ends, more cost products and kernels of their own.
  static Wavefront of(int steps);
  // How long a window takes, of 1 for layer by layer: turns of a chunk, until the last layer has its last.
  double share(int layers) const;
};
// How the engine `fused` computes a window of this layer on this GPU. None, and `why`: layer by layer, since "there is one layer".
// steps = 0: not known, taken for enough.
std::optional<Wavefront> wavefront(const CellFacts& cell, const RecurrentConfig& config,
                                   const EngineFacts& gpu, const WindowFacts& window,
                                   std::string* why = nullptr);

// The wave of a window that is to be computed now; none: layer by layer. So it is too where each operation is measured or looked
// at by itself, or gradients are sent off as soon as they are there.
std::shared_ptr<Wave> wave_here(const CellFacts& cell, const RecurrentConfig& config, int steps, int batch);

namespace detail {
extern bool layer_by_layer;  // for tests: no wavefront in this process
}

// One window, forward and back.
class Wave {
 public:
  explicit Wave(int count) : chunks(count), forward_(std::in_place) {}
  // What is asked for from then on waits for the last layer.
  void end_forward() { forward_.reset(); }
  // Sees to that where something throws.
  class Forward {
   public:
    explicit Forward(std::shared_ptr<Wave> wave) : wave_(std::move(wave)) {}
    ~Forward() {
      if (wave_) wave_->end_forward();
    }
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;

   private:
    std::shared_ptr<Wave> wave_;
  };

  const int chunks;

 private:
  friend class WavePart;
  friend class PartInLane;
  struct Marks {
    std::array<int, Wavefront::most_chunks> forward, back;
  };
  std::optional<Lanes> forward_, back_;             // back_ lives until the last part's gradient has gone
  std::vector<Marks, PoolAllocator<Marks>> parts_;  // from below
};

// A layer, or dropout between two, within a wave; by default there is none, and its window is one chunk.
class WavePart {
 public:
  WavePart() = default;
  // The next from below.
  WavePart(std::shared_ptr<Wave> wave, int lane);
  explicit operator bool() const { return wave_ != nullptr; }
  int chunks() const { return wave_ ? wave_->chunks : 1; }
  int begin(int chunk, int steps) const { return static_cast<int>(int64_t{chunk} * steps / chunks()); }
  // What comes from below does so by chunks.
  bool waits() const { return wave_ && place_ > 0; }

 private:
  friend class PartInLane;
  std::shared_ptr<Wave> wave_ = {};
  int place_ = 0, lane_ = 0;
};

// While one lives, what is asked for goes to the part's lane. Does nothing without a wave.
class PartInLane {
 public:
  enum class Way : uint8_t { forward, back };
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

// The order of a stack's layers in one window: one after the other, or side by side as wave_here() says.
class LayerOrder {
 public:
  LayerOrder() = default;  // one after the other
  LayerOrder(const CellFacts& cell, const RecurrentConfig& config, int steps, int batch)
      : LayerOrder(wave_here(cell, config, steps, batch)) {}

  // Of layer k; called once for each, from below.
  WavePart part(int k) const { return wave_ ? WavePart(wave_, 1 + k % Wavefront::streams) : WavePart(); }
  // dropout() between two layers.
  Var dropout(const Var& x, real rate, const RandomKey& key, bool locked) const;
  // After the last layer.
  void end() const {
    if (wave_) wave_->end_forward();
  }

 private:
  explicit LayerOrder(const std::shared_ptr<Wave>& wave) : wave_(wave), ends_(std::in_place, wave) {}
  std::shared_ptr<Wave> wave_;
  std::optional<Wave::Forward> ends_;
};

}  // namespace unroll

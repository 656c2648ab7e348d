// The order of a stack's layers in one window: one after the other, side by side (wavefront.h), or two at once (layer_pair.h).
#pragma once

#include <memory>

#include "framework/random.h"
#include "framework/tape.h"

namespace unroll {

enum class Engine : uint8_t;  // layers/recurrent/engine.h
struct WindowFacts;
struct CellFacts;  // layers/recurrent/options.h
struct RecurrentConfig;
class Wave;
struct LayerPair;  // layers/recurrent/engines/fused/layer_pair.h

// A layer, or dropout between two, within a wave; by default there is none, and its window is one chunk.
class WavePart {
 public:
  WavePart() = default;
  // The next from below.
  WavePart(std::shared_ptr<Wave> wave, int lane);
  explicit WavePart(std::shared_ptr<LayerPair> with) : pair(std::move(with)) {}
  explicit operator bool() const { return wave_ != nullptr; }  // it is in a wave
  int chunks() const;                                          // that a window is cut into
  // The first step of a chunk of a window of so many steps.
  int begin(int chunk, int steps) const { return static_cast<int>(int64_t{chunk} * steps / chunks()); }
  // The part below hands over chunk by chunk.
  bool waits() const { return wave_ && place_ > 0; }

  std::shared_ptr<LayerPair> pair = {};  // one kernel may compute this layer with the other of two

 private:
  friend class PartInLane;
  std::shared_ptr<Wave> wave_ = {};
  int place_ = 0, lane_ = 0;
};

class LayerOrder {
 public:
  LayerOrder() = default;  // one after the other
  // Of a window that is to be computed now by this engine. Without a wave on a CPU, where wavefront() has none, and where each
  // operation is measured or looked at by itself, or gradients are sent off as soon as they are there.
  LayerOrder(Engine engine, const CellFacts& cell, const RecurrentConfig& config, const WindowFacts& window);
  ~LayerOrder() { end(); }  // also if something throws
  LayerOrder(const LayerOrder&) = delete;
  LayerOrder& operator=(const LayerOrder&) = delete;

  // Layer k's; called once for each, from below.
  WavePart part(int k) const;
  // dropout() between two layers.
  Var dropout(const Var& x, real rate, const RandomKey& key, bool locked) const;
  // out + in, of the layer that the part before is.
  Var residual(const Var& out, const Var& in) const;
  // After the last layer.
  void end() const;

 private:
  std::shared_ptr<Wave> wave_ = {};
  std::shared_ptr<LayerPair> pair_ = {};
};

}  // namespace unroll

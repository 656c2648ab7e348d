// Work that a GPU was asked for once, to be asked for again at once: a CUDA graph.
//
//   const Graph graph(&values->orders.step, params.step(), [&] { … a step's operations … });
//   graph.play();   // all of them, on the numbers that are in the same places now
//
// Asking for a step's thousands of small operations one by one keeps a host busy for longer than a GPU needs to do them;
// a graph is one call. Recording does nothing yet. A recording works on the same memory each time, so put there
// before whatever is to differ: data, the learning rate, the number of the step. Temporary memory comes from a pool
// that only recordings use, and belongs to them for good.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "framework/check.h"
#include "framework/device.h"

namespace unroll {

// The recorded work would read numbers on the host, bring some from there, or wait: no recording of it can succeed.
struct NeedsHost : Error {
  using Error::Error;
};

class Graph {
 public:
  // Records the work that `work` asks of the GPU. `step` is in the device's memory: masks are those of the number
  // that stands there when the graph plays, given that it is `now` at present. Requires: everything that `work` makes
  // at first use has been made, so let it run once before. Throws what `work` throws, NeedsHost if that does
  // (device.h), DeviceError or OutOfMemory if the GPU cannot record it, and Error on a CPU.
  template <class F>
  Graph(const uint32_t* step, uint32_t now, F&& work) {
    begin(step, now);
    try {
      std::forward<F>(work)();
    } catch (...) {
      end(false);
      throw;
    }
    graph_.reset(end(true));
  }
  void play() const;

 private:
  static void begin(const uint32_t* step, uint32_t now);
  static void* end(bool keep);
  struct Forget {
    void operator()(void* graph) const;
  };
  std::unique_ptr<void, Forget> graph_;
};

}  // namespace unroll

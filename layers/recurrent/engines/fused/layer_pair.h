// Two layers of a stack that one kernel computes (LstmPair in framework/kernels/recurrent_window.h). The tape has the operations of
// layer by layer. But the lower layer and dropout leave their work until the upper is asked for, and on the way back the upper
// does the work of all. If the GPU refuses the launch, each does its own.
#pragma once

#include <array>
#include <memory>

#include "framework/kernels/persistent.h"
#include "framework/random.h"
#include "framework/tape.h"

namespace unroll {

namespace fused {
struct LstmLayerWindow;  // layers/recurrent/engines/fused/lstm_window.h
}

struct LayerPair {
  explicit LayerPair(const PersistentPlan& of_both) : plan(of_both) {}
  // dropout() between the two, if the lower layer waits.
  Var dropout(const Var& x, real rate, const RandomKey& key, bool locked);
  // x · mask, by itself.
  void drop(const Tensor& x, const Tensor& y) const;

  const PersistentPlan plan;
  std::shared_ptr<fused::LstmLayerWindow> lower = {};  // while it waits
  std::array<Var, 3> outputs = {};                     // of the lower: y, h, c
  uint64_t asked = 0;  // when the lower was: what it writes late counts as written then (WriteTime)
  Tensor mask = {};    // [steps, batch, hidden], or [batch, hidden]
  bool together = false, went_back = false;  // the kernel computed both, forward; and back
};

}  // namespace unroll

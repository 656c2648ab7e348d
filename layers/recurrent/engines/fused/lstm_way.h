// The two ways to compute an LSTM's window. Each is a file: lstm_steps.cpp, lstm_one_kernel.cpp.
#pragma once

#include <memory>

#include "layers/recurrent/engines/fused/lstm_window.h"

namespace unroll::fused {

class LstmWay {
 public:
  virtual ~LstmWay() = default;
  virtual void forward(LstmLayerWindow& window, PartInLane& lane) const = 0;
  // All gradients, also the weights'.
  virtual void backward(LstmBackward& back, PartInLane& lane) const = 0;
};

// A product and a pass per step: on any device, with every option.
std::shared_ptr<const LstmWay> step_by_step();
// One kernel for all steps of a window on a GPU; nullptr if it does not serve this window.
std::shared_ptr<const LstmWay> one_kernel(const LstmLayerWindow& window);

// One kernel if it serves, else step by step.
inline std::shared_ptr<const LstmWay> way_over(const LstmLayerWindow& window) {
  auto way = one_kernel(window);
  return way ? way : step_by_step();
}

}  // namespace unroll::fused

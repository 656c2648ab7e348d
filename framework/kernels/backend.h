// A device with memory of its own gives this to the framework, beside its kernels. A build holds one: CUDA's
// (kernels/cuda/backend.cpp), or none (kernels/no_cuda.cpp).
#pragma once

#include <cstddef>
#include <string>

#include "framework/device.h"
#include "framework/kernels/kernels.h"

namespace unroll {

struct Backend {
  std::string (*missing)();              // why no device can serve; empty if one can
  int (*count)();                        // of devices, if nothing is missing
  std::string (*refusal)(int index);     // why this one cannot serve, found by trying; empty if it can
  void (*open)(int index);               // uses this one from now on; throws Error
  DeviceFacts (*facts)();                // of the one in use
  void* (*allocate)(std::size_t bytes);  // null: there is not so much; throws Error for anything else
  void (*release)(void* memory);
  void (*to_host)(void* to, const void* from, std::size_t bytes);
  void (*to_device)(void* to, const void* from, std::size_t bytes);
  void (*copy)(void* to, const void* from, std::size_t bytes);
  void (*clear)(void* to, std::size_t bytes);
  void (*synchronize)();
  // From now on work is asked of this lane (lanes.h), 0: the device's one order. A mark stands behind all that the lane was asked for so
  // far; a lane that awaits it does what it is asked for after it.
  void (*use_lane)(int lane);
  void (*mark)(int number);
  void (*await)(int number);
  // Work that is asked for between begin and end is recorded, and not done. Masks of the steps to come add what *step
  // has advanced since it was `now`. end_recording gives the recording if it is to be kept; else what was recorded is gone.
  void (*begin_recording)(const uint32_t* step, uint32_t now);
  void* (*end_recording)(bool keep);
  void (*play)(void* recording);
  void (*forget)(void* recording);
};
const Backend* cuda_backend();  // null: this build has none

namespace cuda {
const Kernels& table();
}

}  // namespace unroll

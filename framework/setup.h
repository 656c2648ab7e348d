// Chooses what this process computes with: in one place, before there is any tensor.
//
//   set_up({.device = "auto", .precision = "auto"});
//
// Without it a process computes on the CPU, in fp32, with a thread for each core.
#pragma once

#include <optional>
#include <string>

namespace unroll {

// The device, the threads and the precision of a process.
struct SetupOptions {
  std::string device = "cpu";       // as device_named() reads it (device.h)
  int process = 0;                  // of several on a machine, for device_named()
  std::optional<int> threads = {};  // on the CPU, at most; none: one for each core
  std::string precision = "fp32";   // of products, as precision_named() reads it (precision.h)
};
// Throws InputError where the machine lacks one of them, saying what, and Error once there are tensors.
void set_up(const SetupOptions& options);

}  // namespace unroll

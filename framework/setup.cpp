#include "framework/setup.h"

#include "framework/check.h"
#include "framework/device.h"
#include "framework/gemm.h"
#include "framework/memory.h"
#include "framework/threads.h"

namespace unroll {

const char UNROLL_MIXED = 0;

void set_up(const SetupOptions& options) {
  require(device_memory_is_untouched(), "set_up: there are tensors on {} already", name_of(device()));
  if (options.threads) set_threads(*options.threads);
  set_device(device_named(options.device, options.process));
  set_precision(precision_named(options.precision));  // which depends on the device
}

}  // namespace unroll

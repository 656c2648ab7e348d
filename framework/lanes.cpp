#include "framework/lanes.h"

#include "framework/check.h"
#include "framework/device.h"
#include "framework/kernels/backend.h"
#include "framework/memory.h"

namespace unroll {

namespace {
bool lanes_alive = false;
int lane_in_use = 0;

void use_lane(int lane) { cuda_backend()->use_lane(lane_in_use = lane); }
}  // namespace

Lanes::Lanes() {
  require(on_gpu(), "lanes: a GPU has them, and the device is {}", name_of(device()));
  require(!lanes_alive, "lanes: there are others");
  lanes_alive = true;
  hold_device_memory(true);
}

Lanes::~Lanes() {
  try {
    for (int lane = 1; lane <= count; ++lane) {
      if (!used_[static_cast<size_t>(lane)]) continue;
      use_lane(lane);
      const int end = mark();
      use_lane(0);
      await(end);
    }
  } catch (const Error&) {  // of a GPU that has failed: who asks for something next will say it
    use_lane(0);
  }
  hold_device_memory(false);
  lanes_alive = false;
}

bool Lanes::any() { return lanes_alive; }
bool Lanes::in_one() { return lane_in_use != 0; }

Lanes::In::In(Lanes& lanes, int lane) {
  require(lane >= 1 && lane <= count && lane_in_use == 0, "lanes: {} cannot be used within {}", lane,
          lane_in_use);
  const int before = lanes.mark();
  use_lane(lane);
  try {
    lanes.await(before);
  } catch (...) {
    use_lane(0);
    throw;
  }
  lanes.used_[static_cast<size_t>(lane)] = true;
}
Lanes::In::~In() { use_lane(0); }

int Lanes::mark() {
  cuda_backend()->mark(marks_);
  return marks_++;
}
void Lanes::await(int mark) { cuda_backend()->await(mark); }

}  // namespace unroll

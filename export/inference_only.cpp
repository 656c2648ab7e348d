// The core's number type in a program without the core (framework/real.h).
#include "framework/real.h"

namespace unroll {

const char UNROLL_MIXED = 0;

}  // namespace unroll

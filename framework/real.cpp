#include "framework/real.h"

namespace unroll {

const char UNROLL_MIXED = 0;

}  // namespace unroll

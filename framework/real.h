// The number type of the core: float; the tests compile the core a second time with double.
//
// Everything whose size or arithmetic depends on it lives in the inline namespace UNROLL_REAL, so that the two
// copies can never be mixed up by the linker.
#pragma once

#ifdef UNROLL_DOUBLE
#define UNROLL_REAL f64
#else
#define UNROLL_REAL f32
#endif

namespace unroll::inline UNROLL_REAL {

#ifdef UNROLL_DOUBLE
using real = double;
#else
using real = float;
#endif

}  // namespace unroll::inline UNROLL_REAL

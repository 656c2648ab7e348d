// The most that the processor's arithmetic can do, measured where a benchmark runs: nothing but multiply-adds
// in registers.
#pragma once

#include <string>

#include "framework/gemm.h"

// 10^9 floating-point operations a second of `threads` threads together, over a second: in float with the
// widest vectors, in bfloat16 with AMX's tiles. 0 where there is no loop for this processor.
double peak_gflops(unroll::Precision precision, int threads);

// The most that the machine can do, measured where a benchmark runs: of a processor nothing but multiply-adds in registers, and
// nothing but reading memory; of a GPU the library's product of two large matrices.
#pragma once

#include <string>

#include "framework/gemm.h"

// 10^9 floating-point operations a second. Of `threads` threads together, over a second: in float with the
// widest vectors, which products of float numbers on AMX's tiles can surpass; in bfloat16 with AMX's tiles or AVX512-BF16,
// whichever the kernels use; 0 where there is no loop for this processor. On a GPU, where `precision` must be the process's: of
// [8192, 8192] times as many, the fastest of ten.
double peak_gflops(unroll::Precision precision, int threads);

// 10^9 bytes a second that `threads` threads of a processor read together, over half a second: each its own part of a
// gigabyte, which no usual cache holds.
double memory_gbytes(int threads);

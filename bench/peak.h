// The most that the machine can do, measured where a benchmark runs: of a processor nothing but multiply-adds in registers, and
// nothing but reading memory; of a GPU the library's product of two large matrices.
#pragma once

#include <string>

#include "framework/gemm.h"

// 10^9 floating-point operations a second of `threads` threads together, measured over a second; 0 if there is no
// loop for this processor.
// In float: the widest vectors, which float products on AMX's tiles can surpass.
// In bfloat16: AMX's tiles or AVX512-BF16, whichever the kernels use.
// On a GPU `precision` must be the process's: the fastest of ten products of [8192, 8192] matrices.
double peak_gflops(unroll::Precision precision, int threads);

// 10^9 bytes a second that `threads` threads of a processor read together, over half a second: each its own part of a
// gigabyte, which no usual cache holds.
double memory_gbytes(int threads);

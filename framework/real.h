// The number type of the core: float, or double where UNROLL_DOUBLE is defined.
//
// A program has one of them. Every source that sees this header names a symbol that only the library of its own precision
// has, so a program that mixes the two does not link.
#pragma once

namespace unroll {

#ifdef UNROLL_DOUBLE
using real = double;
#define UNROLL_MIXED compiled_for_double_but_linked_with_the_library_in_float
#else
using real = float;  // or double, with UNROLL_DOUBLE
#define UNROLL_MIXED compiled_for_float_but_linked_with_the_library_in_double
#endif

extern const char UNROLL_MIXED;  // framework/setup.cpp
#ifndef __CUDACC__               // nvcc compiles kernels, which the library brings itself
[[gnu::used]] static const char* const its_library = &UNROLL_MIXED;
#endif

}  // namespace unroll

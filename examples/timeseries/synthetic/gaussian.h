// Gaussian processes by composed kernels.
#pragma once

#include "examples/timeseries/synthetic/draw.h"

namespace unroll::synthetic {

// A stationary kernel, as the spectrum from which random Fourier features draw frequencies: E cos(ω d) is the kernel at distance
// d (Rahimi and Recht 2007).
struct Kernel {
  enum Form {
    smooth,    // exp(-d² / (2 length²))
    rational,  // (1 + d² / (2 shape length²))^-shape
    periodic   // exp(-2 sin²(π d / period) / length²)
  } form;
  double length, shape, period;  // in rows, but a periodic kernel's length, which is relative to its period

  double frequency(Draw& draw) const;  // radians a row
};

}  // namespace unroll::synthetic

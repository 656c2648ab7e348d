// Dropout whose masks depend only on the layer's path, the step and the seed.
#pragma once

#include "framework/ops.h"
#include "framework/parameters.h"

namespace unroll {

struct DropoutConfig {
  float rate = 0;       // probability that an element is dropped, in [0, 1)
  bool locked = false;  // one mask for all steps of a sequence [steps, …]
};

// Active while a tape records, unless the tape's options turn it off. Otherwise returns x unchanged.
struct Dropout {
  Dropout(Scope scope, const DropoutConfig& c) : config(c), place(std::move(scope)) {
    require(c.rate >= 0 && c.rate < 1, "dropout: rate {} is not in [0, 1)", c.rate);
  }
  Var operator()(const Var& x) const {  // x with elements dropped
    return config.rate > 0 ? dropout(x, config.rate, place.next_key(), config.locked) : x;
  }

  DropoutConfig config;  // as it was made
  Scope place;           // of the random numbers
};

}  // namespace unroll

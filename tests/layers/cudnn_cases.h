// Shared by the suites of the engine `cudnn` over the stand-in: the stand-in as it was found, and the engines side by
// side.
#pragma once

#include "tests/layers/cudnn_window.h"
#include "tests/standin/cudnn.h"
#include "tests/standin/standin.h"

namespace unroll {

using standin::cudnn;
using standin::WeightLayout;

// The stand-in as it was found. Nothing that a test makes may outlive it.
struct Fresh {
  Fresh() { renew(); }
  ~Fresh() { renew(); }
  static void renew() {
    const int live = cudnn().live;
    cudnn() = {};
    cudnn().live = live;
  }
};

inline void check_all_engines(const Case& c, bool sensitive, int windows = 1) {
  WindowCase w = c.window();
  w.windows = windows;
  check_agreement(w, {Window(w, Engine::cudnn).run(), Window(w, Engine::fused).run()}, c.config.input,
                  c.config.hidden, sensitive);
  CHECK(cudnn().refusal == "");
}

}  // namespace unroll

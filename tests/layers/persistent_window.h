// Shared by the tests of the persistent kernels: the kernel agrees with the loop and `composed`; what a layer does where its launch is
// refused.
#pragma once

#include "framework/kernels/recurrent_window.h"
#include "layers/recurrent/persistent.h"
#include "tests/framework/in_child.h"
#include "tests/layers/lstm_window.h"
#ifdef UNROLL_STANDIN
#include "tests/standin/standin.h"
#endif

namespace unroll {

constexpr Precision rounding[] = {Precision::tf32, Precision::bf16, Precision::fp16};

#ifdef UNROLL_STANDIN
// Few, so that a block of a small layer has several units. Set before the device is asked.
const int processors = standin::control().processors = 7;

// In a test's first case, since ThreadSanitizer does not watch what a process does that was forked after there were fibres.
inline void check_refused_launches(const WindowCase& in_kernel, const WindowCase& stepped) {
  const WithPrecision rounded(Precision::bf16);
  for (const int taken : {0, 1}) {  // the forward's launch is refused, or the backward's
    const std::string said = in_child([&] {
      const Results by_steps = Window(stepped, Engine::fused).run();
      standin::control().takes_together = taken, standin::control().refusals_together = 1;
      std::string result;
      for (int k = 0; k < 2; ++k) {
        const Results found = Window(in_kernel, Engine::fused).run();
        for (size_t i = 0; i < found.size(); ++i) {
          // Forward one kernel and the loop differ by the roundings of bf16; two loops not at all.
          const bool same = k > 0 || taken == 0 ? same_bits(found[i].second, by_steps[i].second)
                                                : distance(found[i].second, by_steps[i].second) < 0.05;
          if (!same) result += " " + found[i].first;
        }
      }
      return "differ:" + result;
    });
    CHECK(said.ends_with("differ:"));
    CHECK(lacks(said.substr(0, said.find('\n')), {"note: the GPU does not take the", "step by step"}) == "");
    CHECK(said.find("note", said.find("note") + 1) == said.npos);
  }
}
#endif

// In that precision the kernel, the loop and `composed` agree. window(algorithm): the case.
template <class MakeWindow>
void check_algorithms(MakeWindow window, Precision p, bool sensitive = true) {
  std::vector<Results> results;
  CAPTURE(name_of(p));
  for (const RecurrentAlgorithm algorithm : {RecurrentAlgorithm::automatic, RecurrentAlgorithm::standard}) {
    const WithPrecision rounded(p);
    results.push_back(Window(window(algorithm), Engine::fused).run());
  }
  check_agreement(window(RecurrentAlgorithm::automatic), results, roundings_of(p), sensitive);
}

}  // namespace unroll

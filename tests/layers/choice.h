// A layer on an H100 that every engine can serve, for tests of the choice.
#pragma once

#include <algorithm>
#include <string>

#include "layers/recurrent/lstm.h"
#include "tests/support.h"

namespace unroll {

inline const EngineFacts h100{
    .gpu = "NVIDIA H100", .capability = 90, .driver = 13'000, .toolkit = 13'000, .cudnn = 91'900};

inline const RecurrentConfig plain{.input = 1500, .hidden = 1500, .layers = 2};

inline const WindowFacts window{.steps = 35, .batch = 20};

inline EngineReason row(const EngineChoice& choice, const std::string& criterion) {
  const auto found =
      std::ranges::find_if(choice.reasons, [&](const EngineReason& r) { return r.criterion == criterion; });
  REQUIRE_MESSAGE(found != choice.reasons.end(), criterion);
  return *found;
}

}  // namespace unroll

// The limits of cuDNN: the numbers that it has on a GPU, sizes that it serves less well, versions before 9.
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "tests/environment.h"
#include "tests/layers/choice.h"
#include "tests/support.h"

using namespace unroll;
using Fits = EngineReason::Fits;

TEST_CASE("which numbers a GPU has: fp16 from 7.0, tf32 and bf16 from 8.0, and what 16 bits cost") {
  for (const Precision p : all_precisions)
    for (const int capability : {69, 70, 75, 80, 90}) {
      EngineFacts facts = h100;
      facts.precision = p, facts.capability = capability, facts.toolkit = 12'090;
      const EngineChoice choice = Lstm::choose(plain, facts, window);
      const int least = p == Precision::fp32 ? 0 : p == Precision::fp16 ? 70 : 80;
      CAPTURE(name_of(p));
      CAPTURE(capability);
      CHECK((choice.engine == Engine::cudnn) == (capability >= least));
      CHECK(row(choice, "numbers").value == name_of(p));
      if (capability < least) continue;
      const bool copied = p == Precision::bf16 || p == Precision::fp16;
      CHECK((lacks(row(choice, "numbers").verdict, {"copy", "16 bits", "once a step"}) == "") == copied);
    }
}

TEST_CASE(
    "advice is no refusal: which sizes tensor cores serve less well, and the next that they serve better") {
  EngineFacts facts = h100;
  facts.precision = Precision::bf16;
  const EngineChoice choice =
      Lstm::choose({.input = 650, .hidden = 656, .projection = 203}, facts, {.steps = 35, .batch = 20});
  CHECK(row(choice, "input size").verdict ==
        "no multiple of 8: tensor cores serve less well; 656 is the next");
  CHECK(lacks(row(choice, "projection size").verdict, {"208"}) == "");
  CHECK(lacks(row(choice, "batch size").verdict, {"24"}) == "");
  for (const EngineReason& reason : choice.reasons) CHECK(reason.criterion != "hidden size");
  facts.precision = Precision::fp16;
  CHECK(lacks(row(Lstm::choose({.input = 650, .hidden = 656}, facts), "input size").verdict, {"8", "656"}) ==
        "");
  for (const EngineReason& reason : Lstm::choose({.input = 650, .hidden = 650}, h100).reasons)
    CHECK(reason.criterion != "hidden size");  // fp32 has no use for them
  facts.gpu = "", facts.no_gpu = "the device is cpu";
  for (const EngineReason& reason : Lstm::choose({.input = 650, .hidden = 650}, facts).reasons)
    CHECK(reason.criterion != "hidden size");
}

TEST_CASE(
    "runs that are to have the same bits refuse cuDNN before version 9, unless the environment promises them") {
  EngineFacts before = h100;
  before.cudnn = 8'907;
  for (const char* wrong : {static_cast<const char*>(nullptr), "", ":4096:8"}) {
    const EnvironmentVariable environment("CUBLAS_WORKSPACE_CONFIG", wrong);
    CHECK(lacks(input_error_of([&] { require_repeatable(Engine::cudnn, before); }),
                {"deterministic: cuDNN 8 ", "CUBLAS_WORKSPACE_CONFIG=:4096:2"}) == "");
    require_repeatable(Engine::fused, before);
    require_repeatable(Engine::cudnn, h100);
  }
  for (const char* right : {":4096:2", ":16:8"}) {
    const EnvironmentVariable environment("CUBLAS_WORKSPACE_CONFIG", right);
    require_repeatable(Engine::cudnn, before);
  }
}

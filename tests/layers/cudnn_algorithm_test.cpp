// Which algorithm of cuDNN serves, what it costs, and which sizes it serves less well.
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
      RecurrentConfig dynamic = plain;  // whose second bias costs nothing more then
      dynamic.algorithm = CudnnAlgorithm::persistent_dynamic;
      CHECK((row(Lstm::choose(dynamic, facts, window), "algorithm").fits == Fits::yes) == copied);
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
    "the algorithm is the standard one; another that cannot serve is refused for the first reason that holds") {
  for (const Precision p : {Precision::fp32, Precision::bf16}) {
    EngineFacts facts = h100;
    facts.precision = p;
    CHECK(row(Lstm::choose(plain, facts), "algorithm").fits == Fits::yes);
  }
  const auto refusal = [](RecurrentConfig config, const EngineFacts& facts, const WindowFacts& of = {}) {
    config.algorithm = CudnnAlgorithm::persistent;
    return row(Lstm::choose(config, facts, of), "algorithm").because;
  };
  EngineFacts old = h100;
  old.capability = 53, old.toolkit = 12'000;
  CHECK(lacks(refusal(plain, old), {"persistent", "6.0"}) == "");
  CHECK(lacks(refusal(plain, h100, {.lengths = WindowFacts::Lengths::padded_after}), {"lengths"}) == "");
  RecurrentConfig config = plain;
  config.projection = 100;
  CHECK(lacks(refusal(config, h100), {"projection"}) == "");
  config = plain;
  config.hidden = 1537;
  CHECK(lacks(refusal(config, h100), {"1536 units"}) == "");
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

TEST_CASE("an algorithm that was asked for is said, with what it costs") {
  RecurrentConfig config = plain;
  config.algorithm = CudnnAlgorithm::persistent;
  const EngineChoice choice = Lstm::choose(config, h100, window);
  CHECK(choice.text == "lstm: cudnn, persistent, 2 x 1500");
  CHECK(row(choice, "algorithm").fits == Fits::at_a_cost);
  CHECK(lacks(row(choice, "algorithm").verdict, {"copy", "two biases"}) == "");
  const RecurrentConfig gru{.input = 3, .hidden = 5, .algorithm = CudnnAlgorithm::persistent_small};
  CHECK(row(Gru::choose(gru, h100), "algorithm").fits == Fits::yes);  // it has the copy in any case
  for (const CudnnAlgorithm a :
       {CudnnAlgorithm::automatic, CudnnAlgorithm::standard, CudnnAlgorithm::persistent_dynamic})
    CHECK(cudnn_algorithm_named(name_of(a)) == a);
  CHECK(lacks(input_error_of([] { cudnn_algorithm_named("fast"); }), {"fast", "auto", "persistent_small"}) ==
        "");
}

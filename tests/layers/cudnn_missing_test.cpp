// A machine with a GPU and without cuDNN, played by the stand-in: layers are computed by another engine, and say why.
#include "framework/device.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "tests/standin/standin.h"
#include "tests/support.h"

using namespace unroll;

TEST_CASE(
    "where cuDNN is not installed, fused computes on the GPU, and the reason is what the system's loader says") {
  standin::control().missing_library = "libcudnn";
  set_device(device_named("cuda"));
  const EngineFacts facts = engine_facts();
  CHECK(facts.gpu != "");
  CHECK(facts.capability == 90);
  CHECK(facts.cudnn == 0);
  CHECK(lacks(facts.no_cudnn, {"libcudnn.so.9", "No such file"}) == "");

  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 5, .layers = 2});
  CHECK(lstm.choice().engine == Engine::fused);
  CHECK(lacks(lstm.choice().text, {"lstm: fused, because libcudnn.so.9"}) == "");
  CHECK(Gru(params / "gru", {.input = 3, .hidden = 5}).choice().engine == Engine::fused);
  const Tensor y = lstm(Var(Tensor::zeros({4, 2, 3})), lstm.zero_state(2)).y.value();
  CHECK(y.shape() == Shape{4, 2, 5});
  CHECK(lacks(input_error_of(
                  [&] { Lstm(params / "forced", {.input = 3, .hidden = 5, .engine = Engine::cudnn}); }),
              {"engine 'cudnn' cannot serve", "libcudnn.so.9", "'fused'"}) == "");
}

// The engine `cudnn`: planted faults, which must not pass.
#include "tests/layers/cudnn_cases.h"

using namespace unroll;

TEST_CASE("planted: a workspace one byte short is an error that names the call") {
  const Fresh fresh;
  cudnn().too_few_bytes = 1;
  Window window(two_layers.window(), Engine::cudnn);
  CHECK(error_of([&] { window.run(); }) ==
        "cuDNN has failed: cudnnRNNForward reports CUDNN_STATUS_BAD_PARAM");
  CHECK(cudnn().refusal == "forward: the size of the workspace");
}

TEST_CASE("planted: what cuDNN had no memory for is told from what it cannot do and from what fails") {
  const Fresh fresh;
  Window window(two_layers.window(), Engine::cudnn);
  for (const cudnnStatus_t status : {CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
                                     CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED}) {
    cudnn().failure = status;
    CHECK_THROWS_AS(window.run(), OutOfMemory);
  }
  for (const cudnnStatus_t status :
       {CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED}) {
    cudnn().failure = status;
    CHECK(lacks(error_of([&] { window.run(); }), {"cudnnRNNForward reports CUDNN_STATUS_"}) == "");
  }
  cudnn().failure = CUDNN_STATUS_EXECUTION_FAILED;
  CHECK(error_of([&] { window.run(); }) ==
        "cuDNN has failed: cudnnRNNForward reports CUDNN_STATUS_EXECUTION_FAILED");
}

TEST_CASE("planted: weights in another order than the library says are seen in the results") {
  const Fresh fresh;
  const WindowCase w = two_layers.window();
  const Results right = Window(w, Engine::composed).run();
  cudnn().layout = WeightLayout::last_first, cudnn().lies_about_layout = true;
  for (const Precision p : precisions()) {
    const WithPrecision rounded(p);
    const Results wrong = Window(w, Engine::cudnn).run();
    CHECK(distance(right[0].second, wrong[0].second) > 0.1);
  }
}

TEST_CASE("planted: in 16 bits, what is beyond half precision's range is infinite and not cut off") {
  const Fresh fresh;
  for (const Precision p : precisions_of_16_bits()) {
    const WithPrecision rounded(p);
    Window window(two_layers.window(), Engine::cudnn);
    window.of_y.fill(65'520);  // the gradient of y
    const Results results = window.run();
    bool finite = true;
    for (const auto& [name, tensor] : results)
      for (const real v : tensor.on_host()) finite &= std::isfinite(v);
    CHECK(finite == (p == Precision::bf16));
  }
}

TEST_CASE("planted: a layer that was made in one precision is asked to compute in another") {
  for (const Precision p : precisions_of_16_bits()) {
    const Fresh fresh;
    Window window(two_layers.window(), Engine::cudnn);
    const WithPrecision rounded(p);
    CHECK(lacks(error_of([&] { window.run(); }), {"lstm", "made in fp32", name_of(p), "set_precision"}) ==
          "");
    CHECK(cudnn().calls.forward == 0);
  }
}

TEST_CASE("planted: a second backward on one reserve is an error") {
  const Fresh fresh;
  Window window(two_layers.window(), Engine::cudnn);
  Tape tape;
  const auto out = window.layer(tape.watch(window.x), {Var(window.h0), Var(window.c0)});
  const Var loss = sum(out.y);
  tape.backward(loss);
  CHECK(error_of([&] { tape.backward(loss); }) != "");
  CHECK(cudnn().calls.backward_data == 1);
}

TEST_CASE("planted: numbers that a GPU does not have are refused by name") {
  if (!has_16_bits) return;
  const Fresh fresh;
  const int before = standin::control().capability;
  for (const auto& [p, capability] : {std::pair{Precision::bf16, 75}, {Precision::fp16, 52}}) {
    const WithPrecision rounded(p);
    Window window(two_layers.window(), Engine::cudnn);
    standin::control().capability = capability;
    CHECK(lacks(error_of([&] { window.run(); }), {"cuDNN has failed"}) == "");
    CHECK(cudnn().refusal == "forward: this GPU has no such numbers");
    standin::control().capability = before;
  }
}

TEST_CASE("planted: weights that change between forward and backward are an error") {
  const Fresh fresh;
  Window window(two_layers.window(), Engine::cudnn);
  Tensor weight = window.params.all().front()->leaf_value();
  real* const unseen = weight.data();  // what is written through it is not noted
  const std::vector<real> zeros(static_cast<size_t>(weight.size()));
  Tape tape;
  const auto out = window.layer(tape.watch(window.x), {Var(window.h0), Var(window.c0)});
  copy_to_device(unseen, zeros.data(), zeros.size() * sizeof(real));
  CHECK(error_of([&] { tape.backward(sum(out.y)); }) ==
        "cuDNN has failed: cudnnRNNBackwardData reports CUDNN_STATUS_BAD_PARAM");
  CHECK(cudnn().refusal == "backward data: other weights went forward");
}

TEST_CASE(
    "windows that begin in the middle of a tensor are copied to where cuDNN reads several numbers at once") {
  const Fresh fresh;
  RandomStream random(3, "slices");
  const Tensor all = random_tensor({5, 3, 3}, random), h_all = random_tensor({3, 3, 5}, random);
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 5, .layers = 2, .engine = Engine::cudnn});
  const auto run = [&](const Tensor& x, const Tensor& h0) {
    Tape tape;
    const Var in = tape.watch(x);
    const auto out = lstm(in, {Var(h0), Var(h0)});
    tape.backward(sum(out.y * out.y));
    params.spend_gradients();
    return std::pair(out.y.value().to_host(), in.grad().to_host());
  };
  const Tensor x = all.slice(1, 5), h0 = h_all.slice(1, 3);
  CHECK(reinterpret_cast<std::uintptr_t>(x.data()) % 16 != 0);
  CHECK(run(x, h0) == run(x.clone(), h0.clone()));
  CHECK(cudnn().refusal == "");
}

TEST_CASE("planted: a cuDNN for another CUDA does not serve, and says so") {
  const Fresh fresh;
  cudnn().cudart = CUDART_VERSION - 1000;
  const std::string why = fmt::format("libcudnn.so.{} is one for CUDA {}, and this build is for CUDA {}",
                                      CUDNN_MAJOR, CUDART_VERSION / 1000 - 1, CUDART_VERSION / 1000);
  CHECK(engine_facts().cudnn == 0);
  CHECK(engine_facts().no_cudnn == why);
  RecurrentConfig config{.input = 3, .hidden = 5};
  CHECK(Lstm::choose(config).engine == Engine::fused);
  CHECK(Lstm::choose(config).text == "lstm: fused, because " + why);
  config.engine = Engine::cudnn;
  CHECK(lacks(input_error_of([&] { Lstm::choose(config); }), {"engine 'cudnn' cannot serve", why}) == "");
  cudnn().cudart = CUDART_VERSION / 1000 * 1000;  // another release of the same
  CHECK(Lstm::choose(config).engine == Engine::cudnn);
}

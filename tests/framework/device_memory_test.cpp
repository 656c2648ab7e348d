// Memory of a device: what goes there and back, the pool, and what is said and given back where there is too little, over the
// stand-in for CUDA. Each case is a process of its own.
#include <doctest/doctest.h>

#include "framework/graph.h"
#include "framework/kernels/cuda/context.h"
#include "tests/framework/in_child.h"
#include "tests/standin/standin.h"
#include "tests/support.h"
#include "training/trainer.h"
#include "unroll.h"

using namespace unroll;

TEST_CASE("tensors go to the device and come back") {
  CHECK(on_gpu_in_child([] {
          const Tensor x = Tensor::from({4}, std::vector<real>{1, 2, 3, 4});
          x.slice(1, 2).fill(7);
          for (real& v : x.slice(2, 4).on_host(Access::change)) v = -v;
          const Tensor y = x.clone(), z({4});
          z.copy_from(y);
          return fmt::format("{} {} {} {} {}", z.to_host()[0], z.to_host()[1], z.on_host()[2], z[3].item(),
                             standin::owns(z.data(), 4 * sizeof(real)));
        }) == "1 7 -3 -4 true");
  CHECK(lacks(on_gpu_in_child([] { return std::to_string(Tensor::zeros({2}).span()[0]); }),
              {"error: span: the elements of [2] are on cuda:0", "on_host()"}) == "");
}

TEST_CASE("what is on its way to the device may be changed at once, however large it is") {
  CHECK(on_gpu_in_child([] {
          std::string result;
          for (const int size : {1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 9 << 18}) {
            std::vector<real> numbers(static_cast<size_t>(size));
            for (int i = 0; i < size; ++i) numbers[static_cast<size_t>(i)] = static_cast<real>(i % 1009);
            const std::vector<real> before = numbers;
            const Tensor x = Tensor::from({size}, numbers);
            std::ranges::fill(numbers, real(-1));
            result += fmt::format("{} ", x.to_host() == before);
          }
          return result;
        }) == "true true true true true ");
  CHECK(lacks(on_gpu_in_child([] {
                Tensor x({2});
                const std::vector<real> numbers(2);
                gpu::check(cudaMemcpyAsync(x.data(), numbers.data(), 2 * sizeof(real), cudaMemcpyHostToDevice,
                                           gpu::stream()),
                           "cudaMemcpyAsync");
                return std::string("fine");
              }),
              {"signal 6", "may change these bytes before the device has read them"}) == "");
}

TEST_CASE("tokens that a loop changes in a window are seen once it is renewed") {
  CHECK(on_gpu_in_child([] {
          const std::vector<int32_t> text = {1, 2, 3, 4, 5, 6, 7};
          BpttWindows windows(text, {.batch = 1, .steps = 3});
          ParameterSet params;
          const Embedding embed(params / "embed", {.vocab = 8, .dim = 2});
          const auto seen = [&](const Window& window) { return embed(window.input).value().to_host(); };
          Window window = windows.at(1);
          const auto before = seen(window);
          window.input.data()[2] = 0;
          const bool copy = seen(window) == before;
          windows.renew();
          const auto after = seen(window);
          const auto expected = embed(ids({3, 1}, {4, 5, 0})).value().to_host();
          return fmt::format("{} {} {}", copy, after == before, after == expected);
        }) == "true false true");
}

TEST_CASE("out of memory: what was asked for, and what is free") {
  const std::string said = on_gpu_in_child([] {
    standin::control().memory = std::size_t{64} << 20;
    const Tensor held({4 << 20});
    return Tensor({16 << 20}).shape().text();
  });
  CHECK(
      said ==
      "out of memory: out of memory on stand-in for an H100: 64 MiB asked for, 48 of 64 MiB free, 16 MiB in use by "
      "tensors");
}

TEST_CASE("blocks of other sizes are given up before a step fails, and not while they are in use") {
  CHECK(on_gpu_in_child([] {
          standin::control().memory = std::size_t{64} << 20;
          for (int k = 1; k <= 4; ++k) Tensor({k << 20});  // 4, 8, 12 and 16 MiB wait for their next use
          return Tensor({8 << 20}).shape().text();
        }) == "[8388608]");
}

TEST_CASE("the pool gives the same addresses again, and asks the device for nothing") {
  CHECK(on_gpu_in_child([] {
          const auto step = [] {
            const Tensor a({100}), b({2000}), c({100});
            return std::array{a.data(), b.data(), c.data()};
          };
          const auto first = step();
          const int64_t asked = standin::control().allocations;
          return fmt::format("{} {}", step() == first && step() == first,
                             standin::control().allocations - asked);
        }) == "true 0");
}

namespace {

// Trains a small language model whose second window, of the same kind as the first, finds `before_second` done.
std::string train_two_windows(bool graph, const std::function<void()>& before_second) {
  ParameterSet params;
  const Embedding embed(params / "embed", {.vocab = 50, .dim = 640});
  const Lstm lstm(params / "lstm", {.input = 640, .hidden = 16});
  const Dense out(params / "out", {.in = 16, .out = 50});
  Sgd sgd(params, {.learning_rate = 1});
  const int batch = 200, steps = 50;
  const IdTensor words = IdTensor::zeros({steps, batch});
  const DeviceIds on_device(words);
  Trainer trainer(sgd, {.progress = {.mode = ProgressOptions::Mode::silent},
                        .window_sizes = {{"data.batch", batch}, {"data.bptt", steps}},
                        .graph = graph});
  trainer.run({.windows = 2,
               .loss =
                   [&](int64_t) {
                     const auto [y, next] = lstm(embed(words), lstm.zero_state(batch));
                     return mean_loss(softmax_cross_entropy(out, y, words), words.size());
                   },
               .load =
                   [&](int64_t window) {
                     if (window == 1) before_second();
                     on_device.renew();
                     return int64_t{0};
                   }});
  return "fine";
}

}  // namespace

TEST_CASE("a step that finds no memory says what is largest on its tape, and what can fit") {
  const std::string said = on_gpu_in_child([] {
    standin::control().memory = std::size_t{72} << 20;
    return train_two_windows(false, [] {});
  });
  CHECK(lacks(said, {"out of memory: out of memory on stand-in for an H100: ", "MiB asked for",
                     "of 72 MiB free", "largest on the tape: embedding [50, 200, 640], 24.4 MiB",
                     "what can fit at most: data.batch = ", " in place of 200, or data.bptt = ",
                     " in place of 50"}) == "");
}

TEST_CASE(
    "what a recording that failed took from the GPU goes back, and graphs before it keep what is theirs") {
  CHECK(on_gpu_in_child([] {
          const Tensor result = Tensor::zeros({1000});
          const Memory step(sizeof(uint32_t));
          const auto* const at = static_cast<const uint32_t*>(step.data());
          const Graph good(at, 0, [&] {
            Tensor x({1000});
            x.fill(3);
            result.copy_from(x);
          });
          const std::size_t before = standin::control().in_use;
          std::string said;
          try {
            const Graph bad(at, 0, [] {
              const Tensor x({1000}), y({1000}), z({1 << 20});
              throw Error("broken off");
            });
          } catch (const Error& error) { said = error.what(); }
          const bool took = standin::control().in_use > before;
          give_back_failed_recording();
          const bool has = standin::control().in_use == before;
          good.play();
          return fmt::format("{} {} {} {}", said, took, has, result.to_host()[999]);
        }) == "broken off true true 3");
}

TEST_CASE("a step that finds no memory while it is recorded says the same, and ends the recording") {
  const std::string said = on_gpu_in_child([] {
    Tensor held;  // in the place of half of what the first window had
    try {
      return train_two_windows(true, [&] {
        standin::control().memory = standin::control().in_use;
        held = Tensor({12 << 20});
      });
    } catch (const OutOfMemory& error) {
      const std::string lost = recording_graph() ? "still recording" : "";
      held = Tensor();
      standin::control().memory *= 2;
      return lost + error.what() + ", then " + train_two_windows(true, [] {});
    }
  });
  INFO(said);
  CHECK(said.starts_with("out of memory on stand-in for an H100: "));
  CHECK(said.ends_with(", then fine"));
  CHECK(lacks(said, {"MiB asked for", "largest on the tape: embedding [50, 200, 640], 24.4 MiB",
                     "what can fit at most: data.batch = ", " in place of 200, or data.bptt = ",
                     " in place of 50"}) == "");
}

// The choice of a device, its memory, and what goes wrong with it, over the stand-in for CUDA. A device is chosen once in
// a process and what fails stays failed, so each case is a process of its own.
#include "framework/device.h"

#include <csignal>
#include <functional>
#include <thread>

#include <cublas_v2.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/graph.h"
#include "framework/kernels/cuda/context.h"
#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "framework/unroll.h"
#include "tests/standin/standin.h"
#include "tests/support.h"
#include "training/trainer.h"

using namespace unroll;

namespace {

// What `work` returned or threw, in a child process; "signal 11" where it crashed. What it says on the standard error is
// appended.
std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (int signal : {SIGSEGV, SIGABRT}) std::signal(signal, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    std::string text;
    try {
      text = work();
    } catch (const OutOfMemory& error) {
      text = std::string("out of memory: ") + error.what();
    } catch (const InputError& error) {
      text = std::string("input: ") + error.what();
    } catch (const std::exception& error) { text = std::string("error: ") + error.what(); }
    const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string result;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    result.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  while (result.ends_with('\n')) result.pop_back();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? fmt::format("signal {} {}", WTERMSIG(status), result) : result;
}

std::string on_gpu_in_child(const std::function<std::string()>& work) {
  return in_child([&] {
    set_device(device_named("cuda"));
    return work();
  });
}

}  // namespace

TEST_CASE("a device is called by its name") {
  CHECK(in_child([] { return name_of(device()); }) == "cpu");
  CHECK(in_child([] { return name_of(device_named("cpu")); }) == "cpu");
  CHECK(in_child([] { return name_of(device_named("auto")); }) == "cuda:0");
  CHECK(in_child([] { return name_of(device_named("cuda")); }) == "cuda:0");
  CHECK(in_child([] {
          standin::control().devices = 3;
          return name_of(device_named("cuda:2"));
        }) == "cuda:2");
  for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:4294967296", ""})
    CHECK(in_child([&] { return name_of(device_named(name)); }) ==
          fmt::format("input: device '{}' is none of auto, cpu, cuda, cuda:0, cuda:1, …", name));
}

TEST_CASE("a GPU that is not there, or cannot serve, is refused in one line that says why") {
  CHECK(in_child([] { return name_of(device_named("cuda:7")); }) ==
        "input: device cuda:7: this machine has 1 GPU, the last is cuda:0");
  struct Case {
    std::function<void(standin::Control&)> change;
    std::string why;
  };
  const Case cases[] = {
      {[](auto& c) { c.driver = 0; }, "there is no NVIDIA driver"},
      {[](auto& c) { c.devices = 0; }, "there is no NVIDIA GPU"},
      {[](auto& c) { c.driver = 11020; }, "the driver runs CUDA 11.2 at most, and this build is for CUDA"},
      {[](auto& c) { c.missing_library = "libcublas"; }, "cannot open shared object file"},
  };
  for (const auto& [change, why] : cases) {
    CHECK(lacks(in_child([&] { return change(standin::control()), name_of(device_named("cuda")); }),
                {"input: device cuda: ", why}) == "");
    CHECK(in_child([&] { return change(standin::control()), name_of(device_named("auto")); }) == "cpu");
    CHECK(lacks(in_child([&] { return change(standin::control()), why_no_gpu(); }), {why}) == "");
  }
}

TEST_CASE(
    "a GPU that this build has no code for, or that is taken, is refused, and auto takes another or the CPU") {
  struct Case {
    cudaError_t code;
    int taken;
    std::string why;
  };
  const Case cases[] = {
      {cudaErrorNoKernelImageForDevice, -1,
       "this build has no code for stand-in (compute capability 7.0); one that is set up with -Dgpu_arch=70 has"},
      {cudaErrorUnsupportedPtxVersion, -1,
       "the driver cannot translate this build's code for stand-in (compute capability 7.0): a newer driver is "
       "needed, or a build that is set up with -Dgpu_arch=70"},
      {cudaSuccess, 0, "another process has stand-in (compute capability 7.0) for itself"},
      {cudaErrorIllegalAddress, -1,
       "stand-in (compute capability 7.0) reports cudaErrorIllegalAddress (an illegal memory access was "
       "encountered)"},
  };
  for (const auto& [code, taken, why] : cases) {
    const auto child = [code = code, taken = taken](const std::function<std::string()>& work) {
      return in_child([&] {
        standin::control().capability = 70;
        standin::control().code = code, standin::control().taken = taken;
        return work();
      });
    };
    CHECK(child([] { return name_of(device_named("cuda")); }) == "input: device cuda:0: " + why);
    CHECK(child([] {
            set_device({.gpu = true});
            return std::string("taken");
          }) == "input: device cuda:0: " + why);
    CHECK(child([] {
            set_device(device_named("auto"));
            return name_of(device()) + ", " + why_no_gpu() + "; " +
                   choose_lstm({.input = 2, .hidden = 3}).text;
          }) == fmt::format("cpu, {0}; lstm: fused, because cudnn needs an NVIDIA GPU, and {0}", why));
    CHECK(child([] { return why_no_gpu(); }) == "");  // none was tried
  }
  CHECK(in_child([] {
          standin::control().devices = 3, standin::control().taken = 0;
          set_device(device_named("auto"));
          const std::string first = name_of(device()) + why_no_gpu();
          try {
            device_named("cuda:0");
          } catch (const InputError& error) { return first + ", " + error.what(); }
          return first;
        }) == "cuda:1, device cuda:0: another process has stand-in (compute capability 9.0) for itself");
  CHECK(in_child([] {
          standin::control().devices = 2;
          set_device(device_named("cuda:1"));
          device_named("cuda:0");  // which tries it
          return std::to_string(Tensor::full({3}, 5).to_host()[2]);
        }) == "5.000000");
}

TEST_CASE("a device is chosen once, and before there is any tensor") {
  CHECK(in_child([] {
          const Tensor x({3});
          set_device(device_named("cuda"));
          return std::string("taken");
        }) == "error: set_device: there are tensors on cpu already");
  CHECK(in_child([] {
          standin::control().devices = 2;
          set_device(device_named("cuda:0"));
          set_device(device_named("cuda:1"));
          return std::string("taken");
        }) == "error: set_device: this process computes on cuda:0");
}

TEST_CASE("each thread computes on the device that the process has") {
  CHECK(in_child([] {
          standin::control().devices = 2;
          set_device(device_named("cuda:1"));
          std::string result;
          // One asks for memory first, one for a product, and one copies.
          const Tensor a = Tensor::full({2, 2}, 2), b = Tensor::full({2, 2}, 3), c({2, 2});
          std::thread([&] { result += fmt::format("{} ", Tensor::full({1000}, 7).to_host()[999]); }).join();
          std::thread([&] { gemm(Matrix(a), Matrix(b), overwrite(c)); }).join();
          std::thread([&] { result += fmt::format("{} ", c.to_host()[3]); }).join();
          std::thread([&] { result += fmt::format("{}", device_facts().memory >> 20); }).join();
          return result;
        }) == "7 12 4096");
  CHECK(lacks(in_child([] {
                standin::control().devices = 2;
                set_device(device_named("cuda:1"));
                std::thread([] {
                  void* memory = nullptr;
                  cudaMalloc(&memory, 16);
                }).join();
                return std::string("fine");
              }),
              {"signal 6", "this thread asks the device 0, and the stream is on 1"}) == "");
}

TEST_CASE("the facts are those of the device") {
  CHECK(on_gpu_in_child([] {
          const DeviceFacts f = device_facts();
          return fmt::format("{} {} {} {}", f.name, f.capability, f.memory >> 20, f.driver == f.toolkit);
        }) == "stand-in 90 4096 true");
  CHECK(in_child([] { return device_facts().name; }) ==
        "error: device_facts: this process computes on the CPU");
}

TEST_CASE(
    "tensor cores took half precision first: a GPU of 7.5 multiplies in fp16 and in nothing else of less than fp32") {
  const auto all_on = [](int capability) {
    return on_gpu_in_child([=] {
      standin::control().capability = capability;
      std::string result;
      for (const Precision p : all_precisions) {
        try {
          set_precision(p);
          result += std::string(name_of(p)) + "; ";
        } catch (const InputError& error) { result += std::string(error.what()) + "; "; }
      }
      return result;
    });
  };
  const std::string anywhere = " (this one's kernels: cuda); fp32 and auto run anywhere; ";
  CHECK(all_on(80) == "fp32; tf32; bf16; fp16; ");
  CHECK(all_on(75) == "fp32; precision tf32: this needs a GPU of compute capability 8.0" + anywhere +
                          "precision bf16: this needs a GPU of compute capability 8.0" + anywhere + "fp16; ");
  CHECK(lacks(all_on(61), {"precision fp16: this needs a GPU of compute capability 7.0" + anywhere}) == "");
}

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
                const Tensor x({2});
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
          const Window window = windows.at(1);
          const auto before = seen(window);
          window.input.data()[2] = 0;
          const bool copy = seen(window) == before;
          windows.renew();
          const auto after = seen(window);
          const auto expected = embed(ids({3, 1}, {4, 5, 0})).value().to_host();
          return fmt::format("{} {} {}", copy, after == before, after == expected);
        }) == "true false true");
}

TEST_CASE("code on the host that reaches for device memory crashes on the spot") {
  CHECK(
      on_gpu_in_child([] { return std::to_string(Tensor::zeros({2}).data()[0]); }).starts_with("signal 11"));
  CHECK(on_gpu_in_child([] {
          return *Tensor({2}).data() = 1, std::string("written");
        }).starts_with("signal 11"));
}

TEST_CASE("under a profile the host waits for each operation, so that its time is its own") {
  CHECK(on_gpu_in_child([] {
          ParameterSet params;
          const Dense dense(params / "dense", {.in = 3, .out = 2});
          const Tensor x = Tensor::zeros({4, 3});
          const auto waits = [&] {
            const auto before = standin::control().synchronizations;
            Tape tape;
            tape.backward(sum(dense(Var(x))));
            return standin::control().synchronizations - before;
          };
          waits();
          const auto without = waits();
          const Profile profile;
          const bool waited = waits() > 6;
          double products = 0;
          for (const Profile::Row& row : profile.rows()) products += row.products;
          return fmt::format("{} {} {}", without, waited, products > 0);
        }) == "0 true true");
}

TEST_CASE("a byte too far is found") {
  const auto past_the_end = [](int64_t bytes, bool read) {
    void* memory = nullptr;
    gpu::check(cudaMalloc(&memory, 1000), "cudaMalloc");
    {
      const standin::OpenMemory opened;
      char& last = static_cast<char*>(memory)[bytes - 1];
      if (!read)
        last = 1;
      else if (last == 3)
        return std::string("three");
    }
    synchronize();
    return std::string("fine");
  };
  CHECK(on_gpu_in_child([&] { return past_the_end(1000, false); }) == "fine");
  CHECK(lacks(on_gpu_in_child([&] { return past_the_end(1001, false); }), {"signal 6", "beyond the end"}) ==
        "");
  CHECK(on_gpu_in_child([&] { return past_the_end(1025, true); }).starts_with("signal 11"));
  CHECK(lacks(on_gpu_in_child([] {
                kernels().fill(Tensor({64}).data(), 1, 65);
                return std::string("fine");
              }),
              {"signal 6", "not of one block of device memory"}) == "");
  CHECK(lacks(on_gpu_in_child([] {
                const std::vector<real> on_the_host(8);
                kernels().affine(on_the_host.data(), 1, 0, Tensor({8}).data(), 8, false);
                return std::string("fine");
              }),
              {"signal 6", "not of one block of device memory"}) == "");
}

TEST_CASE("what cuBLAS is told out of order is found") {
  CHECK(lacks(on_gpu_in_child([] {
                cublasHandle_t handle = nullptr;
                cublasCreate_v2(&handle);
                const float one = 1;
                cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, nullptr, CUDA_R_32F, 1, nullptr,
                             CUDA_R_32F, 1, &one, nullptr, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F,
                             CUBLAS_GEMM_DEFAULT);
                return std::string("fine");
              }),
              {"signal 6", "before the stream and then the workspace were set"}) == "");
}

TEST_CASE("cuBLAS takes two operands of one type, and sums in float what has 16 bits") {
  CHECK(on_gpu_in_child([] {
          const Tensor x = Tensor::zeros({1}), y = Tensor::zeros({1});
          const auto refused = [&](cudaDataType a, cudaDataType b, cudaDataType c,
                                   cublasComputeType_t compute) {
            const float one = 1, none = 0;
            return cublasGemmEx(gpu::cublas_handle(), CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x.data(), a, 1,
                                x.data(), b, 1, &none, y.data(), c, 1, compute,
                                CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_NOT_SUPPORTED;
          };
          std::string result;
          for (const cudaDataType type : {CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F}) {
            const cudaDataType other = type == CUDA_R_16F ? CUDA_R_16BF : CUDA_R_16F;
            result += fmt::format("{:d}{:d}{:d}{:d} ", refused(type, type, CUDA_R_32F, CUBLAS_COMPUTE_32F),
                                  refused(type, other, CUDA_R_32F, CUBLAS_COMPUTE_32F),
                                  refused(type, type, type, CUBLAS_COMPUTE_16F),
                                  refused(type, type, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32));
          }
          return result;
        }) == "0111 0111 0110 ");
}

TEST_CASE("a block that was given back is not given back again") {
  CHECK(lacks(on_gpu_in_child([] {
                void* memory = nullptr;
                gpu::check(cudaMalloc(&memory, 16), "cudaMalloc");
                cudaFree(memory), cudaFree(memory);
                return std::string("fine");
              }),
              {"signal 6", "taken back already"}) == "");
}

TEST_CASE("out of memory: what was asked for, and what is free") {
  const std::string said = on_gpu_in_child([] {
    standin::control().memory = std::size_t{64} << 20;
    const Tensor held({4 << 20});
    return Tensor({16 << 20}).shape().text();
  });
  CHECK(said ==
        "out of memory: out of memory on stand-in: 64 MiB asked for, 48 of 64 MiB free, 16 MiB in use by "
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

TEST_CASE("a GPU that fails while it computes is named as the reason") {
  const std::string said = on_gpu_in_child([] {
    const Tensor x = Tensor::zeros({100});
    standin::control().calls_until_failure = 2;
    for (int i = 0; i < 5; ++i) kernels().affine(x.data(), 1, 1, x.data(), 100, false);
    return std::string("fine");
  });
  CHECK(
      said ==
      "error: the GPU has failed: a kernel reports cudaErrorIllegalAddress (an illegal memory access was encountered); "
      "nothing more can be computed on it in this process");
}

TEST_CASE("what was caught once is not reported again by the next kernel") {
  const std::string said = on_gpu_in_child([] {
    const Tensor x = Tensor::zeros({4});
    std::string result;
    const auto caught = [&](cudaError_t failure) {
      standin::control().failure = failure;
      standin::control().calls_until_failure = 0;
      const cudaError_t status = cudaMallocHost(nullptr, 1);
      try {
        gpu::check(status, "cudaMallocHost");
      } catch (const Error& error) { result += error.what() + std::string("; "); }
      x.fill(1);
    };
    caught(cudaErrorMemoryAllocation);
    caught(cudaErrorStreamCaptureInvalidated);
    return result + std::to_string(x.to_host()[3]);
  });
  CHECK(
      said ==
      "out of memory on the GPU: cudaMallocHost failed; CUDA has failed: cudaMallocHost reports "
      "cudaErrorStreamCaptureInvalidated (operation failed due to a previous error during capture); 1.000000");
}

namespace {

// Trains a small language model whose second window, of the same kind as the first, finds `before_second` done.
std::string train_two_windows(bool graph, const std::function<void()>& before_second) {
  ParameterSet params;
  const Embedding embed(params / "embed", {.vocab = 50, .dim = 64});
  const Lstm lstm(params / "lstm", {.input = 64, .hidden = 64});
  const Dense out(params / "out", {.in = 64, .out = 50});
  Sgd sgd(params, {.learning_rate = 1});
  const int batch = 200, steps = 500;
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
    standin::control().memory = std::size_t{96} << 20;
    return train_two_windows(false, [] {});
  });
  CHECK(lacks(said, {"out of memory: out of memory on stand-in: ", "MiB asked for", "of 96 MiB free",
                     "largest on the tape: embedding [500, 200, 64], 24.4 MiB",
                     "what can fit at most: data.batch = ", " in place of 200, or data.bptt = ",
                     " in place of 500"}) == "");
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
        held = Tensor({24 << 20});
      });
    } catch (const OutOfMemory& error) {
      const std::string lost = recording_graph() ? "still recording" : "";
      held = Tensor();
      standin::control().memory *= 2;
      return lost + error.what() + ", then " + train_two_windows(true, [] {});
    }
  });
  INFO(said);
  CHECK(said.starts_with("out of memory on stand-in: "));
  CHECK(said.ends_with(", then fine"));
  CHECK(lacks(said, {"MiB asked for", "largest on the tape: embedding [500, 200, 64], 24.4 MiB",
                     "what can fit at most: data.batch = ", " in place of 200, or data.bptt = ",
                     " in place of 500"}) == "");
}

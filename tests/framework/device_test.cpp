// The choice of a device, what it says of itself, how long the host waits for it, and a device that fails, over the stand-in for
// CUDA. Each case is a process of its own.
#include "framework/device.h"

#include <thread>

#include <doctest/doctest.h>

#include "framework/kernels/cuda/context.h"
#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "tests/framework/in_child.h"
#include "tests/standin/standin.h"
#include "tests/support.h"
#include "unroll.h"

using namespace unroll;

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
       "this build has no code for stand-in for an H100 (compute capability 7.0); one that is set up with -Dgpu_arch=70 has"},
      {cudaErrorUnsupportedPtxVersion, -1,
       "the driver cannot translate this build's code for stand-in for an H100 (compute capability 7.0): a newer driver is "
       "needed, or a build that is set up with -Dgpu_arch=70"},
      {cudaSuccess, 0, "another process has stand-in for an H100 (compute capability 7.0) for itself"},
      {cudaErrorIllegalAddress, -1,
       "stand-in for an H100 (compute capability 7.0) reports cudaErrorIllegalAddress (an illegal memory access was "
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
                   Lstm::choose({.input = 2, .hidden = 3}).text;
          }) == fmt::format("cpu, {0}; lstm: fused, because cudnn needs an NVIDIA GPU, and {0}", why));
    CHECK(child([] { return why_no_gpu(); }) == "");  // none was tried
  }
  CHECK(
      in_child([] {
        standin::control().devices = 3, standin::control().taken = 0;
        set_device(device_named("auto"));
        const std::string first = name_of(device()) + why_no_gpu();
        try {
          device_named("cuda:0");
        } catch (const InputError& error) { return first + ", " + error.what(); }
        return first;
      }) ==
      "cuda:1, device cuda:0: another process has stand-in for an H100 (compute capability 9.0) for itself");
  CHECK(in_child([] {
          standin::control().devices = 2;
          set_device(device_named("cuda:1"));
          device_named("cuda:0");  // which tries it
          return std::to_string(Tensor::full({3}, 5).to_host()[2]);
        }) == "5.000000");
}

TEST_CASE("of several processes each has a GPU of its own, where there are enough") {
  const auto devices = [](const char* name, int count, int taken) {
    return in_child([=] {
      standin::control().devices = count, standin::control().taken = taken;
      std::string all;
      for (int process = 0; process < 4; ++process) all += name_of(device_named(name, process)) + " ";
      return all;
    });
  };
  for (const char* name : {"auto", "cuda"}) {
    CHECK(devices(name, 3, -1) == "cuda:0 cuda:1 cuda:2 cuda:0 ");
    CHECK(devices(name, 1, -1) == "cuda:0 cuda:0 cuda:0 cuda:0 ");
  }
  CHECK(devices("auto", 3, 1) == "cuda:0 cuda:2 cuda:2 cuda:0 ");
  CHECK(devices("cuda:2", 3, -1) == "cuda:2 cuda:2 cuda:2 cuda:2 ");
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

TEST_CASE("device, threads and precision are set up together, before there is any tensor") {
  CHECK(in_child([] {
          standin::control().devices = 2;
          set_up({.device = "cuda:1", .threads = 3, .precision = "auto"});
          return fmt::format("{} {} {}", name_of(device()), threads(), name_of(precision()));
        }) == "cuda:1 3 bf16");
  CHECK(in_child([] {
          standin::control().capability = 70;  // asked of the device that was chosen, not of the CPU
          set_up({.device = "cuda", .precision = "tf32"});
          return std::string("taken");
        }).starts_with("input: precision tf32: this needs a GPU of compute capability 8.0"));
  CHECK(in_child([] {
          const Tensor x({3});
          set_up({.threads = 1});
          return std::string("taken");
        }) == "error: set_up: there are tensors on cpu already");
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
        }) == "stand-in for an H100 90 4096 true");
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

TEST_CASE("a GPU that fails while it computes is named as the reason") {
  const std::string said = on_gpu_in_child([] {
    Tensor x = Tensor::zeros({100});
    standin::control().calls_until_failure = 2;
    for (int i = 0; i < 5; ++i) kernels().affine(x.data(), 1, 1, x.data(), 100, false);
    return std::string("fine");
  });
  CHECK(
      said ==
      "error: the GPU has failed: a kernel reports cudaErrorIllegalAddress (an illegal memory access was encountered); "
      "nothing more can be computed on it in this process");
}

TEST_CASE("a GPU that is gone, or of which nothing is known, computes no more") {
  for (const cudaError_t failure :
       {cudaErrorDevicesUnavailable, cudaErrorECCUncorrectable, cudaErrorUnknown}) {
    const std::string said = on_gpu_in_child([&] {
      standin::control().failure = failure;
      standin::control().calls_until_failure = 0;
      gpu::check(cudaMallocHost(nullptr, 1), "cudaMallocHost");
      return std::string("fine");
    });
    CHECK(said.ends_with("nothing more can be computed on it in this process"));
  }
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

// Faults that the stand-in for CUDA and cuBLAS finds: memory of the wrong side or beyond a block, calls out of order. Each case is
// a process of its own, which the fault ends.
#include <cublas_v2.h>
#include <doctest/doctest.h>

#include "framework/kernels/cuda/context.h"
#include "framework/kernels/kernels.h"
#include "unroll.h"
#include "tests/framework/in_child.h"
#include "tests/standin/standin.h"
#include "tests/support.h"

using namespace unroll;

TEST_CASE("code on the host that reaches for device memory crashes on the spot") {
  CHECK(
      on_gpu_in_child([] { return std::to_string(Tensor::zeros({2}).data()[0]); }).starts_with("signal 11"));
  CHECK(on_gpu_in_child([] {
          return *Tensor({2}).data() = 1, std::string("written");
        }).starts_with("signal 11"));
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
          Tensor x = Tensor::zeros({1}), y = Tensor::zeros({1});
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

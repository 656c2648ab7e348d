// NVIDIA's libraries, opened when first needed: a program that was built with CUDA starts where they are missing, and can
// say what it lacks.
#pragma once

#include <string>

#include <cublas_v2.h>

namespace unroll::gpu {

class Library {
 public:
  // name: "libcublas.so.13", found as the system finds libraries, or in the folder of the toolkit that built this.
  explicit Library(std::string name);
  // Why it cannot be used: what the system's loader says. Empty if it can.
  const std::string& missing() const { return missing_; }

  // The address of one of its functions, whatever its type. Throws Error naming library and function.
  class Symbol {
   public:
    explicit Symbol(void* address) : address_(address) {}
    template <class F>
    operator F*() const {
      return reinterpret_cast<F*>(address_);
    }

   private:
    void* address_;
  };
  Symbol operator[](const char* function) const;

 private:
  std::string name_;
  void* handle_ = nullptr;
  std::string missing_;
};

// The functions that are used of cuBLAS. A member is a function of the same name; all are looked up at once.
struct Cublas {
  explicit Cublas(const Library& from)
      : create(from["cublasCreate_v2"]),
        set_stream(from["cublasSetStream_v2"]),
        set_workspace(from["cublasSetWorkspace_v2"]),
        status_string(from["cublasGetStatusString"]),
        gemm(from["cublasGemmEx"]) {}
  decltype(&cublasCreate_v2) create;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasGetStatusString) status_string;
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k,
                         const void* alpha, const void* a, cudaDataType, int lda, const void* b, cudaDataType,
                         int ldb, const void* beta, void* c, cudaDataType, int ldc, cublasComputeType_t,
                         cublasGemmAlgo_t);
};

const Library& cublas_library();
const Cublas& cublas();  // throws Error

}  // namespace unroll::gpu

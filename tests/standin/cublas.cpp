// The stand-in's cuBLAS: plain loops, every argument checked as documented. It sums as a GPU may: in the type of c, in an order that
// the layout of the operands and the sizes choose, and of TF32 it reads the upper 19 bits.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tests/standin/standin.h"

using namespace standin;

namespace {

struct Handle {
  cudaStream_t stream = nullptr;
  const void* workspace = nullptr;
};
std::map<const void*, cudaStream_t> workspaces;  // and the stream that works there

std::size_t size_of(cudaDataType type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

double element(const void* data, cudaDataType type, int64_t i) {
  switch (type) {
    case CUDA_R_64F:
      return static_cast<const double*>(data)[i];
    case CUDA_R_32F:
      return static_cast<double>(static_cast<const float*>(data)[i]);
    case CUDA_R_16BF:
      return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]));
    case CUDA_R_16F:
      return static_cast<double>(__half2float(static_cast<const __half*>(data)[i]));
    default:
      stop("cublasGemmEx: a type that the stand-in does not know");
  }
}

// The 10 bits of precision that a tensor core reads of a float: the others are cut off.
double as_tf32(double x) {
  return static_cast<double>(
      std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(x)) & ~uint32_t{0x1fff}));
}

// op(x) [rows, cols] in row order.
template <class T>
std::vector<T> operand(const char* name, const void* x, cudaDataType type, int ld, bool transposed, int rows,
                       int cols, bool tf32) {
  const int64_t height = transposed ? cols : rows, width = transposed ? rows : cols;
  if (ld < height) stop(std::string("cublasGemmEx: the leading dimension of ") + name + " is too small");
  if (!owns(x, static_cast<std::size_t>((width - 1) * ld + height) * size_of(type)))
    stop(std::string("cublasGemmEx: ") + name + " does not lie in one block of device memory");
  std::vector<T> result(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) {
      const double value = element(x, type, transposed ? r * ld + c : c * ld + r);
      result[static_cast<std::size_t>(r * cols + c)] = static_cast<T>(tf32 ? as_tf32(value) : value);
    }
  return result;
}

// One product, c [m, n] in columns at the distance ldc.
struct Product {
  int64_t m, n, k;
  void* c;
  int64_t ldc;
  double scale, kept;
  int parts;  // of a sum: each takes every parts-th term
};
template <class T>
void multiply(const Product& p, const std::vector<T>& left, const std::vector<T>& right) {
  T* const c = static_cast<T*>(p.c);
  const auto n = static_cast<std::size_t>(p.n);
  std::vector<T> sums(static_cast<std::size_t>(p.parts) * n);
  for (int64_t i = 0; i < p.m; ++i) {
    std::ranges::fill(sums, T{0});
    for (int64_t l = 0; l < p.k; ++l) {
      const T factor = left[static_cast<std::size_t>(i * p.k + l)];
      const T* const from = &right[static_cast<std::size_t>(l * p.n)];
      T* const sum = &sums[static_cast<std::size_t>(l % p.parts) * n];
      for (std::size_t j = 0; j < n; ++j) sum[j] += factor * from[j];
    }
    for (std::size_t j = 0; j < n; ++j) {
      T sum = sums[j];
      for (std::size_t part = j + n; part < sums.size(); part += n) sum += sums[part];
      T& to = c[static_cast<int64_t>(j) * p.ldc + i];
      to = static_cast<T>(p.scale) * sum + (p.kept == 0 ? T{0} : static_cast<T>(p.kept) * to);
    }
  }
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (control().driver == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = reinterpret_cast<cublasHandle_t>(new Handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  if (!handle || !stream) return CUBLAS_STATUS_NOT_INITIALIZED;
  *reinterpret_cast<Handle*>(handle) = {.stream = stream};  // and back to a workspace of its own
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!owns(workspace, bytes)) return CUBLAS_STATUS_INVALID_VALUE;
  Handle& h = *reinterpret_cast<Handle*>(handle);
  if (!h.stream) stop("cublasSetWorkspace: before the stream was set, which takes it back");
  const auto [known, is_new] = workspaces.try_emplace(workspace, h.stream);
  if (!is_new && known->second != h.stream) stop("cublasSetWorkspace: two streams would work in one place");
  h.workspace = workspace;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "the function completed successfully" : "the function failed";
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                            const void* b, cudaDataType b_type, int ldb, const void* beta, void* c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t) {
  require_device_of_streams("cublasGemmEx");
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Handle& h = *reinterpret_cast<const Handle*>(handle);
  if (!h.stream || !h.workspace) stop("cublasGemmEx: before the stream and then the workspace were set");
  if (m <= 0 || n <= 0 || k <= 0) stop("cublasGemmEx: a size is not positive");
  const bool wide = compute == CUBLAS_COMPUTE_64F, tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (!wide && !tf32 && compute != CUBLAS_COMPUTE_32F)
    return CUBLAS_STATUS_NOT_SUPPORTED;  // sums of another type
  if (a_type != b_type || (wide && (a_type != CUDA_R_64F || c_type != CUDA_R_64F)) ||
      (!wide && (a_type == CUDA_R_64F || c_type != CUDA_R_32F)) || (tf32 && a_type != CUDA_R_32F))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (ldc < m) stop("cublasGemmEx: the leading dimension of c is too small");
  if (!owns(c, static_cast<std::size_t>(int64_t{n - 1} * ldc + m) * size_of(c_type)))
    stop("cublasGemmEx: c does not lie in one block of device memory");
  ++control().launches;
  const double scale = element(alpha, c_type, 0), kept = element(beta, c_type, 0);
  const auto bytes = [](int64_t rows, int64_t cols, cudaDataType type) {
    return static_cast<std::size_t>(rows * cols) * size_of(type);
  };
  count_moved("product", bytes(m, k, a_type) + bytes(k, n, b_type) + (kept == 0 ? 0 : bytes(m, n, c_type)),
              bytes(m, n, c_type));
  if (!control().computes) return CUBLAS_STATUS_SUCCESS;
  const int parts = of_a == CUBLAS_OP_N && of_b == CUBLAS_OP_N ? 1 : std::min(m, n) <= 2 ? 32 : 4;
  in_stream_order(h.stream, [=] {
    const OpenMemory opened;
    const auto multiplied = [&]<class T>(T) {
      multiply<T>({m, n, k, c, ldc, scale, kept, parts},
                  operand<T>("a", a, a_type, lda, of_a != CUBLAS_OP_N, m, k, tf32),
                  operand<T>("b", b, b_type, ldb, of_b != CUBLAS_OP_N, k, n, tf32));
    };
    wide ? multiplied(0.0) : multiplied(0.0f);
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"

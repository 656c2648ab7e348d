// The stand-in's cuBLAS: plain loops, sums in double, every argument checked as documented.
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tests/standin/standin.h"

using namespace standin;

namespace {

struct Handle {
  bool stream = false, workspace = false;
};

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

// To 10 bits of precision.
double as_tf32(double x) {
  if (!std::isfinite(x)) return x;
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  return static_cast<double>(std::bit_cast<float>((bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t{0x1fff}));
}

// op(x) [rows, cols] in row order.
std::vector<double> operand(const char* name, const void* x, cudaDataType type, int ld, bool transposed,
                            int rows, int cols, bool tf32) {
  const int64_t height = transposed ? cols : rows, width = transposed ? rows : cols;
  if (ld < height) stop(std::string("cublasGemmEx: the leading dimension of ") + name + " is too small");
  if (!owns(x, static_cast<std::size_t>((width - 1) * ld + height) * size_of(type)))
    stop(std::string("cublasGemmEx: ") + name + " does not lie in one block of device memory");
  std::vector<double> result(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) {
      const double value = element(x, type, transposed ? r * ld + c : c * ld + r);
      result[static_cast<std::size_t>(r * cols + c)] = tf32 ? as_tf32(value) : value;
    }
  return result;
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
  *reinterpret_cast<Handle*>(handle) = {.stream = true};  // and back to a workspace of its own
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!owns(workspace, bytes)) return CUBLAS_STATUS_INVALID_VALUE;
  reinterpret_cast<Handle*>(handle)->workspace = true;
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
  in_stream_order([=] {
    const OpenMemory opened;
    const std::vector<double> left = operand("a", a, a_type, lda, of_a != CUBLAS_OP_N, m, k, tf32),
                              right = operand("b", b, b_type, ldb, of_b != CUBLAS_OP_N, k, n, tf32);
    std::vector<double> row(static_cast<std::size_t>(n));
    for (int64_t i = 0; i < m; ++i) {
      row.assign(row.size(), 0);
      for (int64_t l = 0; l < k; ++l) {
        const double factor = left[static_cast<std::size_t>(i * k + l)];
        const double* from = &right[static_cast<std::size_t>(l * n)];
        for (std::size_t j = 0; j < row.size(); ++j) row[j] += factor * from[j];
      }
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = j * ldc + i;
        const double sum =
            scale * row[static_cast<std::size_t>(j)] + (kept == 0 ? 0 : kept * element(c, c_type, at));
        if (wide)
          static_cast<double*>(c)[at] = sum;
        else
          static_cast<float*>(c)[at] = static_cast<float>(sum);
      }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"

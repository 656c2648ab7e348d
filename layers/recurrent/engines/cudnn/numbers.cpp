#include "layers/recurrent/engines/cudnn/numbers.h"

#include <cstdint>

#include "framework/gemm.h"

namespace unroll {

CudnnNumbers CudnnNumbers::of_process() {
  // Without this cuDNN would use TF32 for float.
  CudnnNumbers result{.type = sizeof(real) == sizeof(double) ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT,
                      .sums = sizeof(real) == sizeof(double) ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT,
                      .mathematics = precision() == Precision::tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH,
                      .bytes = sizeof(real),
                      .conversion = nullptr};
  const bool bf16 = precision() == Precision::bf16;
  if (!bf16 && precision() != Precision::fp16) return result;
  result.type = bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
  result.mathematics = CUDNN_TENSOR_OP_MATH;
  result.bytes = 2;
  result.conversion = bf16 ? &kernels().bf16 : &kernels().fp16;
  require(result.conversion->round, "cudnn: there are no kernels that round to {}", name_of(precision()));
  return result;
}

CudnnTensor CudnnNumbers::read(const Tensor& tensor) const {
  // A slice may begin anywhere, but kernels that read several numbers at once need aligned memory.
  constexpr std::uintptr_t alignment = 16;
  if (!conversion && tensor.defined() && reinterpret_cast<std::uintptr_t>(tensor.data()) % alignment != 0)
    return {tensor.clone()};
  const CudnnTensor result = write(tensor);
  if (result.rounded.data()) conversion->round(tensor.data(), result.rounded.data(), tensor.size());
  return result;
}

CudnnTensor CudnnNumbers::write(const Tensor& tensor) const {
  if (!conversion || !tensor.defined()) return {tensor};
  return {tensor, Memory(static_cast<std::size_t>(tensor.size()) * bytes)};
}

void CudnnNumbers::arrived(CudnnTensor& written) const {
  if (written.rounded.data())
    conversion->widen(written.rounded.data(), written.tensor.data(), written.tensor.size(), false);
}

void CudnnNumbers::put(const real* from, void* to, int64_t count) const {
  if (conversion)
    conversion->round(from, to, count);
  else
    copy_on_device(to, from, static_cast<std::size_t>(count) * sizeof(real));
}

void CudnnNumbers::bring(const void* from, real* to, int64_t count, bool add) const {
  if (conversion)
    conversion->widen(from, to, count, add);
  else
    kernels().affine(static_cast<const real*>(from), 1, 0, to, count, add);
}

}  // namespace unroll

// Numbers in the form that cuDNN takes: the tensors' own, or copies rounded to 16 bits if the precision asks for that.
//
// Tensors, and the weights that an optimizer changes, stay float in every precision. cuDNN also sums in float. Its
// inputs are rounded to 16 bits before a call, and its outputs widened after it.
#pragma once

#include <cstdint>

#include <cudnn.h>

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "framework/tensor.h"

namespace unroll {

// A tensor's numbers for cuDNN to read or write. A null pointer if there is no tensor, or it has no memory.
struct CudnnTensor {
  Tensor tensor;
  Memory rounded = {};  // of 16 bits each, where cuDNN has them so; or aligned, where the tensor is not
  const void* data() const { return rounded.data() ? rounded.data() : tensor.data(); }
  void* data() { return rounded.data() ? rounded.data() : tensor.data(); }
};

struct CudnnNumbers {
  // Those of precision().
  static CudnnNumbers of_process() {
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

  cudnnDataType_t type, sums;   // of numbers in memory, and of sums in products
  cudnnMathType_t mathematics;  // whether tensor cores may serve
  std::size_t bytes;            // of a number
  const Products* conversion;   // null: cuDNN is given the tensors themselves

  // Numbers for cuDNN to read: rounded now; a copy if the tensor does not begin at a multiple of 16 bytes.
  CudnnTensor read(const Tensor& tensor) const {
    if (!tensor.defined() || is_in_place(tensor.data())) return {tensor};
    const CudnnTensor result{tensor, room(tensor.size()).rounded};
    put(tensor.data(), result.rounded.data(), tensor.size());
    return result;
  }
  // Memory for cuDNN to write. The tensor has the result after arrived().
  CudnnTensor write(Tensor tensor) const {
    if (!tensor.defined() || is_in_place(tensor.data())) return {tensor};
    return {tensor, room(tensor.size()).rounded};
  }
  // Memory for numbers that cuDNN writes, and alone reads.
  CudnnTensor room(int64_t count) const { return {{}, Memory(static_cast<std::size_t>(count) * bytes)}; }
  void arrived(CudnnTensor& written) const {
    if (!written.tensor.defined() || !written.rounded.data()) return;
    if (conversion)
      conversion->widen(written.rounded.data(), written.tensor.data(), written.tensor.size(), false);
    else
      copy_on_device(written.tensor.data(), written.rounded.data(),
                     static_cast<std::size_t>(written.tensor.size()) * bytes);
  }

  // Whether cuDNN can be given the tensors' own numbers. A slice may begin anywhere, but kernels that read several numbers at once
  // need aligned memory.
  bool is_in_place(const real* numbers) const {
    return !conversion && reinterpret_cast<std::uintptr_t>(numbers) % 16 == 0;
  }
  // `count` numbers from a tensor's memory to cuDNN's, and back.
  void put(const real* from, void* to, int64_t count) const {
    if (conversion)
      conversion->round(from, to, count);
    else
      copy_on_device(to, from, static_cast<std::size_t>(count) * sizeof(real));
  }
  void bring(const void* from, real* to, int64_t count, bool add) const {
    if (conversion)
      conversion->widen(from, to, count, add);
    else
      kernels().affine(static_cast<const real*>(from), 1, 0, to, count, add);
  }
};

}  // namespace unroll

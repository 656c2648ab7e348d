// Numbers in the form that cuDNN takes: the tensors' own, or copies rounded to 16 bits if the precision asks for that.
//
// Tensors, and the weights that an optimizer changes, stay float in every precision. cuDNN also sums in float. Its
// inputs are rounded to 16 bits before a call, and its outputs widened after it.
#pragma once

#include <cudnn.h>

#include "framework/kernels/kernels.h"
#include "framework/tensor.h"

namespace unroll {

// A tensor's numbers for cuDNN to read or write. A null pointer if there is no tensor, or it has no memory.
struct CudnnTensor {
  Tensor tensor;
  Memory rounded = {};  // of 16 bits each, where cuDNN has them so
  const void* data() const { return rounded.data() ? rounded.data() : tensor.data(); }
  void* data() { return rounded.data() ? rounded.data() : tensor.data(); }
};

struct CudnnNumbers {
  static CudnnNumbers of_process();  // those of precision()

  cudnnDataType_t type, sums;   // of numbers in memory, and of sums in products
  cudnnMathType_t mathematics;  // whether tensor cores may serve
  std::size_t bytes;            // of a number
  const Products* conversion;   // null: cuDNN is given the tensors themselves

  // Numbers for cuDNN to read: rounded now; a copy if the tensor does not begin at a multiple of 16 bytes.
  CudnnTensor read(const Tensor& tensor) const;
  // Memory for cuDNN to write. The tensor has the result after arrived().
  CudnnTensor write(const Tensor& tensor) const;
  void arrived(CudnnTensor& written) const;

  // `count` numbers from a tensor's memory to cuDNN's, and back.
  void put(const real* from, void* to, int64_t count) const;
  void bring(const void* from, real* to, int64_t count, bool add) const;
};

}  // namespace unroll

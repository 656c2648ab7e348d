// cuDNN as this folder uses it: its functions, its handle, and what its descriptors and errors become.
#pragma once

#include <utility>

#include <cudnn.h>

#include "framework/kernels/cuda/libraries.h"

namespace unroll::gpu {

// The functions of cuDNN that are used, each under its own name. All are looked up at once.
struct Cudnn {
  const Library& from;
  decltype(&cudnnGetVersion) get_version = from["cudnnGetVersion"];
  decltype(&cudnnGetCudartVersion) get_cudart_version = from["cudnnGetCudartVersion"];
  decltype(&cudnnGetErrorString) get_error_string = from["cudnnGetErrorString"];
  decltype(&cudnnCreate) create = from["cudnnCreate"];
  decltype(&cudnnSetStream) set_stream = from["cudnnSetStream"];
  decltype(&cudnnCreateTensorDescriptor) create_tensor = from["cudnnCreateTensorDescriptor"];
  decltype(&cudnnDestroyTensorDescriptor) destroy_tensor = from["cudnnDestroyTensorDescriptor"];
  decltype(&cudnnSetTensorNdDescriptor) set_tensor = from["cudnnSetTensorNdDescriptor"];
  decltype(&cudnnGetTensorNdDescriptor) get_tensor = from["cudnnGetTensorNdDescriptor"];
  decltype(&cudnnCreateRNNDescriptor) create_rnn = from["cudnnCreateRNNDescriptor"];
  decltype(&cudnnDestroyRNNDescriptor) destroy_rnn = from["cudnnDestroyRNNDescriptor"];
  decltype(&cudnnSetRNNDescriptor_v8) set_rnn = from["cudnnSetRNNDescriptor_v8"];
  decltype(&cudnnBuildRNNDynamic) build_dynamic = from["cudnnBuildRNNDynamic"];
  decltype(&cudnnCreateRNNDataDescriptor) create_data = from["cudnnCreateRNNDataDescriptor"];
  decltype(&cudnnDestroyRNNDataDescriptor) destroy_data = from["cudnnDestroyRNNDataDescriptor"];
  decltype(&cudnnSetRNNDataDescriptor) set_data = from["cudnnSetRNNDataDescriptor"];
  decltype(&cudnnGetRNNWeightSpaceSize) weight_space_size = from["cudnnGetRNNWeightSpaceSize"];
  decltype(&cudnnGetRNNWeightParams) weight_params = from["cudnnGetRNNWeightParams"];
  decltype(&cudnnGetRNNTempSpaceSizes) temp_space_sizes = from["cudnnGetRNNTempSpaceSizes"];
  decltype(&cudnnRNNForward) forward = from["cudnnRNNForward"];
  decltype(&cudnnRNNBackwardData_v8) backward_data = from["cudnnRNNBackwardData_v8"];
  decltype(&cudnnRNNBackwardWeights_v8) backward_weights = from["cudnnRNNBackwardWeights_v8"];
};

const Library& cudnn_library();
const Cudnn& cudnn();  // throws Error, saying what is missing
// Puts cuDNN's work into the lane in use (framework/lanes.h): each lane has a handle of its own, made at first use.
cudnnHandle_t cudnn_handle();

// Throws unless `status` is success: OutOfMemory if memory ran out, else Error.
// "cuDNN has failed: cudnnRNNForward reports CUDNN_STATUS_BAD_PARAM".
void check(cudnnStatus_t status, const char* what);

// A descriptor that destroys itself.
template <class T, auto create, auto destroy>
class Descriptor {
 public:
  Descriptor() { check((cudnn().*create)(&value_), "creating a descriptor"); }
  ~Descriptor() { (cudnn().*destroy)(value_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator T() const { return value_; }

 private:
  T value_ = nullptr;
};
using TensorDescriptor = Descriptor<cudnnTensorDescriptor_t, &Cudnn::create_tensor, &Cudnn::destroy_tensor>;
using RnnDescriptor = Descriptor<cudnnRNNDescriptor_t, &Cudnn::create_rnn, &Cudnn::destroy_rnn>;
using DataDescriptor = Descriptor<cudnnRNNDataDescriptor_t, &Cudnn::create_data, &Cudnn::destroy_data>;

}  // namespace unroll::gpu

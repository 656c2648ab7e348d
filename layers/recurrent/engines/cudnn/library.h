// cuDNN as this folder uses it: its functions, its handle, and what its descriptors and errors become.
#pragma once

#include <utility>

#include <cudnn.h>

#include "framework/kernels/cuda/libraries.h"

namespace unroll::gpu {

// The functions of cuDNN that are used, each under its own name. All are looked up at once.
struct Cudnn {
  explicit Cudnn(const Library& from);
  decltype(&cudnnGetVersion) get_version;
  decltype(&cudnnGetCudartVersion) get_cudart_version;
  decltype(&cudnnGetErrorString) get_error_string;
  decltype(&cudnnCreate) create;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnCreateTensorDescriptor) create_tensor;
  decltype(&cudnnDestroyTensorDescriptor) destroy_tensor;
  decltype(&cudnnSetTensorNdDescriptor) set_tensor;
  decltype(&cudnnGetTensorNdDescriptor) get_tensor;
  decltype(&cudnnCreateRNNDescriptor) create_rnn;
  decltype(&cudnnDestroyRNNDescriptor) destroy_rnn;
  decltype(&cudnnSetRNNDescriptor_v8) set_rnn;
  decltype(&cudnnBuildRNNDynamic) build_dynamic;
  decltype(&cudnnCreateRNNDataDescriptor) create_data;
  decltype(&cudnnDestroyRNNDataDescriptor) destroy_data;
  decltype(&cudnnSetRNNDataDescriptor) set_data;
  decltype(&cudnnGetRNNWeightSpaceSize) weight_space_size;
  decltype(&cudnnGetRNNWeightParams) weight_params;
  decltype(&cudnnGetRNNTempSpaceSizes) temp_space_sizes;
  decltype(&cudnnRNNForward) forward;
  decltype(&cudnnRNNBackwardData_v8) backward_data;
  decltype(&cudnnRNNBackwardWeights_v8) backward_weights;
};

const Library& cudnn_library();
const Cudnn& cudnn();          // throws Error, saying what is missing
cudnnHandle_t cudnn_handle();  // with the GPU's stream; made at first use

// Throws unless `status` is success: CudnnRefusal if cuDNN does not support the request, OutOfMemory if memory ran out.
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

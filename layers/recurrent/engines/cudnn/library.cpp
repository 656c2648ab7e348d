#include "layers/recurrent/engines/cudnn/library.h"

#include "framework/check.h"
#include "framework/kernels/cuda/context.h"
#include "layers/recurrent/engines/cudnn.h"

namespace unroll::gpu {

Cudnn::Cudnn(const Library& from)
    : get_version(from["cudnnGetVersion"]),
      get_cudart_version(from["cudnnGetCudartVersion"]),
      get_error_string(from["cudnnGetErrorString"]),
      create(from["cudnnCreate"]),
      set_stream(from["cudnnSetStream"]),
      create_tensor(from["cudnnCreateTensorDescriptor"]),
      destroy_tensor(from["cudnnDestroyTensorDescriptor"]),
      set_tensor(from["cudnnSetTensorNdDescriptor"]),
      get_tensor(from["cudnnGetTensorNdDescriptor"]),
      create_rnn(from["cudnnCreateRNNDescriptor"]),
      destroy_rnn(from["cudnnDestroyRNNDescriptor"]),
      set_rnn(from["cudnnSetRNNDescriptor_v8"]),
      build_dynamic(from["cudnnBuildRNNDynamic"]),
      create_data(from["cudnnCreateRNNDataDescriptor"]),
      destroy_data(from["cudnnDestroyRNNDataDescriptor"]),
      set_data(from["cudnnSetRNNDataDescriptor"]),
      weight_space_size(from["cudnnGetRNNWeightSpaceSize"]),
      weight_params(from["cudnnGetRNNWeightParams"]),
      temp_space_sizes(from["cudnnGetRNNTempSpaceSizes"]),
      forward(from["cudnnRNNForward"]),
      backward_data(from["cudnnRNNBackwardData_v8"]),
      backward_weights(from["cudnnRNNBackwardWeights_v8"]) {}

const Library& cudnn_library() {
  static const Library library("libcudnn.so." + std::to_string(CUDNN_MAJOR));
  return library;
}

const Cudnn& cudnn() {
  static const Cudnn functions(cudnn_library());
  return functions;
}

cudnnHandle_t cudnn_handle() {
  use_device();
  static const cudnnHandle_t handle = [] {
    cudnnHandle_t created = nullptr;
    check(cudnn().create(&created), "cudnnCreate");
    check(cudnn().set_stream(created, stream()), "cudnnSetStream");
    return created;
  }();
  return handle;
}

namespace {

// Since cuDNN 9 errors have classes of a thousand numbers each; before it there are a dozen small ones.
#if CUDNN_MAJOR >= 9
bool is_refusal(cudnnStatus_t status) {
  // A kernel that cannot be compiled when it is needed counts as a refusal: other algorithms need no compiler.
  return status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000 ||
         status == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;
}
bool is_of_memory(cudnnStatus_t status) {
  return status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
         status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
}
#else
bool is_refusal(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED || status == CUDNN_STATUS_ARCH_MISMATCH ||
         status == CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING;
}
bool is_of_memory(cudnnStatus_t status) { return status == CUDNN_STATUS_ALLOC_FAILED; }
#endif

}  // namespace

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string message =
      fmt::format("cuDNN has failed: {} reports {}", what, cudnn().get_error_string(status));
  if (is_refusal(status)) throw CudnnRefusal(message);
  if (is_of_memory(status)) throw OutOfMemory(message);
  throw Error(message);
}

}  // namespace unroll::gpu

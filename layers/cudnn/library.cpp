#include "layers/cudnn/library.h"

#include "framework/check.h"
#include "framework/kernels/cuda/context.h"
#include "layers/cudnn.h"

namespace unroll::gpu {

Cudnn::Cudnn(const Library& from)
    : get_version(from["cudnnGetVersion"]),
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
  static const cudnnHandle_t handle = [] {
    cudnnHandle_t created = nullptr;
    check(cudnn().create(&created), "cudnnCreate");
    check(cudnn().set_stream(created, stream()), "cudnnSetStream");
    return created;
  }();
  return handle;
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string message =
      fmt::format("cuDNN has failed: {} reports {}", what, cudnn().get_error_string(status));
  // From cuDNN 9 on a class of thousands, before it one of ten small numbers.
  constexpr int class_size = CUDNN_STATUS_NOT_SUPPORTED < 1000 ? 1 : 1000;
  if (status / class_size == CUDNN_STATUS_NOT_SUPPORTED / class_size) throw CudnnRefusal(message);
  throw Error(message);
}

}  // namespace unroll::gpu

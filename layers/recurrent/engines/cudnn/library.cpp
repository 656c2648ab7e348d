#include "layers/recurrent/engines/cudnn/library.h"

#include "framework/check.h"
#include "framework/device.h"
#include "framework/kernels/cuda/context.h"
#include "framework/kernels/recurrent_window.h"
#include "framework/lanes.h"
#include "framework/processes/processes.h"
#include "layers/recurrent/engine.h"

namespace unroll::gpu {

const Library& cudnn_library() {
  static const Library library("libcudnn.so." + std::to_string(CUDNN_MAJOR));
  return library;
}

const Cudnn& cudnn() {
  static const Cudnn functions{cudnn_library()};
  return functions;
}

cudnnHandle_t cudnn_handle() {
  use_device();
  static cudnnHandle_t handles[1 + Lanes::count] = {};
  cudnnHandle_t& handle = handles[lane_in_use()];
  if (handle) return handle;
  cudnnHandle_t created = nullptr;
  check(cudnn().create(&created), "cudnnCreate");
  check(cudnn().set_stream(created, stream()), "cudnnSetStream");
  return handle = created;
}

static bool is_of_memory(cudnnStatus_t status) {
#if CUDNN_MAJOR >= 9
  return status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
         status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
#else
  return status == CUDNN_STATUS_ALLOC_FAILED;
#endif
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string message =
      fmt::format("cuDNN has failed: {} reports {}", what, cudnn().get_error_string(status));
  if (is_of_memory(status)) throw OutOfMemory(message);
  throw DeviceError(message);
}

}  // namespace unroll::gpu

namespace unroll {

// Of this machine.
EngineFacts engine_facts() {
  EngineFacts result{.precision = precision()};
  if (!on_gpu()) {
    result.no_gpu = why_no_gpu().empty() ? "the device is cpu" : why_no_gpu();
    return result;
  }
  static const DeviceFacts device = device_facts();  // a process has one device; asking takes milliseconds
  result.gpu = device.name;
  result.capability = device.capability;
  result.driver = device.driver;
  result.toolkit = device.toolkit;
  result.processors = device.processors;
  result.shared_memory = device.shared_memory;
  result.processes = process_count();
  static const int code = persistent_code();
  result.code = code;
  result.no_cudnn = gpu::cudnn_library().missing();
  if (!result.no_cudnn.empty()) return result;
  result.cudnn = static_cast<int>(gpu::cudnn().get_version());
  // The file's name is the same for every CUDA, but it needs the libraries of the CUDA it was made for.
  const auto made_for = static_cast<int>(gpu::cudnn().get_cudart_version());
  if (made_for / 1000 != CUDART_VERSION / 1000) {
    result.cudnn = 0;
    result.no_cudnn = fmt::format("libcudnn.so.{} is one for CUDA {}, and this build is for CUDA {}",
                                  CUDNN_MAJOR, made_for / 1000, CUDART_VERSION / 1000);
  }
  return result;
}

}  // namespace unroll

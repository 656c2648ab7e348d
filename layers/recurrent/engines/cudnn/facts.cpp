// This machine's facts for the engine `cudnn`.
#include "framework/device.h"
#include "framework/kernels/lstm_window.h"
#include "layers/recurrent/engine.h"
#include "layers/recurrent/engines/cudnn/library.h"

namespace unroll {

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

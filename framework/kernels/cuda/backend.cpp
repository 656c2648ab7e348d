// CUDA's memory, and what must be there before it serves.
#include "framework/kernels/backend.h"

#include <algorithm>
#include <cstring>

#include "framework/check.h"
#include "framework/kernels/cuda/context.h"
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/libraries.h"

namespace unroll {

namespace {

using gpu::check;

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string missing() {
  int driver = 0, count = 0;
  cudaDriverGetVersion(&driver);
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (driver == 0) return "there is no NVIDIA driver";
  if (driver / 1000 < CUDART_VERSION / 1000)
    return fmt::format(
        "the driver runs CUDA {} at most, and this build is for CUDA {}: a newer driver is needed",
        version_text(driver), version_text(CUDART_VERSION));
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) return "there is no NVIDIA GPU";
  if (status != cudaSuccess)
    return fmt::format("the driver reports {} ({})", cudaGetErrorName(status), cudaGetErrorString(status));
  return gpu::cublas_library().missing();
}

int count() {
  int result = 0;
  check(cudaGetDeviceCount(&result), "cudaGetDeviceCount");
  return result;
}

// Why this GPU cannot serve; empty if it can. Only trying shows whether another process has it for itself alone, and
// whether this build has code for it, or PTX that the driver can translate.
std::string refusal(int index) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  const std::string name = fmt::format("{} (compute capability {}.{})", properties.name, properties.major,
                                       properties.minor),
                    option = fmt::format("-Dgpu_arch={}{}", properties.major, properties.minor);
  cudaError_t status = gpu::try_device(index);
  if (status == cudaSuccess) status = cuda::find_kernels();
  cudaGetLastError();  // or the next kernel would report it
  switch (status) {
    case cudaSuccess:
      return "";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
      return fmt::format("this build has no code for {}; one that is set up with {} has", name, option);
    case cudaErrorUnsupportedPtxVersion:
      return fmt::format(
          "the driver cannot translate this build's code for {}: a newer driver is needed, or a build that is "
          "set up with {}",
          name, option);
    case cudaErrorDevicesUnavailable:
      return fmt::format("another process has {} for itself", name);
    default:
      return fmt::format("{} reports {} ({})", name, cudaGetErrorName(status), cudaGetErrorString(status));
  }
}

void open(int index) {
  gpu::set_device(index);
  gpu::stream();  // what fails, fails here
}

DeviceFacts facts() {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, gpu::use_device()), "cudaGetDeviceProperties");
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  DeviceFacts result{.name = properties.name,
                     .capability = 10 * properties.major + properties.minor,
                     .toolkit = CUDART_VERSION,
                     .memory = static_cast<int64_t>(total),
                     .free = static_cast<int64_t>(free)};
  check(cudaDriverGetVersion(&result.driver), "cudaDriverGetVersion");
  const auto attribute = [](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, gpu::use_device()), "cudaDeviceGetAttribute");
    return value;
  };
  result.processors = attribute(cudaDevAttrMultiProcessorCount);
  result.memory_width = attribute(cudaDevAttrGlobalMemoryBusWidth);
  result.clock = 1e3 * attribute(cudaDevAttrClockRate);  // from kilohertz
  result.memory_clock = 1e3 * attribute(cudaDevAttrMemoryClockRate);
  result.cache = attribute(cudaDevAttrL2CacheSize);
  result.shared_memory = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return result;
}

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  gpu::use_device();
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // or the next kernel would report it
    return nullptr;
  }
  check(status, "cudaMalloc");
  return memory;
}
void release(void* memory) {
  gpu::use_device();
  check(cudaFree(memory), "cudaFree");
}

void wait() { check(cudaStreamSynchronize(gpu::stream()), "cudaStreamSynchronize"); }

void to_host(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, gpu::stream()), "cudaMemcpyAsync");
  wait();
}

// Pinned memory for data on its way to the device, so that the host need not wait until it is there. It is a ring of
// pieces, each of which is used again once the device has read it. (CUDA does not promise when it has read other
// memory of the host's.)
class Staging {
 public:
  Staging() {
    check(cudaMallocHost(&memory_, pieces * piece_bytes), "cudaMallocHost");
    for (cudaEvent_t& event : read_)
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  }
  void* put(const void* from, std::size_t bytes) {
    if (used_ + bytes > piece_bytes) {
      check(cudaEventRecord(read_[piece_], gpu::stream()), "cudaEventRecord");
      piece_ = (piece_ + 1) % pieces;
      used_ = 0;
      check(cudaEventSynchronize(read_[piece_]), "cudaEventSynchronize");  // at once if it was never recorded
    }
    void* const place = static_cast<char*>(memory_) + piece_ * piece_bytes + used_;
    std::memcpy(place, from, bytes);
    used_ += (bytes + 63) / 64 * 64;
    return place;
  }
  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;

 private:
  static constexpr std::size_t pieces = 4;
  void* memory_ = nullptr;
  cudaEvent_t read_[pieces] = {};
  std::size_t piece_ = 0, used_ = 0;
};

void to_device(void* to, const void* from, std::size_t bytes) {
  gpu::use_device();
  static Staging* const staging = new Staging;  // never destroyed: CUDA may be gone before
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t count = std::min(bytes - done, Staging::piece_bytes);
    const void* const there = staging->put(static_cast<const char*>(from) + done, count);
    check(cudaMemcpyAsync(static_cast<char*>(to) + done, there, count, cudaMemcpyHostToDevice, gpu::stream()),
          "cudaMemcpyAsync");
    done += count;
  }
}
void copy(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, gpu::stream()), "cudaMemcpyAsync");
}
void clear(void* to, std::size_t bytes) {
  check(cudaMemsetAsync(to, 0, bytes, gpu::stream()), "cudaMemsetAsync");
}

void begin_recording(const uint32_t* step, uint32_t now) { gpu::begin_recording({step, now}); }
void* end_recording(bool keep) { return gpu::end_recording(keep); }
void play(void* recording) {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), gpu::stream()), "cudaGraphLaunch");
}
// Work that was asked for goes on; what fails here has failed before.
void forget(void* recording) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recording)); }

}  // namespace

const Backend* cuda_backend() {
  static const Backend backend{.missing = missing,
                               .count = count,
                               .refusal = refusal,
                               .open = open,
                               .facts = facts,
                               .allocate = allocate,
                               .release = release,
                               .to_host = to_host,
                               .to_device = to_device,
                               .copy = copy,
                               .clear = clear,
                               .synchronize = wait,
                               .use_lane = gpu::use_lane,
                               .mark = gpu::mark,
                               .await = gpu::await,
                               .begin_recording = begin_recording,
                               .end_recording = end_recording,
                               .play = play,
                               .forget = forget};
  return &backend;
}

}  // namespace unroll

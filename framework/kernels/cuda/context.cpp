#include "framework/kernels/cuda/context.h"

#include <vector>

#include "framework/check.h"
#include "framework/kernels/cuda/libraries.h"
#include "framework/lanes.h"
#include "framework/memory.h"

namespace unroll::gpu {

namespace {

constexpr int lanes = 1 + Lanes::count;
int lane = 0;  // in use

cublasHandle_t create_cublas() {
  // NVIDIA's advice for its newest GPUs. With memory of its own cuBLAS gives the same bits every time, and takes none
  // while a graph is captured.
  constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
  static Memory of_lanes[lanes];
  Memory& memory = of_lanes[lane] = Memory(workspace_bytes);
  cublasHandle_t handle = nullptr;
  check(cublas().create(&handle), "cublasCreate");
  check(cublas().set_stream(handle, stream()), "cublasSetStream");
  check(cublas().set_workspace(handle, memory.data(), workspace_bytes), "cublasSetWorkspace");
  return handle;
}

// After which CUDA's documentation says that a process can compute no more: any call reports it from then on. By their
// numbers those that only newer toolkits name.
bool ends_the_process(cudaError_t status) {
  switch (static_cast<int>(status)) {
    case cudaErrorDevicesUnavailable:  // 46
    case cudaErrorECCUncorrectable:    // 214
    case 226:                          // cudaErrorContained
    case cudaErrorUnknown:             // 999
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case 721:  // cudaErrorTensorMemoryLeak
    case 810:  // cudaErrorMpsClientTerminated
      return true;
    default:
      return false;
  }
}

int in_use = -1;                  // none yet
thread_local int of_thread = -1;  // not known

RecordedStep recorded;
bool any_recording = false;

}  // namespace

const Library& cublas_library() {
  static const Library library("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR));
  return library;
}
const Cublas& cublas() {
  static const Cublas functions(cublas_library());
  return functions;
}

int use_device() {
  if (of_thread != in_use) check(cudaSetDevice(in_use), "cudaSetDevice");
  return of_thread = in_use;
}
cudaError_t try_device(int index) {
  of_thread = -1;
  return cudaSetDevice(index);
}
void set_device(int index) {
  in_use = index;
  use_device();
}

cudaStream_t stream() {
  use_device();
  static cudaStream_t created[lanes] = {};
  cudaStream_t& stream = created[lane];
  if (!stream) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return stream;
}
void use_lane(int number) { lane = number; }
int lane_in_use() { return lane; }

static cudaEvent_t& event(int number) {
  static std::vector<cudaEvent_t> made;
  use_device();
  for (; made.size() <= static_cast<std::size_t>(number); made.push_back(nullptr)) {}
  cudaEvent_t& event = made[static_cast<std::size_t>(number)];
  if (!event) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return event;
}
void mark(int number) { check(cudaEventRecord(event(number), stream()), "cudaEventRecord"); }
void await(int number) { check(cudaStreamWaitEvent(stream(), event(number), 0), "cudaStreamWaitEvent"); }

cublasHandle_t cublas_handle() {
  use_device();
  static cublasHandle_t handles[lanes] = {};
  if (!handles[lane]) handles[lane] = create_cublas();
  return handles[lane];
}

void* workspace(std::size_t bytes) {
  static Memory of_lanes[lanes];
  static std::size_t sizes[lanes] = {};
  Memory& memory = of_lanes[lane];
  std::size_t& size = sizes[lane];
  if (bytes > size) {
    static std::vector<Memory> before;
    if (any_recording)
      before.push_back(std::move(memory));
    else
      memory = {};  // so that both need not be there at once
    size = 0;       // if memory is refused
    memory = Memory(bytes);
    size = bytes;
  }
  return memory.data();
}

RecordedStep recorded_step() { return recorded; }

void begin_recording(const RecordedStep& step) {
  any_recording = true;
  // Relaxed: memory may be asked for meanwhile.
  check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  recorded = step;
}

cudaGraphExec_t end_recording(bool keep) {
  recorded = {};
  cudaGraph_t graph = nullptr;
  const cudaError_t status = cudaStreamEndCapture(stream(), &graph);
  if (!keep) {  // something has failed already, which is said
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();  // of a capture that is broken off: no failure of the next kernel
    return nullptr;
  }
  check(status, "cudaStreamEndCapture");
  cudaGraphExec_t result = nullptr;
  const cudaError_t instantiated = cudaGraphInstantiate(&result, graph, 0);
  const cudaError_t destroyed = cudaGraphDestroy(graph);
  check(instantiated, "cudaGraphInstantiate");
  check(destroyed, "cudaGraphDestroy");
  return result;
}

double* sum_of_reduction() {
  static const Memory memory(sizeof(double));
  return static_cast<double*>(memory.data());
}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or the next kernel would report it again to who catches this and goes on
  if (status == cudaErrorMemoryAllocation)
    throw OutOfMemory(fmt::format("out of memory on the GPU: {} failed", what));
  const std::string report =
      fmt::format("{} reports {} ({})", what, cudaGetErrorName(status), cudaGetErrorString(status));
  if (!ends_the_process(status)) throw DeviceError("CUDA has failed: " + report);
  throw DeviceError(
      fmt::format("the GPU has failed: {}; nothing more can be computed on it in this process", report));
}

bool was_taken(cudaError_t status) {
  if (status != cudaErrorCooperativeLaunchTooLarge) check(status, "a kernel");
  cudaGetLastError();
  return status == cudaSuccess;
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED)
    throw OutOfMemory(fmt::format("out of memory on the GPU: {} failed", what));
  throw DeviceError(fmt::format("cuBLAS has failed: {} reports {}", what, cublas().status_string(status)));
}

void fail(const char* message) { throw Error(message); }

}  // namespace unroll::gpu

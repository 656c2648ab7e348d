// The stand-in's CUDA runtime. Streams and when their work happens: streams.h.
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/standin/kernel_threads.h"
#include "tests/standin/memory.h"
#include "tests/standin/standin.h"
#include "tests/standin/streams.h"

namespace standin {

Control& control() {
  static Control instance = [] {  // of a program, which no test can set
    Control of_environment;
    if (const char* const devices = std::getenv("UNROLL_STANDIN_DEVICES"))
      of_environment.devices = std::atoi(devices);
    if (const char* const missing = std::getenv("UNROLL_STANDIN_MISSING"))
      of_environment.missing_library = missing;
    if (const char* const computes = std::getenv("UNROLL_STANDIN_COMPUTES"))
      of_environment.computes = std::strcmp(computes, "no") != 0;
    return of_environment;
  }();
  return instance;
}

namespace {

struct Stream {};
int of_streams = -1;  // their device
cudaError_t last = cudaSuccess;
bool failed = false;  // for good
thread_local int of_thread = 0;

std::set<const void*> graphs, events;  // that are alive
std::set<const void*> just_recorded;   // events, which the host finds only when it looks a second time
std::map<const char*, std::size_t> host_memory;  // of cudaMallocHost, and its bytes

cudaError_t result(cudaError_t status) {
  if (status != cudaSuccess) last = status;
  return status;
}

// Every call that reaches the device begins with this.
cudaError_t reach() {
  Control& c = control();
  if (c.driver / 1000 < CUDART_VERSION / 1000) return result(cudaErrorInsufficientDriver);
  if (c.devices == 0) return result(cudaErrorNoDevice);
  ++c.calls;
  if (c.calls_until_failure == 0) failed = true;
  if (c.calls_until_failure > 0) --c.calls_until_failure;
  if (c.calls_until_failure < 0) failed = false;  // a test has taken the failure back
  if (failed && c.failure != cudaErrorIllegalAddress) {
    failed = false, c.calls_until_failure = -1;
    return result(c.failure);
  }
  return failed ? result(c.failure) : cudaSuccess;
}
void require_host(const char* call, const void* memory) {
  if (owns(memory, 1)) stop(std::string(call) + ": device memory was given for the host's");
}

// Stops if the bytes are not pinned: the device may read them after the call has returned.
void require_pinned(const char* call, const void* memory, std::size_t bytes) {
  const char* const begin = static_cast<const char*>(memory);
  const auto after = host_memory.upper_bound(begin);
  const auto block = after == host_memory.begin() ? host_memory.end() : std::prev(after);
  if (block == host_memory.end() || begin + bytes > block->first + block->second)
    stop(std::string(call) + ": the host may change these bytes before the device has read them");
}

// Stops if the stream is captured: waiting for the device would end the capture, and the results do not exist yet.
void require_no_capture(const char* call) {
  if (capturing()) stop(std::string(call) + ": the stream is captured");
}
bool take_out(std::set<const void*>& from, const void* what) { return from.erase(what) > 0; }

}  // namespace

void require_stream(const char* call, cudaStream_t stream) {
  if (!is_stream(stream)) stop(std::string(call) + ": this stream was not created");
}
void require_device(const char* call, const void* memory, std::size_t bytes) {
  if (!owns(memory, bytes)) stop(std::string(call) + ": these bytes are not of one block of device memory");
}

void require_device_of_streams(const char* call) {
  if (of_streams >= 0 && of_thread != of_streams)
    stop(std::string(call) + ": this thread asks the device " + std::to_string(of_thread) +
         ", and the stream is on " + std::to_string(of_streams));
}
int device_of_thread() { return of_thread; }

}  // namespace standin

using namespace standin;

namespace unroll::cuda {

void launch(const Launch& what, const void* arguments, std::size_t bytes, cudaStream_t stream) {
  require_stream("a kernel", stream);
  if (reach()) return;  // which is asked for after a launch
  require_device_of_streams("a kernel");
  if (what.together && is_refused()) return static_cast<void>(result(cudaErrorCooperativeLaunchTooLarge));
  require_launchable(what);
  ++control().launches;
  count_launch(what);
  if (!control().computes) return;
  const char* const begin = static_cast<const char*>(arguments);
  in_stream_order(stream, [what, copy = std::vector<char>(begin, begin + bytes)] {
    const OpenMemory opened;
    run_threads(what, copy.data());
  });
}
void check_device_memory(const void* memory, std::size_t bytes) { require_device("a kernel", memory, bytes); }

}  // namespace unroll::cuda

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  if (const cudaError_t status = reach()) return status;
  *attributes = {};
  attributes->ptxVersion = attributes->binaryVersion = control().capability;
  return result(control().code);
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (const cudaError_t status = reach()) return status;
  *count = control().devices;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = control().driver;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t status = reach()) return status;
  if (device < 0 || device >= control().devices) return result(cudaErrorInvalidDevice);
  if (device == control().taken) return result(cudaErrorDevicesUnavailable);
  of_thread = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t status = reach()) return status;
  if (device < 0 || device >= control().devices) return result(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "%s", control().name.c_str());
  properties->major = control().capability / 10;
  properties->minor = control().capability % 10;
  properties->totalGlobalMem = control().memory;
  properties->multiProcessorCount = 1;
  properties->uuid.bytes[0] = static_cast<char>(device + 1);
  return cudaSuccess;
}
// The numbers of an H100 SXM.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const cudaError_t status = reach()) return status;
  if (device < 0 || device >= control().devices) return result(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = control().processors;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(control().shared_memory);
      return cudaSuccess;
    case cudaDevAttrClockRate:
      *value = 1'980'000;
      return cudaSuccess;
    case cudaDevAttrMemoryClockRate:
      *value = 2'619'000;
      return cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = 5120;
      return cudaSuccess;
    case cudaDevAttrL2CacheSize:
      *value = 50 << 20;
      return cudaSuccess;
    default:
      return result(cudaErrorInvalidValue);
  }
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const cudaError_t status = reach()) return status;
  require_device_of_streams("cudaMemGetInfo");
  *total = control().memory;
  *free = control().memory - control().in_use;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(last, failed ? last : cudaSuccess); }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (const cudaError_t status = reach()) return status;
  require_device_of_streams("cudaMalloc");
  Control& c = control();
  if (c.in_use + bytes > c.memory) return result(cudaErrorMemoryAllocation);
  *memory = take_memory(bytes);
  c.in_use += bytes;
  ++c.allocations;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  if (const cudaError_t status = reach()) return status;
  if (!memory) return cudaSuccess;
  finish_all();
  const std::size_t bytes = size_of(memory);
  if (!give_memory(memory)) stop("cudaFree: this block was never given, or taken back already");
  control().in_use -= bytes;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (const cudaError_t status = reach()) return status;
  *stream = reinterpret_cast<cudaStream_t>(new Stream);
  add_stream(*stream);
  of_streams = of_thread;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  require_stream("cudaStreamSynchronize", stream);
  require_no_capture("cudaStreamSynchronize");
  ++control().synchronizations;
  if (const cudaError_t status = reach()) return status;
  finish(stream);
  if (!memory_is_intact()) stop("something was written beyond the end of a block of device memory");
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  constexpr const char* call = "cudaMemcpyAsync";
  require_stream(call, stream);
  if (const cudaError_t status = reach()) return status;
  kind == cudaMemcpyDeviceToHost ? require_host(call, to) : require_device(call, to, bytes);
  kind == cudaMemcpyHostToDevice ? require_host(call, from) : require_device(call, from, bytes);
  const char *source = static_cast<const char*>(from), *target = static_cast<const char*>(to);
  if (kind == cudaMemcpyDeviceToDevice && target < source + bytes && source < target + bytes)
    stop("cudaMemcpyAsync: the two overlap");
  if (kind == cudaMemcpyHostToDevice) require_pinned(call, from, bytes);
  if (kind == cudaMemcpyHostToDevice && is_captured(stream))
    stop("cudaMemcpyAsync: a graph would read the host's memory later");
  if (kind == cudaMemcpyDeviceToHost) require_no_capture(call);
  if (kind == cudaMemcpyDeviceToDevice) count_moved("copy", bytes, bytes);
  in_stream_order(stream, [=] {
    const OpenMemory opened;
    std::memcpy(to, from, bytes);
  });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  require_stream("cudaMemsetAsync", stream);
  if (const cudaError_t status = reach()) return status;
  require_device("cudaMemsetAsync", to, bytes);
  count_moved("clear", 0, bytes);
  in_stream_order(stream, [=] {
    const OpenMemory opened;
    std::memset(to, value, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  if (const cudaError_t status = reach()) return status;
  require_device_of_streams("cudaMallocHost");
  *memory = std::malloc(bytes);
  if (!*memory) return result(cudaErrorMemoryAllocation);
  host_memory[static_cast<char*>(*memory)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (const cudaError_t status = reach()) return status;
  require_device_of_streams("cudaEventCreate");
  *event = reinterpret_cast<cudaEvent_t>(new char);
  events.insert(*event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  require_stream("cudaEventRecord", stream);
  if (!events.contains(event)) stop("cudaEventRecord: this event was not created");
  if (!is_captured(stream)) just_recorded.insert(event);
  if (const cudaError_t status = reach()) return status;
  record_event(event, stream);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  require_stream("cudaStreamWaitEvent", stream);
  if (!events.contains(event)) stop("cudaStreamWaitEvent: this event was not created");
  if (const cudaError_t status = reach()) return status;
  wait_event(event, stream);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  require_no_capture("cudaEventQuery");
  if (!events.contains(event)) stop("cudaEventQuery: this event was not created");
  if (const cudaError_t status = reach()) return status;
  if (take_out(just_recorded, event)) return result(cudaErrorNotReady);
  finish_event(event);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!take_out(events, event)) stop("cudaEventDestroy: there is no such event");
  take_out(just_recorded, event);
  forget_event(event);
  delete reinterpret_cast<char*>(event);
  return reach();
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  require_no_capture("cudaEventSynchronize");
  if (!events.contains(event)) stop("cudaEventSynchronize: this event was not created");
  take_out(just_recorded, event);
  finish_event(event);
  return reach();
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  require_stream("cudaStreamBeginCapture", stream);
  require_no_capture("cudaStreamBeginCapture");
  if (const cudaError_t status = reach()) return status;
  begin_capture(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  require_stream("cudaStreamEndCapture", stream);
  if (!is_captured(stream)) stop("cudaStreamEndCapture: the stream is not captured");
  std::unique_ptr<Graph> ended = end_capture(stream);
  *graph = nullptr;
  if (const cudaError_t status = reach()) return status;
  if (!ended) return result(cudaErrorStreamCaptureUnjoined);
  *graph = reinterpret_cast<cudaGraph_t>(ended.release());
  graphs.insert(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* instance, cudaGraph_t graph, unsigned long long) {
  if (const cudaError_t status = reach()) return status;
  if (!graphs.contains(graph)) stop("cudaGraphInstantiate: there is no such graph");
  *instance = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<const Graph*>(graph)));
  graphs.insert(*instance);
  ++control().graphs;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream) {
  require_stream("cudaGraphLaunch", stream);
  require_no_capture("cudaGraphLaunch");
  if (const cudaError_t status = reach()) return status;
  if (!graphs.contains(instance)) stop("cudaGraphLaunch: there is no such graph");
  ++control().graph_launches;
  play(*reinterpret_cast<const Graph*>(instance));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (!take_out(graphs, graph)) stop("cudaGraphDestroy: there is no such graph");
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance) {
  if (!take_out(graphs, instance)) stop("cudaGraphExecDestroy: there is no such graph");
  delete reinterpret_cast<Graph*>(instance);
  return cudaSuccess;
}

}  // extern "C"

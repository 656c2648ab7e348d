// Settings and records of the stand-in for CUDA's runtime, for tests: the functions that the back end calls, on the
// host, against the real headers. Only the stand-in's own calls can reach the memory of its device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <cuda_runtime_api.h>

namespace standin {

// While one lives, the host reaches device memory. May be nested.
class OpenMemory {
 public:
  OpenMemory();
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

// Whether these bytes lie in one block that cudaMalloc gave and cudaFree has not taken back.
bool owns(const void* memory, std::size_t bytes);

// Says what is wrong and ends the process: for what the hardware would do, which no test can go on from.
[[noreturn]] void stop(const std::string& what);

// End the process, naming the call: where that is no stream, and no block of device memory.
void require_stream(const char* call, cudaStream_t stream);
void require_device(const char* call, const void* memory, std::size_t bytes);

// Ends the process where this thread's device is not the stream's: memory would be another's, and a kernel would have no stream.
void require_device_of_streams(const char* call);

// Does `work` when its turn in this stream comes (streams.h); or, while the stream is captured, whenever the graph is launched.
void in_stream_order(cudaStream_t stream, std::function<void()> work);
bool capturing();
int device_of_thread();

// The machine that is played, and what goes wrong on it. For a program the environment sets it:
// UNROLL_STANDIN_DEVICES, UNROLL_STANDIN_MISSING, UNROLL_STANDIN_COMPUTES (no: `computes` is false).
struct Control {
  int devices = 1;
  int driver = CUDART_VERSION;  // 0: there is none
  std::string name = "stand-in for an H100";
  int capability = 90;
  cudaError_t code =
      cudaSuccess;  // what looking for a kernel reports; cudaErrorNoKernelImageForDevice: there is none
  int taken = -1;   // this device is another process's
  std::size_t memory = std::size_t{4} << 30;  // bytes of the device
  int processors = 132;                       // those of an H100 SXM
  std::size_t shared_memory = 227 << 10;      // of a block that asks for it
  bool computes = true;  // false: kernels and products are checked and counted, and then nothing happens
  // That of a kernel is reported by all calls from then on, another by one.
  cudaError_t failure = cudaErrorIllegalAddress;
  int64_t calls_until_failure = -1;  // that many calls succeed; negative: all do
  int refusals_together =
      0;  // so many launches of blocks together are refused, after `takes_together` that are not
  int takes_together = 0;
  std::string missing_library;  // "libcublas": every library with this in its name is not there
  // Records.
  std::size_t in_use = 0;  // bytes given by cudaMalloc
  int64_t calls = 0, launches = 0, synchronizations = 0, allocations = 0;
  int64_t graphs = 0, graph_launches = 0;  // that were instantiated; of all of them
  // Bytes of the device's memory that were to be read and written: by kernels, as they say themselves (given() in language.h),
  // by products, copies and clearing. Keys are the kernels' names, "product", "copy" and "clear".
  struct Moved {
    int64_t launches = 0, read = 0, written = 0, threads = 0;
  };
  std::map<std::string, Moved> moved;
};
// Counts a launch or a call in control().moved.
Control::Moved& count_moved(const std::string& name, std::size_t read, std::size_t written);
Control& control();
// Whether this launch of blocks together is one that control() has refused.
inline bool is_refused() { return control().takes_together-- <= 0 && control().refusals_together-- > 0; }

}  // namespace standin

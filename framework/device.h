// The device that this process computes on: the CPU, or one GPU.
//
// Chosen once, before there is any tensor, as the precision is. Tensors' numbers then live in the memory of that
// device, kernels() gives the kernels that reach them, and nothing else has to ask.
//
// On a CPU each thread may have tapes and models of its own. On a GPU only one thread computes: kernels share their
// temporary memory, and another thread's work would mix with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace unroll {

// The CPU, or a GPU by its number.
struct Device {
  bool gpu = false;  // else the CPU
  int index = 0;     // of several GPUs
  bool operator==(const Device&) const = default;
};
std::string name_of(Device device);  // "cpu", "cuda:0"

// "auto" (the first GPU that can compute, else the CPU), "cpu", "cuda", "cuda:1". Throws InputError for another name. Throws
// it also for a GPU that cannot serve, saying why: this build has no code for it, or another process has taken it.
// `process` counts the processes on a machine from 0. "auto" and "cuda" pass over that many GPUs, round and round, so
// that each process has one of its own if there are enough.
Device device_named(std::string_view name, int process = 0);
// From now on. Throws InputError if the device cannot serve, and Error once there are tensors elsewhere.
void set_device(Device device);
Device device();  // at first the CPU

// Why no GPU can compute here: "this build has no CUDA", "there is no NVIDIA driver", or what was found of those that
// device_named() tried. Empty if one can, as far as that is known.
std::string why_no_gpu();

// The GPU in use. Throws Error on a CPU.
struct DeviceFacts {
  std::string name;              // "NVIDIA H100 PCIe"
  int capability = 0;            // 90: compute capability 9.0
  int driver = 0, toolkit = 0;   // the newest CUDA that the driver runs, and that of this build; 13000: 13.0
  int64_t memory = 0, free = 0;  // bytes
  // Processors and their cycles per second; those of the memory, and its width in bits; bytes of the last cache before it.
  int processors = 0, memory_width = 0;
  double clock = 0, memory_clock = 0;    // Hz
  int64_t cache = 0, shared_memory = 0;  // shared: that a block may have
};
DeviceFacts device_facts();  // asks the driver

namespace detail {
extern bool on_gpu, recording;
}
inline bool on_gpu() { return detail::on_gpu; }  // tensors' numbers are in a GPU's memory

// --- bare memory ------------------------------------------------------------------------------------------------
// `to` and `from` are the device's, unless said otherwise; on the CPU all is the host's. In the order of the kernels.

// Returns when it is done.
void copy_to_host(void* to, const void* from, std::size_t bytes);
// May return before it is done; `from`, which is the host's, may be changed at once.
void copy_to_device(void* to, const void* from, std::size_t bytes);
// The two do not overlap.
void copy_on_device(void* to, const void* from, std::size_t bytes);
void clear_on_device(void* to, std::size_t bytes);  // zeros
// A GPU's, for the pools (memory.h). Null: it has not so much; throws Error for anything else.
void* allocate_on_gpu(std::size_t bytes);
void release_on_gpu(void* memory);  // gives back what allocate_on_gpu() gave
// Returns when all that was asked of the device is done. Throws Error if it failed.
void synchronize();

// Whether work that is asked of the device is recorded at the moment instead of done (graph.h). Nothing can come to
// the host or from it meanwhile: copy_to_host, copy_to_device and synchronize throw NeedsHost.
inline bool recording_graph() { return detail::recording; }

}  // namespace unroll

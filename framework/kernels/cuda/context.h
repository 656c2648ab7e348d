// The GPU in use, for this folder and for layers/cudnn: its stream, its libraries' handles, memory for one call, and what
// an error becomes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

namespace unroll::gpu {

// From now on this GPU is the one in use.
void set_device(int index);
// From here on this thread asks CUDA for the GPU in use: to CUDA each thread has a device of its own, at first
// number 0. stream() and the handles see to it. Returns the GPU's number.
int use_device();
// CUDA's answer for any GPU, before one is chosen.
cudaError_t try_device(int index);

// All work is put here, so all of it happens in the order in which it was asked for: that of the lane in use (framework/lanes.h).
cudaStream_t stream();
void use_lane(int lane);
int lane_in_use();
void mark(int number);   // records an event there
void await(int number);  // waits for it there

// Puts cuBLAS's work there; made at first use. Each lane has its own, with memory of its own: in one place two products at once
// would not have the bits of one. Throws Error, naming what is missing.
cublasHandle_t cublas_handle();

// Memory of the device for one call: who asks next in this lane gets the same. It grows, and never shrinks; once anything was
// recorded, what it was before stays, as graphs may use it.
void* workspace(std::size_t bytes);

// While work is recorded as a graph: where the number of the step will stand when it plays, and what it is now. Else null.
struct RecordedStep {
  const uint32_t* step = nullptr;
  uint32_t now = 0;
};
RecordedStep recorded_step();
void begin_recording(const RecordedStep& step);
cudaGraphExec_t end_recording(bool keep);  // null unless it is to be kept

// One number of the device's, for a sum on its way to where it belongs.
double* sum_of_reduction();

// Throws unless all is well: OutOfMemory where that is what happened, else Error with `what` failed and how. An error may
// be that of something asked for before. It is said once: what is asked for next does not report it, unless nothing more can be
// computed.
void check(cudaError_t status, const char* what);
void check(cublasStatus_t status, const char* what);
// The status of a launch of blocks that must be on the GPU at once: false if it does not take them, which is no failure. Throws
// as check() does.
bool was_taken(cudaError_t status);
[[noreturn]] void fail(const char* message);  // throws Error; fmt's headers are nothing for nvcc

}  // namespace unroll::gpu

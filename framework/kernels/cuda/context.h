// The GPU in use, for this folder and for layers/cudnn: its stream, its libraries' handles, memory for one call, and what
// an error becomes.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>

namespace unroll::gpu {

// All work is put here, so all of it happens in the order in which it was asked for.
cudaStream_t stream();

// Puts cuBLAS's work there; made at first use. Throws Error, naming what is missing.
cublasHandle_t cublas_handle();

// Memory of the device for one call: whoever asks next gets the same. It grows, and never shrinks.
void* workspace(std::size_t bytes);

// One number of the device's, for a sum on its way to where it belongs.
double* sum_of_reduction();

// Throws unless all is well: OutOfMemory where that is what happened, else Error with `what` failed and how. An error may
// be that of something asked for before.
void check(cudaError_t status, const char* what);
void check(cublasStatus_t status, const char* what);
[[noreturn]] void fail(const char* message);  // throws Error; fmt's headers are nothing for nvcc

}  // namespace unroll::gpu

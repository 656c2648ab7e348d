// Settings and records of the stand-in for cuDNN, for tests: a host implementation, against the real headers, of the
// calls that the engine `cudnn` makes. It is stricter than the library: every size exact, every buffer the device's,
// every call in its order, and NaN for everything that the documentation leaves undefined.
#pragma once

#include <cstdint>
#include <string>

#include <cudnn.h>

namespace standin {

// The places of matrices and biases in the weight space. The library documents that they must be asked for, not
// known.
enum class WeightLayout : uint8_t {
  dense,      // all matrices of all layers, then all biases, one behind the other
  aligned,    // the same, each at a multiple of 256 bytes
  by_layer,   // a layer's matrices and biases, then the next layer's
  last_first  // the gates of each matrix in reverse
};

struct Cudnn {
  std::size_t version = CUDNN_VERSION, cudart = CUDART_VERSION;  // cudart: of the CUDA that it was made for
  cudnnStatus_t create = CUDNN_STATUS_SUCCESS;  // of cudnnCreate: 1001 where there is no driver
  WeightLayout layout = WeightLayout::dense;
  int persistent_units = 1024, small_units = 192;  // hidden limits of the two static persistent kernels
  bool persistent_bf16 = true;  // whether these take bfloat16, which the library alone knows

  // States and their gradients go from step to step in the type of the numbers: then the calls of a window's chunks have the bits
  // of one call. Else in double.
  bool carries_rounded = false;

  bool takes_host_memory = false;  // for tests of the stand-in itself, whose buffers are the host's

  // Faults to be planted.
  bool lies_about_layout = false;    // it says dense, whatever it is
  std::size_t too_few_bytes = 0;     // of workspace, in its answer
  std::size_t persistent_bytes = 0;  // of workspace that the persistent algorithms want besides
  // Results of a forward pass by the standard algorithm, and by another.
  cudnnStatus_t failure = CUDNN_STATUS_SUCCESS, persistent_failure = CUDNN_STATUS_SUCCESS;

  std::string refusal;            // why a call was last refused
  int live = 0;                   // handles and descriptors that were created and not destroyed
  const void* weights = nullptr;  // of the last forward pass
  struct {
    cudnnDataType_t type, sums;
    cudnnMathType_t mathematics;
  } numbers = {};  // of the last network that was described
  struct {
    int forward = 0, backward_data = 0, backward_weights = 0;
  } calls;
};
Cudnn& cudnn();

}  // namespace standin

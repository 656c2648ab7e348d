// Contents of the stand-in's descriptors, for its own files.
#pragma once

#include <vector>

#include "tests/standin/cudnn.h"
#include "tests/standin/rnn_math.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> dims, strides;  // empty: it was not set
};
struct cudnnRNNDataStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  int steps = 0, batch = 0, width = 0;  // 0: it was not set
  std::vector<int> lengths;
  bool fills = false;
  double fill = 0;
};
namespace standin {
double (*rounding_to(cudnnDataType_t type))(double);
}
struct cudnnRNNStruct {
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNMode_t mode = CUDNN_LSTM;
  cudnnRNNBiasMode_t biases = CUDNN_RNN_DOUBLE_BIAS;
  cudnnDataType_t type = CUDNN_DATA_FLOAT, math = CUDNN_DATA_FLOAT;
  cudnnMathType_t math_type = CUDNN_DEFAULT_MATH;
  int input = 0, hidden = 0, width = 0, layers = 0, directions = 1;  // layers 0: it was not set
  bool padded = false;
  int built_for = 0;  // the batch of cudnnBuildRNNDynamic

  standin::RnnShape shape(const cudnnRNNDataStruct& x) const {
    return {static_cast<standin::RnnKind>(mode),
            x.steps,
            x.batch,
            input,
            hidden,
            width,
            layers,
            directions,
            standin::cudnn().carries_rounded ? standin::rounding_to(type) : nullptr};
  }
};

namespace standin {

// Refuses a call, and says why.
cudnnStatus_t refuse(cudnnStatus_t status, std::string why);
inline cudnnStatus_t bad(std::string why) { return refuse(CUDNN_STATUS_BAD_PARAM, std::move(why)); }

bool alive(const void* handle_or_descriptor);

std::size_t size_of(cudnnDataType_t type);
// Numbers of one of cuDNN's types from memory and back, without alignment.
Numbers load(const void* from, std::size_t count, cudnnDataType_t type);
void store(const Numbers& numbers, void* to, cudnnDataType_t type);

// The weight space.
struct WeightPiece {
  int pseudo, linear;  // as cudnnGetRNNWeightParams numbers them
  bool bias;
  int rows, cols;
  std::size_t offset;  // in numbers
};
std::vector<WeightPiece> weight_pieces(const cudnnRNNStruct& rnn, WeightLayout layout = cudnn().layout);
std::size_t weight_bytes(const cudnnRNNStruct& rnn);
std::vector<RnnWeights> load_weights(const cudnnRNNStruct& rnn, const void* space);
std::vector<RnnWeights> zero_weights(const cudnnRNNStruct& rnn);
void add_weights(const cudnnRNNStruct& rnn, std::vector<RnnWeights>& gradients, void* space);

}  // namespace standin

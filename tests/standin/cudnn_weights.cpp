// The weight space of the stand-in: where each matrix and bias lies, in the layout that the test asked for.
#include <algorithm>

#include "tests/standin/cudnn_descriptors.h"

namespace standin {

// Biases: a linear layer without one has no place. 4·H rows of a matrix lie together, gate by gate.
std::vector<WeightPiece> weight_pieces(const cudnnRNNStruct& rnn, WeightLayout layout) {
  const RnnShape shape = rnn.shape({});
  const int gates = shape.gates();
  const bool projects = rnn.width < rnn.hidden;
  std::vector<WeightPiece> matrices, biases;
  for (int k = 0; k < shape.pseudo_layers(); ++k) {
    for (int half = 0; half < 2; ++half) {
      const bool has_bias = rnn.biases == CUDNN_RNN_DOUBLE_BIAS ||
                            rnn.biases == (half ? CUDNN_RNN_SINGLE_REC_BIAS : CUDNN_RNN_SINGLE_INP_BIAS);
      for (int i = 0; i < gates; ++i) {
        const int linear = half * gates + (layout == WeightLayout::last_first ? gates - 1 - i : i);
        matrices.push_back({k, linear, false, rnn.hidden, half ? rnn.width : shape.input_of(k), 0});
        if (has_bias) biases.push_back({k, linear, true, rnn.hidden, 1, 0});
      }
    }
    if (projects) matrices.push_back({k, 2 * gates, false, rnn.width, rnn.hidden, 0});
  }
  std::vector<WeightPiece> all = std::move(matrices);
  all.insert(all.end(), biases.begin(), biases.end());
  if (layout == WeightLayout::by_layer) std::ranges::stable_sort(all, {}, &WeightPiece::pseudo);
  std::size_t offset = 0;
  const std::size_t alignment = layout == WeightLayout::aligned ? 256 / size_of(rnn.type) : 1;
  for (WeightPiece& piece : all) {
    offset = (offset + alignment - 1) / alignment * alignment;
    piece.offset = offset;
    offset += static_cast<std::size_t>(piece.rows) * static_cast<std::size_t>(piece.cols);
  }
  return all;
}

static std::size_t numbers_of(const WeightPiece& p) {
  return static_cast<std::size_t>(p.rows) * static_cast<std::size_t>(p.cols);
}
static char* at(const cudnnRNNStruct& rnn, const void* space, const WeightPiece& p) {
  return static_cast<char*>(const_cast<void*>(space)) + p.offset * size_of(rnn.type);
}

std::size_t weight_bytes(const cudnnRNNStruct& rnn) {
  std::size_t end = 0;
  for (const WeightPiece& p : weight_pieces(rnn)) end = std::max(end, p.offset + numbers_of(p));
  return end * size_of(rnn.type);
}

std::vector<RnnWeights> zero_weights(const cudnnRNNStruct& rnn) {
  const RnnShape shape = rnn.shape({});
  const auto z = [](int n) { return static_cast<std::size_t>(n); };
  const std::size_t sums = z(shape.gates() * rnn.hidden);
  std::vector<RnnWeights> result;
  for (int k = 0; k < shape.pseudo_layers(); ++k)
    result.push_back({Numbers(sums * z(shape.input_of(k))), Numbers(sums * z(rnn.width)), Numbers(sums),
                      Numbers(sums), Numbers(rnn.width < rnn.hidden ? z(rnn.width) * z(rnn.hidden) : 0)});
  return result;
}

// The place of a piece in the stand-in's own copy of the weights.
static double* at(const cudnnRNNStruct& rnn, std::vector<RnnWeights>& weights, const WeightPiece& p) {
  const int gates = rnn.shape({}).gates();
  RnnWeights& w = weights[static_cast<std::size_t>(p.pseudo)];
  if (p.linear == 2 * gates) return w.projection.data();
  Numbers& all = p.bias ? (p.linear < gates ? w.bias_x : w.bias_h) : (p.linear < gates ? w.x : w.h);
  return all.data() + static_cast<std::size_t>(p.linear % gates) * numbers_of(p);
}

std::vector<RnnWeights> load_weights(const cudnnRNNStruct& rnn, const void* space) {
  std::vector<RnnWeights> result = zero_weights(rnn);
  for (const WeightPiece& p : weight_pieces(rnn)) {
    const Numbers numbers = load(at(rnn, space, p), numbers_of(p), rnn.type);
    std::ranges::copy(numbers, at(rnn, result, p));
  }
  return result;
}

void add_weights(const cudnnRNNStruct& rnn, std::vector<RnnWeights>& gradients, void* space) {
  for (const WeightPiece& p : weight_pieces(rnn)) {
    Numbers numbers = load(at(rnn, space, p), numbers_of(p), rnn.type);
    const double* const more = at(rnn, gradients, p);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += more[i];
    store(numbers, at(rnn, space, p), rnn.type);
  }
}

}  // namespace standin

using namespace standin;

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, size_t* bytes) {
  if (!alive(handle) || !alive(rnn) || rnn->layers == 0 || !bytes) return bad("weight space: an argument");
  *bytes = weight_bytes(*rnn);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int32_t pseudo,
                                      size_t bytes, const void* space, int32_t linear,
                                      cudnnTensorDescriptor_t matrix, void** matrix_address,
                                      cudnnTensorDescriptor_t bias, void** bias_address) {
  if (!alive(handle) || !alive(rnn) || rnn->layers == 0) return bad("weight params: no network");
  if (!alive(matrix) || !alive(bias) || !matrix_address || !bias_address || !space)
    return bad("weight params: an argument is null");
  if (bytes != weight_bytes(*rnn)) return bad("weight params: the size of the weight space");
  if (pseudo < 0 || pseudo >= rnn->layers * rnn->directions) return bad("weight params: no such layer");
  *matrix = {}, *bias = {};
  *matrix_address = *bias_address = nullptr;
  for (const WeightPiece& p :
       weight_pieces(*rnn, cudnn().lies_about_layout ? WeightLayout::dense : cudnn().layout)) {
    if (p.pseudo != pseudo || p.linear != linear) continue;
    const cudnnTensorStruct description{rnn->type, {1, p.rows, p.cols}, {p.rows * p.cols, p.cols, 1}};
    (p.bias ? *bias : *matrix) = description;
    *(p.bias ? bias_address : matrix_address) = at(*rnn, space, p);
  }
  return CUDNN_STATUS_SUCCESS;
}

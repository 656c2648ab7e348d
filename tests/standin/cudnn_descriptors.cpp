// Handles and descriptors: what can be said of a network and its data, and what the library refuses. The rules were
// tried on cuDNN 9.19, whose setters need no GPU; tests/layers/cudnn_library_test.cpp compares the two where it is installed.
#include "tests/standin/cudnn_descriptors.h"

#include <cstring>
#include <set>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tests/standin/streams.h"

namespace standin {

Cudnn& cudnn() {
  static Cudnn state;
  return state;
}

cudnnStatus_t refuse(cudnnStatus_t status, std::string why) {
  cudnn().refusal = std::move(why);
  return status;
}

namespace {
std::set<const void*>& living() {
  static std::set<const void*> objects;
  return objects;
}
template <class T>
cudnnStatus_t make(T** out) {
  if (!out) return bad("create: nowhere to put it");
  *out = new T;
  living().insert(*out);
  ++cudnn().live;
  return CUDNN_STATUS_SUCCESS;
}
template <class T>
cudnnStatus_t destroy(T* object) {
  finish_all();  // what was asked for with it; the library keeps a copy
  if (living().erase(object) == 0) return bad("destroy: it is not alive");
  --cudnn().live;
  delete object;
  return CUDNN_STATUS_SUCCESS;
}

template <class T, class F>
Numbers load_as(const void* from, std::size_t count, F convert) {
  Numbers result(count);
  for (std::size_t i = 0; i < count; ++i) {
    T number;
    std::memcpy(&number, static_cast<const char*>(from) + i * sizeof(T), sizeof(T));
    result[i] = convert(number);
  }
  return result;
}
template <class F>
void store_as(const Numbers& numbers, void* to, F convert) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = convert(numbers[i]);
    std::memcpy(static_cast<char*>(to) + i * sizeof(number), &number, sizeof(number));
  }
}
}  // namespace

bool alive(const void* object) { return living().contains(object); }

std::size_t size_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}
Numbers load(const void* from, std::size_t count, cudnnDataType_t type) {
  if (type == CUDNN_DATA_DOUBLE) return load_as<double>(from, count, [](double x) { return x; });
  if (type == CUDNN_DATA_FLOAT) return load_as<float>(from, count, [](float x) { return double{x}; });
  if (type == CUDNN_DATA_HALF)
    return load_as<__half>(from, count, [](__half x) { return double{__half2float(x)}; });
  return load_as<__nv_bfloat16>(from, count, [](__nv_bfloat16 x) { return double{__bfloat162float(x)}; });
}
void store(const Numbers& numbers, void* to, cudnnDataType_t type) {
  if (type == CUDNN_DATA_DOUBLE) return store_as(numbers, to, [](double x) { return x; });
  if (type == CUDNN_DATA_FLOAT) return store_as(numbers, to, [](double x) { return static_cast<float>(x); });
  if (type == CUDNN_DATA_HALF)
    return store_as(numbers, to, [](double x) { return __float2half_rn(static_cast<float>(x)); });
  store_as(numbers, to, [](double x) { return __float2bfloat16_rn(static_cast<float>(x)); });
}

template <class T>
static double rounded(double x) {
  return static_cast<double>(static_cast<float>(T(static_cast<float>(x))));
}
double (*rounding_to(cudnnDataType_t type))(double) {
  if (type == CUDNN_DATA_DOUBLE) return nullptr;
  return type == CUDNN_DATA_FLOAT  ? rounded<float>
         : type == CUDNN_DATA_HALF ? rounded<__half>
                                   : rounded<__nv_bfloat16>;
}

}  // namespace standin

using namespace standin;

size_t cudnnGetVersion() { return cudnn().version; }
size_t cudnnGetCudartVersion() { return cudnn().cudart; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    case CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED:
      return "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED";
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
      return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    default:
      return "CUDNN_UNKNOWN_STATUS";
  }
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (cudnn().create == CUDNN_STATUS_SUCCESS) return make(handle);
  *handle = nullptr;
  return refuse(cudnn().create, "create: as the test asked for");
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (!alive(handle)) return bad("set stream: no handle");
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (!alive(handle) || !stream) return bad("get stream: no handle");
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* d) { return make(d); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d) { return destroy(d); }
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t d, cudnnDataType_t type, int rank,
                                         const int dims[], const int strides[]) {
  if (!alive(d)) return bad("tensor: no descriptor");
  if (rank < 1 || rank > CUDNN_DIM_MAX) return bad("tensor: rank");
  for (int i = 0; i < rank; ++i)
    if (dims[i] < 1 || (strides[i] < 1 && dims[i] > 1))
      return bad("tensor: a size or stride is not positive");
  *d = {type, {dims, dims + rank}, {strides, strides + rank}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t d, int wanted, cudnnDataType_t* type,
                                         int* rank, int dims[], int strides[]) {
  if (!alive(d)) return bad("tensor: no descriptor");
  *type = d->type;
  *rank = static_cast<int>(d->dims.size());
  for (std::size_t i = 0; i < d->dims.size() && static_cast<int>(i) < wanted; ++i)
    dims[i] = d->dims[i], strides[i] = d->strides[i];
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* d) { return make(d); }
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t d) { return destroy(d); }
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t d, cudnnRNNAlgo_t algorithm, cudnnRNNMode_t mode,
                                       cudnnRNNBiasMode_t biases, cudnnDirectionMode_t directions,
                                       cudnnRNNInputMode_t input_mode, cudnnDataType_t type,
                                       cudnnDataType_t math, cudnnMathType_t math_type, int32_t input,
                                       int32_t hidden, int32_t projection, int32_t layers,
                                       cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  const bool standard = algorithm == CUDNN_RNN_ALGO_STANDARD,
             dynamic = algorithm == CUDNN_RNN_ALGO_PERSIST_DYNAMIC;
  if (!alive(d)) return bad("rnn: no descriptor");
  if (algorithm < 0 || algorithm >= CUDNN_RNN_ALGO_COUNT) return bad("rnn: no such algorithm");
  if (biases < 0 || biases > CUDNN_RNN_SINGLE_REC_BIAS) return bad("rnn: no such mode of biases");
  if (math_type < 0 || math_type > CUDNN_FMA_MATH) return bad("rnn: no such mathematics");
  if (input < 1 || hidden < 1 || projection < 1 || layers < 1) return bad("rnn: a size is not positive");
  const auto refused = [](const char* why) { return refuse(CUDNN_STATUS_NOT_SUPPORTED, why); };
  if (mode < 0 || mode > CUDNN_GRU) return bad("rnn: no such cell");
  if (input_mode != CUDNN_LINEAR_INPUT) return refused("rnn: the stand-in knows linear inputs");
  if (dropout) return refused("rnn: the stand-in knows no dropout");
  if (biases != CUDNN_RNN_DOUBLE_BIAS && !standard) return refused("rnn: persistent kernels take two biases");
  if (flags & ~CUDNN_RNN_PADDED_IO_ENABLED) return bad("rnn: flags");
  if (projection > hidden) return refused("rnn: a projection is wider than the cell");
  if (projection < hidden && (mode != CUDNN_LSTM || !standard)) return refused("rnn: a projection here");
  const bool same = type == math;
  const bool known = type == CUDNN_DATA_FLOAT      ? same
                     : type == CUDNN_DATA_DOUBLE   ? same && (standard || dynamic)
                     : type == CUDNN_DATA_HALF     ? math == CUDNN_DATA_FLOAT || (same && standard)
                     : type == CUDNN_DATA_BFLOAT16 ? math == CUDNN_DATA_FLOAT
                                                   : false;
  if (!known) return refused("rnn: these types of numbers");
  *d = {algorithm,
        mode,
        biases,
        type,
        math,
        math_type,
        input,
        hidden,
        projection,
        layers,
        directions == CUDNN_BIDIRECTIONAL ? 2 : 1,
        flags == CUDNN_RNN_PADDED_IO_ENABLED};
  cudnn().numbers = {type, math, math_type};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int batch) {
  if (!alive(handle) || !alive(d) || batch < 1) return bad("build: an argument");
  if (d->algorithm != CUDNN_RNN_ALGO_PERSIST_DYNAMIC)
    return bad("build: the algorithm is not the dynamic one");
  d->built_for = batch;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* d) { return make(d); }
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t d) { return destroy(d); }
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int steps, int batch, int width,
                                        const int lengths[], void* fill) {
  const bool packed = layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
  if (!alive(d)) return bad("data: no descriptor");
  if (layout < 0 || layout > CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED) return bad("data: no such layout");
  if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE && type != CUDNN_DATA_HALF &&
      type != CUDNN_DATA_BFLOAT16)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "data: this type of numbers");
  if (steps < 1 || batch < 1 || width < 1 || !lengths)
    return bad("data: a size is not positive, or no lengths");
  if (steps > 65'535) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "data: too many steps");
  for (int b = 0; b < batch; ++b) {
    if (lengths[b] < 0 || lengths[b] > steps) return bad("data: a length");
    if (packed && (lengths[b] < 1 || lengths[b] > (b ? lengths[b - 1] : steps) || lengths[0] < steps))
      return bad("data: packed rows are to be descending, the first with all steps");
  }
  *d = {type, layout, steps, batch, width, {lengths, lengths + batch}, fill != nullptr};
  if (fill) d->fill = load(fill, 1, type)[0];
  return CUDNN_STATUS_SUCCESS;
}

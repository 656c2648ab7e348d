// A computing call of the stand-in for cuDNN: its arguments, what is wrong with them, and what lies in the reserve.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "framework/hash.h"
#include "tests/standin/cudnn_descriptors.h"
#include "tests/standin/standin.h"
#include "tests/standin/streams.h"

namespace standin {

enum class Stage : uint64_t { forward = 0x0F0A'4D00, data, weights };  // the last call made with this reserve

// At the start of a reserve.
struct ReserveHeader {
  Stage stage;
  uint64_t network, x, y, weights, h, c;  // sums of what the forward pass saw
};

struct Sizes {
  std::size_t work, reserve;
};
inline Sizes temporary_sizes(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x,
                             cudnnForwardMode_t mode) {
  const RnnShape shape = rnn.shape(x);
  const std::size_t rows = static_cast<std::size_t>(x.steps) * static_cast<std::size_t>(x.batch);
  std::size_t numbers =
      rows * static_cast<std::size_t>(shape.layers * shape.directions * shape.width);  // every y
  numbers += numbers_of_trace(shape) * static_cast<std::size_t>(shape.pseudo_layers());
  const std::size_t besides = rnn.algorithm == CUDNN_RNN_ALGO_STANDARD ? 0 : cudnn().persistent_bytes;
  const std::size_t work =
      rows * static_cast<std::size_t>(rnn.hidden) * size_of(rnn.type) + 13 + besides;  // odd on purpose
  return {work, mode == CUDNN_FWD_MODE_TRAINING ? sizeof(ReserveHeader) + numbers * sizeof(double) + 5 : 0};
}

inline uint64_t sum_of(const void* data, std::size_t bytes, uint64_t sum = unroll::hash_of_nothing) {
  for (std::size_t i = 0; data && i < bytes; ++i)
    sum = unroll::hash_with(sum, static_cast<const unsigned char*>(data)[i]);
  return sum;
}
inline uint64_t sum_of(const cudnnRNNStruct& r, const cudnnRNNDataStruct& x) {
  const int all[] = {r.algorithm, r.mode,   r.biases,     r.type,  r.input, r.hidden,
                     r.width,     r.layers, r.directions, x.steps, x.batch};
  return sum_of(x.lengths.data(), x.lengths.size() * sizeof(int), sum_of(all, sizeof(all)));
}

// Everything of one window that lies in the reserve behind its header.
struct Window {
  std::vector<RnnTrace> traces;  // by pseudo-layer
  std::vector<Numbers> y;        // by layer [T, B, D*P]

  explicit Window(const RnnShape& s)
      : traces(static_cast<std::size_t>(s.pseudo_layers()), trace_of(s)),
        y(static_cast<std::size_t>(s.layers),
          Numbers(static_cast<std::size_t>(s.steps) * static_cast<std::size_t>(s.batch) *
                  static_cast<std::size_t>(s.directions * s.width))) {}
  template <class F>
  void each(F copy) {
    for (RnnTrace& trace : traces)
      for (Numbers* part : trace.all()) copy(*part);
    for (Numbers& part : y) copy(part);
  }
  void save(void* reserve) {
    char* to = static_cast<char*>(reserve) + sizeof(ReserveHeader);
    each([&](Numbers& part) {
      std::memcpy(to, part.data(), part.size() * sizeof(double));
      to += part.size() * sizeof(double);
    });
    std::memset(to, 0x5A, 5);
  }
  void load(const void* reserve) {
    const char* from = static_cast<const char*>(reserve) + sizeof(ReserveHeader);
    each([&](Numbers& part) {
      std::memcpy(part.data(), from, part.size() * sizeof(double));
      from += part.size() * sizeof(double);
    });
  }
};

// A call's arguments, and what is wrong with them.
struct Call {
  cudnnHandle_t handle;
  const cudnnRNNStruct* rnn;
  const int32_t* lengths;
  const cudnnRNNDataStruct *x, *y;
  const cudnnTensorStruct *h, *c;
  std::size_t weight_space, work_space, reserve_space;
  const void *work, *reserve;
  bool has_c = true;  // whether c is an argument

  RnnShape shape() const { return rnn->shape(*x); }
  bool lstm() const { return rnn->mode == CUDNN_LSTM; }
  std::size_t numbers(const cudnnRNNDataStruct& d) const {
    return static_cast<std::size_t>(d.steps) * static_cast<std::size_t>(d.batch) *
           static_cast<std::size_t>(d.width);
  }
  std::size_t states(int width) const {
    return static_cast<std::size_t>(shape().pseudo_layers()) * static_cast<std::size_t>(x->batch) *
           static_cast<std::size_t>(width);
  }

  std::string fault(cudnnForwardMode_t mode) const {
    if (!alive(handle)) return "no handle";
    if (!alive(rnn) || rnn->layers == 0) return "no network";
    if (!alive(x) || !alive(y) || x->steps == 0 || y->steps == 0) return "no description of x or y";
    if (x->type != rnn->type || y->type != rnn->type) return "x or y is of another type than the network";
    if (x->steps != y->steps || x->batch != y->batch || x->lengths != y->lengths)
      return "x and y have different steps, rows or lengths";
    if (x->width != rnn->input || y->width != rnn->directions * rnn->width) return "the width of x or y";
    if (y->layout != x->layout) return "x and y have different layouts";
    if (x->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED) {
      for (const int length : x->lengths)
        if (length != x->steps) return "the stand-in knows packed rows that all have all steps";
    } else if (x->layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED) {
      return "the stand-in knows the layouts SEQ_MAJOR_PACKED and SEQ_MAJOR_UNPACKED";
    } else if (!rnn->padded) {
      return "an unpacked layout wants CUDNN_RNN_PADDED_IO_ENABLED";
    }
    // Since 8.9.1 those of the description serve, and null is allowed.
    const bool from_description = cudnn().version >= 8'901;
    if (lengths ? std::memcmp(lengths, x->lengths.data(), x->lengths.size() * sizeof(int)) != 0
                : !from_description)
      return "the lengths on the device are not those of the description";
    // cuDNN 9 fails on such a row in one of the passes, in the forward pass if there is no other.
    for (const int length : x->lengths)
      if (length == 0) return "a row without a step";
    const std::pair<const cudnnTensorStruct*, int> states[] = {{h, rnn->width}, {c, rnn->hidden}};
    for (const auto& [state, width] : std::span(states, lstm() && has_c ? 2 : 1)) {
      if (!alive(state) || state->type != rnn->type) return "no description of the state, or of another type";
      const std::vector<int> dims{rnn->layers * rnn->directions, x->batch, width};
      if (state->dims != dims || state->strides != std::vector<int>{dims[1] * dims[2], dims[2], 1})
        return "the state's sizes";
    }
    const Sizes sizes = temporary_sizes(*rnn, *x, mode);
    if (weight_space != weight_bytes(*rnn)) return "the size of the weight space";
    if (work_space != sizes.work || !work) return "the size of the workspace";
    if (reserve_space != sizes.reserve || (sizes.reserve && !reserve)) return "the size of the reserve";
    return "";
  }
  // A buffer that fault() checks. It may be null if it is `optional`.
  struct Buffer {
    const char* name;
    const void* memory;
    std::size_t bytes;
    bool optional = false;
  };
  Buffer of(const char* name, const void* memory, const cudnnRNNDataStruct& d) const {
    return {name, memory, numbers(d) * size_of(d.type)};
  }
  Buffer of_state(const char* name, const void* memory, int width) const {
    return {name, memory, states(width) * size_of(rnn->type), true};
  }
  std::string fault(std::initializer_list<Buffer> buffers) const {
    std::vector<Buffer> all = buffers;
    all.push_back({"the workspace", work, work_space});
    all.push_back({"the reserve", reserve, reserve_space, reserve_space == 0});
    all.push_back({"the lengths", lengths, x->lengths.size() * sizeof(int32_t), true});
    for (const Buffer& b : all) {
      if (!b.memory && !b.optional) return std::string(b.name) + ": null";
      if (b.memory && b.bytes && !cudnn().takes_host_memory && !owns(b.memory, b.bytes))
        return std::string(b.name) + ": not so many bytes of the device's memory";
      if (!cudnn().takes_host_memory && reinterpret_cast<std::uintptr_t>(b.memory) % 16 != 0)
        return std::string(b.name) + ": not aligned to 16 bytes";
    }
    return "";
  }
  // Returns a fault that only shows when a kernel is to be run.
  std::string unserved() const {
    const bool bf16 = rnn->type == CUDNN_DATA_BFLOAT16;
    if (control().capability < (bf16 ? 80 : rnn->type == CUDNN_DATA_HALF ? 53 : 0))
      return "this GPU has no such numbers";
    if (bf16 && !cudnn().persistent_bf16 &&
        (rnn->algorithm == CUDNN_RNN_ALGO_PERSIST_STATIC ||
         rnn->algorithm == CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H))
      return "there are no persistent kernels for bfloat16";
    for (const int length : x->lengths)
      if (length != x->steps && rnn->algorithm != CUDNN_RNN_ALGO_STANDARD)
        return "lengths want the standard algorithm";
    if (rnn->algorithm == CUDNN_RNN_ALGO_PERSIST_STATIC && rnn->hidden > cudnn().persistent_units)
      return "too many units for persistent kernels";
    if (rnn->algorithm == CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H && rnn->hidden > cudnn().small_units)
      return "too many units for the small persistent kernels";
    if (rnn->algorithm == CUDNN_RNN_ALGO_PERSIST_DYNAMIC && rnn->built_for != x->batch)
      return "cudnnBuildRNNDynamic was not called for this batch";
    return "";
  }
  // No call may rely on the workspace's contents between calls.
  void spoil_work_space() const { std::memset(const_cast<void*>(work), 0xA7, work_space); }

  Numbers data(const void* from, const cudnnRNNDataStruct& d) const {
    return standin::load(from, numbers(d), rnn->type);
  }
  Numbers state(const void* from, int width) const {
    return from ? standin::load(from, states(width), rnn->type) : Numbers(states(width));
  }
  // x or y without what lies in padding, which must not matter.
  uint64_t data_sum(const void* from, const cudnnRNNDataStruct& d) const {
    uint64_t sum = sum_of(nullptr, 0);
    const std::size_t row = static_cast<std::size_t>(d.width) * size_of(d.type);
    for (int t = 0; t < d.steps; ++t)
      for (int b = 0; b < d.batch; ++b)
        if (t < d.lengths[b])
          sum = sum_of(static_cast<const char*>(from) + static_cast<std::size_t>(t * d.batch + b) * row, row,
                       sum);
    return sum;
  }
};

inline void put_into_padding(const cudnnRNNDataStruct& d, double value, Numbers& numbers) {
  for (int t = 0; t < d.steps; ++t)
    for (int b = 0; b < d.batch; ++b)
      for (int i = 0; i < d.width && t >= d.lengths[b]; ++i) numbers[(t * d.batch + b) * d.width + i] = value;
}

}  // namespace standin

// The computing calls of the stand-in. A forward pass records in the reserve which calls may follow, and what must
// not have changed until then.
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <span>
#include <utility>

#include "framework/hash.h"
#include "tests/standin/cudnn_descriptors.h"
#include "tests/standin/standin.h"
#include "tests/standin/streams.h"

namespace standin {

namespace {

enum class Stage : uint64_t { forward = 0x0F0A'4D00, data, weights };  // the last call made with this reserve

// At the start of a reserve.
struct ReserveHeader {
  Stage stage;
  uint64_t network, x, y, weights, h, c;  // sums of what the forward pass saw
};

// A call while a graph is captured: it is made when that is launched, where a refusal would go unnoticed.
cudnnStatus_t at_launch(cudnnHandle_t handle, std::function<cudnnStatus_t()> call) {
  if (!alive(handle)) stop("captured: a call without a handle");
  in_stream_order(handle->stream, [call = std::move(call)] {
    if (call() != CUDNN_STATUS_SUCCESS) stop("refused at the launch of a graph: " + cudnn().refusal);
  });
  return CUDNN_STATUS_SUCCESS;
}

struct Sizes {
  std::size_t work, reserve;
};
Sizes temporary_sizes(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x, cudnnForwardMode_t mode) {
  const RnnShape shape = rnn.shape(x);
  const std::size_t rows = static_cast<std::size_t>(x.steps) * static_cast<std::size_t>(x.batch);
  std::size_t numbers =
      rows * static_cast<std::size_t>(shape.layers * shape.directions * shape.width);  // every y
  RnnTrace trace = trace_of(shape);
  for (const Numbers* part : trace.all())
    numbers += part->size() * static_cast<std::size_t>(shape.pseudo_layers());
  const std::size_t besides = rnn.algorithm == CUDNN_RNN_ALGO_STANDARD ? 0 : cudnn().persistent_bytes;
  const std::size_t work =
      rows * static_cast<std::size_t>(rnn.hidden) * size_of(rnn.type) + 13 + besides;  // odd on purpose
  return {work, mode == CUDNN_FWD_MODE_TRAINING ? sizeof(ReserveHeader) + numbers * sizeof(double) + 5 : 0};
}

uint64_t sum_of(const void* data, std::size_t bytes, uint64_t sum = unroll::hash_of_nothing) {
  for (std::size_t i = 0; data && i < bytes; ++i)
    sum = unroll::hash_with(sum, static_cast<const unsigned char*>(data)[i]);
  return sum;
}
uint64_t sum_of(const cudnnRNNStruct& r, const cudnnRNNDataStruct& x) {
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
        if (t < d.lengths[static_cast<std::size_t>(b)])
          sum = sum_of(static_cast<const char*>(from) + static_cast<std::size_t>(t * d.batch + b) * row, row,
                       sum);
    return sum;
  }
};

void put_into_padding(const cudnnRNNDataStruct& d, double value, Numbers& numbers) {
  for (int t = 0; t < d.steps; ++t)
    for (int b = 0; b < d.batch; ++b)
      for (int i = 0; i < d.width && t >= d.lengths[static_cast<std::size_t>(b)]; ++i)
        numbers[static_cast<std::size_t>((t * d.batch + b) * d.width + i)] = value;
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

}  // namespace standin

using namespace standin;

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                        cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x, size_t* work,
                                        size_t* reserve) {
  if (!alive(handle) || !alive(rnn) || !alive(x) || rnn->layers == 0 || x->steps == 0 || !work || !reserve)
    return bad("temporary sizes: an argument");
  const Sizes sizes = temporary_sizes(*rnn, *x, mode);
  *work = sizes.work - cudnn().too_few_bytes, *reserve = sizes.reserve;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t mode,
                              const int32_t lengths[], cudnnRNNDataDescriptor_t x_desc, const void* x,
                              cudnnRNNDataDescriptor_t y_desc, void* y, cudnnTensorDescriptor_t h_desc,
                              const void* hx, void* hy, cudnnTensorDescriptor_t c_desc, const void* cx,
                              void* cy, size_t weight_space, const void* weights, size_t work_space,
                              void* work, size_t reserve_space, void* reserve) {
  if (capturing())
    return at_launch(handle, [=] {
      return cudnnRNNForward(handle, rnn, mode, lengths, x_desc, x, y_desc, y, h_desc, hx, hy, c_desc, cx, cy,
                             weight_space, weights, work_space, work, reserve_space, reserve);
    });
  if (alive(handle)) finish(handle->stream);
  const OpenMemory open;
  const Call call{handle, rnn,          lengths,    x_desc,        y_desc, h_desc,
                  c_desc, weight_space, work_space, reserve_space, work,   reserve};
  if (const std::string fault = call.fault(mode); !fault.empty()) return bad("forward: " + fault);
  if (const std::string fault = call.unserved(); !fault.empty())
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "forward: " + fault);
  const int of_c = call.lstm() ? rnn->hidden : 0;
  if (const std::string fault = call.fault({call.of("x", x, *x_desc),
                                            call.of("y", y, *y_desc),
                                            call.of_state("hx", hx, rnn->width),
                                            call.of_state("hy", hy, rnn->width),
                                            call.of_state("cx", cx, of_c),
                                            call.of_state("cy", cy, of_c),
                                            {"the weights", weights, weight_space}});
      !fault.empty())
    return bad("forward: " + fault);
  const cudnnStatus_t planted =
      rnn->algorithm == CUDNN_RNN_ALGO_STANDARD ? cudnn().failure : cudnn().persistent_failure;
  if (planted != CUDNN_STATUS_SUCCESS) return refuse(planted, "forward: planted");
  const RnnShape shape = call.shape();
  const std::vector<RnnWeights> w = load_weights(*rnn, weights);
  Window window(shape);
  Numbers h = call.state(hx, shape.width), c = call.lstm() ? call.state(cx, shape.hidden) : Numbers(h.size());
  ReserveHeader header{Stage::forward,
                       sum_of(*rnn, *x_desc),
                       call.data_sum(x, *x_desc),
                       0,
                       sum_of(weights, weight_space),
                       sum_of(hx, h.size() * size_of(rnn->type)),
                       call.lstm() ? sum_of(cx, c.size() * size_of(rnn->type)) : 0};
  Numbers in = call.data(x, *x_desc);
  for (int k = 0; k < shape.pseudo_layers(); ++k) {
    Numbers& out = window.y[static_cast<std::size_t>(k / shape.directions)];
    if (k >= shape.directions) in = window.y[static_cast<std::size_t>(k / shape.directions - 1)];
    forward(shape, k, w[static_cast<std::size_t>(k)], x_desc->lengths, in, out,
            h.data() + k * shape.batch * shape.width, c.data() + k * shape.batch * shape.hidden,
            window.traces[static_cast<std::size_t>(k)]);
  }
  Numbers result = window.y.back();
  put_into_padding(*y_desc, y_desc->fills ? y_desc->fill : not_a_number, result);
  store(result, y, rnn->type);
  if (hy) store(h, hy, rnn->type);
  if (cy && call.lstm()) store(c, cy, rnn->type);
  header.y = call.data_sum(y, *y_desc);
  if (mode == CUDNN_FWD_MODE_TRAINING) {
    window.save(reserve);
    std::memcpy(reserve, &header, sizeof(header));
  }
  call.spoil_work_space();
  cudnn().weights = weights;
  ++cudnn().calls.forward;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, const int32_t lengths[],
                                      cudnnRNNDataDescriptor_t y_desc, const void* y, const void* dy,
                                      cudnnRNNDataDescriptor_t x_desc, void* dx,
                                      cudnnTensorDescriptor_t h_desc, const void* hx, const void* dhy,
                                      void* dhx, cudnnTensorDescriptor_t c_desc, const void* cx,
                                      const void* dcy, void* dcx, size_t weight_space, const void* weights,
                                      size_t work_space, void* work, size_t reserve_space, void* reserve) {
  if (capturing())
    return at_launch(handle, [=] {
      return cudnnRNNBackwardData_v8(handle, rnn, lengths, y_desc, y, dy, x_desc, dx, h_desc, hx, dhy, dhx,
                                     c_desc, cx, dcy, dcx, weight_space, weights, work_space, work,
                                     reserve_space, reserve);
    });
  if (alive(handle)) finish(handle->stream);
  const OpenMemory open;
  const Call call{handle, rnn,          lengths,    x_desc,        y_desc, h_desc,
                  c_desc, weight_space, work_space, reserve_space, work,   reserve};
  if (const std::string fault = call.fault(CUDNN_FWD_MODE_TRAINING); !fault.empty())
    return bad("backward data: " + fault);
  const int of_c = call.lstm() ? rnn->hidden : 0;
  if (const std::string fault = call.fault({call.of("y", y, *y_desc),
                                            call.of("dy", dy, *y_desc),
                                            call.of("dx", dx, *x_desc),
                                            call.of_state("hx", hx, rnn->width),
                                            call.of_state("dhy", dhy, rnn->width),
                                            call.of_state("dhx", dhx, rnn->width),
                                            call.of_state("cx", cx, of_c),
                                            call.of_state("dcy", dcy, of_c),
                                            call.of_state("dcx", dcx, of_c),
                                            {"the weights", weights, weight_space}});
      !fault.empty())
    return bad("backward data: " + fault);
  const RnnShape shape = call.shape();
  Numbers h0 = call.state(hx, shape.width),
          c0 = call.lstm() ? call.state(cx, shape.hidden) : Numbers(h0.size());
  ReserveHeader header;
  std::memcpy(&header, reserve, sizeof(header));
  if (header.stage != Stage::forward)
    return bad("backward data: no forward pass is before it, or another backward");
  if (header.network != sum_of(*rnn, *x_desc))
    return bad("backward data: another network or shape went forward");
  if (header.weights != sum_of(weights, weight_space))
    return bad("backward data: other weights went forward");
  if (header.y != call.data_sum(y, *y_desc)) return bad("backward data: this is not the y that went out");
  if (header.h != sum_of(hx, h0.size() * size_of(rnn->type)) ||
      (call.lstm() && header.c != sum_of(cx, c0.size() * size_of(rnn->type))))
    return bad("backward data: another state went in");
  const std::vector<RnnWeights> w = load_weights(*rnn, weights);
  Window window(shape);
  window.load(reserve);
  Numbers dh = call.state(dhy, shape.width);
  Numbers dc = call.lstm() ? call.state(dcy, shape.hidden) : Numbers(dh.size());
  Numbers d_out = call.data(dy, *y_desc), d_in;
  for (int k = shape.pseudo_layers() - 1; k >= 0; --k) {
    const bool last_direction = k % shape.directions == shape.directions - 1;
    if (last_direction) d_in = Numbers(k < shape.directions ? call.numbers(*x_desc) : call.numbers(*y_desc));
    backward_data(shape, k, w[static_cast<std::size_t>(k)], x_desc->lengths,
                  window.y[static_cast<std::size_t>(k / shape.directions)], d_out,
                  h0.data() + k * shape.batch * shape.width, c0.data() + k * shape.batch * shape.hidden,
                  dh.data() + k * shape.batch * shape.width, dc.data() + k * shape.batch * shape.hidden, d_in,
                  window.traces[static_cast<std::size_t>(k)]);
    if (k % shape.directions == 0) d_out = d_in;
  }
  put_into_padding(*x_desc, not_a_number, d_in);
  store(d_in, dx, rnn->type);
  if (dhx) store(dh, dhx, rnn->type);
  if (dcx && call.lstm()) store(dc, dcx, rnn->type);
  header.stage = Stage::data;
  window.save(reserve);
  std::memcpy(reserve, &header, sizeof(header));
  call.spoil_work_space();
  ++cudnn().calls.backward_data;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                         cudnnWgradMode_t mode, const int32_t lengths[],
                                         cudnnRNNDataDescriptor_t x_desc, const void* x,
                                         cudnnTensorDescriptor_t h_desc, const void* hx,
                                         cudnnRNNDataDescriptor_t y_desc, const void* y, size_t weight_space,
                                         void* gradients, size_t work_space, void* work, size_t reserve_space,
                                         void* reserve) {
  if (capturing())
    return at_launch(handle, [=] {
      return cudnnRNNBackwardWeights_v8(handle, rnn, mode, lengths, x_desc, x, h_desc, hx, y_desc, y,
                                        weight_space, gradients, work_space, work, reserve_space, reserve);
    });
  if (alive(handle)) finish(handle->stream);
  const OpenMemory open;
  const Call call{handle,       rnn,        lengths,       x_desc, y_desc,  h_desc, nullptr,
                  weight_space, work_space, reserve_space, work,   reserve, false};
  if (const std::string fault = call.fault(CUDNN_FWD_MODE_TRAINING); !fault.empty())
    return bad("backward weights: " + fault);
  if (mode != CUDNN_WGRAD_MODE_ADD)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "backward weights: they can only be added");
  if (const std::string fault = call.fault({call.of("x", x, *x_desc),
                                            call.of("y", y, *y_desc),
                                            call.of_state("hx", hx, rnn->width),
                                            {"the gradients", gradients, weight_space}});
      !fault.empty())
    return bad("backward weights: " + fault);
  const RnnShape shape = call.shape();
  const Numbers h0 = call.state(hx, shape.width);
  ReserveHeader header;
  std::memcpy(&header, reserve, sizeof(header));
  if (header.stage != Stage::data)
    return bad("backward weights: no backward data is before it, or another of these");
  if (header.network != sum_of(*rnn, *x_desc))
    return bad("backward weights: another network or shape went forward");
  if (header.x != call.data_sum(x, *x_desc)) return bad("backward weights: another x went forward");
  if (header.y != call.data_sum(y, *y_desc)) return bad("backward weights: this is not the y that went out");
  if (header.h != sum_of(hx, h0.size() * size_of(rnn->type)))
    return bad("backward weights: another state went in");
  Window window(shape);
  window.load(reserve);
  std::vector<RnnWeights> dw = zero_weights(*rnn);
  const Numbers first = call.data(x, *x_desc);
  for (int k = 0; k < shape.pseudo_layers(); ++k) {
    const std::size_t layer = static_cast<std::size_t>(k / shape.directions);
    backward_weights(shape, k, x_desc->lengths, layer ? window.y[layer - 1] : first, window.y[layer],
                     h0.data() + k * shape.batch * shape.width, window.traces[static_cast<std::size_t>(k)],
                     dw[static_cast<std::size_t>(k)]);
  }
  add_weights(*rnn, dw, gradients);
  header.stage = Stage::weights;
  std::memcpy(reserve, &header, sizeof(header));
  call.spoil_work_space();
  ++cudnn().calls.backward_weights;
  return CUDNN_STATUS_SUCCESS;
}

// The computing calls of the stand-in. A forward pass records in the reserve which calls may follow, and what must
// not have changed until then.
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "tests/standin/cudnn_call.h"
#include "tests/standin/standin.h"
#include "tests/standin/streams.h"

namespace standin {

namespace {

// Whether a call happens later: in another stream than the first, or when the graph that is captured is launched. Then a refusal
// would go unnoticed, and ends the process.
bool carrying_out = false;
bool is_put_off(cudnnHandle_t handle) {
  if (carrying_out) return false;
  if (capturing() && !alive(handle)) stop("captured: a call without a handle");
  return capturing() || (alive(handle) && is_stream(handle->stream) && !is_first_stream(handle->stream));
}
cudnnStatus_t put_off(cudnnHandle_t handle, std::function<cudnnStatus_t()> call) {
  if (!capturing() && cudnn().failure != CUDNN_STATUS_SUCCESS) return refuse(cudnn().failure, "planted");
  in_stream_order(handle->stream, [call = std::move(call)] {
    carrying_out = true;
    if (call() != CUDNN_STATUS_SUCCESS) stop("refused when it was its turn: " + cudnn().refusal);
    carrying_out = false;
  });
  return CUDNN_STATUS_SUCCESS;
}
void finish_before(cudnnHandle_t handle) {
  if (!carrying_out && alive(handle)) finish(handle->stream);
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
  if (is_put_off(handle))
    return put_off(handle, [=] {
      return cudnnRNNForward(handle, rnn, mode, lengths, x_desc, x, y_desc, y, h_desc, hx, hy, c_desc, cx, cy,
                             weight_space, weights, work_space, work, reserve_space, reserve);
    });
  finish_before(handle);
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
  if (!control().computes) return CUDNN_STATUS_SUCCESS;
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
    Numbers& out = window.y[k / shape.directions];
    if (k >= shape.directions) in = window.y[k / shape.directions - 1];
    forward(shape, k, w[k], x_desc->lengths, in, out, h.data() + k * shape.batch * shape.width,
            c.data() + k * shape.batch * shape.hidden, window.traces[k]);
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
  if (is_put_off(handle))
    return put_off(handle, [=] {
      return cudnnRNNBackwardData_v8(handle, rnn, lengths, y_desc, y, dy, x_desc, dx, h_desc, hx, dhy, dhx,
                                     c_desc, cx, dcy, dcx, weight_space, weights, work_space, work,
                                     reserve_space, reserve);
    });
  finish_before(handle);
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
  if (!control().computes) return CUDNN_STATUS_SUCCESS;
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
    backward_data(shape, k, w[k], x_desc->lengths, window.y[k / shape.directions], d_out,
                  h0.data() + k * shape.batch * shape.width, c0.data() + k * shape.batch * shape.hidden,
                  dh.data() + k * shape.batch * shape.width, dc.data() + k * shape.batch * shape.hidden, d_in,
                  window.traces[k]);
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
  if (is_put_off(handle))
    return put_off(handle, [=] {
      return cudnnRNNBackwardWeights_v8(handle, rnn, mode, lengths, x_desc, x, h_desc, hx, y_desc, y,
                                        weight_space, gradients, work_space, work, reserve_space, reserve);
    });
  finish_before(handle);
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
  if (!control().computes) return CUDNN_STATUS_SUCCESS;
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
                     h0.data() + k * shape.batch * shape.width, window.traces[k], dw[k]);
  }
  add_weights(*rnn, dw, gradients);
  header.stage = Stage::weights;
  std::memcpy(reserve, &header, sizeof(header));
  call.spoil_work_space();
  ++cudnn().calls.backward_weights;
  return CUDNN_STATUS_SUCCESS;
}

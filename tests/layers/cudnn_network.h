// A network and its windows, computed by calls of the stand-in for cuDNN.
#pragma once

#include <array>
#include <cmath>
#include <cstring>
#include <memory>

#include "tests/layers/agreement.h"
#include "tests/standin/cudnn.h"
#include "tests/standin/standin.h"

namespace unroll {

using standin::cudnn;
using standin::WeightLayout;

constexpr cudnnDataType_t type_of_real = sizeof(real) == 8 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
constexpr cudnnStatus_t ok = CUDNN_STATUS_SUCCESS;

// A descriptor or a handle, for as long as it is needed.
template <class T, cudnnStatus_t create(T*), cudnnStatus_t destroy(T)>
struct Owned {
  Owned() { REQUIRE(create(&value) == ok); }
  Owned(const Owned&) = delete;
  ~Owned() { destroy(value); }
  operator T() const { return value; }
  T value = nullptr;
};
using Handle = Owned<cudnnHandle_t, cudnnCreate, cudnnDestroy>;
using TensorDescriptor =
    Owned<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using NetworkDescriptor = Owned<cudnnRNNDescriptor_t, cudnnCreateRNNDescriptor, cudnnDestroyRNNDescriptor>;
using DataDescriptor =
    Owned<cudnnRNNDataDescriptor_t, cudnnCreateRNNDataDescriptor, cudnnDestroyRNNDataDescriptor>;

using Bytes = std::vector<char>;

// A network by hand: one call for all layers, weights copied to where cuDNN wants them.
struct Network {
  bool lstm = true;
  int input = 3, hidden = 4, width = 4, layers = 1, directions = 1, steps = 5, batch = 2;
  cudnnRNNBiasMode_t biases = CUDNN_RNN_DOUBLE_BIAS;
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;
  std::vector<int32_t> lengths = {};

  Handle handle = {};
  NetworkDescriptor rnn = {};
  DataDescriptor x = {}, y = {};
  TensorDescriptor h = {}, c = {};
  size_t weight_bytes = 0, work_bytes = 0, reserve_bytes = 0;
  Bytes weights = {}, work = {}, reserve = {};

  void set() {
    if (lengths.empty()) lengths.assign(static_cast<size_t>(batch), steps);
    REQUIRE(cudnnSetRNNDescriptor_v8(rnn, algorithm, lstm ? CUDNN_LSTM : CUDNN_GRU, biases,
                                     directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                                     CUDNN_LINEAR_INPUT, type_of_real, type_of_real, CUDNN_FMA_MATH, input,
                                     hidden, width, layers, nullptr, CUDNN_RNN_PADDED_IO_ENABLED) == ok);
    real zero = 0;
    const auto describe = [&](cudnnRNNDataDescriptor_t d, int of, real* fill) {
      REQUIRE(cudnnSetRNNDataDescriptor(d, type_of_real, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, steps,
                                        batch, of, lengths.data(), fill) == ok);
    };
    describe(x, input, nullptr), describe(y, directions * width, &zero);
    const auto describe_state = [&](cudnnTensorDescriptor_t d, int of) {
      const int dims[] = {layers * directions, batch, of}, strides[] = {batch * of, of, 1};
      REQUIRE(cudnnSetTensorNdDescriptor(d, type_of_real, 3, dims, strides) == ok);
    };
    describe_state(h, width), describe_state(c, hidden);
    REQUIRE(cudnnGetRNNWeightSpaceSize(handle, rnn, &weight_bytes) == ok);
    REQUIRE(cudnnGetRNNTempSpaceSizes(handle, rnn, CUDNN_FWD_MODE_TRAINING, x, &work_bytes, &reserve_bytes) ==
            ok);
    weights.assign(weight_bytes, 0), work.assign(work_bytes, 0), reserve.assign(reserve_bytes, 0);
  }

  // Calls each(place in `space`, parameter's name, first element, elements) for all that the model has.
  template <class F>
  void each_piece(Bytes& space, const F& each) {
    const TensorDescriptor of_matrix, of_bias;
    const int gates = lstm ? 4 : 3;
    for (int k = 0; k < layers * directions; ++k)
      for (int i = 0; i < 2 * gates + (width < hidden); ++i) {
        void *matrix, *bias;
        REQUIRE(cudnnGetRNNWeightParams(handle, rnn, k, weight_bytes, space.data(), i, of_matrix, &matrix,
                                        of_bias, &bias) == ok);
        const std::string layer = fmt::format("_l{}{}", k / directions, k % directions ? "_reverse" : "");
        cudnnDataType_t type;
        int rank, dims[3], strides[3];
        REQUIRE(cudnnGetTensorNdDescriptor(of_matrix, 3, &type, &rank, dims, strides) == ok);
        const int gate = i % gates, rows = dims[1], cols = dims[2];
        const char* name = i == 2 * gates ? ".weight_hr" : i < gates ? ".weight_ih" : ".weight_hh";
        each(static_cast<real*>(matrix), name + layer, i == 2 * gates ? 0 : gate * rows * cols, rows * cols);
        // A second bias is 0 but for that of a GRU's n.
        if (bias && i < gates) each(static_cast<real*>(bias), ".bias" + layer, gate * rows, rows);
        if (bias && !lstm && i == 2 * gates - 1) each(static_cast<real*>(bias), ".bias_hn" + layer, 0, rows);
      }
  }

  cudnnStatus_t forward(const Window& w, Tensor& out, Tensor& hy, Tensor& cy) {
    return cudnnRNNForward(handle, rnn, CUDNN_FWD_MODE_TRAINING, lengths.data(), x, w.x.data(), y, out.data(),
                           h, w.h0.data(), hy.data(), c, w.c0.data(), cy.data(), weight_bytes, weights.data(),
                           work_bytes, work.data(), reserve_bytes, reserve.data());
  }
  cudnnStatus_t backward_data(const Window& w, const Tensor& out, Tensor& dx, Tensor& dh, Tensor& dc) {
    return cudnnRNNBackwardData_v8(handle, rnn, lengths.data(), y, out.data(), w.of_y.data(), x, dx.data(), h,
                                   w.h0.data(), w.of_h.data(), dh.data(), c, w.c0.data(), w.of_c.data(),
                                   dc.data(), weight_bytes, weights.data(), work_bytes, work.data(),
                                   reserve_bytes, reserve.data());
  }
  cudnnStatus_t backward_weights(const Window& w, const Tensor& out, Bytes& gradients) {
    return cudnnRNNBackwardWeights_v8(handle, rnn, CUDNN_WGRAD_MODE_ADD, lengths.data(), x, w.x.data(), h,
                                      w.h0.data(), y, out.data(), weight_bytes, gradients.data(), work_bytes,
                                      work.data(), reserve_bytes, reserve.data());
  }
};

// A window's buffers for making the calls by hand.
struct Run {
  Network net;
  std::unique_ptr<Window> window;
  Tensor y, hy, cy, dx, dh, dc;
  Bytes gradients;

  // `at_fault`: puts each matrix where the gate after it belongs.
  void make(const WindowCase& c, bool at_fault = false) {
    net.set();
    window = std::make_unique<Window>(c, Engine::composed);
    const std::string layer = net.lstm ? "lstm" : "gru";
    net.each_piece(net.weights, [&](real* place, const std::string& name, int first, int count) {
      Parameter& p = *window->params.find(layer + name);
      if (at_fault && name.starts_with(".weight_ih")) first = static_cast<int>((first + count) % p.size());
      std::copy_n(p.leaf_value().data() + first, count, place);
    });
    const auto like = [](const Tensor& t) { return t.defined() ? Tensor(t.shape()) : Tensor(); };
    y = like(window->of_y), hy = like(window->h0), cy = like(window->c0);
    dx = like(window->x), dh = like(window->h0), dc = like(window->c0);
    gradients.assign(net.weight_bytes, 0);
  }

  Results run() {
    CHECK(net.forward(*window, y, hy, cy) == ok);
    CHECK(net.backward_data(*window, y, dx, dh, dc) == ok);
    CHECK(net.backward_weights(*window, y, gradients) == ok);
    REQUIRE(cudnn().refusal == "");
    for (int t = 0; t < net.steps;
         ++t)  // padding has no gradient, and the library does not say what it writes there
      for (int b = 0; b < net.batch; ++b)
        if (t >= net.lengths[static_cast<size_t>(b)])
          for (real& v : dx[t][b].on_host(Access::change)) CHECK(std::isnan(std::exchange(v, 0)));
    Results results = {{"y", y}, {"h", hy}};
    if (net.lstm) results.emplace_back("c", cy);
    results.insert(results.end(), {{"dx", dx}, {"dh0", dh}});
    if (net.lstm) results.emplace_back("dc0", dc);
    const std::string layer = net.lstm ? "lstm" : "gru";
    for (const auto& p : window->params.all()) results.emplace_back("d " + p->name, Tensor(p->shape));
    net.each_piece(gradients, [&](real* place, const std::string& name, int first, int count) {
      for (auto& [of, gradient] : results)
        if (of == "d " + layer + name) std::copy_n(place, count, gradient.data() + first);
    });
    return results;
  }
};

inline WindowCase case_of(const Network& n) {
  Lengths lengths;
  if (!n.lengths.empty()) lengths.steps = ids({n.batch}, n.lengths);
  const int input = n.input, hidden = n.hidden, layers = n.layers,
            projection = n.width < n.hidden ? n.width : 0;
  const bool both = n.directions == 2;
  return {
      .name = fmt::format("{} {}->{}/{} layers {} directions {} steps {} batch {}{}", n.lstm ? "lstm" : "gru",
                          input, hidden, n.width, layers, n.directions, n.steps, n.batch,
                          n.lengths.empty() ? "" : " with lengths"),
      .layer = [=, lstm = n.lstm](ParameterSet& params, Engine engine) -> RecurrentLayer {
        if (lstm)
          return Lstm(params / "lstm", {.input = input,
                                        .hidden = hidden,
                                        .layers = layers,
                                        .projection = projection,
                                        .bidirectional = both,
                                        .engine = engine});
        return Gru(
            params / "gru",
            {.input = input, .hidden = hidden, .layers = layers, .bidirectional = both, .engine = engine});
      },
      .steps = n.steps,
      .batch = n.batch,
      .lengths = lengths};
}

// The stand-in as it was found; and its memory is open, since here the calls are made by hand.
struct FreshNetwork {
  FreshNetwork() { cudnn() = {}, cudnn().takes_host_memory = true; }
  ~FreshNetwork() {
    CHECK(cudnn().live == 0);
    cudnn() = {};
  }
  standin::OpenMemory open;
};

inline void randomize(Network& n, RandomStream& random) {
  const auto size = [&](uint32_t most) { return static_cast<int>(1 + random.below(most)); };
  n.lstm = random.below(2) == 0;
  n.input = size(6), n.hidden = size(6), n.layers = size(3), n.directions = size(2), n.steps = size(6);
  n.batch = size(4);
  n.width = n.lstm && n.hidden > 1 && random.below(3) == 0 ? n.hidden - 1 : n.hidden;
  n.biases = n.lstm && random.below(2) ? CUDNN_RNN_SINGLE_INP_BIAS : CUDNN_RNN_DOUBLE_BIAS;
  if (random.below(2))
    for (int b = 0; b < n.batch; ++b)
      n.lengths.push_back(static_cast<int>(1 + random.below(static_cast<uint32_t>(n.steps))));
}

}  // namespace unroll

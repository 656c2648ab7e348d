// The stand-in for cuDNN itself: what it computes against the engine `composed`, and what it refuses.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "tests/layers/agreement.h"
#include "tests/standin/cudnn.h"
#include "tests/standin/standin.h"

using namespace unroll;
using standin::cudnn;
using standin::WeightLayout;

namespace {

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

WindowCase case_of(const Network& n) {
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
struct Fresh {
  Fresh() { cudnn() = {}, cudnn().takes_host_memory = true; }
  ~Fresh() {
    CHECK(cudnn().live == 0);
    cudnn() = {};
  }
  standin::OpenMemory open;
};

void randomize(Network& n, RandomStream& random) {
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

}  // namespace

TEST_CASE("the stand-in computes what composed computes, forward and backward, in every layout of weights") {
  const Fresh fresh;
  RandomStream random(3, "cases");
  for (int i = 0; i < 60; ++i) {
    cudnn().layout = std::array{WeightLayout::dense, WeightLayout::aligned, WeightLayout::by_layer,
                                WeightLayout::last_first}[static_cast<size_t>(i % 4)];
    Run run;
    randomize(run.net, random);
    const WindowCase c = case_of(run.net);
    run.make(c);
    check_agreement(c, {run.run()}, run.net.input, run.net.hidden, false);
  }
}

TEST_CASE("gradients of weights are added to what is there") {
  const Fresh fresh;
  Run run;
  const WindowCase c = case_of(run.net);
  run.make(c);
  run.run();
  const Bytes once = run.gradients;
  run.run();
  const auto number = [](const Bytes& bytes, size_t i) {
    real value;
    std::memcpy(&value, bytes.data() + i * sizeof(real), sizeof(real));
    return value;
  };
  for (size_t i = 0; i < once.size() / sizeof(real); ++i)
    CHECK(number(run.gradients, i) == doctest::Approx(2 * number(once, i)).epsilon(1e-6));
}

TEST_CASE("planted: weights in another order than the layout's give other results") {
  const Fresh fresh;
  Run right, wrong;
  const WindowCase c = case_of(right.net);
  right.make(c), wrong.make(c, true);
  CHECK(distance(right.run()[0].second, wrong.run()[0].second) > 0.01);
}

TEST_CASE("planted: sizes one byte off, and arguments that do not fit each other, are refused") {
  const Fresh fresh;
  const auto refused = [&](auto change) {
    Run run;
    const WindowCase c = case_of(run.net);
    run.make(c);
    change(run);
    cudnn().refusal = "";
    CHECK(run.net.forward(*run.window, run.y, run.hy, run.cy) == CUDNN_STATUS_BAD_PARAM);
    return cudnn().refusal;
  };
  CHECK(refused([](Run& r) { --r.net.work_bytes; }) == "forward: the size of the workspace");
  CHECK(refused([](Run& r) { --r.net.reserve_bytes; }) == "forward: the size of the reserve");
  CHECK(refused([](Run& r) { r.net.weight_bytes -= sizeof(real); }) ==
        "forward: the size of the weight space");
  CHECK(refused([](Run& r) { r.net.lengths[1] = 2; }) ==
        "forward: the lengths on the device are not those of the description");
  CHECK(refused([](Run& r) {
          const std::vector<int32_t> none(static_cast<size_t>(r.net.batch), 0);
          r.net.lengths.assign(none.begin(), none.end());
          for (const auto& [d, width] :
               {std::pair<cudnnRNNDataDescriptor_t, int>{r.net.x, r.net.input}, {r.net.y, r.net.width}})
            cudnnSetRNNDataDescriptor(d, type_of_real, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, r.net.steps,
                                      r.net.batch, width, none.data(), nullptr);
        }) == "forward: a row without a step");
  CHECK(refused([](Run& r) {
          const int dims[] = {1, r.net.batch, r.net.width + 1}, strides[] = {1, 1, 1};
          cudnnSetTensorNdDescriptor(r.net.h, type_of_real, 3, dims, strides);
        }) == "forward: the state's sizes");
  CHECK(refused([](Run& r) {
          const std::vector<int32_t> shorter(static_cast<size_t>(r.net.batch), 1);
          cudnnSetRNNDataDescriptor(r.net.y, type_of_real, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                    r.net.steps, r.net.batch, r.net.width, shorter.data(), nullptr);
        }) == "forward: x and y have different steps, rows or lengths");
  for (const cudnnDataType_t type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
    const auto describe = [type](Run& r, cudnnRNNDataDescriptor_t d, int width) {
      cudnnSetRNNDataDescriptor(d, type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, r.net.steps, r.net.batch,
                                width, r.net.lengths.data(), nullptr);
    };
    CHECK(refused([&](Run& r) { describe(r, r.net.x, r.net.input); }) ==
          "forward: x or y is of another type than the network");
    CHECK(refused([&](Run& r) { describe(r, r.net.y, r.net.width); }) ==
          "forward: x or y is of another type than the network");
    CHECK(refused([&](Run& r) {
            const int dims[] = {1, r.net.batch, r.net.width},
                      strides[] = {r.net.batch * r.net.width, r.net.width, 1};
            cudnnSetTensorNdDescriptor(r.net.c, type, 3, dims, strides);
          }) == "forward: no description of the state, or of another type");
    // A network whose numbers are smaller wants half of the memory.
    CHECK(refused([&](Run& r) {
            cudnnSetRNNDescriptor_v8(r.net.rnn, r.net.algorithm, CUDNN_LSTM, r.net.biases,
                                     CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, type, CUDNN_DATA_FLOAT,
                                     CUDNN_TENSOR_OP_MATH, r.net.input, r.net.hidden, r.net.width,
                                     r.net.layers, nullptr, CUDNN_RNN_PADDED_IO_ENABLED);
            describe(r, r.net.x, r.net.input), describe(r, r.net.y, r.net.width);
            const int dims[] = {1, r.net.batch, r.net.width},
                      strides[] = {r.net.batch * r.net.width, r.net.width, 1};
            for (cudnnTensorDescriptor_t d :
                 {cudnnTensorDescriptor_t(r.net.h), cudnnTensorDescriptor_t(r.net.c)})
              cudnnSetTensorNdDescriptor(d, type, 3, dims, strides);
          }) == "forward: the size of the weight space");
  }
}

TEST_CASE("planted: calls out of order are refused, and so is what changed in between") {
  const Fresh fresh;
  Run run;
  const WindowCase c = case_of(run.net);
  run.make(c);
  const auto data = [&] { return run.net.backward_data(*run.window, run.y, run.dx, run.dh, run.dc); };
  const auto weights = [&] { return run.net.backward_weights(*run.window, run.y, run.gradients); };
  const auto forward = [&] { return run.net.forward(*run.window, run.y, run.hy, run.cy); };
  CHECK(data() == CUDNN_STATUS_BAD_PARAM);  // before a forward pass
  REQUIRE(forward() == ok);
  CHECK(weights() == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnn().refusal == "backward weights: no backward data is before it, or another of these");
  CHECK(data() == ok);
  CHECK(data() == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnn().refusal == "backward data: no forward pass is before it, or another backward");
  CHECK(weights() == ok);
  CHECK(weights() == CUDNN_STATUS_BAD_PARAM);
  CHECK(data() == CUDNN_STATUS_BAD_PARAM);

  REQUIRE(forward() == ok);
  run.net.weights[0] ^= 1;
  CHECK(data() == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnn().refusal == "backward data: other weights went forward");
  run.net.weights[0] ^= 1;
  run.y.data()[0] += 1;
  CHECK(data() == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnn().refusal == "backward data: this is not the y that went out");
  run.y.data()[0] -= 1;
  REQUIRE(forward() == ok);
  REQUIRE(data() == ok);
  run.window->x.data()[0] += 1;
  CHECK(weights() == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnn().refusal == "backward weights: another x went forward");
}

// The buffers of a call by the names that the stand-in has for them, in the device's memory and again in the host's.
class Arguments {
 public:
  void add(const char* name, const void* bytes, size_t count) {
    Tensor device({static_cast<int>(count / sizeof(real) + 1)});
    std::memcpy(device.data(), bytes, count);
    all_.push_back(
        {name, device, Bytes(static_cast<const char*>(bytes), static_cast<const char*>(bytes) + count)});
  }
  void add(const char* name, const Tensor& t) {
    add(name, t.data(), static_cast<size_t>(t.size()) * sizeof(real));
  }
  real* operator[](const std::string& name) {
    for (Buffer& b : all_)
      if (b.name == name) return name == planted_ ? reinterpret_cast<real*>(b.host.data()) : b.device.data();
    throw Error(fmt::format("no buffer {}", name));
  }
  // That `call` refuses a pointer of the host's by the argument's name, and serves when all are the device's.
  template <class Call>
  void check(const std::string& call_name, const std::vector<std::string>& names, Call call) {
    for (const std::string& name : names) {
      planted_ = name;
      CHECK(call() == CUDNN_STATUS_BAD_PARAM);
      CHECK(cudnn().refusal ==
            fmt::format("{}: {}: not so many bytes of the device's memory", call_name, name));
    }
    planted_.clear();
    CHECK(call() == ok);
  }

 private:
  struct Buffer {
    std::string name;
    Tensor device;
    Bytes host;
  };
  std::vector<Buffer> all_;
  std::string planted_;
};

TEST_CASE("planted: a pointer of the host's is refused by each call, whichever argument it is") {
  const Fresh fresh;
  cudnn().takes_host_memory = false;
  Run run;
  const WindowCase c = case_of(run.net);
  run.make(c);
  const Network& n = run.net;
  const Window& w = *run.window;
  Arguments a;
  a.add("x", w.x), a.add("hx", w.h0), a.add("cx", w.c0);
  a.add("y", run.y), a.add("hy", run.hy), a.add("cy", run.cy);
  a.add("dy", w.of_y), a.add("dhy", w.of_h), a.add("dcy", w.of_c);
  a.add("dx", run.dx), a.add("dhx", run.dh), a.add("dcx", run.dc);
  a.add("the weights", n.weights.data(), n.weight_bytes);
  a.add("the gradients", run.gradients.data(), n.weight_bytes);
  a.add("the workspace", n.work.data(), n.work_bytes);
  a.add("the reserve", n.reserve.data(), n.reserve_bytes);
  a.add("the lengths", n.lengths.data(), n.lengths.size() * sizeof(int32_t));
  const auto lengths = [&] { return reinterpret_cast<const int32_t*>(a["the lengths"]); };

  a.check(
      "forward",
      {"x", "y", "hx", "hy", "cx", "cy", "the weights", "the workspace", "the reserve", "the lengths"}, [&] {
        return cudnnRNNForward(n.handle, n.rnn, CUDNN_FWD_MODE_TRAINING, lengths(), n.x, a["x"], n.y, a["y"],
                               n.h, a["hx"], a["hy"], n.c, a["cx"], a["cy"], n.weight_bytes, a["the weights"],
                               n.work_bytes, a["the workspace"], n.reserve_bytes, a["the reserve"]);
      });
  a.check("backward data",
          {"y", "dy", "dx", "hx", "dhy", "dhx", "cx", "dcy", "dcx", "the weights", "the workspace",
           "the reserve", "the lengths"},
          [&] {
            return cudnnRNNBackwardData_v8(n.handle, n.rnn, lengths(), n.y, a["y"], a["dy"], n.x, a["dx"],
                                           n.h, a["hx"], a["dhy"], a["dhx"], n.c, a["cx"], a["dcy"], a["dcx"],
                                           n.weight_bytes, a["the weights"], n.work_bytes, a["the workspace"],
                                           n.reserve_bytes, a["the reserve"]);
          });
  a.check("backward weights",
          {"x", "y", "hx", "the gradients", "the workspace", "the reserve", "the lengths"}, [&] {
            return cudnnRNNBackwardWeights_v8(n.handle, n.rnn, CUDNN_WGRAD_MODE_ADD, lengths(), n.x, a["x"],
                                              n.h, a["hx"], n.y, a["y"], n.weight_bytes, a["the gradients"],
                                              n.work_bytes, a["the workspace"], n.reserve_bytes,
                                              a["the reserve"]);
          });
}

TEST_CASE("persistent kernels refuse more units than they have, and rows of different lengths") {
  const Fresh fresh;
  const auto status = [](cudnnRNNAlgo_t algorithm, int hidden, std::vector<int32_t> lengths = {},
                         int built_for = 0) {
    Run run;
    run.net.algorithm = algorithm, run.net.hidden = run.net.width = hidden,
    run.net.lengths = std::move(lengths);
    const WindowCase c = case_of(run.net);
    run.make(c);
    if (built_for) cudnnBuildRNNDynamic(run.net.handle, run.net.rnn, built_for);
    return run.net.forward(*run.window, run.y, run.hy, run.cy);
  };
  cudnn().persistent_units = 8, cudnn().small_units = 4;
  if constexpr (sizeof(real) == sizeof(float)) {
    CHECK(status(CUDNN_RNN_ALGO_PERSIST_STATIC, 8) == ok);
    CHECK(status(CUDNN_RNN_ALGO_PERSIST_STATIC, 9) == CUDNN_STATUS_NOT_SUPPORTED);
    CHECK(status(CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, 4) == ok);
    CHECK(status(CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, 5) == CUDNN_STATUS_NOT_SUPPORTED);
    CHECK(status(CUDNN_RNN_ALGO_PERSIST_STATIC, 4, {5, 4}) == CUDNN_STATUS_NOT_SUPPORTED);
  }
  CHECK(status(CUDNN_RNN_ALGO_PERSIST_DYNAMIC, 4) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(status(CUDNN_RNN_ALGO_PERSIST_DYNAMIC, 4, {}, 2) == ok);
  CHECK(status(CUDNN_RNN_ALGO_STANDARD, 4, {5, 4}) == ok);
}

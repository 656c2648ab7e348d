// The stand-in for cuDNN itself: what it computes against the engine `composed`, and what it refuses.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "tests/layers/cudnn_network.h"
#include "tests/standin/cudnn.h"
#include "tests/standin/standin.h"

using namespace unroll;
using standin::cudnn;
using standin::WeightLayout;

TEST_CASE("the stand-in computes what composed computes, forward and backward, in every layout of weights") {
  const FreshNetwork fresh;
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
  const FreshNetwork fresh;
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
  const FreshNetwork fresh;
  Run right, wrong;
  const WindowCase c = case_of(right.net);
  right.make(c), wrong.make(c, true);
  CHECK(distance(right.run()[0].second, wrong.run()[0].second) > 0.01);
}

TEST_CASE("planted: sizes one byte off, and arguments that do not fit each other, are refused") {
  const FreshNetwork fresh;
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
  const FreshNetwork fresh;
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
  const FreshNetwork fresh;
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
  const FreshNetwork fresh;
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

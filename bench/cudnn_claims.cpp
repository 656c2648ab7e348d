// Asks cuDNN about each claim of docs/design/gpu.md that only a GPU can answer.
//
//   cudnn_claims CLAIM [UNITS]   null-lengths, empty-rows, padded-io, bf16-persistent, multiples or one-call
//
// Layers have 650 units, which is no multiple of 8, or UNITS; fewer if the claim is about that. Prints cuDNN's answer
// in one line. Run one process per claim, since a kernel that failed takes the process's GPU with it.
// Exit code 0: cuDNN answered, whatever it was; 77: no GPU can compute here; 2: there is no such claim.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include <fmt/ranges.h>

#include "framework/check.h"
#include "framework/device.h"
#include "framework/kernels/cuda/context.h"
#include "framework/memory.h"
#include "layers/recurrent/engines/cudnn/library.h"

using namespace unroll;
using gpu::check;
using gpu::cudnn;
using gpu::cudnn_handle;

namespace {

int units = 650;

struct Network {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;
  int steps = 35, batch = 20, hidden = units, layers = 1;
  bool packed = false;            // the layout without padding, and no padded input and output
  std::vector<int> lengths = {};  // empty: all rows have all steps
  bool lengths_on_device = false;
};

// A network's window: zeros would be as fast, but tell nothing of what is computed.
class Window {
 public:
  explicit Window(const Network& n) : n_(n), lengths_(n.lengths) {
    if (lengths_.empty()) lengths_.assign(static_cast<size_t>(n.batch), n.steps);
    const bool bf16 = n.type == CUDNN_DATA_BFLOAT16;
    bytes_ = bf16 ? 2 : 4;
    check(cudnn().set_rnn(rnn_, n.algorithm, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL,
                          CUDNN_LINEAR_INPUT, n.type, CUDNN_DATA_FLOAT,
                          bf16 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH, n.hidden, n.hidden, n.hidden,
                          n.layers, nullptr, n.packed ? 0 : CUDNN_RNN_PADDED_IO_ENABLED),
          "cudnnSetRNNDescriptor");
    if (n.algorithm == CUDNN_RNN_ALGO_PERSIST_DYNAMIC)
      check(cudnn().build_dynamic(cudnn_handle(), rnn_, n.batch), "cudnnBuildRNNDynamic");
    double zero = 0;
    for (cudnnRNNDataDescriptor_t d : {cudnnRNNDataDescriptor_t(x_desc_), cudnnRNNDataDescriptor_t(y_desc_)})
      check(cudnn().set_data(
                d, n.type,
                n.packed ? CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED : CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                n.steps, n.batch, n.hidden, lengths_.data(), &zero),
            "cudnnSetRNNDataDescriptor");
    const int dims[] = {n.layers, n.batch, n.hidden}, strides[] = {n.batch * n.hidden, n.hidden, 1};
    check(cudnn().set_tensor(state_, n.type, 3, dims, strides), "cudnnSetTensorNdDescriptor");
    check(cudnn().weight_space_size(cudnn_handle(), rnn_, &weight_bytes_), "cudnnGetRNNWeightSpaceSize");
    check(cudnn().temp_space_sizes(cudnn_handle(), rnn_, CUDNN_FWD_MODE_TRAINING, x_desc_, &work_bytes_,
                                   &reserve_bytes_),
          "cudnnGetRNNTempSpaceSizes");
    const size_t window = static_cast<size_t>(n.steps) * static_cast<size_t>(n.batch * n.hidden) * bytes_,
                 state = static_cast<size_t>(n.layers * n.batch * n.hidden) * bytes_;
    for (const auto& [name, bytes] : {std::pair<const char*, size_t>{"x", window},
                                      {"y", window},
                                      {"dx", window},
                                      {"dy", window},
                                      {"h", state},
                                      {"c", state},
                                      {"hy", state},
                                      {"cy", state},
                                      {"dh", state},
                                      {"dc", state},
                                      {"weights", weight_bytes_},
                                      {"gradients", weight_bytes_},
                                      {"work", work_bytes_},
                                      {"reserve", reserve_bytes_},
                                      {"lengths", lengths_.size() * sizeof(int32_t)}}) {
      memory_.emplace(name, Memory(std::max<size_t>(bytes, 1)));
      clear_on_device(memory_.at(name).data(), bytes);
    }
    fill("x", window), fill("dy", window), fill("weights", weight_bytes_);
    copy_to_device(at("lengths"), lengths_.data(), lengths_.size() * sizeof(int32_t));
  }

  // Statuses of the forward pass, of the gradients of data, and of those of the weights.
  std::vector<cudnnStatus_t> run() {
    const auto* const lengths = n_.lengths_on_device ? static_cast<const int32_t*>(at("lengths")) : nullptr;
    std::vector<cudnnStatus_t> said;
    said.push_back(cudnn().forward(cudnn_handle(), rnn_, CUDNN_FWD_MODE_TRAINING, lengths, x_desc_, at("x"),
                                   y_desc_, at("y"), state_, at("h"), at("hy"), state_, at("c"), at("cy"),
                                   weight_bytes_, at("weights"), work_bytes_, at("work"), reserve_bytes_,
                                   at("reserve")));
    if (said.back() == CUDNN_STATUS_SUCCESS)
      said.push_back(cudnn().backward_data(cudnn_handle(), rnn_, lengths, y_desc_, at("y"), at("dy"), x_desc_,
                                           at("dx"), state_, at("h"), nullptr, at("dh"), state_, at("c"),
                                           nullptr, at("dc"), weight_bytes_, at("weights"), work_bytes_,
                                           at("work"), reserve_bytes_, at("reserve")));
    if (said.back() == CUDNN_STATUS_SUCCESS)
      said.push_back(cudnn().backward_weights(
          cudnn_handle(), rnn_, CUDNN_WGRAD_MODE_ADD, lengths, x_desc_, at("x"), state_, at("h"), y_desc_,
          at("y"), weight_bytes_, at("gradients"), work_bytes_, at("work"), reserve_bytes_, at("reserve")));
    return said;
  }
  std::string words() {
    std::vector<std::string> texts;
    for (const cudnnStatus_t status : run()) texts.emplace_back(cudnn().get_error_string(status));
    try {
      synchronize();
    } catch (const Error& error) { texts.emplace_back(error.what()); }
    return fmt::format("{}", fmt::join(texts, ", "));
  }
  // Milliseconds of a window, forward and back: the best of five times ten. Throws where cuDNN refuses.
  double milliseconds() {
    double best = 0;
    for (int round = 0; round < 6; ++round) {
      synchronize();
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < 10; ++i)
        for (const cudnnStatus_t status : run()) check(status, "a window");
      synchronize();
      const double ms =
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / 10;
      if (round == 1 || (round > 1 && ms < best)) best = ms;  // the first one warms up
    }
    return best;
  }
  std::vector<char> bytes_of(const char* name, size_t bytes) const {
    std::vector<char> result(bytes);
    copy_to_host(result.data(), memory_.at(name).data(), bytes);
    return result;
  }
  std::vector<char> results() const {
    const size_t window = static_cast<size_t>(n_.steps) * static_cast<size_t>(n_.batch * n_.hidden) * bytes_;
    std::vector<char> all = bytes_of("y", window), more = bytes_of("gradients", weight_bytes_);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

 private:
  void* at(const char* name) { return memory_.at(name).data(); }
  // With numbers in ±1/16, of which bfloat16 has all.
  void fill(const char* name, size_t bytes) {
    std::vector<char> numbers(bytes);
    for (size_t i = 0; i < bytes / bytes_; ++i) {
      const float value = static_cast<float>(static_cast<int>(i * 2654435761u % 31) - 15) / 256;
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      if (bytes_ == 2) bits >>= 16;
      std::memcpy(numbers.data() + i * bytes_, &bits, bytes_);
    }
    copy_to_device(at(name), numbers.data(), bytes);
  }

  Network n_;
  std::vector<int> lengths_;
  size_t bytes_, weight_bytes_ = 0, work_bytes_ = 0, reserve_bytes_ = 0;
  gpu::RnnDescriptor rnn_;
  gpu::DataDescriptor x_desc_, y_desc_;
  gpu::TensorDescriptor state_;
  std::map<std::string, Memory> memory_;
};

// The time, or why there is none.
std::string timed(const Network& n) {
  try {
    return fmt::format("{:.3f} ms", Window(n).milliseconds());
  } catch (const Error& error) { return error.what(); }
}

std::string null_lengths() {
  Network n{.hidden = std::min(units, 200)};
  for (int b = 0; b < n.batch; ++b) n.lengths.push_back(1 + (7 * b) % n.steps);
  Window without(n);
  n.lengths_on_device = true;
  Window with(n);
  const std::string said = without.words();
  with.words();
  return said + (without.results() == with.results() ? "; the same bits as with lengths on the device"
                                                     : "; other bits than with lengths on the device");
}

std::string empty_rows() {
  Network n{.hidden = std::min(units, 200)};
  n.lengths.assign(static_cast<size_t>(n.batch), n.steps);
  n.lengths[3] = 0;
  const std::string one = Window(n).words();
  n.lengths.assign(static_cast<size_t>(n.batch), 0);
  return fmt::format("one row without a step: {}; all: {}", one, Window(n).words());
}

std::string padded_io() {
  std::string text;
  for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_BFLOAT16}) {
    Network n{.type = type};
    const std::string padded = timed(n);
    n.packed = true;
    text += fmt::format("{}{}: padded {}, packed {}", text.empty() ? "" : "; ",
                        type == CUDNN_DATA_FLOAT ? "fp32" : "bf16", padded, timed(n));
  }
  return text;
}

std::string bf16_persistent() {
  std::string text;
  for (const auto& [name, algorithm] : {std::pair{"standard", CUDNN_RNN_ALGO_STANDARD},
                                        {"static", CUDNN_RNN_ALGO_PERSIST_STATIC},
                                        {"small", CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H},
                                        {"dynamic", CUDNN_RNN_ALGO_PERSIST_DYNAMIC}})
    text += fmt::format(
        "{}{} {}", text.empty() ? "" : ", ", name,
        timed({.type = CUDNN_DATA_BFLOAT16, .algorithm = algorithm, .hidden = std::min(units, 128)}));
  return text;
}

std::string multiples() {
  const auto of = [](int hidden, int batch) {
    return timed({.type = CUDNN_DATA_BFLOAT16, .batch = batch, .hidden = hidden});
  };
  const int next = (units / 8 + 1) * 8;
  return fmt::format("bf16, batch 20: {} units {}, {} units {}; batch 24: {} units {}", units, of(units, 20),
                     next, of(next, 20), next, of(next, 24));
}

std::string one_call() {
  Network n{.layers = 2};
  const std::string both = timed(n);
  n.layers = 1;
  return fmt::format("two layers of {} in one call {}, one layer {}", units, both, timed(n));
}

const std::map<std::string, std::function<std::string()>> claims = {
    {"null-lengths", null_lengths},       {"empty-rows", empty_rows}, {"padded-io", padded_io},
    {"bf16-persistent", bf16_persistent}, {"multiples", multiples},   {"one-call", one_call}};

}  // namespace

int main(int argc, char** argv) try {
  const auto claim = claims.find(argc >= 2 && argc <= 3 ? argv[1] : "");
  if (claim == claims.end()) {
    std::vector<std::string> names;
    for (const auto& [name, ask] : claims) names.push_back(name);
    fmt::print(stderr, "cudnn_claims: name one of {}\n", fmt::join(names, ", "));
    return 2;
  }
  if (argc == 3) units = std::atoi(argv[2]);
  require_input(units > 0, "'{}' is no number of units", argc == 3 ? argv[2] : "");
  const Device found = device_named("auto");
  if (!found.gpu) {
    fmt::print("skipped: {}\n", why_no_gpu());
    return 77;
  }
  set_device(found);
  fmt::print("{}: {}\n", claim->first, claim->second());
} catch (const std::exception& error) {
  fmt::print(stderr, "cudnn_claims: {}\n", error.what());
  return 1;
}

// The rules for descriptors, and our criteria, against cuDNN itself: its setters need no GPU. Without the library
// everything here is skipped, with a message.
#include <array>

#include <dlfcn.h>
#include <fmt/ranges.h>

#include "layers/recurrent/lstm.h"
#include "tests/standin/cudnn.h"
#include "tests/support.h"

using namespace unroll;

namespace {

// The library's functions or the stand-in's, which have the same names.
struct Functions {
  decltype(&cudnnCreateRNNDescriptor) create_rnn = cudnnCreateRNNDescriptor;
  decltype(&cudnnDestroyRNNDescriptor) destroy_rnn = cudnnDestroyRNNDescriptor;
  decltype(&cudnnSetRNNDescriptor_v8) set_rnn = cudnnSetRNNDescriptor_v8;
  decltype(&cudnnCreateRNNDataDescriptor) create_data = cudnnCreateRNNDataDescriptor;
  decltype(&cudnnDestroyRNNDataDescriptor) destroy_data = cudnnDestroyRNNDataDescriptor;
  decltype(&cudnnSetRNNDataDescriptor) set_data = cudnnSetRNNDataDescriptor;
  decltype(&cudnnCreateTensorDescriptor) create_tensor = cudnnCreateTensorDescriptor;
  decltype(&cudnnDestroyTensorDescriptor) destroy_tensor = cudnnDestroyTensorDescriptor;
  decltype(&cudnnSetTensorNdDescriptor) set_tensor = cudnnSetTensorNdDescriptor;
};

const Functions* library() {
  static const Functions* const found = []() -> const Functions* {
    void* handle = nullptr;
    for (const char* name :
         {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9", "/usr/local/cuda/lib/libcudnn.so.9"})
      if (!handle) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return nullptr;
    static Functions f;
    const auto look_up = [&](auto& function, const char* name) {
      void* const address = dlsym(handle, name);
      REQUIRE_MESSAGE(address, name);
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    };
    look_up(f.create_rnn, "cudnnCreateRNNDescriptor");
    look_up(f.destroy_rnn, "cudnnDestroyRNNDescriptor");
    look_up(f.set_rnn, "cudnnSetRNNDescriptor_v8");
    look_up(f.create_data, "cudnnCreateRNNDataDescriptor");
    look_up(f.destroy_data, "cudnnDestroyRNNDataDescriptor");
    look_up(f.set_data, "cudnnSetRNNDataDescriptor");
    look_up(f.create_tensor, "cudnnCreateTensorDescriptor");
    look_up(f.destroy_tensor, "cudnnDestroyTensorDescriptor");
    look_up(f.set_tensor, "cudnnSetTensorNdDescriptor");
    return &f;
  }();
  return found;
}
bool skipped() {
  if (library()) return false;
  MESSAGE("SKIPPED: libcudnn.so.9 is not installed here");
  return true;
}

struct Network {
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNMode_t mode = CUDNN_LSTM;
  cudnnRNNBiasMode_t biases = CUDNN_RNN_SINGLE_INP_BIAS;
  cudnnDataType_t type = CUDNN_DATA_FLOAT, math = CUDNN_DATA_FLOAT;
  cudnnMathType_t math_type = CUDNN_FMA_MATH;
  int input = 5, hidden = 7, width = 7, layers = 2;
  cudnnDirectionMode_t directions = CUDNN_UNIDIRECTIONAL;
  uint32_t flags = CUDNN_RNN_PADDED_IO_ENABLED;

  int status(const Functions& f) const {
    cudnnRNNDescriptor_t d = nullptr;
    REQUIRE(f.create_rnn(&d) == CUDNN_STATUS_SUCCESS);
    const int result = f.set_rnn(d, algorithm, mode, biases, directions, CUDNN_LINEAR_INPUT, type, math,
                                 math_type, input, hidden, width, layers, nullptr, flags);
    f.destroy_rnn(d);
    return result;
  }
  std::string text() const {
    return fmt::format(
        "algorithm {} mode {} biases {} types {} {} {} sizes {} {} {} layers {} directions {} flags {}",
        int{algorithm}, int{mode}, int{biases}, int{type}, int{math}, int{math_type}, input, hidden, width,
        layers, int{directions}, flags);
  }
};

struct Data {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  int steps = 3, batch = 3, width = 5;
  std::vector<int> lengths = {3, 2, 1};

  int status(const Functions& f) const {
    cudnnRNNDataDescriptor_t d = nullptr;
    double zero = 0;  // as wide as the widest type, of each of which it is the 0
    REQUIRE(f.create_data(&d) == CUDNN_STATUS_SUCCESS);
    const int result =
        f.set_data(d, type, layout, steps, batch, width, lengths.empty() ? nullptr : lengths.data(), &zero);
    f.destroy_data(d);
    return result;
  }
};

// The first of the cases that one of the two takes and the other refuses. (Which of several faults is found first is
// nobody's business.)
template <class T>
void compare(int& count, std::string& difference, const T& description, const std::string& text) {
  standin::cudnn().refusal = "not asked";  // the two have the same names: none may be taken for the other
  const int real_one = description.status(*library());
  if (standin::cudnn().refusal != "not asked") difference = "the stand-in answered for cuDNN";
  const int ours = description.status({});
  ++count;
  if ((real_one == CUDNN_STATUS_SUCCESS) != (ours == CUDNN_STATUS_SUCCESS) && difference.empty())
    difference = fmt::format("{}: cuDNN says {}, the stand-in {}", text, real_one, ours);
}

}  // namespace

TEST_CASE("the stand-in takes and refuses the networks that cuDNN takes and refuses") {
  if (skipped()) return;
  int count = 0;
  std::string difference;
  const cudnnDataType_t types[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16};
  const std::array<int, 4> sizes[] = {{5, 7, 7, 2}, {5, 7, 4, 2}, {5, 7, 0, 2}, {5, 7, 8, 2},
                                      {0, 7, 7, 2}, {5, 0, 0, 2}, {5, 7, 7, 0}, {1, 1, 1, 1}};
  // Numbers that none of the names stands for are tried as far as the type can hold them.
  for (int algorithm = 0; algorithm <= CUDNN_RNN_ALGO_COUNT; ++algorithm)
    for (const cudnnRNNMode_t mode : {CUDNN_LSTM, CUDNN_GRU})
      for (int biases = 0; biases <= CUDNN_RNN_SINGLE_REC_BIAS; ++biases)
        for (const auto type : types)
          for (const auto math : types)
            for (const auto& [input, hidden, width, layers] : sizes)
              for (const auto directions : {CUDNN_UNIDIRECTIONAL, CUDNN_BIDIRECTIONAL})
                for (int math_type = 0; math_type <= CUDNN_FMA_MATH; ++math_type)
                  for (uint32_t flags = 0; flags < 3; ++flags) {
                    const Network n{static_cast<cudnnRNNAlgo_t>(algorithm),
                                    mode,
                                    static_cast<cudnnRNNBiasMode_t>(biases),
                                    type,
                                    math,
                                    static_cast<cudnnMathType_t>(math_type),
                                    input,
                                    hidden,
                                    width,
                                    layers,
                                    directions,
                                    flags};
                    compare(count, difference, n, n.text());
                  }
  CHECK(difference == "");
  CHECK(count > 100'000);
}

TEST_CASE("the stand-in takes and refuses the windows that cuDNN takes and refuses") {
  if (skipped()) return;
  int count = 0;
  std::string difference;
  for (int layout = 0; layout <= 3; ++layout)
    for (const auto type :
         {CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16, CUDNN_DATA_INT8})
      for (const std::vector<int>& lengths : std::vector<std::vector<int>>{
               {3, 2, 1}, {1, 3, 2}, {3, 0, 0}, {0, 0, 0}, {4, 1, 1}, {-1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {}})
        for (const auto& [steps, batch, width] :
             {std::array{3, 3, 5}, {0, 3, 5}, {3, 0, 5}, {3, 3, 0}, {65'535, 3, 5}, {65'536, 3, 5}}) {
          const Data d{type, static_cast<cudnnRNNDataLayout_t>(layout), steps, batch, width, lengths};
          compare(count, difference, d,
                  fmt::format("layout {} type {} steps {} batch {} width {} lengths {}", layout, int{type},
                              steps, batch, width, fmt::join(lengths, " ")));
        }
  CHECK(difference == "");
  CHECK(count > 1'000);
}

TEST_CASE("the stand-in takes and refuses the tensors that cuDNN takes and refuses") {
  if (skipped()) return;
  const auto status = [](const Functions& f, int rank, std::array<int, 3> dims, std::array<int, 3> strides) {
    cudnnTensorDescriptor_t d = nullptr;
    REQUIRE(f.create_tensor(&d) == CUDNN_STATUS_SUCCESS);
    const int result = f.set_tensor(d, CUDNN_DATA_FLOAT, rank, dims.data(), strides.data());
    f.destroy_tensor(d);
    return result;
  };
  for (const int rank : {2, 3})
    for (const auto& dims : {std::array{2, 3, 4}, {0, 3, 4}, {1, 1, 1}})
      for (const auto& strides : {std::array{12, 4, 1}, {1, 4, 12}, {0, 4, 1}})
        CHECK(status(*library(), rank, dims, strides) == status({}, rank, dims, strides));
}

TEST_CASE("the criteria of the choice are those of cuDNN") {
  if (skipped()) return;
  const EngineFacts h100{
      .gpu = "NVIDIA H100", .capability = 90, .driver = 13'000, .toolkit = 13'000, .cudnn = 91'900};
  const auto serves = [&](const RecurrentConfig& c, const WindowFacts& w = {}) {
    return Lstm::choose(c, h100, w).engine == Engine::cudnn;
  };
  const RecurrentConfig plain{.input = 5, .hidden = 7, .layers = 2};
  for (const int steps : {65'535, 65'536}) {
    const bool takes = Data{.steps = steps}.status(*library()) == CUDNN_STATUS_SUCCESS;
    CHECK(serves(plain, {.steps = steps, .batch = 3}) == takes);
  }
  RecurrentConfig projected = plain;
  projected.projection = 4;
  CHECK(serves(projected) == (Network{.width = 4}.status(*library()) == CUDNN_STATUS_SUCCESS));
  CHECK(Data{.lengths = {1, 0, 3}}.status(*library()) == CUDNN_STATUS_SUCCESS);
  CHECK(serves(plain, {.lengths = WindowFacts::Lengths::padded_after}));
  // Numbers of 16 bits, summed in float, with tensor cores.
  for (const auto& [precision, type] :
       {std::pair{Precision::bf16, CUDNN_DATA_BFLOAT16}, {Precision::fp16, CUDNN_DATA_HALF}}) {
    EngineFacts facts = h100;
    facts.precision = precision;
    const Network in_16_bits{.type = type, .math_type = CUDNN_TENSOR_OP_MATH};
    CHECK(in_16_bits.status(*library()) == CUDNN_STATUS_SUCCESS);
    CHECK(Lstm::choose(plain, facts).engine == Engine::cudnn);
    CHECK(Data{.type = type}.status(*library()) == CUDNN_STATUS_SUCCESS);
    Network projected_in_16_bits = in_16_bits;
    projected_in_16_bits.width = 4;
    CHECK(projected_in_16_bits.status(*library()) == CUDNN_STATUS_SUCCESS);
    CHECK(Lstm::choose(projected, facts).engine == Engine::cudnn);
  }
  // Why a model with one bias has the standard algorithm.
  CHECK(Network{}.status(*library()) == CUDNN_STATUS_SUCCESS);
  CHECK(Network{.algorithm = CUDNN_RNN_ALGO_PERSIST_STATIC}.status(*library()) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(Network{.algorithm = CUDNN_RNN_ALGO_PERSIST_STATIC, .biases = CUDNN_RNN_DOUBLE_BIAS}.status(
            *library()) == CUDNN_STATUS_SUCCESS);
  // Why a projection has it too.
  CHECK(
      Network{.algorithm = CUDNN_RNN_ALGO_PERSIST_STATIC, .biases = CUDNN_RNN_DOUBLE_BIAS, .width = 4}.status(
          *library()) == CUDNN_STATUS_NOT_SUPPORTED);
}

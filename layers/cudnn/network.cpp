// One call of cuDNN's: a layer or several, forwards and back.
#include <optional>

#include "framework/device.h"
#include "framework/gemm.h"
#include "framework/kernels/cuda/context.h"
#include "framework/kernels/kernels.h"
#include "layers/cudnn.h"
#include "layers/cudnn/library.h"
#include "layers/cudnn/weights.h"

namespace unroll::inline UNROLL_REAL {

using gpu::check;
using gpu::cudnn;
using gpu::cudnn_handle;

namespace {

constexpr cudnnDataType_t type_of_numbers =
    sizeof(real) == sizeof(double) ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
constexpr const char* names[] = {"gru_cudnn", "lstm_cudnn"};

cudnnRNNAlgo_t algorithm_of(CudnnAlgorithm algorithm) {
  constexpr cudnnRNNAlgo_t of[] = {CUDNN_RNN_ALGO_STANDARD, CUDNN_RNN_ALGO_STANDARD,
                                   CUDNN_RNN_ALGO_PERSIST_STATIC, CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H,
                                   CUDNN_RNN_ALGO_PERSIST_DYNAMIC};
  return of[static_cast<size_t>(algorithm)];
}

}  // namespace

// What a window's sizes and lengths are to cuDNN.
struct CudnnSizes {
  gpu::DataDescriptor x, y;
  gpu::TensorDescriptor h, c;
  int steps, batch;
  Memory lengths;  // on the device
  struct {
    std::size_t work = 0, reserve = 0;
  } of_mode[2];  // asked for once: the answer may change

  CudnnSizes(const CudnnConfig& config, cudnnRNNDescriptor_t rnn, int steps, int batch, const IdTensor& given)
      : steps(steps), batch(batch), lengths(static_cast<std::size_t>(batch) * sizeof(int32_t)) {
    std::vector<int32_t> all(static_cast<size_t>(batch), steps);
    if (given.defined()) all.assign(given.data(), given.data() + batch);
    copy_to_device(lengths.data(), all.data(), all.size() * sizeof(int32_t));
    real zero = 0;  // y in padding
    const auto describe = [&](cudnnRNNDataDescriptor_t d, int width) {
      check(cudnn().set_data(d, type_of_numbers, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, steps, batch,
                             width, all.data(), &zero),
            "cudnnSetRNNDataDescriptor");
    };
    describe(x, config.input);
    describe(y, config.directions * config.width);
    const auto describe_state = [&](cudnnTensorDescriptor_t d, int width) {
      const int dims[] = {config.layers * config.directions, batch, width},
                strides[] = {batch * width, width, 1};
      check(cudnn().set_tensor(d, type_of_numbers, 3, dims, strides), "cudnnSetTensorNdDescriptor");
    };
    describe_state(h, config.width);
    describe_state(c, config.hidden);
    for (const cudnnForwardMode_t mode : {CUDNN_FWD_MODE_INFERENCE, CUDNN_FWD_MODE_TRAINING})
      check(
          cudnn().temp_space_sizes(cudnn_handle(), rnn, mode, x, &of_mode[mode].work, &of_mode[mode].reserve),
          "cudnnGetRNNTempSpaceSizes");
  }
};

namespace {

// A place for a gradient that cuDNN writes, as it cannot add.
class Written {
 public:
  explicit Written(const Var& x) {
    if (!x.wants_grad()) return;
    into_ = x.gradient();
    place_ = into_.add ? Tensor(x.shape()) : into_.tensor;
  }
  const Tensor& place() const { return place_; }  // undefined where none is wanted
  void finish() const {
    if (into_.add) kernels().affine(place_.data(), 1, 0, into_.tensor.data(), place_.size(), true);
  }

 private:
  Into into_;
  Tensor place_;
};

const real* gradient_of(const Var& v) { return v.has_grad() ? v.grad().data() : nullptr; }

}  // namespace

struct CudnnNetwork::Parts {
  CudnnConfig config;
  gpu::RnnDescriptor rnn;
  std::vector<CudnnWeights> weights;
  std::optional<CudnnWeightSpace> space;   // once the parameters have memory
  std::shared_ptr<const CudnnSizes> last;  // of windows without lengths
  int built_for = 0;                       // the batch that the dynamic algorithm was made for

  std::shared_ptr<const CudnnSizes> sizes_for(int steps, int batch, const IdTensor& lengths) {
    if (lengths.defined()) return std::make_shared<const CudnnSizes>(config, rnn, steps, batch, lengths);
    if (!last || last->steps != steps || last->batch != batch)
      last = std::make_shared<const CudnnSizes>(config, rnn, steps, batch, lengths);
    return last;
  }
  void build(int batch) {
    if (config.algorithm != CudnnAlgorithm::persistent_dynamic || built_for == batch) return;
    check(cudnn().build_dynamic(cudnn_handle(), rnn, batch), "cudnnBuildRNNDynamic");
    built_for = batch;
  }
  const CudnnWeightSpace& weight_space() {
    if (!space) space.emplace(config, rnn, weights);
    return *space;
  }
};

// Without a word cuDNN would take TF32 for float.
static cudnnMathType_t mathematics() {
  return precision() == Precision::tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

// One bias of an LSTM's two is enough, and the model has one; a GRU has that of its reset gate beside it, and what is
// persistent demands both.
CudnnNetwork::CudnnNetwork(const CudnnConfig& c, std::vector<CudnnWeights> weights)
    : parts_(std::make_shared<Parts>()) {
  parts_->config = c;
  parts_->weights = std::move(weights);
  check(cudnn().set_rnn(parts_->rnn, algorithm_of(c.algorithm), c.lstm ? CUDNN_LSTM : CUDNN_GRU,
                        has_one_bias(c.lstm, c.algorithm) ? CUDNN_RNN_SINGLE_INP_BIAS : CUDNN_RNN_DOUBLE_BIAS,
                        c.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
                        type_of_numbers, type_of_numbers, mathematics(), c.input, c.hidden, c.width, c.layers,
                        nullptr, CUDNN_RNN_PADDED_IO_ENABLED),
        "cudnnSetRNNDescriptor");
}

CudnnNetwork::Output CudnnNetwork::operator()(const Var& x, const Var& h0, const Var& c0,
                                              const IdTensor& lengths, const Tensor& real_steps) const {
  const std::shared_ptr<Parts> parts = parts_;
  const CudnnConfig& config = parts->config;
  const auto sizes = parts->sizes_for(x.dim(0), x.dim(1), lengths);
  const CudnnWeightSpace& space = parts->weight_space();
  const char* const name = names[config.lstm];
  Vars from = {x, h0};
  if (config.lstm) from.push_back(c0);
  from.insert(from.end(), space.parameters().begin(), space.parameters().end());
  const auto operands = inputs(from);
  const cudnnForwardMode_t mode =
      recorded(name, operands) ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;

  const Tensor y({x.dim(0), x.dim(1), config.directions * config.width}), h(h0.shape());
  const Tensor c = config.lstm ? Tensor(c0.shape()) : Tensor();
  const auto [work, reserved] = sizes->of_mode[mode];
  const Memory reserve = reserved ? Memory(reserved) : Memory();
  const void* const weights = space.renewed();
  parts->build(x.dim(1));
  check(cudnn().forward(cudnn_handle(), parts->rnn, mode, static_cast<const int32_t*>(sizes->lengths.data()),
                        sizes->x, x.value().data(), sizes->y, y.data(), sizes->h, h0.value().data(), h.data(),
                        sizes->c, c0.value().data(), c.data(), space.bytes(), weights, work,
                        gpu::workspace(work), reserved, reserve.data()),
        "cudnnRNNForward");

  // cuDNN leaves the reserve to one backward pass, and a record runs once.
  const auto back = [=](const Var& y, const Var& h_last, const Var* c_last) {
    const CudnnWeightSpace& space = *parts->space;
    const auto [work, reserved] = sizes->of_mode[CUDNN_FWD_MODE_TRAINING];
    const Written dx(x), dh(h0), dc(c_last ? c0 : Var());
    const Tensor dx_place =
        dx.place().defined() ? dx.place() : Tensor(x.shape());  // which cuDNN writes in any case
    parts->build(x.dim(1));
    check(
        cudnn().backward_data(cudnn_handle(), parts->rnn, static_cast<const int32_t*>(sizes->lengths.data()),
                              sizes->y, y.value().data(), y.grad().data(), sizes->x, dx_place.data(),
                              sizes->h, h0.value().data(), gradient_of(h_last), dh.place().data(), sizes->c,
                              c0.value().data(), c_last ? gradient_of(*c_last) : nullptr, dc.place().data(),
                              space.bytes(), weights, work, gpu::workspace(work), reserved, reserve.data()),
        "cudnnRNNBackwardData");
    space.gather([&](void* gradients) {
      check(cudnn().backward_weights(cudnn_handle(), parts->rnn, CUDNN_WGRAD_MODE_ADD,
                                     static_cast<const int32_t*>(sizes->lengths.data()), sizes->x,
                                     x.value().data(), sizes->h, h0.value().data(), sizes->y,
                                     y.value().data(), space.bytes(), gradients, work, gpu::workspace(work),
                                     reserved, reserve.data()),
            "cudnnRNNBackwardWeights");
    });
    if (real_steps.defined() && x.wants_grad())  // what cuDNN writes into padding is not said
      kernels().keep_rows(dx_place.data(), real_steps.data(), dx_place.rows(), dx_place.cols(),
                          dx_place.data(), false);
    dx.finish(), dh.finish(), dc.finish();
  };
  if (config.lstm) {
    auto [y_out, h_out, c_out] =
        record<3>(name, std::array{y, h, c}, operands,
                  [back](const Var& y, const Var& h_last, const Var& c_last) { back(y, h_last, &c_last); });
    return {y_out, h_out, c_out};
  }
  auto [y_out, h_out] = record<2>(name, std::array{y, h}, operands,
                                  [back](const Var& y, const Var& h_last) { back(y, h_last, nullptr); });
  return {y_out, h_out, Var()};
}

}  // namespace unroll::inline UNROLL_REAL

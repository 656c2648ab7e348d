// One call of cuDNN: one or several layers, forward and backward.
#include <memory>
#include <optional>

#include "framework/device.h"
#include "framework/kernels/cuda/context.h"
#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "layers/recurrent/engines/cudnn.h"
#include "layers/recurrent/engines/cudnn/library.h"
#include "layers/recurrent/engines/cudnn/numbers.h"
#include "layers/recurrent/engines/cudnn/weights.h"

namespace unroll {

using gpu::cudnn;
using gpu::cudnn_handle;

namespace {

constexpr const char* names[] = {"lstm_cudnn", "gru_cudnn",
                                 "rnn_cudnn"};  // by CellKind: the operation on the tape

cudnnRNNMode_t mode_of(const CudnnConfig& config) {
  if (config.cell == CellKind::lstm) return CUDNN_LSTM;
  if (config.cell == CellKind::gru) return CUDNN_GRU;
  return config.nonlinearity == Unary::relu ? CUDNN_RNN_RELU : CUDNN_RNN_TANH;
}

}  // namespace

// A window's sizes and lengths in cuDNN's descriptors.
struct CudnnSizes {
  gpu::DataDescriptor x, y;
  gpu::TensorDescriptor h, c;
  int steps, batch;
  Memory lengths;  // on the device; none if cuDNN takes them from x
  struct {
    std::size_t work = 0, reserve = 0;
  } of_mode[2];  // asked for once: the answer may change

  CudnnSizes(const CudnnConfig& config, cudnnDataType_t type, cudnnRNNDescriptor_t rnn, int steps, int batch,
             const IdTensor& given)
      : steps(steps), batch(batch) {
    std::vector<int32_t> all(static_cast<size_t>(batch), steps);
    if (given.defined()) all.assign(given.data(), given.data() + batch);
    if (cudnn().get_version() < 8'901) {  // later ones read those of x on the host
      lengths = Memory(all.size() * sizeof(int32_t));
      copy_to_device(lengths.data(), all.data(), all.size() * sizeof(int32_t));
    }
    real zero = 0;  // y in padding; its first bytes are the 0 of a smaller type
    const auto describe = [&](cudnnRNNDataDescriptor_t d, int width) {
      gpu::check(cudnn().set_data(d, type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, steps, batch, width,
                                  all.data(), &zero),
                 "cudnnSetRNNDataDescriptor");
    };
    describe(x, config.input);
    describe(y, config.directions * config.width);
    const auto describe_state = [&](cudnnTensorDescriptor_t d, int width) {
      const int dims[] = {config.layers * config.directions, batch, width},
                strides[] = {batch * width, width, 1};
      gpu::check(cudnn().set_tensor(d, type, 3, dims, strides), "cudnnSetTensorNdDescriptor");
    };
    describe_state(h, config.width);
    describe_state(c, config.hidden);
    for (const cudnnForwardMode_t mode : {CUDNN_FWD_MODE_INFERENCE, CUDNN_FWD_MODE_TRAINING})
      gpu::check(
          cudnn().temp_space_sizes(cudnn_handle(), rnn, mode, x, &of_mode[mode].work, &of_mode[mode].reserve),
          "cudnnGetRNNTempSpaceSizes");
  }
};

namespace {

// Memory for a gradient: cuDNN writes gradients and cannot add to them.
class Written {
 public:
  Written(const CudnnNumbers& numbers, const Var& x) : numbers_(numbers) {
    if (!x.wants_grad()) return;
    into_ = x.gradient();
    place_ = numbers.write(into_.add ? Tensor(x.shape()) : into_.tensor);
  }
  // If no gradient is wanted, these are undefined, or do nothing.
  void* data() { return place_.data(); }
  Tensor& arrived() {
    numbers_.arrived(place_);
    return place_.tensor;
  }
  void finish() const {
    if (into_.add)
      kernels().affine(place_.tensor.data(), 1, 0, into_.tensor.data(), place_.tensor.size(), true);
  }

 private:
  const CudnnNumbers& numbers_;
  Into into_;
  CudnnTensor place_;
};

}  // namespace

struct CudnnNetwork::Parts {
  CudnnConfig config;
  const Precision made_in = precision();
  CudnnNumbers numbers = CudnnNumbers::of_process();
  gpu::RnnDescriptor rnn;
  ListedWeights weights;
  std::optional<CudnnWeightSpace> space;  // once the parameters have memory
  std::vector<std::shared_ptr<const CudnnSizes>>
      known;  // of windows without lengths; graphs go on using them

  std::shared_ptr<const CudnnSizes> sizes_for(int steps, int batch, const IdTensor& lengths) {
    if (lengths.defined())
      return std::make_shared<const CudnnSizes>(config, numbers.type, rnn, steps, batch, lengths);
    for (const auto& sizes : known)
      if (sizes->steps == steps && sizes->batch == batch) return sizes;
    return known.emplace_back(
        std::make_shared<const CudnnSizes>(config, numbers.type, rnn, steps, batch, lengths));
  }
  // Floating-point operations of a forward pass's products, padding included. The backward pass has twice as many.
  int64_t flops(int steps, int batch) const {
    const int64_t gates = config.facts().gates, hidden = config.hidden, width = config.width;
    int64_t each = 0;  // of a row and direction
    for (int layer = 0; layer < config.layers; ++layer) {
      const int64_t input = layer == 0 ? config.input : config.directions * width;
      each += 2 * gates * hidden * (input + width) + (width == hidden ? 0 : 2 * hidden * width);
    }
    return each * config.directions * steps * batch;
  }
  const CudnnWeightSpace& weight_space() {
    if (!space) space.emplace(config, numbers, rnn, weights);
    return *space;
  }
};

// An LSTM needs only one of two biases, and the model has one. A GRU also has that of its reset gate.
CudnnNetwork::CudnnNetwork(const CudnnConfig& c, ListedWeights weights) : parts_(std::make_shared<Parts>()) {
  parts_->config = c;
  parts_->weights = std::move(weights);
  const CudnnNumbers& numbers = parts_->numbers;
  // The standard algorithm: none of the library's persistent ones was faster on an H100 (docs/design/gpu.md).
  gpu::check(cudnn().set_rnn(parts_->rnn, CUDNN_RNN_ALGO_STANDARD, mode_of(c),
                             c.has_one_bias() ? CUDNN_RNN_SINGLE_INP_BIAS : CUDNN_RNN_DOUBLE_BIAS,
                             c.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                             CUDNN_LINEAR_INPUT, numbers.type, numbers.sums, numbers.mathematics, c.input,
                             c.hidden, c.width, c.layers, nullptr, CUDNN_RNN_PADDED_IO_ENABLED),
             "cudnnSetRNNDescriptor");
}

RecurrentOutput CudnnNetwork::operator()(const Var& x, const RecurrentVars& state, const IdTensor& lengths,
                                         const Tensor& real_steps) const {
  const std::shared_ptr<Parts> parts = parts_;
  const CudnnConfig& config = parts->config;
  const bool has_c = config.facts().has_c;
  const Var h0 = state.h, c0 = has_c ? state.c : Var();
  require(parts->made_in == precision(),
          "{}: this layer was made in {} and is asked to compute in {}; set_precision comes first",
          config.facts().name, name_of(parts->made_in), name_of(precision()));
  const auto sizes = parts->sizes_for(x.dim(0), x.dim(1), lengths);
  const CudnnWeightSpace& space = parts->weight_space();
  const char* const name = names[static_cast<size_t>(config.cell)];
  Vars from = {x, h0};
  if (has_c) from.push_back(c0);
  from.insert(from.end(), space.parameters().begin(), space.parameters().end());
  const auto operands = inputs(from);
  const cudnnForwardMode_t mode =
      recorded(name, operands) ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;

  const CudnnNumbers& numbers = parts->numbers;
  const CudnnTensor x_in = numbers.read(x.value()), h_in = numbers.read(h0.value()),
                    c_in = numbers.read(has_c ? c0.value() : Tensor());
  CudnnTensor y = numbers.write(Tensor({x.dim(0), x.dim(1), config.directions * config.width})),
              h = numbers.write(Tensor(h0.shape())), c = numbers.write(has_c ? Tensor(c0.shape()) : Tensor());
  const auto [work, reserved] = sizes->of_mode[mode];
  const Memory reserve = reserved ? Memory(reserved) : Memory();
  const void* const weights = space.renewed();
  const cudnnRNNDescriptor_t rnn = parts->rnn;
  gpu::check(
      cudnn().forward(cudnn_handle(), rnn, mode, static_cast<const int32_t*>(sizes->lengths.data()), sizes->x,
                      x_in.data(), sizes->y, y.data(), sizes->h, h_in.data(), h.data(), sizes->c, c_in.data(),
                      c.data(), space.bytes(), weights, work, gpu::workspace(work), reserved, reserve.data()),
      "cudnnRNNForward");
  products_done.flops += parts->flops(x.dim(0), x.dim(1));
  for (CudnnTensor* out : {&y, &h, &c}) numbers.arrived(*out);

  // cuDNN leaves the reserve to one backward pass, and a record runs once.
  const auto back = [=, y_out = y](const Var& y, const Var& h_last, const Var* c_last) {
    const CudnnWeightSpace& space = *parts->space;
    space.in_place();  // throws if the weights that went forward were written since
    const CudnnNumbers& numbers = parts->numbers;
    const auto [work, reserved] = sizes->of_mode[CUDNN_FWD_MODE_TRAINING];
    const CudnnTensor dy = numbers.read(y.grad()), dh_last = numbers.read(gradient_of(h_last)),
                      dc_last = numbers.read(c_last ? gradient_of(*c_last) : Tensor());
    Written dx(numbers, x), dh(numbers, h0), dc(numbers, c_last ? c0 : Var());
    CudnnTensor unwanted =
        dx.data() ? CudnnTensor() : numbers.write(Tensor(x.shape()));  // cuDNN writes it in any case
    gpu::check(cudnn().backward_data(
                   cudnn_handle(), rnn, static_cast<const int32_t*>(sizes->lengths.data()), sizes->y,
                   y_out.data(), dy.data(), sizes->x, dx.data() ? dx.data() : unwanted.data(), sizes->h,
                   h_in.data(), dh_last.data(), dh.data(), sizes->c, c_in.data(), dc_last.data(), dc.data(),
                   space.bytes(), weights, work, gpu::workspace(work), reserved, reserve.data()),
               "cudnnRNNBackwardData");
    // By name: clang before 16 captures no structured binding.
    space.gather([&, work = work, reserved = reserved](void* gradients) {
      gpu::check(
          cudnn().backward_weights(cudnn_handle(), rnn, CUDNN_WGRAD_MODE_ADD,
                                   static_cast<const int32_t*>(sizes->lengths.data()), sizes->x, x_in.data(),
                                   sizes->h, h_in.data(), sizes->y, y_out.data(), space.bytes(), gradients,
                                   work, gpu::workspace(work), reserved, reserve.data()),
          "cudnnRNNBackwardWeights");
    });
    products_done.flops += 2 * parts->flops(x.dim(0), x.dim(1));
    Tensor& written = dx.arrived();
    if (real_steps.defined() && written.defined())  // cuDNN does not say what it writes into padding
      kernels().keep_rows(written.data(), real_steps.data(), written.rows(), written.cols(), written.data(),
                          false);
    dh.arrived(), dc.arrived();
    dx.finish(), dh.finish(), dc.finish();
  };
  if (has_c) {
    auto [y_out, h_out, c_out] =
        record<3>(name, std::array{y.tensor, h.tensor, c.tensor}, operands,
                  [back](const Var& y, const Var& h_last, const Var& c_last) { back(y, h_last, &c_last); });
    return {y_out, {h_out, c_out}};
  }
  auto [y_out, h_out] = record<2>(name, std::array{y.tensor, h.tensor}, operands,
                                  [back](const Var& y, const Var& h_last) { back(y, h_last, nullptr); });
  return {y_out, {h_out, {}}};
}

}  // namespace unroll

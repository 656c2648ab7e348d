// One or several layers by cuDNN, forward and backward: a call for a window, or one for each chunk of its steps.
#include <memory>
#include <optional>
#include <utility>

#include "framework/device.h"
#include "framework/kernels/cuda/context.h"
#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "layers/recurrent/engines/cudnn.h"
#include "layers/recurrent/engines/cudnn/library.h"
#include "layers/recurrent/engines/cudnn/numbers.h"
#include "layers/recurrent/engines/cudnn/weights.h"
#include "layers/recurrent/wavefront.h"

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

// The place of a gradient; undefined where none is wanted.
Into into_of(const Var& x) { return x.wants_grad() ? x.gradient() : Into(); }

// Memory for a gradient: cuDNN writes gradients and cannot add to them.
class Written {
 public:
  Written(const CudnnNumbers& numbers, const Into& into) : numbers_(numbers), into_(into) {
    if (into.tensor.defined()) place_ = numbers.write(into.add ? Tensor(into.tensor.shape()) : into.tensor);
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

// Steps of a window in one call each way: all of them, or a chunk where layers run side by side.
struct CudnnChunk {
  std::shared_ptr<const CudnnSizes> sizes;
  CudnnTensor x, y, h_before, c_before;
  Memory reserve;  // of this chunk alone, until its backward
};

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

// Lives from the forward pass to the backward pass. A state goes from chunk to chunk as cuDNN writes it.
struct CudnnNetwork::Window {
  std::shared_ptr<Parts> parts;
  const Var x, h0, c0;  // c0: where the cell has one
  const Tensor real_steps;
  const WavePart part;
  const int steps = x.dim(0), batch = x.dim(1);
  std::vector<CudnnChunk, PoolAllocator<CudnnChunk>> chunks = {};
  const void* weights = nullptr;

  const CudnnNumbers& numbers() const { return parts->numbers; }
  bool has_c() const { return parts->config.facts().has_c; }
  static const int32_t* lengths_of(const CudnnChunk& chunk) {
    return static_cast<const int32_t*>(chunk.sizes->lengths.data());
  }

  void describe(const IdTensor& lengths);
  std::array<Tensor, 3> forward(cudnnForwardMode_t mode);
  void backward(const Var& y, const Var& h_last, const Var* c_last);
  void add_weights_gradients() const;
};

// Before the lane: sizes may go to the device.
void CudnnNetwork::Window::describe(const IdTensor& lengths) {
  for (int i = 0; i < part.chunks(); ++i)
    chunks.emplace_back().sizes =
        parts->sizes_for(part.begin(i + 1, steps) - part.begin(i, steps), batch, lengths);
}

std::array<Tensor, 3> CudnnNetwork::Window::forward(cudnnForwardMode_t mode) {
  const CudnnConfig& config = parts->config;
  const CudnnWeightSpace& space = parts->weight_space();
  PartInLane lane(part, PartInLane::Way::forward);
  const Tensor y_all({steps, batch, config.directions * config.width}), h_last(h0.shape()),
      c_last = has_c() ? Tensor(c0.shape()) : Tensor();
  CudnnTensor h = numbers().read(h0.value()), c = numbers().read(has_c() ? c0.value() : Tensor());
  weights = space.renewed();
  auto next = chunks.begin();
  lane.each_chunk(steps, [&](int begin, int end) {
    CudnnChunk& chunk = *next++;
    const bool last = end == steps;
    const auto after = [&](const Tensor& state) {
      return last || !state.defined() ? numbers().write(state) : numbers().room(state.size());
    };
    const CudnnTensor& in = chunk.x = numbers().read(x.value().slice(begin, end));
    chunk.y = numbers().write(y_all.slice(begin, end));
    const CudnnTensor &h_before = chunk.h_before = h, &c_before = chunk.c_before = c;
    h = after(h_last), c = after(c_last);
    const auto [work, reserved] = chunk.sizes->of_mode[mode];
    if (reserved) chunk.reserve = Memory(reserved);
    gpu::check(cudnn().forward(cudnn_handle(), parts->rnn, mode, lengths_of(chunk), chunk.sizes->x, in.data(),
                               chunk.sizes->y, chunk.y.data(), chunk.sizes->h, h_before.data(), h.data(),
                               chunk.sizes->c, c_before.data(), c.data(), space.bytes(), weights, work,
                               gpu::workspace(work), reserved, chunk.reserve.data()),
               "cudnnRNNForward");
    for (CudnnTensor* out : {&chunk.y, &h, &c}) numbers().arrived(*out);
  });
  products_done.flops += parts->flops(steps, batch);
  return {y_all, h_last, c_last};
}

// cuDNN leaves a reserve to one backward pass, and a record runs once.
void CudnnNetwork::Window::backward(const Var& y, const Var& h_last, const Var* c_last) {
  const CudnnWeightSpace& space = *parts->space;
  space.in_place();  // throws if the weights that went forward were written since
  PartInLane lane(part, PartInLane::Way::back);
  const Tensor dy_all = y.grad();
  CudnnTensor dh = numbers().read(gradient_of(h_last)),
              dc = numbers().read(c_last ? gradient_of(*c_last) : Tensor());
  const Into to_x = into_of(x);
  Written dh0(numbers(), into_of(h0)), dc0(numbers(), into_of(c_last ? c0 : Var()));
  auto next = chunks.rbegin();
  lane.each_chunk(steps, [&](int begin, int end) {
    const CudnnChunk& chunk = *next++;
    const CudnnTensor dy = numbers().read(dy_all.slice(begin, end));
    Written dx(numbers(), to_x.tensor.defined() ? Into{to_x.tensor.slice(begin, end), to_x.add} : Into());
    // cuDNN writes it in any case.
    CudnnTensor unwanted =
        dx.data() ? CudnnTensor() : numbers().room(int64_t{end - begin} * batch * parts->config.input);
    CudnnTensor dh_before = begin ? numbers().room(h0.value().size()) : CudnnTensor(),
                dc_before = begin && c_last ? numbers().room(c0.value().size()) : CudnnTensor();
    const auto [work, reserved] = chunk.sizes->of_mode[CUDNN_FWD_MODE_TRAINING];
    gpu::check(
        cudnn().backward_data(cudnn_handle(), parts->rnn, lengths_of(chunk), chunk.sizes->y, chunk.y.data(),
                              dy.data(), chunk.sizes->x, dx.data() ? dx.data() : unwanted.data(),
                              chunk.sizes->h, chunk.h_before.data(), std::as_const(dh).data(),
                              begin ? dh_before.data() : dh0.data(), chunk.sizes->c, chunk.c_before.data(),
                              std::as_const(dc).data(), begin ? dc_before.data() : dc0.data(), space.bytes(),
                              weights, work, gpu::workspace(work), reserved, chunk.reserve.data()),
        "cudnnRNNBackwardData");
    Tensor& written = dx.arrived();
    if (real_steps.defined() && written.defined())  // cuDNN does not say what it writes into padding
      kernels().keep_rows(written.data(), real_steps.data(), written.rows(), written.cols(), written.data(),
                          false);
    dx.finish();
    dh = dh_before, dc = dc_before;
  });
  add_weights_gradients();
  products_done.flops += 2 * parts->flops(steps, batch);
  for (Written* state : {&dh0, &dc0}) state->arrived(), state->finish();
}

// After all chunks: the layer below goes on meanwhile.
void CudnnNetwork::Window::add_weights_gradients() const {
  const CudnnWeightSpace& space = *parts->space;
  space.gather([&](void* gradients) {
    for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
      const auto [work, reserved] = chunk->sizes->of_mode[CUDNN_FWD_MODE_TRAINING];
      gpu::check(
          cudnn().backward_weights(cudnn_handle(), parts->rnn, CUDNN_WGRAD_MODE_ADD, lengths_of(*chunk),
                                   chunk->sizes->x, chunk->x.data(), chunk->sizes->h, chunk->h_before.data(),
                                   chunk->sizes->y, chunk->y.data(), space.bytes(), gradients, work,
                                   gpu::workspace(work), reserved, chunk->reserve.data()),
          "cudnnRNNBackwardWeights");
    }
  });
}

RecurrentOutput CudnnNetwork::operator()(const Var& x, const RecurrentVars& state, const IdTensor& lengths,
                                         const Tensor& real_steps, const WavePart& part) const {
  const CudnnConfig& config = parts_->config;
  const bool has_c = config.facts().has_c;
  require(parts_->made_in == precision(),
          "{}: this layer was made in {} and is asked to compute in {}; set_precision comes first",
          config.facts().name, name_of(parts_->made_in), name_of(precision()));
  const auto window = std::allocate_shared<Window>(
      PoolAllocator<Window>(), Window{parts_, x, state.h, has_c ? state.c : Var(), real_steps, part});
  window->describe(lengths);
  const char* const name = names[static_cast<size_t>(config.cell)];
  Vars from = {x, window->h0};
  if (has_c) from.push_back(window->c0);
  const Vars& parameters = parts_->weight_space().parameters();
  from.insert(from.end(), parameters.begin(), parameters.end());
  const auto operands = inputs(from);
  const auto [y, h, c] =
      window->forward(recorded(name, operands) ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE);
  if (has_c) {
    auto [y_out, h_out, c_out] = record<3>(name, std::array{y, h, c}, operands,
                                           [window](const Var& y, const Var& h_last, const Var& c_last) {
                                             window->backward(y, h_last, &c_last);
                                           });
    return {y_out, {h_out, c_out}};
  }
  auto [y_out, h_out] =
      record<2>(name, std::array{y, h}, operands,
                [window](const Var& y, const Var& h_last) { window->backward(y, h_last, nullptr); });
  return {y_out, {h_out, {}}};
}

}  // namespace unroll

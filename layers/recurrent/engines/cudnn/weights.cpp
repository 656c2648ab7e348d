#include "layers/recurrent/engines/cudnn/weights.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "framework/device.h"

namespace unroll {

using gpu::cudnn;

namespace {

// Elements of a matrix, whose descriptor must be [1, rows, cols].
int elements_of(cudnnTensorDescriptor_t descriptor, const CudnnNumbers& numbers) {
  cudnnDataType_t type;
  int rank = 0, dims[3] = {}, strides[3];
  gpu::check(cudnn().get_tensor(descriptor, 3, &type, &rank, dims, strides), "cudnnGetTensorNdDescriptor");
  require(rank == 3 && strides[2] == 1 && strides[1] == dims[2] && dims[0] == 1,
          "cudnn: a matrix of the weight space is not [1, rows, columns], row by row");
  require(type == numbers.type,
          "cudnn: a matrix of the weight space is of type {}, and the network of type {}", int{type},
          int{numbers.type});
  return dims[1] * dims[2];
}

}  // namespace

// Linear layers are numbered: the gates' products with x, their products with h, then the projection.
CudnnWeightSpace::CudnnWeightSpace(const CudnnConfig& config, const CudnnNumbers& numbers,
                                   cudnnRNNDescriptor_t rnn, const ListedWeights& weights)
    : numbers_(numbers) {
  gpu::check(cudnn().weight_space_size(gpu::cudnn_handle(), rnn, &bytes_), "cudnnGetRNNWeightSpaceSize");
  require(bytes_ / numbers.bytes <= INT_MAX,
          "cudnn: a weight space of {} bytes is more than a tensor can index", bytes_);
  const gpu::TensorDescriptor of_matrix, of_bias;
  const int gates = config.facts().gates;
  // The space would begin here if all parameters were in place. The library only computes addresses.
  const char* const start = reinterpret_cast<const char*>(weights.front()->all.front().value().data());
  for (size_t k = 0; k < weights.size(); ++k) {
    const CellWeights& w = *weights[k];
    const size_t first = parameters_.size();
    parameters_.insert(parameters_.end(), w.all.begin(), w.all.end());
    const auto place_of = [&](const char* name) {  // beyond the last one: the cell has none of that name
      return first + static_cast<size_t>(std::ranges::find(w.names, name) - w.names.begin());
    };
    const bool projects = w.find("weight_hr");
    for (int linear = 0; linear < 2 * gates + (projects ? 1 : 0); ++linear) {
      void *matrix = nullptr, *vector = nullptr;
      gpu::check(cudnn().weight_params(gpu::cudnn_handle(), rnn, static_cast<int>(k), bytes_, start, linear,
                                       of_matrix, &matrix, of_bias, &vector),
                 "cudnnGetRNNWeightParams");
      require(matrix, "cudnn: the weight space has no matrix for the linear layer {}", linear);
      const auto offset_of = [=](const void* place) {
        return static_cast<int>((static_cast<const char*>(place) - start) /
                                static_cast<ptrdiff_t>(numbers.bytes));
      };
      const int gate = linear % gates, count = elements_of(of_matrix, numbers);
      if (linear == 2 * gates)
        add(place_of("weight_hr"), 0, count, offset_of(matrix));
      else
        add(place_of(linear < gates ? "weight_ih" : "weight_hh"), gate * count, count, offset_of(matrix));
      if (!vector || linear == 2 * gates) continue;
      const int rows = elements_of(of_bias, numbers);
      if (linear < gates)
        add(place_of("bias"), gate * rows, rows, offset_of(vector));
      else if (config.cell == CellKind::gru && gate == 2)
        add(place_of("bias_hn"), 0, rows, offset_of(vector));
    }
  }
  std::vector<int64_t> covered(parameters_.size());
  for (const Segment& s : segments_) covered[s.parameter] += s.count;
  for (size_t i = 0; i < parameters_.size(); ++i)
    require(covered[i] == parameters_[i].value().size(),
            "cudnn: its weight space has {} numbers for a parameter of {}", covered[i],
            parameters_[i].value().size());
}

// A segment that continues the one before, in both places, joins it.
void CudnnWeightSpace::add(size_t parameter, int first, int count, int offset) {
  for (Segment& s : segments_)
    if (s.parameter == parameter && s.first + s.count == first && s.offset + s.count == offset)
      return void(s.count += count);
  segments_.push_back({parameter, first, count, offset});
}

namespace {

// The start of a space in which each segment of `tensors` already lies in its place; nullptr if there is none.
template <class Segments, class DataOf>
auto common_start(const Segments& segments, std::size_t bytes, const DataOf& data_of) {
  using Place = decltype(data_of(size_t{}));
  Place start = nullptr;
  std::size_t end = 0;
  for (const auto& s : segments) {
    const auto here = data_of(s.parameter) + s.first - s.offset;
    if (start && here != start) return Place(nullptr);
    start = here;
    end = std::max(end, static_cast<std::size_t>(s.offset) + static_cast<std::size_t>(s.count));
  }
  return end * sizeof(real) == bytes ? start : nullptr;
}

}  // namespace

const real* CudnnWeightSpace::place() const {
  if (numbers_.conversion) return nullptr;
  return common_start(segments_, bytes_, [&](size_t i) { return parameters_[i].value().data(); });
}

// Tapes are numbered: the second of two parts of a step has the next number.
bool CudnnWeightSpace::is_of_this_step() const {
  const Tape* const tape = Tape::recording();
  const auto before =
      std::exchange(copied_for_, {.tape = tape ? tape->id() : 0, .part = tape ? tape->options().part : 0});
  if (before.tape == 0 || !tape) return false;
  return before.tape == copied_for_.tape ||
         (before.tape + 1 == copied_for_.tape && before.part + 1 == copied_for_.part);
}

const void* CudnnWeightSpace::renewed() const {
  if (const real* const there = place()) return there;
  if (is_of_this_step() && copy_.data()) return copy_.data();
  if (!copy_.data()) {
    copy_ = Memory(bytes_);
    clear_on_device(copy_.data(), bytes_);
  }
  for (const Segment& s : segments_)
    numbers_.put(parameters_[s.parameter].value().data() + s.first, at(copy_, s), s.count);
  return copy_.data();
}

// In place only if all want a gradient: cuDNN adds to the whole space, and frozen parameters must collect none.
void CudnnWeightSpace::gather(const std::function<void(void* space)>& add_gradients) const {
  if (std::ranges::none_of(parameters_, &Var::wants_grad)) return;
  std::vector<Into> gradients;  // by parameter; none if it wants none
  for (const Var& v : parameters_) gradients.push_back(v.wants_grad() ? v.gradient() : Into());
  if (std::ranges::all_of(parameters_, &Var::wants_grad) && in_place())
    if (void* const space =
            common_start(segments_, bytes_, [&](size_t i) { return gradients[i].tensor.data(); })) {
      for (const Into& d : gradients)
        if (!d.add) d.tensor.fill(0);
      return add_gradients(space);
    }
  const Memory copy(bytes_);
  clear_on_device(copy.data(), bytes_);
  add_gradients(copy.data());
  for (const Segment& s : segments_) {
    const Into& d = gradients[s.parameter];
    if (d.tensor.defined()) numbers_.bring(at(copy, s), d.tensor.data() + s.first, s.count, d.add);
  }
}

}  // namespace unroll

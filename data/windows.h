// Windows for truncated back-propagation through time: a sequence of tokens cut into `batch` contiguous
// streams that are read side by side, `steps` tokens at a time.
//
//   tokens  a b c d e f g h i j    batch 2, steps 3, training:
//
//   stream 0  a b c d|e     window 0: input a b c  target b c d     window 1: input d  target e
//   stream 1  e f g h|i                     e f g         f g h                     h         i
//
// Training: with L = (tokens - 1) / batch, rounded down, stream i reads tokens iL … (i+1)L - 1 and predicts
// the tokens one further. The first token is never predicted, nor the remainder of the division, fewer than
// `batch` tokens at the end (j). The last window is shorter if `steps` does not divide L, so no target is lost
// there.
//
// Evaluation (evaluation_windows): every token is scored exactly once, the first from a given input, `<eos>`.
// Stream lengths differ by at most one; a shorter stream ends with the target -1, which losses ignore. A
// stream starts from an empty state, so the score is exact with batch 1 only.
//
// Documents (WindowOptions::documents): resets() marks where they begin. The first token of a document is predicted
// from an empty state and the token before it, the last document's `<eos>`. Evaluation cuts no document: each stream
// has whole ones, so a score is exact with every batch. A stream without a document has -1 throughout.
//
// A window's two blocks are int32 [steps, batch], time first, in buffers of the BpttWindows. They are valid until the
// next window is taken, which on a GPU must be after the backward. There kernels read a copy that at() makes: after a
// change to a window's tokens call renew() before using it. Only construction and cut() allocate. Requires: the tokens
// outlive the BpttWindows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <span>
#include <vector>

#include "framework/check.h"
#include "framework/random.h"
#include "framework/tensor.h"

namespace unroll {

// The cut of a sequence into streams and windows.
struct WindowOptions {
  int batch = 20;  // streams side by side
  int steps = 35;
  // Places of the tokens that begin documents, ascending (Reading::documents). If empty, the text is not divided.
  // Requires: they outlive the windows.
  std::span<const int64_t> documents = {};
};

inline constexpr int32_t ignored_target = -1;  // a place where nothing is predicted

// A block of steps to read, and what follows each.
struct Window {
  // Both [steps, batch], the last window's with fewer steps. After a change: BpttWindows::renew().
  IdTensor input, target;
};

class BpttWindows {
 public:
  // Windows for training. InputError unless batch and steps are at least 1 and every stream has a target.
  explicit BpttWindows(std::span<const int32_t> tokens, const WindowOptions& options = {})
      : BpttWindows(tokens, options, static_cast<int64_t>(tokens.size()) - 1) {}
  explicit BpttWindows(std::vector<int32_t>&&, const WindowOptions& = {}) = delete;  // would be gone
  BpttWindows(BpttWindows&&) = default;
  BpttWindows& operator=(BpttWindows&&) = default;

  // Cuts anew: window k has steps_of(k) steps, at least 1. The last window has the rest.
  template <class StepsOf>
  void cut(StepsOf steps_of) {
    begins_.clear();
    int longest = window_.input.dim(0);
    for (int64_t begin = 0; begin < length_;) {
      const int steps = steps_of(std::ssize(begins_));
      require(steps >= 1, "windows: window {} of {} steps", begins_.size(), steps);
      begins_.push_back(begin);
      longest = std::max(longest, static_cast<int>(std::min<int64_t>(steps, length_ - begin)));
      begin += steps;
    }
    if (longest > window_.input.dim(0)) make_buffers(longest);
  }

  // Partial shuffle (Press 2019, "Partially shuffling the training data to improve language models"): each stream begins at
  // a step drawn from (seed, epoch), and what stood before that step follows the stream's end. Each token is still
  // predicted once, from the token before it. For training.
  void shuffle(uint64_t seed, int epoch) {
    require(shift_ > 0, "windows: an evaluation has its tokens in order");
    const RandomKey random{
        .seed = seed, .place = place_of("windows/shuffle"), .step = static_cast<uint32_t>(epoch)};
    first_steps_.clear();
    for (int stream = 0; stream < options_.batch; ++stream)
      first_steps_.push_back(static_cast<int64_t>(
          (uint64_t{random.bits(static_cast<uint32_t>(stream))} * static_cast<uint64_t>(length_)) >> 32));
  }

  int64_t count() const {  // of windows in an epoch
    return begins_.empty() ? (length_ + options_.steps - 1) / options_.steps : std::ssize(begins_);
  }
  // Tokens predicted by all windows together.
  int64_t targets() const { return targets_; }
  int batch() const { return options_.batch; }  // streams side by side

  // Window k, 0 <= k < count(), in any order. Its tokens may be changed: then see renew().
  Window at(int64_t k) { return at(k, 0, options_.batch); }
  // Window k with streams first_stream … end_stream - 1 alone, at least one. Blocks are [steps, end_stream -
  // first_stream].
  Window at(int64_t k, int first_stream, int end_stream) {
    require(k >= 0 && k < count(), "windows: no window {}, there are {}", k, count());
    require(0 <= first_stream && first_stream < end_stream && end_stream <= options_.batch,
            "windows: no streams {} to {}, there are {}", first_stream, end_stream, options_.batch);
    const int64_t begin = begin_of(k), streams = end_stream - first_stream;
    const int steps = static_cast<int>(std::min(begin_of(k + 1), length_) - begin);
    for (int64_t stream = first_stream; stream < end_stream; ++stream) {
      const int64_t end = stream_begin(stream + 1);
      for (int step = 0; step < steps; ++step) {
        const int64_t at = place(stream, begin + step), to = step * streams + stream - first_stream;
        const bool inside = at < end;
        // A target's input is the token before it, at a stream's beginning the end of another stream.
        window_.input.data()[to] =
            inside && at + shift_ > 0 ? tokens_[static_cast<std::size_t>(at + shift_ - 1)] : before_;
        window_.target.data()[to] = inside ? tokens_[static_cast<std::size_t>(at + shift_)] : ignored_target;
      }
    }
    renew();
    find_resets(begin, steps, first_stream, end_stream);
    const Shape shape{steps, static_cast<int>(streams)};
    return {part(window_.input, shape), part(window_.target, shape)};
  }
  // Resets of the window taken last, in its shape: 1 where the target begins a document, so the state before that step
  // must be zero. Undefined if no document begins in the window. Valid as long as the window.
  const IdTensor& resets() const& { return resets_; }
  IdTensor resets() const&& { return resets_; }
  // Call after changing tokens of the window taken last (words dropped from its input, targets to be ignored): updates
  // the GPU's copy. Does nothing on a CPU.
  void renew() const { input_on_device_.renew(), target_on_device_.renew(); }
  // Windows of the same size, buffers and number of scored targets share this number: one graph serves all of them
  // (TrainingTask::load). Not with documents, whose resets differ. Requires: `window` is the one taken last.
  int64_t kind_of(const Window& window) const {
    const auto targets = window.target.span();
    const auto scored = std::ranges::count_if(targets, [](int32_t id) { return id != ignored_target; });
    return (int64_t{buffers_} << 48) + (int64_t{window.target.dim(0)} << 32) + scored;
  }

  // Over all windows, in order.
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = Window;
    using difference_type = std::ptrdiff_t;
    Iterator(BpttWindows& windows, int64_t k) : windows_(&windows), k_(k) {}
    Window operator*() const { return windows_->at(k_); }
    Iterator& operator++() { return ++k_, *this; }
    void operator++(int) { ++k_; }
    bool operator==(const Iterator& other) const { return k_ == other.k_; }

   private:
    BpttWindows* windows_;
    int64_t k_;
  };
  Iterator begin() { return {*this, 0}; }  // for (const auto& [input, target] : windows)
  Iterator end() { return {*this, count()}; }

 private:
  friend BpttWindows evaluation_windows(std::span<const int32_t> tokens, int32_t before,
                                        const WindowOptions& options);

  // `predictable` tokens at the end of `tokens` can be predicted: all but the first, or all.
  BpttWindows(std::span<const int32_t> tokens, const WindowOptions& options, int64_t predictable)
      : tokens_(tokens), options_(options), shift_(static_cast<int64_t>(tokens.size()) - predictable) {
    require_input(options.batch >= 1, "windows: batch must be at least 1, not {}", options.batch);
    require_input(options.steps >= 1, "windows: steps must be at least 1, not {}", options.steps);
    require_input(predictable >= options.batch, "windows: {} tokens are too few for a batch of {} streams",
                  tokens.size(), options.batch);
    require(options.documents.empty() || options.documents.back() < std::ssize(tokens),
            "windows: a document begins behind the {} tokens", tokens.size());
    find_streams(predictable);
    const int rows = static_cast<int>(std::min<int64_t>(options.steps, length_));
    make_buffers(rows);
  }

  void find_streams(int64_t predictable) {
    const bool training = shift_ > 0;
    const int64_t batch = options_.batch, shorter = predictable / batch;
    for (int64_t stream = 0; stream <= batch; ++stream)
      stream_begins_.push_back(stream * shorter + (training ? 0 : std::min(stream, predictable % batch)));
    if (!training && !options_.documents.empty())
      for (int64_t& begin : std::span(stream_begins_).subspan(1, static_cast<std::size_t>(batch - 1))) {
        const auto next = std::ranges::lower_bound(options_.documents, begin);
        begin = next == options_.documents.end() ? predictable : *next;
      }
    targets_ = stream_begins_.back();
    for (int64_t stream = 0; stream < batch; ++stream)
      length_ = std::max(length_, stream_begin(stream + 1) - stream_begin(stream));
  }
  void make_buffers(int steps) {
    window_ = {IdTensor({steps, options_.batch}), IdTensor({steps, options_.batch})};
    if (!options_.documents.empty()) resets_of_all_ = IdTensor({steps, options_.batch});
    input_on_device_ = DeviceIds(window_.input), target_on_device_ = DeviceIds(window_.target);
    ++buffers_;
  }
  // The beginning of a buffer.
  static IdTensor part(const IdTensor& buffer, const Shape& shape) {
    return buffer.reshape({static_cast<int>(buffer.size())})
        .slice(0, static_cast<int>(shape.size()))
        .reshape(shape);
  }
  // Finds the resets of the window whose steps start at `begin` in each stream.
  void find_resets(int64_t begin, int steps, int first_stream, int end_stream) {
    resets_ = {};
    if (options_.documents.empty()) return;
    const int streams = end_stream - first_stream;
    IdTensor resets = part(resets_of_all_, {steps, streams});
    std::ranges::fill(resets.span(), 0);
    for (int64_t stream = first_stream; stream < end_stream; ++stream)
      for (int step = 0; step < steps; ++step) {
        const int64_t at = place(stream, begin + step);
        // Shuffled, a stream's end and its beginning are of two documents.
        const bool is_seam = !first_steps_.empty() && at == stream_begin(stream);
        if (at >= stream_begin(stream + 1) ||
            (!is_seam && !std::ranges::binary_search(options_.documents, at + shift_)))
          continue;
        resets.data()[step * streams + stream - first_stream] = 1;
        resets_ = resets;
      }
  }
  int64_t begin_of(int64_t k) const {
    if (begins_.empty()) return k * options_.steps;
    return k < std::ssize(begins_) ? begins_[static_cast<std::size_t>(k)] : length_;
  }
  // The place among the targets that a stream reads at a step.
  int64_t place(int64_t stream, int64_t step) const {
    if (!first_steps_.empty()) step = (step + first_steps_[static_cast<std::size_t>(stream)]) % length_;
    return stream_begin(stream) + step;
  }
  int64_t stream_begin(int64_t stream) const { return stream_begins_[static_cast<std::size_t>(stream)]; }

  std::span<const int32_t> tokens_;
  WindowOptions options_;
  int64_t shift_;       // the position of the first target
  int32_t before_ = 0;  // input for a target that has no predecessor, and where there is no target
  std::vector<int64_t> stream_begins_;  // among the targets, and their end
  int64_t length_ = 0;                  // steps of the longest stream
  int64_t targets_ = 0;
  std::vector<int64_t> first_steps_;  // by stream, after shuffle(); empty: all begin at 0
  std::vector<int64_t> begins_;       // of the windows in each stream; empty: all have options_.steps
  Window window_;
  IdTensor resets_of_all_, resets_;  // the buffer, and that of the window taken last, if it has any
  DeviceIds input_on_device_, target_on_device_;
  int buffers_ = 0;  // how often they were made
};

// Draws the steps of a window: normal around `bptt`, or with probability 0.05 around half of it, with deviation 5,
// rounded down, at least 5 (Merity, Keskar and Socher 2018, as in their awd-lstm-lm). Depends on its arguments
// alone.
inline int variable_steps(int bptt, uint64_t seed, int epoch, int64_t window) {
  const auto bits =
      RandomKey{.seed = seed, .place = place_of("bptt"), .step = static_cast<uint32_t>(epoch)}.block(
          static_cast<uint32_t>(window));
  const double centre = unit_interval(bits[0]) < 0.95f ? bptt : bptt / 2.0;
  // Box and Muller 1958
  const double u = 1 - unit_interval(bits[1]), v = unit_interval(bits[2]);
  const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  return std::max(5, static_cast<int>(centre + 5 * normal));
}

// Number of streams that are worth reading side by side to evaluate a text: at most `batch` and, with documents, one
// for each. More would only add padding, since every stream is padded to the longest one, which holds a whole document.
inline int evaluation_streams(int64_t tokens, std::span<const int64_t> documents, int batch) {
  int64_t longest = 1;
  for (std::size_t k = 0; k < documents.size(); ++k)
    longest = std::max(longest, (k + 1 < documents.size() ? documents[k + 1] : tokens) - documents[k]);
  return static_cast<int>(std::min<int64_t>(batch, (tokens + longest - 1) / longest));
}

// Windows that score every token once; the first is predicted from `before`, the id of `<eos>`. InputError
// unless batch and steps are at least 1 and every stream has a target.
inline BpttWindows evaluation_windows(std::span<const int32_t> tokens, int32_t before,
                                      const WindowOptions& options) {
  BpttWindows windows(tokens, options, static_cast<int64_t>(tokens.size()));
  windows.before_ = before;
  return windows;
}
BpttWindows evaluation_windows(std::vector<int32_t>&& tokens, int32_t before,
                               const WindowOptions& options) = delete;

}  // namespace unroll

#include "framework/tape.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "framework/profile.h"

namespace unroll {

// --- Gradient -------------------------------------------------------------------------------------------------

void Gradient::ensure(const Shape& shape) {
  if (tensor_.defined()) return;
  const Tensor tensor(shape);
  bind(tensor, tensor.memory().write_time());
}

void Gradient::bind(const Tensor& tensor, WriteTime* written) {
  tensor_ = tensor.telling(nullptr), shown_written_ = written;
  state_ = State::empty, stale_rows_ = shown_ = false;
  if (written) written->mark_gradient();
}

bool Gradient::changed() const {
  if (!shown_written_ || shown_written_->last() == 0) return false;
  require(shown_ || state_ == State::all,
          "gradient: {} was written through a tensor that was taken before the last step; take grad() or "
          "gradients() again after each step, or use reduce_gradients()",
          tensor_.shape());
  return true;
}

void Gradient::settle() {
  if (!changed()) return;
  shown_written_->forget();
  state_ = State::all, stale_rows_ = false;
}

Tensor Gradient::shown(const Shape& shape) {
  value(shape);
  shown_ = true;
  return tensor_.telling(shown_written_);
}

void Gradient::contribute_all(const Shape& shape) {
  value(shape);
  state_ = State::all, stale_rows_ = false;
}

Into Gradient::into(const Shape& shape) {
  ensure(shape);
  settle();
  end_reservation();
  const bool add = written();
  state_ = State::all;
  return {tensor_, add};
}

Into Gradient::into_rows(const Shape& shape, std::span<const int32_t> ids) {
  ensure(shape);
  settle();
  end_reservation();
  if (on_gpu()) {  // where one pass over all of them costs less than a call for each
    const bool add = written();
    state_ = State::all;
    if (!add) tensor_.fill(0);
    return add_to(tensor_);
  }
  if (state_ == State::empty) {
    if (stale_rows_) {
      for (int32_t row : rows_) tensor_[row].fill(0), is_row_[row] = 0;
    } else {
      tensor_.fill(0);
      is_row_.assign(static_cast<size_t>(shape[0]), 0);
      rows_.reserve(static_cast<size_t>(shape[0]));
    }
    rows_.clear();
    state_ = State::rows;
  }
  if (state_ == State::rows)
    for (int32_t row : ids)
      if (!is_row_[row]) is_row_[row] = 1, rows_.push_back(row);
  return {tensor_, true};
}

std::shared_ptr<Tensor> Gradient::reserve(const Shape& shape) {
  const PoolAllocator<Tensor> pool;
  static std::mutex forward_passes;  // those of several threads may share parameters
  const std::lock_guard lock(forward_passes);
  if (written() || !reserved_.expired()) return std::allocate_shared<Tensor>(pool, shape);
  ensure(shape);
  stale_rows_ = shown_ = false;
  std::shared_ptr<Tensor> tensor = std::allocate_shared<Tensor>(pool, tensor_);
  reserved_ = tensor;
  return tensor;
}

bool Gradient::commit(const std::shared_ptr<Tensor>& reserved) {
  if (reserved_.lock() != reserved) return false;
  settle();
  reserved_.reset();
  state_ = State::all;
  return true;
}

void Gradient::end_reservation() {
  if (const std::shared_ptr<Tensor> reserved = reserved_.lock()) *reserved = reserved->clone();
  reserved_.reset();
}

const Tensor& Gradient::value(const Shape& shape) {
  ensure(shape);
  settle();
  end_reservation();
  if (!written()) {
    if (stale_rows_)
      for (int32_t row : rows_) tensor_[row].fill(0);
    else
      tensor_.fill(0);
  }
  return tensor_;
}

void Gradient::spend() {
  const bool changed = shown_written_ && shown_written_->last() != 0;  // in whatever rows
  stale_rows_ = !changed && (state_ == State::rows || (state_ == State::empty && stale_rows_));
  if (changed) shown_written_->forget();
  state_ = State::empty;
  shown_ = false;
}

void Gradient::release() { bind({}, nullptr); }

// --- memory of records ------------------------------------------------------------------------------------------

// Blocks that this thread fills from tape to tape.
struct Arena {
  static constexpr std::size_t block_size = std::size_t{1} << 18;
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  std::size_t block = 0, used = 0;

  void* allocate(std::size_t bytes) {
    bytes = (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
    require(bytes <= block_size, "tape: a record of {} bytes is too large", bytes);
    if (used + bytes > block_size) ++block, used = 0;
    if (block == blocks.size()) blocks.emplace_back(new std::byte[block_size]);
    return blocks[block].get() + std::exchange(used, used + bytes);
  }
};

struct ThreadState {
  Tape* tape = nullptr;
  const char* checked_op = nullptr;  // whose backward runs, with check_inputs
  std::span<Node* const> its_inputs;
  int suspended = 0;
  const char* playing = "";  // the operation whose backward runs
  Arena arena;
  std::unordered_map<uint64_t, uint64_t> calls;
};
static thread_local ThreadState state;
static std::atomic<uint64_t> tapes{0};

void* Tape::allocate(std::size_t bytes) { return state.arena.allocate(bytes); }

std::span<Node* const> Tape::nodes_of(std::span<const Var* const> inputs) {
  Node** const nodes = static_cast<Node**>(allocate(inputs.size() * sizeof(Node*)));
  std::ranges::transform(inputs, nodes, [](const Var* input) { return input->node(); });
  return {nodes, inputs.size()};
}

// How often each parameter is still to be contributed to.
struct Tape::Uses {
  struct Of {
    const Leaf* leaf;
    int64_t left;
  };
  std::unordered_map<const Node*, Of> of;
};

void Tape::count_uses(std::span<const Var* const> inputs) {
  if (!options_.when_complete) return;
  if (!uses_) uses_ = std::make_shared<Uses>();
  for (const Var* input : inputs)
    if (input->leaf()) ++uses_->of.try_emplace(input->node(), Uses::Of{input->leaf(), 0}).first->second.left;
}

void Tape::finish_uses(const Record& record) {
  for (const Node* node : record.inputs)
    if (const auto found = uses_->of.find(node); found != uses_->of.end() && --found->second.left == 0)
      options_.when_complete(*found->second.leaf);
}

void Tape::measure(const char* op) { profile_->recorded(op); }

// --- Tape -------------------------------------------------------------------------------------------------------

Tape::Tape(TapeOptions options) : options_(options), id_(++tapes), profile_(Profile::active()) {
  require(!state.tape, "tape: another tape is alive on this thread; only one can record");
  require(state.suspended == 0, "tape: recording is suspended by a NoTape");
  state.tape = this;
  if (profile_) profile_->begin_tape();
  if (options_.keep_graph) begin_graph();
}

Tape::~Tape() {
  if (state.tape != this) {  // its records lie in its own thread's memory, which goes on writing to them
    std::fputs("tape: it ends on another thread than it began on\n", stderr);
    std::abort();
  }
  for (Record* record = last_; record;) {
    Record* previous = record->previous;
    record->destroy(record);
    record = previous;
  }
  state.tape = nullptr;
  state.arena.block = state.arena.used = 0;
  for (auto& [place, count] : state.calls) count = 0;
}

Tape* Tape::recording() { return state.suspended ? nullptr : state.tape; }

uint64_t Tape::call_of(uint64_t place) { return (uint64_t{options_.part} << 32) + state.calls[place]++; }

Var Tape::watch(Tensor value) {
  return add<1>("watch", nullptr, {std::move(value)}, [](const Var&) {}, {})[0];
}

void Tape::backward(const Var& loss, real scale) {
  require(
      !played_,
      "backward: this tape was played already, and there are no second derivatives; record the step again on a "
      "new tape");
  require(loss.value().size() == 1, "backward: the loss must be a single number, its shape is {}",
          loss.shape());
  require(!loss.leaf(), "backward: the loss is the parameter '{}' itself; no operation was recorded",
          loss.leaf() ? loss.leaf()->leaf_name() : "");
  require(loss.wants_grad() && loss.tape() == id_,
          "backward: the loss does not depend on any parameter recorded on this tape");
  played_ = true;
  NoTape guard;
  loss.gradient().tensor.fill(scale);
  const struct Played {
    ~Played() { WriteTime::bound = WriteTime::no_bound, state.checked_op = nullptr; }
  } ends_here;
  for (Record* record = last_; record; record = record->previous) {
    WriteTime::bound = record->time;
    state.playing = record->op;
    if (options_.check_inputs) state.checked_op = record->op, state.its_inputs = record->inputs;
    finish(record);
  }
  if (kept_) keep_gradients_of_parameters();
}

void throw_written(const Shape& shape, const WriteTime& written) {
  const std::string name = written.name();
  throw Error(fmt::format(
      "{}: {} {} was written after this was recorded, and its backward reads it; write it before the forward pass or "
      "after backward(), or give the operation a clone(). What writes: fill, copy_from, on_host(Access), data() "
      "and span() of a tensor that is not const, an optimizer's step",
      state.playing, name.empty() ? "a tensor" : "'" + name + "'", shape));
}

void Tape::finish(Record* record) {
  const auto written = [](const Node& node) { return node.gradient.written(); };
  if (kept_) keep_gradients_of(*record);
  if (profile_) profile_->before_backward();
  if (std::ranges::any_of(record->nodes, written)) record->play(record);
  if (profile_) profile_->before_release();
  record->forget(record);
  for (Var& output : record->outputs) output = Var();
  if (profile_) profile_->finished(record->op);
  if (uses_) finish_uses(*record);
  if (options_.keep_gradients || std::string_view(record->op) == "watch") return;
  for (Node& node : record->nodes) {
    node.gradient.release();
    node.released = true;
  }
}

std::vector<Tape::Entry> Tape::entries() const {
  std::vector<Entry> result;
  for (const Record* record = last_; record; record = record->previous) {
    Entry& entry = result.emplace_back(Entry{record->op, 0});
    for (const Shape& shape : record->shapes) {
      entry.text += fmt::format(" {}", shape);
      entry.numbers += shape.size();
    }
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::string Tape::text() const {
  std::string result;
  for (const Entry& entry : entries()) result += entry.text + '\n';
  return result;
}

std::string Tape::first_not_finite() {
  const auto finite = [](const Tensor& values) {
    const auto elements = values.on_host();
    return std::all_of(elements.begin(), elements.end(), [](real x) { return std::isfinite(x); });
  };
  std::vector<Record*> records;
  for (Record* record = last_; record; record = record->previous) records.push_back(record);
  std::reverse(records.begin(), records.end());
  // Backward meets them in the other order.
  const Leaf* before = nullptr;
  std::string of_gradient;
  for (Record* record : records) {
    const auto named = [&](const Shape& shape) {
      const Leaf* leaf = record->leaf ? record->leaf : before;
      const std::string name =
          leaf ? fmt::format(" {} '{}'", record->leaf ? "of" : "after", leaf->leaf_name()) : "";
      return fmt::format("{} {}{}", record->op, shape, name);
    };
    for (size_t i = 0; i < record->nodes.size(); ++i) {
      const Shape& shape = record->shapes[i];
      const Var& output = record->outputs[i];
      if (output.node() && !finite(output.value())) return named(shape);
      Gradient& gradient = record->nodes[i].gradient;
      if (gradient.written() && !finite(gradient.value(shape))) of_gradient = named(shape);
    }
    if (record->leaf) before = record->leaf;
  }
  return of_gradient;
}

NoTape::NoTape() { ++state.suspended; }
NoTape::~NoTape() { --state.suspended; }

// --- Var --------------------------------------------------------------------------------------------------------

Node& Var::checked_node() const {
  require(node_, "gradient: this is a constant and collects none");
  require(tape_ == 0 || (state.tape && state.tape->id() == tape_),
          "gradient: the tape of this variable is gone");
  return *node_;
}

Node& Var::input_node() const {
  if (state.checked_op) [[unlikely]]
    require(std::ranges::find(state.its_inputs, node_) != state.its_inputs.end(),
            "{}: its backward contributes to a variable {} that its inputs(…) leave out{}", state.checked_op,
            shape(), of_leaf(*this));
  return checked_node();
}

const Tensor Var::grad() const {
  Node& node = checked_node();
  require(!node.released,
          "grad: the gradient of this {} was given back after use; Tape({{.keep_gradients = true}}) keeps it",
          node.op);
  return WriteTime::bound != WriteTime::no_bound ? node.gradient.value(shape())
                                                 : node.gradient.shown(shape());
}

std::string of_leaf(const Var& x) { return x.leaf() ? fmt::format(", '{}'", x.leaf()->leaf_name()) : ""; }

bool recorded(const char* op, std::span<const Var* const> inputs) {
  const Tape* const tape = Tape::recording();
  bool wanted = false;
  for (const Var* input : inputs) {
    if (input->tape() != 0)
      require(state.tape && input->tape() == state.tape->id(),
              "{}: an input was recorded on a tape that is gone; pass .value() to cut the graph here", op);
    else if (tape && !tape->played() && !input->node())
      require(
          !input->value().is_gradient(),
          "{}: an input {} is a gradient, and there are no second derivatives; pass its clone() as a constant",
          op, input->value().shape());
    wanted = wanted || input->wants_grad();
  }
  return wanted && tape;
}

}  // namespace unroll

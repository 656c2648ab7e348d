#include "framework/tape.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "framework/profile.h"

namespace unroll {

// --- memory of records ------------------------------------------------------------------------------------------

// Blocks that this thread fills from tape to tape.
struct Arena {
  static constexpr std::size_t block_size = std::size_t{1} << 18;
  std::vector<std::unique_ptr<std::byte[]>> blocks, large;  // large: one each for what no block holds
  std::size_t block = 0, used = 0;

  void* allocate(std::size_t bytes) {
    bytes = (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
    if (bytes > block_size) return large.emplace_back(new std::byte[bytes]).get();
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

void Tape::observe(const OperationName& op, Record& record, std::span<const Var* const> inputs) {
  record.inputs = nodes_of(inputs);
  if (!options_.observer) return;
  for (const Var* input : inputs)
    if (input->leaf()) ++uses_.try_emplace(input->node(), Uses{*input, 0}).first->second.left;
  options_.observer->recorded(op, inputs, record.outputs);
}

void Tape::complete_parameters(const Record& record) {
  for (const Node* node : record.inputs)
    if (const auto found = uses_.find(node); found != uses_.end() && --found->second.left == 0)
      options_.observer->completed(found->second.parameter);
}

void Tape::measure(const char* op) { profile_->recorded(op); }

// --- Tape -------------------------------------------------------------------------------------------------------

Tape::Tape(TapeOptions options) : options_(options), id_(++tapes), profile_(Profile::active()) {
  require(!state.tape, "tape: another tape is alive on this thread; only one can record");
  require(state.suspended == 0, "tape: recording is suspended by a NoTape");
  state.tape = this;
  if (profile_) profile_->begin_tape();
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
  state.arena.block = state.arena.used = 0, state.arena.large.clear();
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
  if (options_.observer)
    for (const Var& output : record->outputs) options_.observer->completed(output);
  if (profile_) profile_->before_backward();
  if (std::ranges::any_of(record->nodes, written)) record->play(record);
  if (profile_) profile_->before_release();
  record->forget(record);
  for (Var& output : record->outputs) output = Var();
  if (profile_) profile_->finished(record->op);
  if (options_.observer) complete_parameters(*record);
  if (options_.keep_gradients || std::string_view(record->op) == "watch") return;
  for (Node& node : record->nodes) {
    node.gradient.release();
    node.released = true;
  }
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

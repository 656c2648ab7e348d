// Reverse-mode differentiation, all of it.
//
// A tape records operations while it is alive and plays them backwards once. The order of recording is already a topological
// order, so there is no search and no recursion. Records live in memory that the thread keeps from tape to tape.
//
// There are no second derivatives. An operation that records refuses a gradient as an operand; its clone() is a constant.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/gradient.h"

namespace unroll {

class Profile;
class Tape;

// A tensor that may collect a gradient.
class Var {
 public:
  Var() = default;
  Var(Tensor value) : value_(std::move(value)) {}  // a constant
  Var(std::shared_ptr<Leaf> leaf, Node& node) : leaf_(std::move(leaf)), node_(&node) {}
  Var(Tensor value, Node& node, uint64_t tape) : value_(std::move(value)), node_(&node), tape_(tape) {}

  // A variable that ends with the line gives its value away, so a reference to it is good.
  const Tensor& value() const& { return leaf_ ? leaf_->leaf_value() : value_; }
  const Tensor value() const&& { return value(); }
  // Throws Error if nothing was assigned: every operation asks for a shape before it touches numbers.
  const Shape& shape() const& {
    const Tensor& tensor = value();
    require(tensor.defined(), "this variable is empty: nothing was assigned to it");
    return tensor.shape();
  }
  Shape shape() const&& { return shape(); }
  int dim(int i) const { return shape()[i]; }   // an extent; dim(-1) is the last
  real item() const { return value().item(); }  // the only element; throws Error if there are others
  // The element at these indices: y(t, b, k), as a tensor's.
  template <std::integral... I>
  real operator()(I... indices) const {
    return value()(indices...);
  }
  Var operator[](int i) const;  // row(x, i) of ops.h

  bool wants_grad() const { return node_ != nullptr && !(leaf_ && leaf_->leaf_frozen()); }  // else constant
  // gradient, gradient_rows, row_sums: the place for a backward's contribution. The first overwrites, later ones add.
  Into gradient() const { return input_node().gradient.into(shape()); }
  Into gradient_rows(std::span<const int32_t> ids) const {
    return input_node().gradient.into_rows(shape(), ids);
  }
  Gradient::RowSums* row_sums(int64_t n) const { return input_node().gradient.row_sums(shape(), n); }
  // The sum of the contributions; zeros if there were none.
  const Tensor grad() const;
  bool has_grad() const { return node_ && checked_node().gradient.written(); }  // something was contributed

  uint64_t tape() const { return tape_; }           // 0: of no tape
  const Leaf* leaf() const { return leaf_.get(); }  // of a parameter
  Node* node() const { return node_; }              // where its gradient is; nullptr: a constant

 private:
  Node& checked_node() const;  // throws if the tape is gone
  Node& input_node() const;  // and, with check_inputs, if the operation whose backward runs did not name this
  Tensor value_;
  std::shared_ptr<Leaf> leaf_;  // which outlives its set, to say that this is gone
  Node* node_ = nullptr;
  uint64_t tape_ = 0;
};

using Vars = std::vector<Var, PoolAllocator<Var>>;  // several variables

// An operation's name, and where it is recorded: record("linear", …) makes it of the name.
struct OperationName {
  constexpr OperationName(const char* operation, const char* in_file = __builtin_FILE(),
                          int in_line = __builtin_LINE())
      : name(operation), file(in_file), line(in_line) {}
  const char* name;
  const char* file;  // of the call of record
  int line;          // of it
};

// Sees what a tape records and what its backward completes. It must outlive the tape.
class TapeObserver {
 public:
  virtual ~TapeObserver() = default;
  // An operation was recorded. The results have their values.
  virtual void recorded(const OperationName& /*op*/, std::span<const Var* const> /*inputs*/,
                        std::span<const Var> /*results*/) {}
  // Called in the backward for each result and for each parameter that is used, frozen or not: the tape contributes nothing
  // more to its gradient.
  virtual void completed(const Var&) {}
};

// Options of a recording.
struct TapeOptions {
  bool dropout = true;          // false: record, but drop nothing (gradient checks, saliency)
  bool keep_gradients = false;  // gradients of intermediate results stay readable after backward
  uint32_t part = 0;  // which of several tapes whose gradients make one step: each has masks of its own
  // If true, throws Error when a backward contributes to a variable that its operation's inputs(…) leave out, and
  // which would get nothing if all others were frozen. For tests; gradcheck does.
  bool check_inputs = false;
  TapeObserver* observer = nullptr;  // sees all records; must outlive the tape
};

// While one is alive, this thread's operations are recorded, and dropout is on. It ends on the thread that began it.
//
// Many operations read in the backward again what they were given: parameters, constants, masks, targets. If it was
// written since, backward() throws Error, which names the operation and the parameter or the shape. A write into a part of a
// tensor, buffer[k], counts as one into all of it and of its parts: give each step that is read a tensor of its own. Values
// that the backward does not read may be written. Writes through a pointer or a span that was taken before go unnoticed.
class Tape {
 public:
  explicit Tape(TapeOptions options = {});
  ~Tape();
  Tape& operator=(Tape&&) = delete;

  // A variable whose gradient can be read after backward.
  Var watch(Tensor value);
  // Plays the recording once, last operation first. `loss` is a single number. d loss / d loss is `scale`, a factor of
  // all gradients. If it throws, some gradients are there in part or not even written:
  // ParameterSet::spend_gradients() forgets them, before a smaller batch is tried.
  void backward(const Var& loss, real scale = 1);

  int64_t size() const { return size_; }  // operations recorded
  // An operation as recorded: "lstm_layer [35, 20, 200]", and how many numbers its results are.
  struct Entry {
    std::string text;  // the name, and the shapes of its results
    int64_t numbers;
  };
  std::vector<Entry> entries() const;  // in recording order
  std::string text() const;            // theirs, a line each
  // The first operation whose result is not finite, or, if all are and backward ran with keep_gradients, the first
  // that was handed a gradient which is not: "lstm_layer [35, 20, 200] of 'lstm.weight_ih_l0'". A record without a
  // parameter is named after the one before it: "dropout [35, 20, 200] after 'embedding.weight'". "" if there is
  // none. To be asked before backward, which lets results go, or after it with keep_gradients.
  std::string first_not_finite();

  // The number of an operation's use of `place` in this part of a step: 0, 1, … (for the masks of dropout).
  uint64_t call_of(uint64_t place);

  // The tape that records now: none if there is none, or while a NoTape suspends it.
  static Tape* recording();
  uint64_t id() const { return id_; }                      // tells tapes apart
  bool played() const { return played_; }                  // by backward(), which has begun at least
  const TapeOptions& options() const { return options_; }  // as it was made

 private:
  struct Record {
    Record* previous = nullptr;
    uint64_t time = 0;  // what its backward reads must have been written before
    const char* op = "";
    const Leaf* leaf = nullptr;  // the first parameter among its inputs
    std::span<Node> nodes;
    std::span<Var> outputs;
    std::span<const Shape> shapes;  // of the outputs, which do not outlive backward
    std::span<Node* const> inputs;  // with check_inputs or an observer
    void (*play)(Record*) = nullptr;
    void (*forget)(Record*) = nullptr;
    void (*destroy)(Record*) = nullptr;
  };
  template <size_t N, class F>
  struct RecordOf : Record {
    RecordOf(F&& f) : backward(std::move(f)) {}
    std::array<Node, N> node_of;
    std::array<Var, N> output_of;
    std::array<Shape, N> shape_of;
    std::optional<F> backward;  // emptied after it ran, with all that it holds
  };
  template <size_t N, class F>
  std::array<Var, N> add(const OperationName& op, const Leaf* leaf, std::array<Tensor, N> values,
                         F&& backward, std::span<const Var* const> inputs);
  template <size_t N, class Inputs, class F>
  friend std::array<Var, N> record(const OperationName& op, std::array<Tensor, N> values,
                                   const Inputs& inputs, F backward);

  static void* allocate(std::size_t bytes);
  static std::span<Node* const> nodes_of(std::span<const Var* const> inputs);
  void measure(const char* op);
  void observe(const OperationName& op, Record& record, std::span<const Var* const> inputs);
  void complete_parameters(const Record& record);
  void finish(Record* record);

  TapeOptions options_;
  uint64_t id_;
  int64_t size_ = 0;
  bool played_ = false;
  Record* last_ = nullptr;
  Profile* profile_;  // nullptr: nothing is measured
  struct Uses {
    Var parameter;
    int64_t left;  // operations whose backward is still to come
  };
  std::unordered_map<const Node*, Uses> uses_;  // with an observer
};

// Suspends the recording of this thread's tape: evaluation in the middle of training.
class NoTape {
 public:
  NoTape();
  ~NoTape();
  NoTape& operator=(NoTape&&) = delete;
};

// --- writing operations -------------------------------------------------------------------------------------

// True if a tape records and `inputs` are to collect gradients. Throws if one is of a tape that is gone.
bool recorded(const char* op, std::span<const Var* const> inputs);

// The variables that an operation differentiates with respect to.
template <std::same_as<Var>... V>
std::array<const Var*, sizeof...(V)> inputs(const V&... vars) {
  return {&vars...};
}
template <std::same_as<Var>... V>
std::vector<const Var*, PoolAllocator<const Var*>> inputs(const Vars& vars, const V&... others) {
  std::vector<const Var*, PoolAllocator<const Var*>> result;
  result.reserve(vars.size() + sizeof...(V));
  for (const Var& var : vars) result.push_back(&var);
  (result.push_back(&others), ...);
  return result;
}

// The first parameter among an operation's inputs; nullptr if there is none.
inline const Leaf* first_leaf(std::span<const Var* const> inputs) {
  for (const Var* input : inputs)
    if (input->leaf()) return input->leaf();
  return nullptr;
}

// For messages about it: ", 'lstm.weight_ih_l0'"; "" for what is no parameter.
std::string of_leaf(const Var& x);

// How every operation ends: name it, give its values, name the inputs, and say what their gradients gain.
// `backward` gets the outputs and runs only if one of them received a gradient; it reads y.grad() and puts
// into x.gradient() of those inputs that want one.
template <size_t N, class Inputs, class F>
std::array<Var, N> record(const OperationName& op, std::array<Tensor, N> values, const Inputs& inputs,
                          F backward) {
  if (recorded(op.name, inputs))
    return Tape::recording()->add<N>(op, first_leaf(inputs), std::move(values), std::move(backward), inputs);
  std::array<Var, N> constants;
  for (size_t i = 0; i < N; ++i) constants[i] = Var(std::move(values[i]));
  return constants;
}
template <class Inputs, class F>
Var record(const OperationName& op, Tensor value, const Inputs& inputs, F backward) {
  return record<1>(op, std::array<Tensor, 1>{std::move(value)}, inputs, std::move(backward))[0];
}

template <size_t N, class F>
std::array<Var, N> Tape::add(const OperationName& op, const Leaf* leaf, std::array<Tensor, N> values,
                             F&& backward, std::span<const Var* const> inputs) {
  using R = RecordOf<N, std::remove_cvref_t<F>>;
  static_assert(alignof(R) <= alignof(std::max_align_t));
  R* record = new (allocate(sizeof(R))) R(std::move(backward));
  record->previous = std::exchange(last_, record);
  record->time = WriteTime::next();
  record->op = op.name;
  record->leaf = leaf;
  record->nodes = record->node_of;
  record->outputs = record->output_of;
  record->shapes = record->shape_of;
  record->play = [](Record* base) {
    R* self = static_cast<R*>(base);
    [&]<size_t... I>(std::index_sequence<I...>) { (*self->backward)(self->output_of[I]...); }
    (std::make_index_sequence<N>());
  };
  record->forget = [](Record* base) { static_cast<R*>(base)->backward.reset(); };
  record->destroy = [](Record* base) { static_cast<R*>(base)->~R(); };
  for (size_t i = 0; i < N; ++i) {
    record->node_of[i].op = op.name;
    record->shape_of[i] = values[i].shape();
    record->output_of[i] = Var(std::move(values[i]), record->node_of[i], id_);
  }
  ++size_;
  if (options_.check_inputs || options_.observer) [[unlikely]]
    observe(op, *record, inputs);
  if (profile_) [[unlikely]]
    measure(op.name);
  return record->output_of;
}

}  // namespace unroll

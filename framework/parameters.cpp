#include "framework/parameters.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "framework/matrix.h"
#include "framework/nearest.h"
#include "framework/ops.h"
#include "framework/rounded_copy.h"

namespace unroll {

// The contents of a ParameterSet. Parameters and scopes point here, so that the set itself can be moved. Names and
// places of the parameters stay as long as anyone points here; their memory only as long as the set.
struct Slabs : std::enable_shared_from_this<Slabs> {
  bool gone = false;  // the set has ended
  uint64_t seed = 1;
  uint32_t step = 0;
  std::deque<Parameter> owned;
  std::vector<Parameter*> parameters;                        // in the order of their memory
  std::unordered_map<std::string_view, Parameter*> by_name;  // keys point into Parameter::name
  Tensor values, gradients;
  Tensor shown_gradients;      // the same, and knows when a program writes there
  bool gaps_are_zero = false;  // of the gradients
  RoundedTensor rounded;       // the values, as products take them on a GPU: those that products have met
  std::mutex rounding;

  // Gives each parameter its place. Returns the size of a slab.
  int64_t lay_out() const {
    constexpr int64_t alignment = 256 / sizeof(real);
    int64_t total = 0;
    for (Parameter* p : parameters) {
      if (!p->joined) total = (total + alignment - 1) / alignment * alignment;
      p->offset = total;
      total += p->size();
    }
    total = (total + alignment - 1) / alignment * alignment;
    require_input(total <= INT32_MAX, "{} parameters are more than can be trained: at most {}", total,
                  INT32_MAX);
    return total;
  }

  // If threads use a model together, one makes its memory, and the others wait until all is drawn.
  std::atomic<bool> ready = false;
  std::mutex first_use;
  void materialize(const Parameter* wanted = nullptr) {
    if (ready.load(std::memory_order_acquire)) return;
    require_alive(wanted ? fmt::format("'{}'", wanted->name) : "parameters");
    const std::lock_guard lock(first_use);
    if (ready.load(std::memory_order_relaxed)) return;
    const int64_t total = lay_out();
    try {
      Tensor zeros = Tensor::zeros({static_cast<int>(total)});
      shown_gradients = Tensor(zeros.shape());
      shown_gradients.memory().write_time()->mark_gradient();
      gradients = shown_gradients.telling(nullptr);
      values = std::move(zeros);  // only now: what asks whether there are values needs both
    } catch (const MemoryRefused& refusal) {
      throw MemoryRefused(std::string(refusal.what()) + less_for_weights, refusal.asked, refusal.in_use,
                          refusal.room);
    }
    for (const Tensor* slab : {&values, &shown_gradients}) {
      std::vector<std::string> names;
      for (Parameter* p : parameters) names.push_back(p->name);
      slab->memory().divide(std::move(names));
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
      Parameter& p = *parameters[i];
      const int begin = static_cast<int>(p.offset), end = begin + static_cast<int>(p.size());
      const auto part = [&](const Tensor& slab) { return slab.slice(begin, end).reshape(p.shape); };
      p.written = values.memory().write_time_of(i), p.rounded_of = 0;
      p.value = part(values).telling(p.written);
      p.node.gradient.bind(part(gradients), gradients.memory().write_time_of(i));
    }
    try {
      for (Parameter* p : parameters) draw(*p);
    } catch (...) {  // all or nothing: the next use begins anew
      for (Parameter* p : parameters) p->value = {}, p->node.gradient.release();
      values = gradients = shown_gradients = {};
      throw;
    }
    ready.store(true, std::memory_order_release);
  }
  void end() {
    for (Parameter* p : parameters) p->value = {}, p->node.gradient.release();
    values = gradients = shown_gradients = {}, rounded = {};
    ready.store(false, std::memory_order_release);
    gone = true;
  }
  void require_alive(std::string_view user) const {
    if (!gone) [[likely]]
      return;
    throw Error(fmt::format(
        "{}: the ParameterSet {} is gone: its model was replaced or has ended; make what uses it anew, "
        "after the model",
        user, parameters.empty() ? "" : fmt::format("of '{}'", parameters.front()->name)));
  }
  // For passes over the slab: what lies between the parameters is 0. A model that nobody trains never touches this memory.
  const Tensor& whole_gradients() {
    materialize();
    WriteTime& written = *gradients.memory().write_time();  // as a whole: into the gaps too
    if (!gaps_are_zero || written.last() != 0) {
      written.forget();
      for (size_t i = 0; i < parameters.size(); ++i) {
        const int64_t end = parameters[i]->offset + parameters[i]->size();
        const int64_t next = i + 1 < parameters.size() ? parameters[i + 1]->offset : gradients.size();
        gradients.slice(static_cast<int>(end), static_cast<int>(next)).fill(0);
      }
      gaps_are_zero = true;
    }
    return gradients;
  }
  Parameter& add(const std::string& name, const Shape& shape, const Init& init) {
    require(
        !values.defined(),
        "parameters: '{}' is added after the first use of the others (by a layer, an optimizer, a file): make all layers "
        "of a set before that, or give it a set of its own",
        name);
    require(!by_name.contains(name), "parameters: there is a '{}' already", name);
    Parameter& p = owned.emplace_back();
    parameters.push_back(&p);
    p.name = name;
    p.shape = shape;
    p.init = init;
    p.owner = this;
    p.node.op = "parameter";
    by_name.emplace(p.name, &p);
    return p;
  }
  // They stay in the order of their memory, so that whoever goes through them goes through the slab.
  void join(std::span<const Var> vars) {
    require(!values.defined(), "parameters: they are joined after their first use");
    const auto place_of_var = [&](const Var& v) {
      const auto found = std::ranges::find_if(
          parameters, [&](const Parameter* p) { return static_cast<const Leaf*>(p) == v.leaf(); });
      require(found != parameters.end(), "parameters: what is to be joined is none of this set");
      return found;
    };
    auto before = place_of_var(vars[0]);
    for (const Var& v : vars.subspan(1)) {
      const auto p = place_of_var(v);
      (*p)->joined = true;
      if (p > before)
        std::rotate(before + 1, p, p + 1), ++before;
      else
        std::rotate(p, p + 1, before + 1);
    }
  }
  // The weights' copy, as operands of the process's precision. Other threads may ask, too.
  RoundedTensor rounded_part(const Parameter& p) {
    if (!RoundedTensor::is_of_use()) return {};
    materialize(&p);
    const std::lock_guard lock(rounding);
    if (!rounded.is_current()) {
      rounded = RoundedTensor(values.shape());
      for (auto& other : parameters) other->rounded_of = 0;
    }
    if (!is_rounded(p)) {
      // A graph that is recorded has not been played: it has a copy of its own.
      if (recording_graph()) return RoundedTensor(std::as_const(p.value));
      round(p);
    }
    return rounded.part(p.offset, p.shape);
  }
  static bool is_rounded(const Parameter& p) { return p.rounded_of == p.written->last() + 1; }
  void round(const Parameter& p) {
    rounded.part(p.offset, p.shape).overwrite(std::as_const(p.value));
    mark_rounded(p);
  }
  // What is written from now on has a later time.
  static void mark_rounded(const Parameter& p) { p.rounded_of = p.written->last() + 1, WriteTime::next(); }
  void draw(Parameter& p) const { p.init.fill(p.value, {.seed = seed, .place = place_of(p.name)}); }
};

const Tensor& Parameter::leaf_value() {
  owner->materialize(this);
  return value;
}
RoundedTensor Parameter::leaf_rounded() const { return owner->rounded_part(*this); }
RoundedTensor rounded(const Var& w) { return w.leaf() ? w.leaf()->leaf_rounded() : RoundedTensor(w.value()); }
Var Parameter::var() { return Var(std::shared_ptr<Leaf>(owner->shared_from_this(), this), node); }

ParameterSet::ParameterSet(std::shared_ptr<Slabs> slabs, bool owner)
    : slabs_(std::move(slabs)), owner_(owner), self_(this) {}
ParameterSet::ParameterSet(uint64_t seed) : ParameterSet(std::make_shared<Slabs>(), true) {
  slabs_->seed = seed;
}
ParameterSet::~ParameterSet() {
  give_up();
  self_ = nullptr;
}
ParameterSet::ParameterSet(ParameterSet&& other) noexcept
    : ParameterSet(std::exchange(other.slabs_, {}), other.owner_) {}
ParameterSet& ParameterSet::operator=(ParameterSet&& other) noexcept {
  if (this == &other) return *this;
  give_up();
  slabs_ = std::exchange(other.slabs_, {}), owner_ = other.owner_;
  return *this;
}
void ParameterSet::give_up() {
  if (slabs_ && owner_) slabs_->end();
}
ParameterSet ParameterSet::shared() const {
  slabs();  // which checks it
  return {slabs_, false};
}

void ParameterSet::require_alive(std::string_view user) const {
  require(slabs_ != nullptr, "{}: this ParameterSet is empty: its parameters were moved to another", user);
  slabs_->require_alive(user);
}
void ParameterSet::require_constructed(std::string_view user) const {
  require(self_ == this,
          "{}: the ParameterSet does not live yet; declare it before the layers that register in it", user);
}
Slabs& ParameterSet::slabs() const {
  require_constructed("parameters");
  require_alive("parameters");
  return *slabs_;
}

Scope ParameterSet::operator/(std::string_view name) {
  require_constructed(fmt::format("'{}'", name));
  require_alive(name);
  return Scope(slabs_, std::string(name));
}

Parameter& ParameterSet::add(const std::string& name, const Shape& shape, const Init& init) {
  return slabs().add(name, shape, init);
}

const std::vector<Parameter*>& ParameterSet::all() const& { return slabs().parameters; }
Parameter* ParameterSet::find(std::string_view name) const& {
  const auto found = slabs().by_name.find(name);
  return found == slabs().by_name.end() ? nullptr : found->second;
}
// By their paths, for people, who may misspell them.
Parameter& ParameterSet::at(std::string_view name) const& {
  if (Parameter* const found = find(name)) return *found;
  std::vector<std::string> names;
  for (const Parameter* p : all()) names.push_back(p->name);
  throw Error(fmt::format("parameters: there is no '{}'{}", name, did_you_mean(nearest(name, names))));
}

std::vector<Parameter*> ParameterSet::under(std::string_view path) const& {
  std::vector<Parameter*> found;
  for (Parameter* p : all())
    if (path.empty() ||
        (p->name.starts_with(path) && (p->name.size() == path.size() || p->name[path.size()] == '.')))
      found.push_back(p);
  require(!found.empty(), "parameters: there are none under '{}'; the first is '{}'", path,
          all().empty() ? "" : all().front()->name);
  return found;
}

int64_t ParameterSet::count() const {
  int64_t sum = 0;
  for (const Parameter* p : all()) sum += p->size();
  return sum;
}

void ParameterSet::check_count() const {
  if (!slabs().ready) (void)slabs().lay_out();
}

void ParameterSet::initialize(const Init& init) {
  for (Parameter* p : slabs().parameters) {
    const auto offset = p->init.offset;
    p->init = init;
    p->init.offset = offset;
    if (p->value.defined()) slabs().draw(*p);
  }
}
const Tensor& ParameterSet::values() const& {
  slabs().materialize();
  return slabs().values;
}
Tensor ParameterSet::changed_values(RoundedCopy* rounded) {
  Slabs& slabs = this->slabs();
  slabs.materialize();
  const bool follows = rounded && slabs.rounded.is_current();
  if (follows) *rounded = slabs.rounded.copy();
  for (Parameter* p : slabs.parameters) {
    const bool was_rounded = follows && Slabs::is_rounded(*p);
    if (!p->frozen) p->value.data();
    if (was_rounded) Slabs::mark_rounded(*p);
  }
  return slabs.values.telling(nullptr);
}
void ParameterSet::renew_rounded() const {
  Slabs& slabs = this->slabs();
  if (!slabs.rounded.is_current()) return;
  for (auto& p : slabs.parameters)
    if (p->rounded_of != 0 && !Slabs::is_rounded(*p)) slabs.round(*p);
}
const Tensor& ParameterSet::gradients() const& {
  slabs().whole_gradients();
  for (Parameter* p : slabs().parameters) p->node.gradient.shown(p->shape);
  return slabs().shown_gradients;
}
std::span<real> ParameterSet::gradients_to_change() {
  Tensor slab = slabs().whole_gradients();
  for (Parameter* p : slabs().parameters) p->contribute_all();
  slabs().gaps_are_zero = false;
  return {slab.data(), static_cast<size_t>(slab.size())};
}
const Tensor& ParameterSet::contributed_gradients() const {
  for (auto& p : slabs().parameters) p->node.gradient.spread();
  return slabs().whole_gradients();
}
const Tensor& ParameterSet::gradients_beside_sums() const { return slabs().whole_gradients(); }
void ParameterSet::complete_gradients() {
  slabs().whole_gradients();
  for (Parameter* p : slabs().parameters) p->node.gradient.value(p->shape);
}
void ParameterSet::spend_gradients() {
  for (Parameter* p : slabs().parameters) p->node.gradient.spend();
}

uint64_t ParameterSet::seed() const { return slabs().seed; }
uint32_t ParameterSet::step() const { return slabs().step; }
void ParameterSet::set_seed(uint64_t seed) {
  require(!slabs().values.defined(), "parameters: the seed is set after the first values were drawn");
  slabs().seed = seed;
}
void ParameterSet::set_step(uint32_t step) { slabs().step = step; }

Slabs& Scope::slabs() const {
  slabs_->require_alive(path_);
  return *slabs_;
}
Scope Scope::operator/(std::string_view name) const { return Scope(slabs_, path_ + "." + std::string(name)); }

Parameter& Scope::add(std::string_view name, const Shape& shape, const Init& init) const {
  return slabs().add((*this / name).path(), shape, init);
}

void Scope::join(std::span<const Var> parameters) const { slabs().join(parameters); }

RandomKey Scope::next_key() const {
  const uint64_t place = place_of(path_);
  Tape* tape = Tape::recording();
  return {
      .seed = slabs().seed, .place = place_of(path_, tape ? tape->call_of(place) : 0), .step = slabs().step};
}

}  // namespace unroll

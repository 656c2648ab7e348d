// A model's weights: named by path, all values in one block of memory and all gradients in another.
//
// Layers register in their constructors (`params / "lstm" / "weight_ih_l0"`); memory is taken at first use, and
// registering afterwards is an error, so nothing is ever rebound. Segments are aligned to 256 bytes but where a layer has
// them joined; the padding between them is zero and stays zero.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/init.h"
#include "framework/tape.h"

namespace unroll {

struct Slabs;
struct RoundedCopy;  // framework/kernels/kernels.h

// One named tensor of a model. Lives as long as its ParameterSet. Its var(), which layers hold, may live longer;
// using it then throws Error.
struct Parameter final : Leaf {
  std::string name;     // "lstm.weight_ih_l0"
  Shape shape;          // of its tensor
  Init init;            // its distribution, until first values are drawn
  float decay = 1;      // multiplies the weight decay, from 0 up (layers say 0 for biases and gains)
  float rate = 1;       // multiplies the learning rate, from 0 up
  bool frozen = false;  // collects no gradient and is not updated
  bool joined = false;  // its segment begins where that of the parameter before it ends
  int64_t offset = 0;   // of its first element in the slabs
  Node node;            // its gradient

  // Its segment. The first use of any has the memory made and all first values drawn; other numbers are copied in.
  const Tensor& leaf_value() override;
  const std::string& leaf_name() const override { return name; }
  bool leaf_frozen() const override { return frozen; }
  RoundedTensor leaf_rounded() const override;
  Var var();
  int64_t size() const { return shape.size(); }  // how many numbers
  // The whole of its gradient counts as contributed from now on; of a frozen parameter it is zero.
  void contribute_all() { frozen ? void(node.gradient.value(shape)) : node.gradient.contribute_all(shape); }

 private:
  friend struct Slabs;
  friend class ParameterSet;
  Slabs* owner = nullptr;
  Tensor value;
  WriteTime* written = nullptr;  // when its value was
  mutable uint64_t rounded_of =
      0;  // that time, and 1, for the values in the rounded copy; 0: they are not there
};

class Scope;

// May be moved, and its layers and optimizers with it or not: all follow the parameters. When it ends, or another set is
// assigned to it, the parameters are gone, and all that uses them throws Error, naming one of them.
class ParameterSet {
 public:
  explicit ParameterSet(uint64_t seed = 1);
  ~ParameterSet();
  ParameterSet(ParameterSet&&) noexcept;
  ParameterSet& operator=(ParameterSet&&) noexcept;

  // Throws Error if the set does not live yet: it is declared after the layer that asks for it.
  Scope operator/(std::string_view name);

  // Registers a parameter. Throws if the name is taken or the memory is there already.
  Parameter& add(const std::string& name, const Shape& shape, const Init& init);

  // In the order of their memory:  for (Parameter* p : params) p->frozen = true;
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }  // behind the last
  const std::vector<Parameter*>& all() const&;
  const std::vector<Parameter*>& all() const&& = delete;
  Parameter* find(std::string_view name) const&;  // nullptr if there is none
  Parameter* find(std::string_view name) const&& = delete;
  Parameter& at(std::string_view name) const&;  // throws Error, with the nearest name
  Parameter& at(std::string_view name) const&& = delete;
  // The parameters of a layer or a part of the model: "encoder" and all "encoder.…". All parameters if `path` is
  // empty. Throws Error if there are none.
  std::vector<Parameter*> under(std::string_view path) const&;
  std::vector<Parameter*> under(std::string_view path) const&& = delete;
  int64_t count() const;  // numbers in all parameters, padding not counted
  // Throws InputError if these are more numbers than values() can hold. Takes no memory for them.
  void check_count() const;

  // Draws first values of every parameter anew from one distribution; offsets stay.
  void initialize(const Init& init);
  // The slabs, values and gradients: [elements], padding included. Gradients are complete, 0 where nothing came. A write
  // into a copy of that tensor counts as contributed.
  const Tensor& values() const&;
  const Tensor& gradients() const&;
  const Tensor& values() const&& = delete;
  const Tensor& gradients() const&& = delete;
  // Has change(std::span<real>) work on all gradients at once, between backward and the optimizer's step: a sum over the
  // replicas of a data-parallel training, say. They are complete, and every parameter that is not frozen counts as
  // contributed to afterwards. On a GPU the span is of the device's memory.
  template <std::invocable<std::span<real>> F>
  void reduce_gradients(F&& change) {
    std::forward<F>(change)(gradients_to_change());
  }
  // For optimizers. Gradients as operations left them: valid where Gradient::written() says so; the padding is zero.
  const Tensor& contributed_gradients() const;
  // As above, but Gradient::row_sums() stay beside them.
  const Tensor& gradients_beside_sums() const;
  // Puts zeros into segments that nothing contributed to, so that the whole slab can be read.
  void complete_gradients();
  // Forgets all gradients, after an optimizer has used them.
  void spend_gradients();
  // The values, to be changed: counts as a write of every parameter that is not frozen. Who asks for `rounded` puts each
  // number that it changes there, too, rounded, if there is such a copy.
  Tensor changed_values(RoundedCopy* rounded = nullptr);
  // Rounds the weights whose copy is older than they are, before a graph reads it.
  void renew_rounded() const;

  // Seed of first values and masks, and the number of optimizer steps so far: the masks of a step depend on both.
  uint64_t seed() const;
  uint32_t step() const;
  void set_seed(uint64_t seed);  // before first use
  void set_step(uint32_t step);  // where a run goes on

  // A second handle on the parameters, for a user of them (an optimizer): they stay when it ends.
  ParameterSet shared() const;
  // Throws Error that begins with `user` if the parameters are gone.
  void require_alive(std::string_view user) const;

 private:
  ParameterSet(std::shared_ptr<Slabs> slabs, bool owner);
  void require_constructed(std::string_view user) const;
  Slabs& slabs() const;  // throws Error if they are gone, or were moved elsewhere
  std::span<real> gradients_to_change();
  void give_up();
  std::shared_ptr<Slabs> slabs_;
  bool owner_ = true;
  // `this` while the set lives; before and after another number lies there. volatile makes a compiler write and read
  // it even if it knows that nobody may look.
  const void* volatile self_;
};

// A path in a ParameterSet.
class Scope {
 public:
  Scope(std::shared_ptr<Slabs> slabs, std::string path) : slabs_(std::move(slabs)), path_(std::move(path)) {}
  Scope operator/(std::string_view name) const;  // one further down: "path.name"
  // Registers "path.name".
  Parameter& add(std::string_view name, const Shape& shape, const Init& init) const;
  // Has these parameters lie one behind the other, in this order and without padding: a library's weight space. Throws
  // if one of them is no parameter of this set, or the memory is there already.
  void join(std::span<const Var> parameters) const;
  const std::string& path() const& { return path_; }
  std::string path() const&& { return path_; }
  // The random numbers of the next call at this place: of the tape's count of calls and the current step.
  RandomKey next_key() const;

 private:
  Slabs& slabs() const;  // throws Error if the set is gone
  std::shared_ptr<Slabs> slabs_;
  std::string path_;
};

}  // namespace unroll

// That a gradient does not depend on what else is frozen: every parameter and every input of a function frozen alone, free
// alone, and all pairs of them so.
//
// Freezing leaves out operations that nobody needs; those that are left get the same numbers in the same order. So the
// gradients are equal to the bit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/parameters.h"
#include "optim/optimizer.h"
#include "tests/support.h"

namespace unroll {

class FrozenCheck {
 public:
  using Function = std::function<std::vector<Var>(const std::vector<Var>& inputs)>;

  FrozenCheck(std::string name, ParameterSet& params, const std::vector<Shape>& shapes, Function function)
      : name_(std::move(name)), params_(params), function_(std::move(function)) {
    RandomStream random(11, "frozen/" + name_);
    for (const Shape& shape : shapes) inputs_.push_back(random_tensor(shape, random));
    params_.values();
    start_ = params_.values().clone();
    for (const auto& p : params_.all()) names_.push_back(p->name);
    for (size_t i = 0; i < inputs_.size(); ++i) names_.push_back(fmt::format("input {}", i));
  }

  void run() {
    const size_t n = names_.size();
    all_free_ = gradients(std::vector<bool>(n, true));
    for (size_t i = 0; i < n; ++i) {
      const std::vector<real> d = all_free_[i].to_host();
      CHECK_MESSAGE(std::ranges::any_of(d, [](real x) { return x != 0; }), name_, ": ", names_[i],
                    " has no gradient");
    }
    for (size_t i = 0; i < n; ++i)
      for (size_t k = i; k < n; ++k)  // k = i: alone
        for (const bool free : {false, true}) {
          std::vector<bool> wanted(n, !free);
          wanted[i] = wanted[k] = free;
          compare(wanted, fmt::format("{}: only '{}' and '{}' {}", name_, names_[i], names_[k],
                                      free ? "free" : "frozen"));
        }
  }

 private:
  // By parameter and input; undefined where none was collected.
  std::vector<Tensor> gradients(const std::vector<bool>& wanted) {
    const auto& all = params_.all();
    params_.values().copy_from(start_);
    params_.spend_gradients();
    for (size_t i = 0; i < all.size(); ++i) all[i]->frozen = !wanted[i];
    Tape tape({.check_inputs = true});
    std::vector<Var> inputs;
    for (size_t i = 0; i < inputs_.size(); ++i)
      inputs.push_back(wanted[all.size() + i] ? tape.watch(inputs_[i]) : Var(inputs_[i]));
    const Var loss = contracted(function_(inputs));
    if (loss.wants_grad()) tape.backward(loss);
    std::vector<Tensor> result;
    for (const auto& p : all) result.push_back(p->var().has_grad() ? p->var().grad().clone() : Tensor());
    for (const Var& x : inputs) result.push_back(x.has_grad() ? x.grad().clone() : Tensor());
    return result;
  }
  // Σ r·y over all outputs, r fixed.
  static Var contracted(const std::vector<Var>& ys) {
    RandomStream random(12, "weights");
    Vars parts;
    for (const Var& y : ys) parts.push_back(sum(y * Var(random_tensor(y.shape(), random, 0.5, 1.5))));
    return sum(stack(parts));
  }

  void compare(const std::vector<bool>& wanted, const std::string& what) {
    const std::vector<Tensor> found = gradients(wanted);
    for (size_t i = 0; i < found.size(); ++i) {
      if (wanted[i])
        CHECK_MESSAGE((found[i].defined() && same_bits(found[i], all_free_[i])), what, ": the gradient of '",
                      names_[i], "' differs, or is not there");
      else
        CHECK_MESSAGE(!found[i].defined(), what, ": '", names_[i], "' collects one");
    }
    const auto& all = params_.all();
    if (std::find(wanted.begin(), wanted.begin() + std::ssize(all), true) == wanted.begin() + std::ssize(all))
      return;  // nothing to learn
    Sgd(params_, {.learning_rate = 0.1, .momentum = 0.5, .weight_decay = 0.1}).step();
    params_.set_step(0);
    for (size_t i = 0; i < all.size(); ++i) {
      const int begin = static_cast<int>(all[i]->offset), end = begin + static_cast<int>(all[i]->size());
      CHECK_MESSAGE(same_bits(params_.values().slice(begin, end), start_.slice(begin, end)) == !wanted[i],
                    what, ": a step ", wanted[i] ? "leaves" : "changes", " '", names_[i], "'");
    }
  }

  std::string name_;
  ParameterSet& params_;
  Function function_;
  std::vector<Tensor> inputs_;
  Tensor start_;  // values
  std::vector<std::string> names_;
  std::vector<Tensor> all_free_;
};

inline void check_frozen(const std::string& name, ParameterSet& params, const std::vector<Shape>& shapes,
                         FrozenCheck::Function function) {
  FrozenCheck(name, params, shapes, std::move(function)).run();
}

}  // namespace unroll

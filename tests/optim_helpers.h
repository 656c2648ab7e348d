// Shared by the suites about optimizers: gradients given by hand, small models, every optimizer by name.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "framework/loss.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/recurrent/lstm.h"
#include "optim/optimizer.h"
#include "tests/support.h"

namespace unroll {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// Puts a gradient where a backward would.
inline void give(Parameter& p, const std::vector<real>& values) {
  p.leaf_value();
  const Into into = p.node.gradient.into(p.shape);
  const auto g = into.tensor.on_host(Access::change);
  for (size_t i = 0; i < values.size(); ++i)
    g[static_cast<int64_t>(i)] = values[i] + (into.add ? g[static_cast<int64_t>(i)] : 0);
}
inline void give_row(Parameter& p, int32_t row, const std::vector<real>& values) {
  p.leaf_value();
  const Into into = p.node.gradient.into_rows(p.shape, {&row, 1});
  const Tensor of_row = into.tensor[row];
  const auto g = of_row.on_host(Access::change);
  for (size_t i = 0; i < values.size(); ++i) g[static_cast<int64_t>(i)] += values[i];
}
inline std::vector<real> weights(Parameter& p) { return p.leaf_value().to_host(); }

// Two parameters with values that are easily worked with.
struct Pair {
  ParameterSet params;
  Parameter& a = params.add("a", {2}, Init::constant(1));
  Parameter& b = params.add("b", {3}, Init::constant(-2));
};

// 73 weights in two parameters that begin at one number and take one gradient: they stay alike, so their number can be told,
// and a step that leaves some out is seen.
class Alike {
 public:
  ParameterSet params;
  explicit Alike(float first = 0) {
    params.add("a", {3}, Init::constant(first)), params.add("b", {5, 14}, Init::constant(first));
  }
  void give(real g) {
    for (Parameter* p : params) unroll::give(*p, std::vector<real>(static_cast<size_t>(p->size()), g));
  }
  double value() const { return in(params.values()); }
  // The number in another tensor that is laid out as the weights; NaN where there are several.
  double in(const Tensor& slab) const {
    const auto numbers = slab.to_host();
    const double first = numbers.front();
    for (const Parameter* p : params)
      for (int64_t i = p->offset; i < p->offset + p->size(); ++i)
        if (numbers[static_cast<size_t>(i)] != first) return NAN;
    return first;
  }
};

// The number of weights that are alike, first 0, after steps with these gradients.
template <class Optimizer, class Config>
std::vector<double> path(const Config& config, const std::vector<real>& gradients, float first = 0) {
  Alike alike(first);
  Optimizer optimizer(alike.params, config);
  std::vector<double> result;
  for (real g : gradients) {
    alike.give(g);
    optimizer.step();
    result.push_back(alike.value());
  }
  return result;
}

inline void check_close(const std::vector<double>& values, const std::vector<double>& expected,
                        double tolerance = 1e-14) {
  REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    CHECK_MESSAGE(std::abs(values[i] - expected[i]) <= tolerance, "no. ", i, ": ", values[i], " for ",
                  expected[i]);
}

// A language model with a table of which a window uses few rows.
struct Model {
  static constexpr int vocab = 40, width = 5;
  ParameterSet params{3};
  Embedding embed{params / "embed", {.vocab = vocab, .dim = width}};
  Lstm lstm{params / "lstm", {.input = width, .hidden = width}};
  Dense out{params / "out", {.in = width, .out = vocab}};

  Var loss(const IdTensor& input, const IdTensor& target) {
    return softmax_cross_entropy(out, lstm(embed(input), lstm.zero_state(input.dim(1))).y, target);
  }
  void contribute(const IdTensor& input, const IdTensor& target) {
    Tape tape;
    tape.backward(loss(input, target));
  }
};
struct RandomWindow {
  explicit RandomWindow(RandomStream& random, int batch = 2)
      : input(random_ids({3, batch}, random, Model::vocab)),
        target(random_ids({3, batch}, random, Model::vocab)) {}
  IdTensor input, target;
};

using Maker = std::function<std::unique_ptr<Optimizer>(ParameterSet&)>;
inline const std::map<std::string, Maker> makers = {
    {"sgd", [](auto& p) { return std::make_unique<Sgd>(p, SgdConfig{.learning_rate = 0.5}); }},
    {"sgd with decay",
     [](auto& p) { return std::make_unique<Sgd>(p, SgdConfig{.learning_rate = 0.5, .weight_decay = 0.01}); }},
    {"momentum",
     [](auto& p) { return std::make_unique<Sgd>(p, SgdConfig{.learning_rate = 0.1, .momentum = 0.9}); }},
    {"nesterov",
     [](auto& p) {
       return std::make_unique<Sgd>(p, SgdConfig{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
     }},
    {"adam", [](auto& p) { return std::make_unique<Adam>(p, AdamConfig{.learning_rate = 0.01}); }},
    {"adamw",
     [](auto& p) {
       return std::make_unique<AdamW>(p, AdamWConfig{.learning_rate = 0.01, .weight_decay = 0.1});
     }},
    {"rmsprop", [](auto& p) { return std::make_unique<Rmsprop>(p, RmspropConfig{.learning_rate = 0.01}); }},
    {"rmsprop with momentum",
     [](auto& p) {
       return std::make_unique<Rmsprop>(
           p, RmspropConfig{.learning_rate = 0.01, .momentum = 0.9, .weight_decay = 0.1});
     }},
    {"lion",
     [](auto& p) {
       return std::make_unique<Lion>(p, LionConfig{.learning_rate = 0.01, .weight_decay = 0.1});
     }},
    {"adam with an average",
     [](auto& p) {
       auto adam = std::make_unique<Adam>(p, AdamConfig{.learning_rate = 0.01});
       adam->keep_average(0.75);
       return adam;
     }},
    {"asgd",
     [](auto& p) { return std::make_unique<Asgd>(p, AsgdConfig{.learning_rate = 0.5, .average_after = 3}); }},
};

}  // namespace unroll

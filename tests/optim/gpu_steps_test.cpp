// Passes over memory that a step on a GPU does without: weights have a rounded copy, which updates keep, and the few rows of an
// embedding that were read have their sums beside its gradient.
#include <functional>
#include <memory>

#include <doctest/doctest.h>

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/updates.h"
#include "framework/ops.h"
#include "layers/embedding.h"
#include "optim/optimizer.h"
#include "tests/standin/standin.h"
#include "tests/support.h"
#include "tests/with_precision.h"

using namespace unroll;

namespace {

using Makes = std::function<std::unique_ptr<Optimizer>(ParameterSet&)>;
const std::vector<std::pair<const char*, Makes>> optimizers = {
    {"sgd", [](ParameterSet& p) { return std::make_unique<Sgd>(p, SgdConfig{.learning_rate = 0.5}); }},
    {"momentum",
     [](ParameterSet& p) {
       return std::make_unique<Sgd>(p, SgdConfig{.learning_rate = 0.5, .momentum = 0.5});
     }},
    {"adam", [](ParameterSet& p) { return std::make_unique<Adam>(p, AdamConfig{.learning_rate = 0.1}); }},
    {"rmsprop",
     [](ParameterSet& p) { return std::make_unique<Rmsprop>(p, RmspropConfig{.learning_rate = 0.1}); }},
    {"rmsprop with momentum",
     [](ParameterSet& p) {
       return std::make_unique<Rmsprop>(p, RmspropConfig{.learning_rate = 0.1, .momentum = 0.5});
     }},
    {"lion", [](ParameterSet& p) { return std::make_unique<Lion>(p, LionConfig{.learning_rate = 0.1}); }},
    {"asgd", [](ParameterSet& p) { return std::make_unique<Asgd>(p, AsgdConfig{.learning_rate = 0.5}); }},
};

int64_t launches_of(const char* kernel) {
  const auto& moved = standin::control().moved;
  const auto found = moved.find(kernel);
  return found == moved.end() ? 0 : found->second.launches;
}

struct Layer {
  ParameterSet params;
  Var w = (params / "layer").add("w", {5, 8}, Init::uniform(-1, 1)).var();
  Var b = (params / "layer").add("b", {5}, Init::uniform(-1, 1)).var();
  RandomStream random{1, "gpu steps"};
  const Tensor x = random_tensor({3, 8}, random);

  // Whether a product has the bits of one with weights that were rounded just now.
  bool is_current() const {
    const Tensor copy = w.value().clone(), y = linear(x, w, b).value();
    Tensor expected(y.shape());
    gemm(x, transposed(copy), b.value(), expected);
    return y.to_host() == expected.to_host();
  }
  void contribute() const {
    Tape tape;
    const Var y = linear(x, w, b);
    tape.backward(sum(y * y));
  }
};

}  // namespace

TEST_CASE("a product meets the weights as they are, whoever changed them") {
  for (const Precision p : {Precision::bf16, Precision::fp16}) {
    const WithPrecision precision(p);
    Layer layer;
    CHECK(layer.is_current());
    Parameter& w = *layer.params.find("layer.w");
    Tensor value = layer.params.values();
    value.fill(real(0.3));
    CHECK(layer.is_current());
    value.copy_from(random_tensor(value.shape(), layer.random));
    CHECK(layer.is_current());
    value.on_host(Access::change)[3] = 7;
    CHECK(layer.is_current());
    layer.params.initialize(Init::uniform(-2, 2));
    CHECK(layer.is_current());
    layer.params.changed_values().slice(0, 8).fill(2);
    CHECK(layer.is_current());
    w.frozen = true;
    CHECK(layer.is_current());
    w.frozen = false;
    {
      const WithPrecision other(p == Precision::bf16 ? Precision::fp16 : Precision::bf16);
      CHECK(layer.is_current());
    }
    CHECK(layer.is_current());
  }
}

TEST_CASE("each optimizer's update rounds the weights itself, so that no product does") {
  for (const Precision p : {Precision::bf16, Precision::fp16})
    for (const auto& [name, make] : optimizers) {
      CAPTURE(name);
      const WithPrecision precision(p);
      Layer layer;
      const auto optimizer = make(layer.params);
      for (int step = 0; step < 3; ++step) {
        layer.contribute();
        optimizer->step({.max_norm = 1});
        CHECK(layer.is_current());
        layer.contribute();
        optimizer->order_step({});
        optimizer->enqueue_step();
        optimizer->finish_step();
        standin::control().moved.clear();
        (void)linear(layer.x, layer.w, layer.b);
        CHECK(launches_of("Round") == 1);  // of x
        CHECK(layer.is_current());
      }
      // A step whose loss was not finite changes nothing.
      layer.contribute();
      StepOutcome outcome{.finite = 0};
      optimizer->order_step({});
      copy_to_device(&optimizer->step_values()->outcome, &outcome, sizeof outcome);
      optimizer->enqueue_step();
      optimizer->finish_step();
      CHECK(layer.is_current());
      // Weights that were averaged in, and out again.
      {
        const AveragedWeights averaged(*optimizer);
        CHECK(layer.is_current());
      }
      CHECK(layer.is_current());
    }
}

TEST_CASE("what was changed between two steps is rounded before the next is ordered, as a graph would not") {
  const WithPrecision precision(Precision::bf16);
  Layer layer;
  Sgd sgd(layer.params, {.learning_rate = 0.5});
  layer.contribute();
  sgd.step();
  Tensor value = layer.params.values();
  value.fill(3);
  standin::control().moved.clear();
  sgd.order_window();
  CHECK(launches_of("Round") == 1);  // of w, the only one that a product has met
  sgd.order_step({});
  CHECK(launches_of("Round") == 1);
  (void)linear(layer.x, layer.w, layer.b);
  CHECK(launches_of("Round") == 2);  // of x, and not of w again
  CHECK(layer.is_current());
}

namespace {

constexpr int vocab = 40, dim = 6;

struct Words {
  ParameterSet params;
  const Embedding embed{params / "embedding", {.vocab = vocab, .dim = dim}};
  Var scale = (params / "scale").add("w", {dim}, Init::uniform(-1, 1)).var();
  const Gradient& gradient() const { return params.find("embedding.weight")->node.gradient; }
  void contribute(const std::vector<int32_t>& tokens) const {
    Tape tape;
    const Var y = embed(ids({static_cast<int>(tokens.size())}, tokens)) * scale;
    tape.backward(sum(y * y));
  }
};
const std::vector<int32_t> some = {3, 7, 3, 39, 7, 0}, others = {7, 2, 2};

// The numbers of a copy of the weights.
std::vector<real> numbers_in(const RoundedTensor& copy) {
  Tensor widened({vocab, dim});
  kernels().bf16.widen(copy.copy().data, widened.data(), widened.size(), false);
  return widened.to_host();
}

}  // namespace

TEST_CASE("an update of the rows that were read has the bits of one of all rows") {
  for (const double rate : {1.0, 0.25})
    for (const auto& [name, make] : optimizers)
      for (const double max_norm : {0.0, 0.1}) {
        CAPTURE(name);
        const WithPrecision precision(Precision::bf16);
        std::vector<std::vector<real>> weights;
        for (const bool whole : {false, true}) {
          Words words;
          (void)rounded(words.embed.weight);  // so that its copy is kept
          words.params.find("embedding.weight")->rate = static_cast<float>(rate);
          const auto optimizer = make(words.params);
          for (int step = 0; step < 4; ++step) {
            words.contribute(step % 2 ? others : some);
            CHECK(words.gradient().row_sums() != nullptr);
            if (step == 3) words.contribute(some);  // a second window
            if (whole) (void)words.params.gradients();
            CHECK((words.gradient().row_sums() == nullptr) == (whole || step == 3));
            if (step == 2) {
              optimizer->order_step({.max_norm = max_norm});
              optimizer->enqueue_step();
              optimizer->finish_step();
            } else {
              optimizer->step({.max_norm = max_norm});
            }
            const Var& table = words.embed.weight;
            CHECK(numbers_in(rounded(table)) == numbers_in(RoundedTensor(table.value())));
          }
          weights.push_back(words.params.values().to_host());
        }
        // The norm is a sum in another order, in double: its last bit may show in float, once a step.
        double worst = 0;
        for (size_t i = 0; i < weights[0].size(); ++i)
          worst = std::max(worst, std::abs(static_cast<double>(weights[0][i] - weights[1][i])));
        CHECK(worst <= (max_norm == 0 ? 0 : 4 * 0x1p-24 * 4));
      }
}

TEST_CASE("row sums become the whole gradient for whoever asks, and are forgotten with it") {
  Words words;
  words.contribute(some);
  const std::vector<real> whole = words.embed.weight.grad().to_host();
  CHECK(words.gradient().row_sums() == nullptr);
  for (const int row : {1, 2, 4, 38})
    for (int c = 0; c < dim; ++c) CHECK(whole[static_cast<size_t>(row * dim + c)] == 0);
  CHECK(whole[3 * dim] != 0);
  words.params.spend_gradients();
  words.contribute(others);
  CHECK(words.gradient().row_sums() != nullptr);
  words.params.spend_gradients();
  CHECK(words.gradient().row_sums() == nullptr);
  CHECK_FALSE(words.gradient().written());
  words.contribute(some);
  const std::vector<real> again = words.embed.weight.grad().to_host();
  CHECK(again == whole);
  words.params.spend_gradients();
  std::vector<int32_t> many(static_cast<size_t>(vocab), 1);
  words.contribute(many);
  CHECK(words.gradient().row_sums() == nullptr);
}

TEST_CASE("clipping, decay and sums over replicas see row sums") {
  Words words;
  words.contribute(some);
  const double norm = grad_norm(words.params);
  CHECK(clip_grad_norm(words.params, norm / 2) == doctest::Approx(norm));
  CHECK(grad_norm(words.params) == doctest::Approx(norm / 2).epsilon(1e-5));
  words.params.spend_gradients();
  words.contribute(some);
  words.params.reduce_gradients([](std::span<real>) {});
  CHECK(words.gradient().row_sums() == nullptr);
  CHECK(grad_norm(words.params) == doctest::Approx(norm));
}

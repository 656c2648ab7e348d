// Changes of gradients between backward and step: none is ignored, and none comes back.
#include <cmath>
#include <memory>
#include <type_traits>
#include <vector>

#include "layers/dense.h"
#include "layers/embedding.h"
#include "tests/optim_helpers.h"

using namespace unroll;

namespace {

using Numbers = std::vector<real>;

// A table of four rows of one number, all 0 at first; the gradient of a row is how often it was asked for.
struct Table {
  ParameterSet params;
  Embedding embed{params / "embed", {.vocab = 4, .dim = 1}};
  Table() { embed.weight.value().fill(0); }
  void backward(const std::vector<int32_t>& asked, real factor = 1) {
    Tape tape;
    tape.backward(sum(embed(ids({static_cast<int>(asked.size())}, asked))) * factor);
  }
  Numbers weights() const { return embed.weight.value().to_host(); }
  Numbers gradient() const { return embed.weight.grad().to_host(); }
};

template <class T>
concept Writable = requires(T elements) {
  elements[0] = 1;
};

}  // namespace

TEST_CASE("what is written into a tensor of gradients counts, in rows that no operation had too") {
  for (const bool slab : {true, false}) {
    Table t;
    Sgd sgd(t.params, {.learning_rate = 1});
    t.backward({1});
    slab ? t.params.gradients().fill(1) : t.embed.weight.grad().fill(1);
    CHECK(grad_norm(t.params) == 2);  // √(4·1²): the padding behind four numbers stays 0
    CHECK(sgd.step({.max_norm = 1}) == 2);
    for (const real w : t.weights())
      CHECK(w == doctest::Approx(-0.5).epsilon(1e-5));  // clipping divides by 2 + 1e-6
    t.backward({1});
    CHECK(t.gradient() == Numbers{0, 1, 0, 0});
  }
}

TEST_CASE("what a const tensor of gradients shows cannot be written by its elements") {
  const ParameterSet params;
  static_assert(!Writable<decltype(params.gradients().span())>);
  static_assert(!Writable<decltype(params.values().data())>);
  static_assert(!Writable<decltype(std::declval<const Var&>().grad().span())>);
  static_assert(!Writable<decltype(std::declval<const Var&>().grad().data())>);
}

TEST_CASE("what is written before backward is added to, by whole gradients, rows and fused losses") {
  Table t;
  t.embed.weight.grad().fill(1);
  t.backward({1});
  CHECK(t.gradient() == Numbers{1, 2, 1, 1});
  t.params.spend_gradients();

  ParameterSet params;
  Dense out(params / "out", {.in = 1, .out = 2});
  for (const auto& p : params.all()) p->leaf_value().fill(0);
  Tape tape;
  const Var loss = softmax_cross_entropy(out, tensor({1, 1}, {4}), ids({1}, {0}));
  out.weight.grad().fill(1);
  tape.backward(loss);
  // (softmax - onehot) x = (1/2 - 1, 1/2) · 4, and the ones.
  CHECK(out.weight.grad().to_host() == Numbers{-1, 3});
}

TEST_CASE("replicas that take the mean of their gradients are the whole batch, to the bit") {
  const std::function<std::unique_ptr<Optimizer>(ParameterSet&)> makers[] = {
      [](ParameterSet& p) { return std::make_unique<Sgd>(p, SgdConfig{.learning_rate = 1}); },
      [](ParameterSet& p) {
        return std::make_unique<Sgd>(p, SgdConfig{.learning_rate = 1, .momentum = 0.5});
      },
      [](ParameterSet& p) { return std::make_unique<Adam>(p, AdamConfig{}); },
      [](ParameterSet& p) { return std::make_unique<AdamW>(p, AdamWConfig{}); },
      [](ParameterSet& p) { return std::make_unique<Asgd>(p, AsgdConfig{.learning_rate = 1}); }};
  for (const auto& make : makers)
    for (const StepOptions& options : {StepOptions{}, StepOptions{.max_norm = 0.25}}) {
      Table whole, first, second;
      const auto of_whole = make(whole.params), of_first = make(first.params),
                 of_second = make(second.params);
      for (const std::vector<int32_t>& asked : {std::vector<int32_t>{1, 2}, {3, 1}, {0, 0}, {2, 1}}) {
        whole.backward(asked, real(0.5));  // the mean over two: sums of halves, exact
        first.backward({asked[0]}), second.backward({asked[1]});
        first.params.reduce_gradients([&](std::span<real> a) {
          second.params.reduce_gradients([&](std::span<real> b) {
            std::vector<real> x(a.size()), y(b.size());
            copy_to_host(x.data(), a.data(), a.size_bytes()),
                copy_to_host(y.data(), b.data(), b.size_bytes());
            for (size_t i = 0; i < x.size(); ++i) x[i] = (x[i] + y[i]) / 2;
            copy_to_device(a.data(), x.data(), a.size_bytes()),
                copy_to_device(b.data(), x.data(), b.size_bytes());
          });
        });
        const double norm = of_whole->step(options);
        CHECK(of_first->step(options) == norm);
        CHECK(of_second->step(options) == norm);
        CHECK(first.weights() == whole.weights());
        CHECK(second.weights() == whole.weights());
      }
    }
}

TEST_CASE("a reduction makes a step of its own, gradients add to it, and its padding stays zero") {
  ParameterSet params;
  Parameter& a = params.add("a", {2}, Init::constant(0));
  Parameter& b = params.add("b", {3}, Init::constant(0));
  Sgd sgd(params, {.learning_rate = 1, .momentum = 0.5});
  params.reduce_gradients([](std::span<real> g) {
    const std::vector<real> ones(g.size(), 1);
    copy_to_device(g.data(), ones.data(), g.size_bytes());
  });
  CHECK(grad_norm(params) == std::sqrt(5.0));
  {
    Tape tape;
    tape.backward(sum(a.var() * 2));
  }
  CHECK(a.var().grad().to_host() == Numbers{3, 3});
  sgd.step();
  CHECK(weights(a) == Numbers{-3, -3});
  CHECK(weights(b) == Numbers{-1, -1, -1});
  double of_all = 0;
  for (const real v : params.values().on_host()) of_all += std::abs(double{v});
  CHECK(of_all == 2 * 3 + 3 * 1);
  CHECK(a.var().grad().to_host() == Numbers{0, 0});  // spent
}

TEST_CASE("a frozen parameter takes no step, and what was written there does not come back") {
  ParameterSet params;
  Parameter& frozen = params.add("frozen", {2}, Init::constant(0));
  Parameter& free = params.add("free", {2}, Init::constant(0));
  Sgd sgd(params, {.learning_rate = 1});
  frozen.frozen = true;
  params.gradients().fill(1);
  CHECK(grad_norm(params) == std::sqrt(2.0));
  sgd.step();
  CHECK(weights(frozen) == Numbers{0, 0});
  CHECK(weights(free) == Numbers{-1, -1});
  frozen.frozen = false;
  CHECK(frozen.var().grad().to_host() == Numbers{0, 0});
  {
    Tape tape;
    tape.backward(sum(free.var()));
  }
  sgd.step();
  CHECK(weights(frozen) == Numbers{0, 0});
}

TEST_CASE("a tensor of gradients that is older than a step cannot be written in silence") {
  Table t;
  Sgd sgd(t.params, {.learning_rate = 1});
  t.backward({1});
  const Tensor old = t.params.gradients();
  sgd.step();
  old.fill(1);
  CHECK(lacks(error_of([&] { sgd.step(); }), {"gradient", "before the last step", "reduce_gradients"}) == "");
  t.params.spend_gradients();
  t.backward({1});
  CHECK(t.gradient() == Numbers{0, 1, 0, 0});
}

namespace {

// Sign descent, with what update() of an optimizer from outside is given.
class Signs : public Optimizer {
 public:
  Signs(ParameterSet& p, double rate) : Optimizer(p, rate, 0) {}
  std::string_view name() const override { return "signs"; }
  OptimizerState state() override { return {.counters = {}, .slabs = {}, .learning_rate = &learning_rate_}; }

 protected:
  void order(StepOrders&) override {}
  void update() override {
    const StepFacts step = step_facts();
    if (!step.go) return;
    const auto& ranges = complete_ranges();
    const auto w = params_.changed_values().on_host(Access::change);
    const auto g = params_.contributed_gradients().on_host();
    for (const Range& r : ranges)
      for (int64_t i = r.begin; i < r.begin + r.size; ++i) {
        const double d = step.scale * static_cast<double>(g[i]);
        w[i] -= static_cast<real>(step.learning_rate * r.rate * ((d > 0) - (d < 0)));
      }
  }
};

}  // namespace

TEST_CASE("an optimizer from outside has what it needs, and its step counts as a write") {
  Table t;
  Signs signs(t.params, 0.5);
  t.backward({1, 1, 3});
  CHECK(signs.step({.max_norm = 1, .factor = -1, .rate_factor = 2}) == std::sqrt(5.0));
  CHECK(t.weights() == Numbers{0, 1, 0, 1});
  CHECK(lacks(error_of([&] {
                Tape tape;
                const Var loss = sum(embedding(t.embed.weight, ids({1}, {1})) * t.embed.weight);
                t.params.reduce_gradients([](auto) {});
                signs.step();
                tape.backward(loss);
              }),
              {"'embed.weight'"}) == "");
}

// Optimizers, clipping, averaging and schedules: against steps worked out by hand, and against each other.
#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "framework/loss.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/lstm.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "tests/support.h"

using namespace unroll;
using doctest::Approx;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Puts a gradient where a backward would.
void give(Parameter& p, const std::vector<real>& values) {
  p.leaf_value();
  const Into into = p.node.gradient.into(p.shape);
  for (size_t i = 0; i < values.size(); ++i)
    into.tensor.data()[i] = values[i] + (into.add ? into.tensor.data()[i] : 0);
}
void give_row(Parameter& p, int32_t row, const std::vector<real>& values) {
  p.leaf_value();
  const Into into = p.node.gradient.into_rows(p.shape, {&row, 1});
  for (size_t i = 0; i < values.size(); ++i) into.tensor[row].data()[i] += values[i];
}
std::vector<real> weights(Parameter& p) { return p.leaf_value().to_host(); }

// Two parameters with values that are easily worked with.
struct Pair {
  ParameterSet params;
  Parameter& a = params.add("a", {2}, Init::constant(1));
  Parameter& b = params.add("b", {3}, Init::constant(-2));
};

// A single weight, first 0, after steps with these gradients.
template <class Optimizer, class Config>
std::vector<double> path(const Config& config, const std::vector<real>& gradients, float first = 0) {
  ParameterSet params;
  Parameter& p = params.add("p", {1}, Init::constant(first));
  Optimizer optimizer(params, config);
  std::vector<double> result;
  for (real g : gradients) {
    give(p, {g});
    optimizer.step();
    result.push_back(weights(p)[0]);
  }
  return result;
}

void check_close(const std::vector<double>& values, const std::vector<double>& expected,
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
struct Window {
  explicit Window(RandomStream& random, int batch = 2)
      : input(random_ids({3, batch}, random, Model::vocab)),
        target(random_ids({3, batch}, random, Model::vocab)) {}
  IdTensor input, target;
};

using Maker = std::function<std::unique_ptr<Optimizer>(ParameterSet&)>;
const std::map<std::string, Maker> makers = {
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
    {"asgd",
     [](auto& p) { return std::make_unique<Asgd>(p, AsgdConfig{.learning_rate = 0.5, .average_after = 3}); }},
};

}  // namespace

// --- steps by hand -------------------------------------------------------------------------------

TEST_CASE("gradient descent") {
  // p -= ½ g;  with decay ¼: p -= ½ (g + p/4)
  check_close(path<Sgd>(SgdConfig{.learning_rate = 0.5}, {1, -3, 0.5}), {-0.5, 1, 0.75}, 0);
  check_close(path<Sgd>(SgdConfig{.learning_rate = 0.5, .weight_decay = 0.25}, {1, 0, 2}, 8),
              {6.5, 5.6875, 3.9765625}, 0);
}

TEST_CASE("momentum: the buffer starts as the first gradient") {
  // v = 1, 1.5, 1.75, then 0.875 without a gradient
  check_close(path<Sgd>(SgdConfig{.momentum = 0.5}, {1, 1, 1, 0}), {-1, -2.5, -4.25, -5.125}, 0);
  // g + v/2 = 1.5, 1.75, 1.875, 0.46875
  check_close(path<Sgd>(SgdConfig{.momentum = 0.5, .nesterov = true}, {1, 1, 1, 0}),
              {-1.5, -3.25, -5.125, -5.5625}, 0);
  // g = 1 + p/2 = 3, 2, 0: v = 3, 3.5, 2.25 - …
  const SgdConfig decay{.momentum = 0.5, .weight_decay = 0.5};
  check_close(path<Sgd>(decay, {1, 1, 1}, 4), {1, -2, -3.5}, 0);
}

TEST_CASE("Adam's first step is the learning rate, whatever the gradient's size") {
  for (real g : {real(1e-3), real(-2), real(500)})
    check_close(path<Adam>(AdamConfig{.learning_rate = 0.1}, {g}), {-0.1 * g / (std::abs(g) + 1e-8)});
}

TEST_CASE("Adam's second and third steps") {
  // β₁ = ½, β₂ = ¾, no eps to speak of. g = 1, 3, 0:
  // m = 0.5, 1.75, 0.875         / (1 - ½ᵗ) = 1, 7/3, 1
  // v = 0.25, 2.4375, 1.828125   / (1 - ¾ᵗ) = 1, 39/7, 117/37
  const AdamConfig config{.learning_rate = 1, .beta1 = 0.5, .beta2 = 0.75, .eps = 1e-30};
  const double first = -1, second = first - 7.0 / 3 / std::sqrt(39.0 / 7),
               third = second - 1 / std::sqrt(117.0 / 37);
  check_close(path<Adam>(config, {1, 3, 0}), {first, second, third});
  // eps is added to the root
  check_close(path<Adam>(AdamConfig{.learning_rate = 1, .eps = 1}, {3}), {-0.75});
}

TEST_CASE("weight decay goes through Adam's moments, and past AdamW's") {
  // Adam: the gradient 0 + 0.5·4 is normalised to 1. AdamW: p shrinks by 1 - 0.1·0.5, then the step.
  check_close(path<Adam>(AdamConfig{.learning_rate = 0.1, .weight_decay = 0.5}, {0}, 4),
              {4 - 0.1 * 2 / (2 + 1e-8)});
  check_close(path<AdamW>(AdamWConfig{.learning_rate = 0.1, .weight_decay = 0.5}, {0, 0}, 4),
              {4 * 0.95, 4 * 0.95 * 0.95});
  check_close(path<AdamW>(AdamWConfig{.learning_rate = 0.1, .weight_decay = 0.5}, {-2}, 4),
              {4 * 0.95 + 0.1 * 2 / (2 + 1e-8)});
}

TEST_CASE("the learning rate is that of the moment") {
  Pair m;
  Sgd sgd(m.params, {.learning_rate = 1});
  for (double rate : {1.0, 0.5, 0.0}) {
    sgd.set_learning_rate(rate);
    CHECK(sgd.learning_rate() == rate);
    give(m.a, {1, 1});
    sgd.step();
  }
  CHECK(weights(m.a) == std::vector<real>{-0.5, -0.5});
}

TEST_CASE("a step is counted, and spends the gradients") {
  Pair m;
  m.params.set_step(41);
  Sgd sgd(m.params, {.learning_rate = 1});
  give(m.a, {1, 2});
  CHECK(sgd.step() == 0);  // no norm was asked for
  CHECK(m.params.step() == 42);
  CHECK_FALSE(m.a.node.gradient.written());
  CHECK(weights(m.a) == std::vector<real>{0, -1});
  CHECK(sgd.step({.max_norm = 1}) == 0);  // nothing was contributed since
  CHECK(weights(m.a) == std::vector<real>{0, -1});
  CHECK(m.params.step() == 43);
}

// --- parameters that are treated differently -----------------------------------------------------

TEST_CASE("decay and frozen, in all arrangements of three parameters") {
  for (int arrangement = 0; arrangement < 64; ++arrangement) {
    CAPTURE(arrangement);
    for (const bool adamw : {false, true}) {
      ParameterSet params;
      for (int i = 0; i < 3; ++i) {
        Parameter& p =
            params.add(std::string(1, static_cast<char>('a' + i)), {70 * (i + 1)}, Init::constant(2));
        p.decay = arrangement & (1 << i);
        p.frozen = arrangement & (8 << i);
      }
      for (const auto& p : params.all()) give(*p, std::vector<real>(p->size(), 1));
      std::unique_ptr<Optimizer> optimizer;
      if (adamw)
        optimizer = std::make_unique<AdamW>(params, AdamWConfig{.learning_rate = 0.5, .weight_decay = 0.25});
      else
        optimizer = std::make_unique<Sgd>(params, SgdConfig{.learning_rate = 0.5, .weight_decay = 0.25});
      double squares = 0;
      for (const auto& p : params.all()) squares += p->frozen ? 0 : static_cast<double>(p->size());
      CHECK(optimizer->step({.max_norm = infinity}) == Approx(std::sqrt(squares)).epsilon(1e-14));

      std::vector<real> expected(params.values().size(), 0);
      for (const auto& p : params.all()) {
        const double direction = adamw ? 0.5 / (1 + 1e-8) : 0.5;
        const double value = p->frozen ? 2 : 2 - (p->decay ? 0.25 : 0) - direction;
        std::fill_n(expected.begin() + p->offset, p->size(), static_cast<real>(value));
      }
      CHECK(distance(params.values(), tensor(params.values().shape(), expected)) <
            1e-15);  // padding included
    }
  }
}

TEST_CASE("what is frozen keeps its bits, and may thaw") {
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    Pair m;
    const auto optimizer = make(m.params);
    const auto step = [&] {
      give(m.a, {1, -1});
      give(m.b, {3, 4, 5});
      optimizer->step();
    };
    step();
    const auto a = weights(m.a), b = weights(m.b);
    m.b.frozen = true;
    step();
    CHECK(weights(m.a) != a);
    CHECK(weights(m.b) == b);
    m.b.frozen = false;
    step();
    CHECK(weights(m.b) != b);
  }
}

TEST_CASE("a parameter that got no gradient has the gradient 0") {
  // Planted: what the slab holds from the step before must not count.
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    Pair m, zeros;
    const auto optimizer = make(m.params), reference = make(zeros.params);
    for (int step = 0; step < 4; ++step) {
      give(m.a, {1, -1});
      give(zeros.a, {1, -1});
      if (step == 0) give(m.b, {3, 4, 5});
      give(zeros.b, step == 0 ? std::vector<real>{3, 4, 5} : std::vector<real>{0, 0, 0});
      const double norm = optimizer->step({.max_norm = infinity});
      CHECK(norm == reference->step({.max_norm = infinity}));
      if (step > 0) CHECK(norm == Approx(std::sqrt(2)).epsilon(1e-15));
    }
    CHECK(same_bits(m.params.values(), zeros.params.values()));
  }
}

// --- clipping ------------------------------------------------------------------------------------

TEST_CASE("clipping by the global norm, as PyTorch does it") {
  Pair m;
  give(m.a, {3, 0});
  give(m.b, {0, 4, 12});
  CHECK(grad_norm(m.params) == 13);
  CHECK(clip_grad_norm(m.params, 20) == 13);
  CHECK(m.b.node.gradient.value(m.b.shape).to_host() == std::vector<real>{0, 4, 12});
  CHECK(clip_grad_norm(m.params, 6.5) == 13);
  const double factor = 6.5 / (13 + 1e-6);
  CHECK(m.a.node.gradient.value(m.a.shape).data()[0] == Approx(3 * factor).epsilon(1e-15));
  CHECK(m.b.node.gradient.value(m.b.shape).data()[2] == Approx(12 * factor).epsilon(1e-15));
  CHECK(grad_norm(m.params) == Approx(13 * factor).epsilon(1e-15));

  CHECK(clip_factor(13, 6.5) == factor);
  CHECK(clip_factor(5, 5) == Approx(1 - 2e-7).epsilon(1e-9));  // PyTorch's 1e-6 in the denominator
  CHECK(clip_factor(0, 5) == 1);
  CHECK(clip_factor(5, infinity) == 1);
}

TEST_CASE("clipping leaves frozen gradients and their norm out") {
  Pair m;
  m.a.frozen = true;
  give(m.a, {300, 400});
  give(m.b, {0, 3, 4});
  CHECK(clip_grad_norm(m.params, 1) == 5);
  CHECK(m.a.node.gradient.value(m.a.shape).to_host() == std::vector<real>{300, 400});
}

TEST_CASE("clipping within the step is clipping before it") {
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    RandomStream random(1, "clip");
    Model folded, apart;
    const auto a = make(folded.params), b = make(apart.params);
    for (int step = 0; step < 5; ++step) {
      const Window w(random);
      folded.contribute(w.input, w.target);
      apart.contribute(w.input, w.target);
      const double norm = clip_grad_norm(apart.params, 0.1);
      CHECK(norm > 0.1);
      b->step();
      CHECK(a->step({.max_norm = 0.1}) == Approx(norm).epsilon(1e-12));
    }
    CHECK(distance(folded.params.values(), apart.params.values()) < 1e-13);
  }
}

TEST_CASE("the norm is that of the gradients times the factor") {
  Pair m;
  Sgd sgd(m.params, {.learning_rate = 1});
  give(m.a, {3, 4});
  CHECK(sgd.step({.max_norm = 1.25, .factor = 0.5}) == 2.5);
  CHECK(weights(m.a)[0] == Approx(1 - 0.75 / (1 + 4e-7)).epsilon(1e-13));
}

TEST_CASE("rate_factor is of one step's learning rate") {
  Pair m;
  Sgd sgd(m.params, {.learning_rate = 0.5});
  give(m.a, {3, 4});
  sgd.step({.rate_factor = 0.25});
  CHECK(weights(m.a)[0] == Approx(1 - 0.125 * 3).epsilon(1e-13));
  CHECK(sgd.learning_rate() == 0.5);
  give(m.a, {3, 4});
  sgd.step();
  CHECK(weights(m.a)[0] == Approx(1 - 0.125 * 3 - 0.5 * 3).epsilon(1e-13));
  CHECK(lacks(error_of([&] { sgd.step({.rate_factor = -1}); }), {"rate_factor", "-1"}) == "");
}

TEST_CASE("a gradient that is not finite stops the step before anything is changed") {
  for (const auto& [name, make] : makers) {
    for (const real bad : {real(NAN), real(INFINITY), real(-INFINITY)}) {
      CAPTURE(name);
      Pair m;
      const auto optimizer = make(m.params);
      give(m.a, {1, 1});
      optimizer->step({.max_norm = 1});
      const Tensor before = m.params.values().clone();
      give(m.a, {1, 1});
      give(m.b, {1, bad, 1});
      CHECK(error_of([&] { optimizer->step({.max_norm = 1}); }) ==
            "step 1: the gradient of 'b' is not finite");
      CHECK(error_of([&] { clip_grad_norm(m.params, 1); }) == "step 1: the gradient of 'b' is not finite");
      CHECK_THROWS_AS(clip_grad_norm(m.params, 1), Diverged);
      CHECK_FALSE(std::isfinite(grad_norm(m.params)));
      CHECK(same_bits(m.params.values(), before));
      CHECK(m.params.step() == 1);
      CHECK(m.a.node.gradient.written());
      m.params.spend_gradients();  // on with the next window
      give(m.a, {1, 1});
      optimizer->step({.max_norm = 1});
      CHECK(std::isfinite(weights(m.b)[1]));
    }
  }
}

// --- gradients that add up, and gradients of few rows --------------------------------------------

TEST_CASE("several windows make the step of one large batch") {
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    RandomStream random(2, "windows");
    Model parts, whole;
    const auto a = make(parts.params), b = make(whole.params);
    for (int step = 0; step < 4; ++step) {
      const Window w(random, 6);
      const auto columns = [](const IdTensor& x, int begin) {  // two sequences of the six
        IdTensor y({x.dim(0), 2});
        for (int t = 0; t < x.dim(0); ++t) std::copy_n(x[t].data() + begin, 2, y[t].data());
        return y;
      };
      for (int begin = 0; begin < 6; begin += 2)
        parts.contribute(columns(w.input, begin), columns(w.target, begin));
      whole.contribute(w.input, w.target);
      const double norm = a->step({.max_norm = 0.2, .factor = 1.0 / 3});
      CHECK(norm == Approx(b->step({.max_norm = 0.2})).epsilon(1e-12));
    }
    // Adam divides by roots of squares that may be small, so rounding is enlarged there.
    CHECK(distance(parts.params.values(), whole.params.values()) < 1e-11);
  }
}

TEST_CASE("rows of an embedding: the same step as with the whole table") {
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    RandomStream random(3, "rows");
    Model sparse, dense;
    const auto a = make(sparse.params), b = make(dense.params);
    for (int step = 0; step < 6; ++step) {
      const Window w(random);
      sparse.contribute(w.input, w.target);
      dense.contribute(w.input, w.target);
      Parameter& table = *dense.params.find("embed.weight");
      give(table, std::vector<real>(table.size(), 0));
      REQUIRE(sparse.params.find("embed.weight")->node.gradient.only_some_rows());
      REQUIRE_FALSE(table.node.gradient.only_some_rows());
      CHECK(a->step({.max_norm = 0.3}) == Approx(b->step({.max_norm = 0.3})).epsilon(1e-14));
    }
    CHECK(distance(sparse.params.values(), dense.params.values()) < 1e-14);
  }
}

TEST_CASE("plain descent and the norm read no row that no one contributed to") {
  ParameterSet params;
  Parameter& table = params.add("table", {9, 2}, Init::constant(1));
  Parameter& other = params.add("other", {1}, Init::constant(1));
  Sgd sgd(params, {.learning_rate = 0.5});
  give_row(table, 7, {3, 0});
  give_row(table, 2, {0, 4});
  give_row(table, 7, {0, 12});
  for (int row : {0, 1, 3, 8}) table.node.gradient.value(table.shape)[row].fill(NAN);
  CHECK(grad_norm(params) == 13);
  CHECK(clip_grad_norm(params, 13) == 13);
  CHECK(sgd.step({.max_norm = 20}) == Approx(13).epsilon(1e-6));
  // p -= ½ g, rows 7 with (3, 12) and 2 with (0, 4), clipped to 13 / (13 + 1e-6) before
  const auto rows = weights(table);
  for (int i = 0; i < 18; ++i) {
    const std::map<int, double> changed = {{14, 1 - 1.5}, {15, 1 - 6}, {5, 1 - 2}};
    CHECK(rows[i] == Approx(changed.contains(i) ? changed.at(i) : 1.0).epsilon(1e-6));
  }
  CHECK(weights(other) == std::vector<real>{1});
}

TEST_CASE("most rows, or rows and the whole table") {
  ParameterSet params;
  Parameter& table = params.add("table", {4, 1}, Init::constant(0));
  Sgd sgd(params, {.learning_rate = 1});
  for (int32_t row : {3, 0, 1}) give_row(table, row, {real(row + 1)});
  CHECK(sgd.step({.max_norm = infinity}) == Approx(std::sqrt(16 + 1 + 4)).epsilon(1e-15));
  CHECK(weights(table) == std::vector<real>{-1, -2, 0, -4});
  give_row(table, 2, {1});
  give(table, {1, 1, 1, 1});
  CHECK(sgd.step({.max_norm = infinity}) == Approx(std::sqrt(1 + 1 + 4 + 1)).epsilon(1e-15));
  CHECK(weights(table) == std::vector<real>{-2, -3, -2, -5});
}

TEST_CASE("the same seed gives the same bits") {
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    const auto train = [&, &make = make] {
      RandomStream random(4, "bits");
      Model m;
      const auto optimizer = make(m.params);
      std::vector<double> norms;
      for (int step = 0; step < 10; ++step) {
        const Window w(random);
        m.contribute(w.input, w.target);
        norms.push_back(optimizer->step({.max_norm = 0.25}));
      }
      return std::pair(m.params.values().clone(), norms);
    };
    const auto first = train(), second = train();
    CHECK(same_bits(first.first, second.first));
    CHECK(first.second == second.second);
  }
}

TEST_CASE("after the third step an optimizer asks for no memory") {
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    RandomStream random(5, "memory");
    Model m;
    const auto optimizer = make(m.params);
    const Window w(random);
    int64_t in_use = 0;
    for (int step = 0; step < 8; ++step) {
      m.contribute(w.input, w.target);
      optimizer->step({.max_norm = 0.25});
      if (step == 3) in_use = memory_statistics().in_use;  // averaging begins with the fourth step
    }
    CHECK(memory_statistics().in_use == in_use);
  }
}

// --- averaging -----------------------------------------------------------------------------------

TEST_CASE("averaged descent keeps the mean of the weights") {
  ParameterSet params;
  Parameter& p = params.add("p", {1}, Init::constant(0));
  Asgd asgd(params, {.learning_rate = 1, .average_after = 2});
  const auto step = [&](real g) {
    give(p, {g});
    asgd.step();
  };
  step(-8);
  step(-8);
  CHECK(asgd.averages() == nullptr);
  CHECK(asgd.averaged() == 0);
  {
    AveragedWeights none(asgd);  // nothing to put in
    CHECK(weights(p)[0] == 16);
  }
  step(-4);  // 20
  CHECK(asgd.averages()->data()[0] == 20);
  step(2);   // 18
  step(-4);  // 22
  step(6);   // 16
  CHECK(asgd.averaged() == 4);
  CHECK(asgd.averages()->data()[0] == Approx(19).epsilon(1e-15));
  CHECK(weights(p)[0] == 16);
}

TEST_CASE("averaging that is started by hand") {
  ParameterSet params;
  Parameter& p = params.add("p", {1}, Init::constant(0));
  Asgd asgd(params, {.learning_rate = 1, .average_after = AsgdConfig::never});
  const auto step = [&](real g) {
    give(p, {g});
    asgd.step();
  };
  for (int i = 0; i < 5; ++i) step(-1);
  CHECK(asgd.averages() == nullptr);
  asgd.start_averaging();
  CHECK(asgd.averages() == nullptr);
  step(-1);                // 6
  asgd.start_averaging();  // has begun
  step(-2);                // 8
  CHECK(asgd.averaged() == 2);
  CHECK(asgd.averages()->data()[0] == 7);
}

TEST_CASE("averaged weights take the place of the others for a while") {
  RandomStream random(6, "swap");
  Model m;
  Asgd asgd(m.params, {.learning_rate = 0.5});
  const Window w(random);
  std::vector<Tensor> history;
  for (int step = 0; step < 4; ++step) {
    m.contribute(w.input, w.target);
    asgd.step();
    history.push_back(m.params.values().clone());
  }
  const real last = m.loss(w.input, w.target).item();
  const Tensor average = asgd.averages()->clone();
  {
    AveragedWeights guard(asgd);
    CHECK(same_bits(m.params.values(), average));
    CHECK(m.embed.weight.value().data()[0] == average.data()[0]);  // variables see them
    const double mean = (static_cast<double>(history[0].data()[0]) + history[1].data()[0] +
                         history[2].data()[0] + history[3].data()[0]) /
                        4;
    CHECK(average.data()[0] == Approx(mean).epsilon(1e-14));
    CHECK(m.loss(w.input, w.target).item() > last);  // earlier weights are mixed in
    CHECK(lacks(error_of([&] { asgd.step(); }), {"step", "AveragedWeights"}) == "");
    CHECK(lacks(error_of([&] { AveragedWeights second(asgd); }), {"averaged weights", "in use"}) == "");
  }
  CHECK(same_bits(m.params.values(), history[3]));
  CHECK(same_bits(*asgd.averages(), average));
  CHECK(m.loss(w.input, w.target).item() == last);
  asgd.step();
}

TEST_CASE("averaged weights of other optimizers: there are none") {
  Pair m;
  Adam adam(m.params, {});
  give(m.a, {1, 1});
  adam.step();
  const Tensor before = m.params.values().clone();
  AveragedWeights guard(adam);
  CHECK(same_bits(m.params.values(), before));
}

TEST_CASE("the non-monotone trigger") {
  // Position (from 1) of the first loss at which it fires, 0 for never.
  const auto fires_at = [](int patience, const std::vector<double>& losses) {
    NonMonotoneTrigger trigger{.patience = patience};
    for (size_t i = 0; i < losses.size(); ++i)
      if (trigger(losses[i])) return static_cast<int>(i) + 1;
    return 0;
  };
  CHECK(fires_at(5, {9, 8, 7, 6, 5, 4, 3, 2, 1}) == 0);
  CHECK(fires_at(5, {1, 2, 3, 4, 5}) == 0);     // six are needed before the question arises
  CHECK(fires_at(5, {1, 2, 3, 4, 5, 6}) == 0);  // before the sixth there are five: none is more than 5 back
  CHECK(fires_at(5, {1, 2, 3, 4, 5, 6, 7}) == 7);     // 7 > min(1)
  CHECK(fires_at(5, {1, 2, 2, 2, 2, 2, 1}) == 0);     // equal is not above
  CHECK(fires_at(5, {9, 5, 4, 3, 2, 1, 8}) == 0);     // 8 < 9; that it is above the last five does not matter
  CHECK(fires_at(5, {9, 5, 4, 3, 2, 1, 8, 6}) == 8);  // 6 > min(9, 5)
  CHECK(fires_at(2, {3, 2, 2.5, 2.6, 2.1}) == 5);     // 2.1 > min(3, 2)
  CHECK(fires_at(0, {3, 3, 4}) == 3);
  CHECK(fires_at(1, {1, NAN, NAN}) == 0);

  // A copy goes on where the other stood.
  NonMonotoneTrigger trigger{.patience = 2};
  for (double loss : {3.0, 2.0, 1.0}) CHECK_FALSE(trigger(loss));
  NonMonotoneTrigger copy{.patience = 2, .history = trigger.history};
  CHECK(copy(3.5));
}

// --- going on ------------------------------------------------------------------------------------

TEST_CASE("from its state an optimizer goes on with the same bits") {
  for (const auto& [name, make] : makers) {
    for (const int saved_after : {0, 1, 3, 5}) {
      CAPTURE(name);
      CAPTURE(saved_after);
      RandomStream random(7, "state");
      std::vector<Window> windows;
      for (int i = 0; i < 10; ++i) windows.emplace_back(random);
      const auto train = [&](Model& m, Optimizer& optimizer, int begin, int end) {
        for (int i = begin; i < end; ++i) {
          optimizer.set_learning_rate(0.1 / (i + 1));
          m.contribute(windows[i].input, windows[i].target);
          optimizer.step({.max_norm = 0.25});
        }
      };
      Model whole;
      const auto untouched = make(whole.params);
      train(whole, *untouched, 0, 10);

      std::map<std::string, int64_t> counters;
      std::map<std::string, std::vector<real>> slabs;
      {
        Model m;
        const auto optimizer = make(m.params);
        train(m, *optimizer, 0, saved_after);
        const OptimizerState state = optimizer->state();
        for (const auto& c : state.counters) counters[std::string(c.name)] = *c.value;
        for (const auto& s : state.slabs) slabs[std::string(s.name)] = s.values.to_host();
        slabs[""] = m.params.values().to_host();
        CHECK(*state.learning_rate == optimizer->learning_rate());
      }
      Model resumed;
      const auto optimizer = make(resumed.params);
      for (const auto& c : optimizer->state().counters) *c.value = counters.at(std::string(c.name));
      const OptimizerState state = optimizer->state();
      CHECK(state.slabs.size() + 1 == slabs.size());
      for (const auto& s : state.slabs) std::ranges::copy(slabs.at(std::string(s.name)), s.values.data());
      std::ranges::copy(slabs.at(""), resumed.params.values().data());
      train(resumed, *optimizer, saved_after, 10);
      CHECK(same_bits(resumed.params.values(), whole.params.values()));
      CHECK((optimizer->averages() == nullptr) == (untouched->averages() == nullptr));
      if (optimizer->averages()) CHECK(same_bits(*optimizer->averages(), *untouched->averages()));
    }
  }
}

TEST_CASE("an optimizer that is set back to its beginning forgets what came after") {
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    RandomStream random(8, "back");
    std::vector<Window> windows;
    for (int i = 0; i < 6; ++i) windows.emplace_back(random);
    Model m;
    const auto optimizer = make(m.params);
    const Tensor first = m.params.values().clone();
    const auto train = [&] {
      m.params.values().copy_from(first);
      for (const auto& c : optimizer->state().counters)
        if (c.name != "average_after") *c.value = 0;
      for (const Window& w : windows) {
        m.contribute(w.input, w.target);
        optimizer->step();
      }
      return m.params.values().clone();
    };
    const Tensor once = train();
    CHECK(same_bits(train(), once));
  }
}

TEST_CASE("averaging that was started by hand goes on, begun or not") {
  for (const int saved_after : {2, 3, 5}) {  // averaging is started after 3 steps
    CAPTURE(saved_after);
    const AsgdConfig config{.learning_rate = 0.5, .average_after = AsgdConfig::never};
    const auto train = [](Pair& m, Asgd& asgd, int begin, int end) {
      for (int i = begin; i < end; ++i) {
        give(m.a, {real(i), 1});
        asgd.step();
        if (i == 2) asgd.start_averaging();
      }
    };
    Pair whole, part, resumed;
    Asgd untouched(whole.params, config), saved(part.params, config), loaded(resumed.params, config);
    train(whole, untouched, 0, 9);
    train(part, saved, 0, saved_after);
    const OptimizerState from = saved.state(), to = loaded.state();
    for (size_t i = 0; i < from.counters.size(); ++i) *to.counters[i].value = *from.counters[i].value;
    resumed.params.values().copy_from(part.params.values());
    for (size_t i = 0; i < from.slabs.size(); ++i)
      loaded.state().slabs[i].values.copy_from(from.slabs[i].values);
    train(resumed, loaded, saved_after, 9);
    CHECK(loaded.averaged() == 6);
    CHECK(same_bits(*loaded.averages(), *untouched.averages()));
  }
}

TEST_CASE("the state says which slabs there are") {
  const auto names = [](Optimizer& optimizer) {
    std::vector<std::string> result;
    for (const auto& s : optimizer.state().slabs) result.emplace_back(s.name);
    return result;
  };
  using Names = std::vector<std::string>;
  const std::map<std::string, Names> expected = {{"sgd", {}},
                                                 {"sgd with decay", {}},
                                                 {"momentum", {"momentum_buffer"}},
                                                 {"nesterov", {"momentum_buffer"}},
                                                 {"adam", {"exp_avg", "exp_avg_sq"}},
                                                 {"adamw", {"exp_avg", "exp_avg_sq"}},
                                                 {"asgd", {"average"}}};
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    Pair m;
    const auto optimizer = make(m.params);
    CHECK(names(*optimizer).empty());
    for (int step = 0; step < 4; ++step) optimizer->step();
    CHECK(names(*optimizer) == expected.at(name));
  }
}

TEST_CASE("options that make no sense are refused") {
  Pair m;
  const auto refuses = [&](auto make, const std::string& part) { return lacks(error_of(make), {part}); };
  CHECK(refuses([&] { Sgd(m.params, {.learning_rate = -1}); }, "learning_rate -1") == "");
  CHECK(refuses([&] { Sgd(m.params, {.learning_rate = NAN}); }, "learning_rate nan") == "");
  CHECK(refuses([&] { Sgd(m.params, {.momentum = 1}); }, "momentum 1") == "");
  CHECK(refuses([&] { Sgd(m.params, {.nesterov = true}); }, "nesterov needs momentum") == "");
  CHECK(refuses([&] { Sgd(m.params, {.weight_decay = -0.1}); }, "weight_decay -0.1") == "");
  CHECK(refuses([&] { Adam(m.params, {.beta1 = 1.5}); }, "beta1 1.5") == "");
  CHECK(refuses([&] { AdamW(m.params, {.beta2 = -1}); }, "beta2 -1") == "");
  CHECK(refuses([&] { Adam(m.params, {.eps = 0}); }, "eps 0") == "");
  CHECK(refuses([&] { Asgd(m.params, {.average_after = -1}); }, "average_after = -1") == "");
  Sgd sgd(m.params, {});
  CHECK(refuses([&] { sgd.set_learning_rate(INFINITY); }, "learning_rate inf") == "");
  CHECK(refuses([&] { sgd.step({.max_norm = -5}); }, "max_norm -5") == "");
  CHECK(refuses([&] { clip_grad_norm(m.params, 0); }, "max_norm") == "");
}

// --- schedules -----------------------------------------------------------------------------------

TEST_CASE("constant") {
  const Schedule schedule{.learning_rate = 0.3};
  for (int epoch : {0, 7, 1000}) CHECK(schedule.rate(epoch, 5 * epoch) == 0.3);
}

TEST_CASE("step decay: the tables of TensorFlow's ptb_word_lm.py") {
  // small: max_epoch 4, lr_decay 0.5; medium: 6, 0.8; large: 14, 1/1.15
  const Schedule small{.kind = Schedule::Kind::step, .learning_rate = 1, .after = 4, .factor = 0.5};
  const std::vector<double> table = {1,      1,        1,        1,         0.5,       0.25,     0.125,
                                     0.0625, 1.0 / 32, 1.0 / 64, 1.0 / 128, 1.0 / 256, 1.0 / 512};
  for (int epoch = 0; epoch < 13; ++epoch) CHECK(small.rate(epoch, 0) == table[epoch]);
  const Schedule medium{.kind = Schedule::Kind::step, .learning_rate = 1, .after = 6, .factor = 0.8};
  CHECK(medium.rate(5, 0) == 1);
  CHECK(medium.rate(6, 0) == 0.8);
  CHECK(medium.rate(38, 0) == Approx(0.000633825300114115).epsilon(1e-13));  // 0.8^33
  const Schedule large{.kind = Schedule::Kind::step, .learning_rate = 1, .after = 14, .factor = 1 / 1.15};
  CHECK(large.rate(13, 0) == 1);
  CHECK(large.rate(15, 0) == Approx(1 / 1.15 / 1.15).epsilon(1e-15));
  // after = 0: decays before the first epoch, as the formula says
  CHECK(Schedule{.kind = Schedule::Kind::step, .after = 0, .factor = 0.5}.rate(0, 0) == 0.5);
}

TEST_CASE("plateau: divided whenever validation is not better than the best so far") {
  Schedule schedule{.kind = Schedule::Kind::plateau, .learning_rate = 20, .factor = 4};
  const std::vector<std::pair<double, double>> losses_and_rates = {
      {5.5, 20},   {5.0, 20},     {5.2, 5},         {5.0, 1.25},
      {4.9, 1.25}, {NAN, 0.3125}, {4.95, 0.078125}, {4.0, 0.078125}};
  double best = infinity;
  for (const auto& [loss, rate] : losses_and_rates) {
    CHECK(schedule.validated(loss) == (loss < best));
    best = std::fmin(best, loss);
    CHECK(schedule.rate(3, 1234) == rate);
    CHECK(schedule.best == best);
    const Schedule copy = schedule;  // a copy is a checkpoint
    CHECK(copy.rate(0, 0) == rate);
  }
  // The other kinds only remember the best.
  Schedule constant{.learning_rate = 2};
  CHECK(constant.validated(3));
  CHECK_FALSE(constant.validated(4));
  CHECK(constant.best == 3);
  CHECK(constant.divisions == 0);
  CHECK(constant.rate(9, 9) == 2);
}

TEST_CASE("cosine with warm-up") {
  const Schedule schedule{
      .kind = Schedule::Kind::cosine, .learning_rate = 1, .warmup = 3, .total = 11, .final_rate = 0.2};
  const double half = std::sqrt(0.5);
  const std::vector<double> table = {0.25,
                                     0.5,
                                     0.75,
                                     1,
                                     0.6 + 0.4 * std::cos(std::acos(-1.0) / 8),
                                     0.6 + 0.4 * half,
                                     0.6 + 0.4 * std::sin(std::acos(-1.0) / 8),
                                     0.6};
  for (int step = 0; step < 8; ++step) CHECK(schedule.rate(99, step) == Approx(table[step]).epsilon(1e-15));
  CHECK(schedule.rate(0, 9) == Approx(0.6 - 0.4 * half).epsilon(1e-15));
  CHECK(schedule.rate(0, 11) == 0.2);
  CHECK(schedule.rate(0, 1000000) == 0.2);
  // It falls at every step after the warm-up, and a schedule without one starts at the top.
  for (int step = 3; step < 11; ++step) CHECK(schedule.rate(0, step + 1) < schedule.rate(0, step));
  CHECK(Schedule{.kind = Schedule::Kind::cosine, .learning_rate = 0.5, .total = 10}.rate(0, 0) == 0.5);
}

TEST_CASE("schedules that make no sense are refused") {
  using Kind = Schedule::Kind;
  const auto refuses = [](const Schedule& s, const std::string& part) {
    return lacks(error_of([&] { s.check(); }), {"schedule", part});
  };
  CHECK(refuses({.learning_rate = -1}, "learning_rate -1") == "");
  CHECK(refuses({.kind = Kind::step, .after = -2}, "after = -2") == "");
  CHECK(refuses({.kind = Kind::step, .factor = 1.5}, "factor 1.5") == "");
  CHECK(refuses({.kind = Kind::step, .factor = 0}, "factor 0") == "");
  CHECK(refuses({.kind = Kind::plateau, .factor = 0.25}, "0.25") == "");
  CHECK(refuses({.kind = Kind::cosine, .warmup = 5, .total = 5}, "total = 5") == "");
  CHECK(refuses({.kind = Kind::cosine, .warmup = -1, .total = 5}, "warmup = -1") == "");
  CHECK(refuses({.kind = Kind::cosine, .learning_rate = 1, .total = 5, .final_rate = 2}, "final_rate 2") ==
        "");
  for (const Schedule& good :
       {Schedule{}, Schedule{.kind = Kind::step, .after = 4}, Schedule{.kind = Kind::cosine, .total = 1},
        Schedule{.kind = Kind::plateau, .factor = 4}})
    CHECK_NOTHROW(good.check());
}

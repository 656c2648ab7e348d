// Optimizers, against steps worked out by hand.
#include "tests/optim_helpers.h"

using namespace unroll;
using doctest::Approx;

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

TEST_CASE("RMSprop divides by the root of the mean square") {
  // v = ¼·16 = 4, then ¾·4 + ¼·16 = 7: no eps to speak of
  const RmspropConfig config{.learning_rate = 1, .alpha = 0.75, .eps = 1e-30};
  check_close(path<Rmsprop>(config, {4, -4}), {-2, -2 + 4 / std::sqrt(7.0)});
  // eps is added to the root;  with momentum ½ the second step has half of the first in it
  check_close(path<Rmsprop>(RmspropConfig{.learning_rate = 1, .alpha = 0.75, .eps = 2}, {4}), {-1});
  check_close(
      path<Rmsprop>(RmspropConfig{.learning_rate = 1, .alpha = 0.75, .eps = 1e-30, .momentum = 0.5}, {4, 0}),
      {-2, -3});
  // g = 0 + ½·8
  check_close(
      path<Rmsprop>(RmspropConfig{.learning_rate = 1, .alpha = 0.75, .eps = 1e-30, .weight_decay = 0.5}, {0},
                    8),
      {6});
}

TEST_CASE("Lion steps by the sign of what it remembers and sees") {
  // β₁ = ½, β₂ = ¾: m = 0, then 1; ½m + ½g = 2, then -1.5, so the steps are down and up. Decay comes before the step.
  const LionConfig config{.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.75};
  check_close(path<Lion>(config, {4, -4}), {-0.1, 0});
  check_close(path<Lion>(config, {4, -1, -1}), {-0.1, -0.1, 0.0});  // ½·1 - ½ = 0, then ½·½ - ½
  check_close(path<Lion>(LionConfig{.learning_rate = 0.1, .weight_decay = 0.5}, {4}, 2), {2 * 0.95 - 0.1});
}

TEST_CASE(
    "a parameter's decay multiplies the weight decay, as an optimizer of its own with that decay would") {
  ParameterSet params;
  Parameter& half = params.add("half", {2}, Init::constant(4));
  Parameter& twice = params.add("twice", {2}, Init::constant(4));
  half.decay = 0.5f, twice.decay = 2;
  AdamW adamw(params, {.learning_rate = 0.5, .weight_decay = 0.25});
  give(half, {0, 0}), give(twice, {0, 0});
  adamw.step();
  CHECK(weights(half) == std::vector<real>(2, 4 * (1 - 0.5 * 0.125)));
  CHECK(weights(twice) == std::vector<real>(2, 4 * (1 - 0.5 * 0.5)));
  half.decay = -1;
  give(half, {0, 0});
  CHECK(lacks(error_of([&] { adamw.step(); }), {"decay -1", "'half'"}) == "");
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

TEST_CASE("momentum and beta1 are those of the moment") {
  // v = 1, then ½ + 1, then ¼·1.5 + 1, then 0 + 1: a buffer that is not moved stays one.
  Alike moved(1);
  Sgd sgd(moved.params, {.learning_rate = 1, .momentum = 0.5});
  std::vector<double> path;
  for (const double momentum : {0.5, 0.5, 0.25, 0.0}) {
    sgd.set_momentum(momentum);
    moved.give(1);
    sgd.step();
    path.push_back(moved.value());
  }
  CHECK(path == std::vector<double>{0, -1.5, -2.875, -3.875});
  // β₁ = ½, then ¾, β₂ = 0, so √v is |g|. g = 1, 3: m = ½, then ¾·½ + ¼·3 = 9/8, over 1 - (¾)² = 7/16, over 3.
  Alike alike;
  Adam adam(alike.params, {.learning_rate = 1, .beta1 = 0.5, .beta2 = 0, .eps = 1e-30});
  alike.give(1);
  adam.step();
  CHECK(alike.value() == Approx(-1).epsilon(1e-15));
  adam.set_momentum(0.75);
  alike.give(3);
  adam.step();
  CHECK(alike.value() == Approx(-1 - 9.0 / 8 / (7.0 / 16) / 3).epsilon(1e-15));
}

TEST_CASE("a momentum that is none is refused, and by an optimizer without one") {
  Pair m;
  Sgd plain(m.params, {}), with(m.params, {.momentum = 0.5});
  Asgd averaging(m.params, {});
  Adam adam(m.params, {});
  CHECK(lacks(error_of([&] { plain.set_momentum(0.5); }), {"sgd was made without momentum", "0.5"}) == "");
  CHECK(lacks(error_of([&] { averaging.set_momentum(0.5); }), {"asgd was made without momentum"}) == "");
  CHECK_NOTHROW(plain.set_momentum(0));
  for (Optimizer* optimizer : {static_cast<Optimizer*>(&with), static_cast<Optimizer*>(&adam)})
    for (const double momentum : {-0.1, 1.0, static_cast<double>(NAN)})
      CHECK(lacks(error_of([&] { optimizer->set_momentum(momentum); }), {"is not in [0, 1)"}) == "");
}

TEST_CASE("a step is counted, and spends the gradients") {
  Pair m;
  m.params.set_step(41);
  Sgd sgd(m.params, {.learning_rate = 1});
  give(m.a, {1, 2});
  CHECK(sgd.step({.max_norm = 0}) == 0);  // no norm was asked for
  CHECK(m.params.step() == 42);
  CHECK_FALSE(m.a.node.gradient.written());
  CHECK(weights(m.a) == std::vector<real>{0, -1});
  CHECK(lacks(error_of([&] { sgd.step({.max_norm = 1}); }), {"nothing was contributed"}) == "");
  CHECK(weights(m.a) == std::vector<real>{0, -1});
  CHECK(m.params.step() == 42);
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
        p.decay = arrangement & (1 << i) ? 1.0f : 0.0f;
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
        const double value = p->frozen ? 2 : 2 - 0.25 * double{p->decay} - direction;
        std::fill_n(expected.begin() + p->offset, p->size(), static_cast<real>(value));
      }
      CHECK(distance(params.values(), tensor(params.values().shape(), expected)) <
            1e-15);  // padding included
    }
  }
}

TEST_CASE(
    "a parameter's rate multiplies the learning rate, as an optimizer of its own with that rate would") {
  for (const auto& [name, make] : makers) {
    CAPTURE(name);
    Pair together, slow, fast;
    const auto all = make(together.params), of_a = make(slow.params), of_b = make(fast.params);
    together.b.rate = 0.25;
    of_b->set_learning_rate(0.25 * of_b->learning_rate());
    for (int step = 0; step < 4; ++step) {
      for (Pair* m : {&together, &slow, &fast}) give(m->a, {1, -2}), give(m->b, {3, 0.5, real(step)});
      all->step(), of_a->step(), of_b->step();
      CHECK(weights(together.a) == weights(slow.a));
      CHECK(weights(together.b) == weights(fast.b));
    }
    // In the order of the slab or not, with rates from step to step.
    together.a.rate = 0;
    const auto before = weights(together.a);
    give(together.a, {1, 1}), give(together.b, {1, 1, 1});
    all->step();
    CHECK(weights(together.a) == before);
    together.a.rate = -1;
    give(together.a, {1, 1});
    CHECK(lacks(error_of([&] { all->step(); }), {"rate -1 of 'a'"}) == "");
  }
}

TEST_CASE("a step without any gradient is an error, also for a second optimizer of one set") {
  Pair m;
  Sgd first(m.params, {.learning_rate = 1});
  Adam second(m.params, {});
  CHECK(lacks(error_of([&] { first.step(); }), {"nothing was contributed", "backward"}) == "");
  give(m.a, {1, 1});
  first.step();
  CHECK(lacks(error_of([&] { second.step(); }), {"one optimizer"}) == "");
  CHECK(m.params.step() == 1);
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

TEST_CASE("a parameter that thaws takes Adam's steps as one that begins, and goes on where it froze") {
  const AdamConfig config{.learning_rate = 0.1};
  Pair thawing, always;
  Adam adam(thawing.params, config), other(always.params, config);
  RandomStream random(3, "thaw");
  const auto step = [&](bool frozen) {
    const std::vector<real> g = random_tensor({3}, random).to_host();
    thawing.b.frozen = frozen;
    give(thawing.a, {1, -1}), give(thawing.b, g);
    adam.step();
    if (frozen) return;
    give(always.a, {1, -1}), give(always.b, g);
    other.step();
    CHECK(distance(thawing.b.leaf_value(), always.b.leaf_value()) < 1e-14);
  };
  for (const bool frozen : {true, true, true, false, false, true, false, false}) step(frozen);
  CHECK(adam.step_signature() != other.step_signature());
  const auto a =
      weights(thawing.a);  // which missed nothing: eight equal gradients are eight steps of the rate
  CHECK(a[0] == Approx(1 - 8 * 0.1).epsilon(1e-6));
  CHECK(a[1] == Approx(1 + 8 * 0.1).epsilon(1e-6));
}

TEST_CASE(
    "a step's signature is another where parameters froze, decay, have a rate, or missed as many steps as their neighbour") {
  Pair m;
  AdamW adam(m.params, {.weight_decay = 0.1});
  const auto step = [&](bool a, bool b) {  // which are frozen
    m.a.frozen = a, m.b.frozen = b;
    give(m.a, {1, -1}), give(m.b, {3, 4, 5});
    adam.step();
    m.a.frozen = m.b.frozen = false;
    return adam.step_signature();
  };
  const uint64_t begun = step(false, false);
  CHECK(step(false, false) == begun);
  m.a.decay = !m.a.decay;
  CHECK(adam.step_signature() != begun);
  m.a.decay = !m.a.decay;
  CHECK(adam.step_signature() == begun);
  m.b.rate = 0.5f;
  CHECK(adam.step_signature() != begun);
  m.b.rate = 1;
  const uint64_t alike = step(true, true), apart = step(false, true);
  CHECK(alike != begun);
  CHECK(apart != alike);
  CHECK(step(true, false) == alike);  // two each
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

// --- what makes no sense -----------------------------------------------------------------------------------

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
  if (sizeof(real) == 4)  // as a float it is 1, and Adam would divide by 1 - 1
    CHECK(refuses([&] { Adam(m.params, {.beta2 = 0.99999999}); }, "rounds to 1") == "");
  CHECK(refuses([&] { Asgd(m.params, {.average_after = -1}); }, "average_after = -1") == "");
  Sgd sgd(m.params, {});
  CHECK(refuses([&] { sgd.set_learning_rate(INFINITY); }, "learning_rate inf") == "");
  CHECK(refuses([&] { sgd.step({.max_norm = -5}); }, "max_norm -5") == "");
  CHECK(refuses([&] { sgd.step({.factor = 1 / 0.0}); }, "factor inf") == "");
  CHECK(refuses([&] { sgd.step({.max_norm = 1, .factor = NAN}); }, "factor nan") == "");
  CHECK(refuses([&] { clip_grad_norm(m.params, 0); }, "max_norm") == "");
}

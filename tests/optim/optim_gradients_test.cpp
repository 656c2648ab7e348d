// Changes to gradients before a step: clipping, several windows in one step, rows of a table.
#include "tests/optim_helpers.h"

using namespace unroll;
using doctest::Approx;

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
      const RandomWindow w(random);
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
  CHECK(sgd.step({.rate_factor = 0}) == 5);  // without a max_norm nothing is clipped
  give(m.a, {3, 4});
  CHECK(sgd.step({.max_norm = 1.25, .factor = 0.5}) == 2.5);
  check_close(weights(m.a), {1 - 0.75 / (1 + 4e-7), 1 - 1 / (1 + 4e-7)}, 1e-13);
}

TEST_CASE("rate_factor is of one step's learning rate") {
  Pair m;
  Sgd sgd(m.params, {.learning_rate = 0.5});
  give(m.a, {3, 4});
  sgd.step({.rate_factor = 0.25});
  check_close(weights(m.a), {1 - 0.125 * 3, 1 - 0.125 * 4});
  CHECK(sgd.learning_rate() == 0.5);
  give(m.a, {3, 4});
  sgd.step();
  check_close(weights(m.a), {1 - 0.625 * 3, 1 - 0.625 * 4});
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
      for (const StepOptions& options : {StepOptions{}, StepOptions{.max_norm = 1}})
        CHECK(error_of([&] { optimizer->step(options); }) == "step 1: the gradient of 'b' is not finite");
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
      const RandomWindow w(random, 6);
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
      const RandomWindow w(random);
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
        const RandomWindow w(random);
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
    const RandomWindow w(random);
    int64_t in_use = 0;
    for (int step = 0; step < 8; ++step) {
      m.contribute(w.input, w.target);
      optimizer->step({.max_norm = 0.25});
      if (step == 3) in_use = memory_statistics().in_use;  // averaging begins with the fourth step
    }
    CHECK(memory_statistics().in_use == in_use);
  }
}

// A conditional random field: its gradient by central differences, padding on either side, its path, errors by their words.
// Its numbers stand beside those of an enumeration in tests/framework/parity_operations_test.cpp.
#include "layers/crf.h"

#include <limits>

#include "framework/gradcheck.h"
#include "optim/optimizer.h"
#include "tests/support.h"

using namespace unroll;

TEST_CASE("a random field is differentiated with respect to emissions and all its weights") {
  RandomStream random(1, "tags");
  for (const auto padding : {Padding::after, Padding::before})
    for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
      ParameterSet params;
      const Crf crf(params / "crf", {.tags = 3});
      params.initialize(Init::uniform(-1, 1));
      const IdTensor tags = random_ids({4, 3}, random, 3);
      CHECK(gradcheck("crf", params, {{4, 3, 3}}, [&](auto& v) {
        return crf.loss(v[0], tags, {ids({3}, {4, 2, 1}), padding}, reduction);
      }));
    }
}

TEST_CASE("padding takes no part, on either side, and a row without a step has no loss") {
  RandomStream random(2, "padding");
  ParameterSet params;
  const Crf crf(params / "crf", {.tags = 3});
  const Tensor x = random_tensor({3, 1, 3}, random);
  const IdTensor tags = random_ids({3, 1}, random, 3);
  const real alone = crf.loss(x, tags).item();
  for (const auto padding : {Padding::after, Padding::before}) {
    const int first = padding == Padding::before ? 2 : 0;
    Tensor padded = Tensor::full({5, 2, 3}, std::numeric_limits<real>::quiet_NaN());
    IdTensor wild({5, 2});
    wild.fill(-7);
    for (int t = 0; t < 3; ++t) {
      padded[first + t].slice(0, 1).copy_from(x[t]);
      wild[first + t].span()[0] = tags(t, 0);
    }
    const Lengths lengths{ids({2}, {3, 0}), padding};
    Tape tape;
    const Var watched = tape.watch(padded);
    const Var each = crf.loss(watched, wild, lengths, Reduction::none);
    CHECK(each(0) == doctest::Approx(alone).epsilon(1e-14));
    CHECK(each(1) == 0);
    tape.backward(sum(each));
    for (const real d : watched.grad().on_host()) CHECK(std::isfinite(d));
    for (const auto& p : params.all())
      for (const real d : p->node.gradient.value(p->shape).on_host()) CHECK(std::isfinite(d));
    params.spend_gradients();
    const auto [path, scores] = crf.decode(padded, lengths);
    const auto [right, score] = crf.decode(x);
    for (int t = 0; t < 3; ++t) CHECK(path(first + t, 0) == right(t, 0));
    CHECK(path(first == 0 ? 4 : 0, 0) == -1);
    CHECK(path(2, 1) == -1);
    CHECK(scores(0) == doctest::Approx(score(0)).epsilon(1e-14));
  }
}

TEST_CASE("the path is that of the highest score, from its beginning to its end") {
  RandomStream random(3, "path");
  constexpr int steps = 3, tags = 3, batch = 8;
  ParameterSet params;
  const Crf crf(params / "crf", {.tags = tags});
  params.initialize(Init::uniform(-2, 2));
  const Tensor x = random_tensor({steps, batch, tags}, random);
  const Tensor move = crf.transitions.value(), start = crf.start.value(), end = crf.end.value();
  const auto [path, scores] = crf.decode(x);
  int decided_by_the_end = 0;
  for (int b = 0; b < batch; ++b) {
    std::vector<int32_t> best, without_end;
    real most = -1e30f, most_without = -1e30f;
    for (int32_t i = 0; i < tags; ++i)
      for (int32_t j = 0; j < tags; ++j)
        for (int32_t k = 0; k < tags; ++k) {
          const real so_far = start(i) + x(0, b, i) + move(i, j) + x(1, b, j) + move(j, k) + x(2, b, k);
          if (so_far > most_without) most_without = so_far, without_end = {i, j, k};
          if (so_far + end(k) > most) most = so_far + end(k), best = {i, j, k};
        }
    CHECK(std::vector<int32_t>{path(0, b), path(1, b), path(2, b)} == best);
    CHECK(scores(b) == doctest::Approx(most).epsilon(1e-6));
    decided_by_the_end += best != without_end;
  }
  CHECK(decided_by_the_end > 0);
}

TEST_CASE("a random field learns a rule that no step alone can tell") {
  // Emissions say nothing of the order; the rule is 0 1 2 0 1 2 …
  ParameterSet params;
  const Crf crf(params / "crf", {.tags = 3});
  Adam adam(params, {.learning_rate = 0.2});
  IdTensor tags({6, 1});
  for (int t = 0; t < 6; ++t) tags.data()[t] = t % 3;
  const Tensor blank = Tensor::zeros({6, 1, 3});
  real loss = 0;
  for (int step = 0; step < 60; ++step) {
    Tape tape;
    const Var l = crf.loss(blank, tags);
    tape.backward(l);
    adam.step();
    loss = l.item();
  }
  CHECK(loss < 0.1);
  CHECK(crf.decode(blank).tags.to_host() == tags.to_host());
}

TEST_CASE("what does not fit is told with both shapes") {
  ParameterSet params;
  CHECK(lacks(error_of([&] { Crf(params / "none", {}); }), {"crf", "tags 0"}) == "");
  const Crf crf(params / "crf", {.tags = 3});
  const Var x = Tensor::zeros({4, 2, 3});
  CHECK(lacks(error_of([&] {
                crf.loss(Tensor({4, 2, 5}), IdTensor({4, 2}));
              }),
              {"crf", "[4, 2, 5]", "3"}) == "");
  CHECK(lacks(error_of([&] { crf.loss(x, IdTensor({2, 4})); }), {"[2, 4]", "[4, 2, 3]"}) == "");
  IdTensor tags({4, 2});
  tags.fill(3);
  CHECK(lacks(error_of([&] { crf.loss(x, tags); }), {"tag 3", "0 … 2", "[4, 2, 3]"}) == "");
  CHECK(lacks(error_of([&] { crf.decode(x, {ids({3}, {1, 1, 1})}); }), {"lengths [3]"}) == "");
}

// Smoothed targets, Huber's loss, divergences and temporal classification: gradients by central differences, values by hand.
// Their numbers stand beside PyTorch's in parity_operations_test.cpp.
#include <cmath>
#include <limits>

#include "framework/ctc_loss.h"
#include "framework/gradcheck.h"
#include "framework/loss.h"
#include "framework/ops.h"
#include "tests/support.h"

using namespace unroll;

namespace {

const real no_number = std::numeric_limits<real>::quiet_NaN();
constexpr Reduction reductions[] = {Reduction::mean, Reduction::sum, Reduction::none};

}  // namespace

TEST_CASE("a smoothed cross-entropy is differentiated, of logits and of the product that gives them") {
  const IdTensor target = ids({3}, {2, -1, 0});
  const Tensor weights = tensor({3}, {0.5, 1, 2});
  for (const Reduction reduction : reductions)
    for (const bool weighted : {false, true}) {
      CrossEntropyOptions options{.reduction = reduction, .label_smoothing = 0.3, .chunk_rows = 2};
      if (weighted) options.weights = weights;
      CHECK(gradcheck("smoothed", {{3, 4}},
                      [&](auto& v) { return softmax_cross_entropy(v[0], target, options); }));
      CHECK(gradcheck("smoothed product", {{3, 2}, {4, 2}, {4}},
                      [&](auto& v) { return softmax_cross_entropy(v[0], v[1], v[2], target, options); }));
      // Logits and the product that gives them have the same loss.
      RandomStream random(1, "smoothed");
      const Tensor x = random_tensor({3, 2}, random), w = random_tensor({4, 2}, random),
                   b = random_tensor({4}, random);
      CHECK(distance(softmax_cross_entropy(x, w, b, target, options).value(),
                     softmax_cross_entropy(linear(x, w, b), target, options).value()) < 1e-14);
    }
  // Spread evenly, the least loss of two classes is at the odds of their shares.
  const real s = real(0.2), odds = std::log((1 - s / 2) / (s / 2));
  Tape tape;
  const Var x = tape.watch(tensor({1, 2}, {odds, 0}));
  tape.backward(softmax_cross_entropy(x, ids({1}, {0}), {.label_smoothing = s}));
  CHECK(std::abs(x.grad()(0, 0)) < 1e-15);
  CHECK(lacks(error_of([&] { softmax_cross_entropy(x, ids({1}, {0}), {.label_smoothing = 1}); }),
              {"label_smoothing 1", "[1, 2]"}) == "");
  CHECK(lacks(error_of([&] {
                softmax_cross_entropy(x, ids({1}, {0}),
                                      {.class_weights = tensor({2}, {1, 2}), .label_smoothing = s});
              }),
              {"label_smoothing", "class weights [2]"}) == "");
}

TEST_CASE(
    "Huber's loss is square near the target, straight far from it, and blind where there is no weight") {
  const Tensor target = tensor({4}, {0, 0, 0, 0});
  const Var x = tensor({4}, {0.5, -0.5, 3, -3});
  CHECK(values(huber_loss(x, target, 2, {.reduction = Reduction::none})) ==
        std::vector<real>{0.125, 0.125, 4, 4});
  for (const Reduction reduction : reductions)
    CHECK(gradcheck("huber", {{3, 4}},
                    [&](auto& v) {
                      return huber_loss(
                          v[0], Tensor::zeros({3, 4}), 0.3,
                          {.reduction = reduction,
                           .weights = broadcast_to(tensor({4}, {1, 0, 2, 0.5}), {3, 4}).value()});
                    },
                    {.fill = fill_apart}));
  const Tensor some = tensor({2}, {no_number, 1});
  CHECK(huber_loss(some, tensor({2}, {0, 0}), 1, {.weights = tensor({2}, {0, 1})}).item() == 0.5);
  CHECK(lacks(error_of([&] { huber_loss(x, target, 0); }), {"huber_loss", "delta 0"}) == "");
  CHECK(lacks(error_of([&] { huber_loss(x, tensor({2}, {0, 0})); }), {"huber_loss", "[4]", "[2]"}) == "");
}

TEST_CASE("a divergence is 0 between equals, and impossible classes add nothing") {
  const Tensor p = tensor({2, 3}, {0.25, 0.75, 0, 0.5, 0.25, 0.25});
  const Var log_p = where(Tensor(p), log(where(p, Var(p), 1)), -std::numeric_limits<real>::infinity());
  CHECK(kl_divergence(log_p, p).item() == 0);
  // A row of weight 0 may hold anything.
  CHECK(kl_divergence(log_p, tensor({2, 3}, {0.25, 0.75, 0, -1, -1, -1}), {.weights = tensor({2}, {1, 0})}).item() == 0);
  const Var even = Tensor::full({2, 3}, -std::log(real(3)));
  const real first = real(0.25) * std::log(real(0.75)) + real(0.75) * std::log(real(2.25));
  CHECK(kl_divergence(even, p, {.reduction = Reduction::none})(0) == doctest::Approx(first).epsilon(1e-14));
  for (const Reduction reduction : reductions)
    CHECK(gradcheck("kl", {{2, 3}}, [&](auto& v) {
      return kl_divergence(log_softmax(v[0]), p, {.reduction = reduction, .weights = tensor({2}, {2, 0.5})});
    }));
  CHECK(lacks(error_of([&] {
                kl_divergence(even, tensor({2, 2}, {0, 1, 0, 1}));
              }),
              {"kl_divergence", "[2, 3]", "[2, 2]"}) == "");
  CHECK(lacks(error_of([&] {
                kl_divergence(even, Tensor::full({2, 3}, -1));
              }),
              {"kl_divergence", "-1"}) == "");
  CHECK(lacks(error_of([&] { kl_divergence(even, p, {.weights = Tensor({3})}); }),
              {"kl_divergence", "[3]", "[2, 3]"}) == "");
}

TEST_CASE("temporal classification is differentiated, with repeated labels, short rows and an empty one") {
  const IdTensor labels = ids({4, 2}, {1, 1, 2, 0, 1, 2, 9, 9}), steps = ids({4}, {5, 3, 2, 4}),
                 lengths = ids({4}, {2, 1, 2, 0});
  for (const Reduction reduction : reductions)
    CHECK(gradcheck("ctc", {{5, 4, 3}}, [&](auto& v) {
      return ctc_loss(v[0], labels, steps, lengths, {.reduction = reduction});
    }));
  CHECK(gradcheck("ctc, another blank", {{4, 1, 3}}, [&](auto& v) {
    return ctc_loss(v[0], ids({1, 2}, {0, 1}), {}, {}, {.blank = 2});
  }));
}

TEST_CASE("the probability of labels is that of all their alignments") {
  // Two steps that are even: of nine paths (1, 1), (blank, 1), (1, blank) say "1", one says nothing, and none says "1 1".
  const Var even = Tensor::zeros({2, 1, 3});
  const auto nats = [&](const std::vector<int32_t>& labels, bool zero = false) {
    return ctc_loss(even, ids({1, static_cast<int>(labels.size())}, labels), {}, {},
                    {.reduction = Reduction::sum, .zero_infinity = zero})
        .item();
  };
  CHECK(nats({1}) == doctest::Approx(std::log(3.0)).epsilon(1e-14));
  CHECK(nats({}) == doctest::Approx(std::log(9.0)).epsilon(1e-14));
  CHECK(nats({1, 2}) == doctest::Approx(std::log(9.0)).epsilon(1e-14));
  CHECK(std::isinf(nats({1, 1})));
  CHECK(nats({1, 1}, true) == 0);
  // An infinite loss has no gradient: the other row has its own all the same.
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    Tape infinite;
    const Var two = infinite.watch(Tensor::zeros({2, 2, 3}));
    infinite.backward(ctc_loss(two, ids({2, 2}, {1, 1, 1, 2}), {}, {}, {.reduction = reduction}));
    for (int t = 0; t < 2; ++t)
      for (int c = 0; c < 3; ++c) {
        CHECK(std::isnan(two.grad()(t, 0, c)));
        CHECK(std::isfinite(two.grad()(t, 1, c)));
      }
  }
  Tape tape;
  const Var x = tape.watch(Tensor::zeros({2, 1, 3}));
  tape.backward(ctc_loss(x, ids({1, 2}, {1, 1}), {}, {}, {.zero_infinity = true}));
  CHECK(x.grad().to_host() == std::vector<real>(6, 0));
  // Steps after the end of a row may hold anything.
  Tensor wild = Tensor::full({3, 1, 3}, no_number);
  wild.slice(0, 2).fill(0);
  CHECK(ctc_loss(wild, ids({1, 1}, {1}), ids({1}, {2}), {}).item() ==
        doctest::Approx(std::log(3.0)).epsilon(1e-14));
}

TEST_CASE("the best path leaves out blanks and repeats, but not a label that comes again behind a blank") {
  Tensor x = Tensor::zeros({6, 2, 3});
  const int said[2][6] = {{0, 1, 1, 0, 1, 2}, {2, 2, 0, 0, 1, 1}};
  {
    const auto at = x.on_host(Access::change);
    for (int b = 0; b < 2; ++b)
      for (int t = 0; t < 6; ++t) at[(t * 2 + b) * 3 + said[b][t]] = 1;
  }
  CHECK((ctc_best_path(x) == std::vector<std::vector<int32_t>>{{1, 1, 2}, {2, 1}}));
  CHECK(ctc_best_path(x, ids({2}, {3, 1}))[0] == std::vector<int32_t>{1});
}

TEST_CASE("what does not fit is told with both shapes") {
  const Var x = Tensor::zeros({4, 2, 3});
  const auto error = [&](const Var& logits, const IdTensor& labels, const IdTensor& steps = {},
                         const IdTensor& lengths = {}, const CtcOptions& options = {}) {
    return error_of([&] { ctc_loss(logits, labels, steps, lengths, options); });
  };
  const IdTensor good = ids({2, 1}, {1, 2});
  CHECK(lacks(error(Tensor({4, 2}), good), {"ctc_loss", "[4, 2]", "[2, 1]"}) == "");
  CHECK(lacks(error(x, ids({3, 1}, {1, 1, 1})), {"[4, 2, 3]", "[3, 1]"}) == "");
  CHECK(lacks(error(x, ids({2, 1}, {1, 0})), {"label 0", "row 1", "blank"}) == "");
  CHECK(lacks(error(x, ids({2, 1}, {1, 3})), {"label 3", "0 … 2"}) == "");
  CHECK(lacks(error(x, good, ids({2}, {4, 5})), {"5 steps", "0 to 4"}) == "");
  CHECK(lacks(error(x, good, {}, ids({1}, {1})), {"label", "[1]", "[2]"}) == "");
  CHECK(lacks(error(x, good, {}, {}, {.blank = 3}), {"blank 3", "0 … 2"}) == "");
}

TEST_CASE("any class may be the blank: the loss and the best path are those of the classes renumbered") {
  RandomStream random(4, "blank");
  const Tensor x = random_tensor({5, 2, 3}, random, -2, 2);
  // Class 2 is the blank in place of 0, and labels 1 and 2 are 1 and 0.
  const Tensor turned = concat({slice(x, 2, 2, 3), slice(x, 2, 1, 2), slice(x, 2, 0, 1)}, 2).value();
  const IdTensor labels = ids({2, 2}, {1, 2, 1, 1}), of_turned = ids({2, 2}, {1, 0, 1, 1});
  CHECK(distance(ctc_loss(turned, of_turned, {}, {}, {.blank = 2, .reduction = Reduction::none}).value(),
                 ctc_loss(x, labels, {}, {}, {.reduction = Reduction::none}).value()) < 1e-13);
  auto best = ctc_best_path(x);
  CHECK_FALSE((best[0].empty() && best[1].empty()));
  for (auto& row : best)
    for (int32_t& label : row) label = 2 - label;
  CHECK((ctc_best_path(turned, {}, 2) == best));
}

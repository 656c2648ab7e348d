// Losses of elements: binary cross-entropy, squared error, quantiles, normal density.
#include <cmath>
#include <functional>
#include <numbers>

#include "framework/gradcheck.h"
#include "framework/loss.h"
#include "tests/framework/decoder.h"

using namespace unroll;

// --- binary cross-entropy ----------------------------------------------------------------------------------

TEST_CASE("binary_cross_entropy is differentiated, with pos_weight and soft targets, for sum and mean") {
  for (const Shape& s : {Shape{}, Shape{1}, Shape{7}, Shape{3, 5}, Shape{2, 1, 3}})
    for (real pos_weight : {1.0, 3.0, 0.25})
      for (Reduction reduction : {Reduction::mean, Reduction::sum}) {
        RandomStream random(8, "targets");
        Tensor target = random_tensor(s, random, 0, 1);
        for (int64_t i = 0; i < target.size(); i += 2) {
          const auto values = target.on_host(Access::change);
          values[i] = std::round(values[i]);
        }
        const BinaryCrossEntropyOptions options{.reduction = reduction, .pos_weight = pos_weight};
        CHECK(gradcheck("binary_cross_entropy", {s},
                        [&](auto& v) { return binary_cross_entropy(v[0], target, options); },
                        {.low = -4, .high = 4}));

        const Tensor x = random_tensor(s, random, -4, 4);
        long double total = 0;
        for (int64_t i = 0; i < x.size(); ++i) {
          const long double p = 1 / (1 + std::exp(-static_cast<long double>(x.on_host()[i]))),
                            t = target.on_host()[i];
          total -= pos_weight * t * std::log(p) + (1 - t) * std::log(1 - p);
        }
        if (reduction == Reduction::mean) total /= static_cast<long double>(x.size());
        CHECK(binary_cross_entropy(x, target, options).item() ==
              doctest::Approx(static_cast<double>(total)).epsilon(1e-13));
      }
}

TEST_CASE("binary_cross_entropy is exact at logits of a thousand") {
  const Tensor x = tensor({4}, {1e3, 1e3, -1e3, -1e3}), target = tensor({4}, {1, 0, 1, 0});
  Tape tape;
  const Var logits = tape.watch(x);
  const Var loss = binary_cross_entropy(logits, target, {.reduction = Reduction::sum, .pos_weight = 3});
  CHECK(loss.item() == 1e3 + 3e3);
  tape.backward(loss);
  CHECK(logits.grad().to_host() == std::vector<real>{0, 1, -3, 0});
}

TEST_CASE("binary_cross_entropy is differentiated at logits of a thousand") {
  const Tensor target = tensor({4}, {1, 0, 0.25, 0.75});
  for (double offset : {-1e3, 1e3})
    CHECK(gradcheck("binary_cross_entropy", {{4}},
                    [&](auto& v) { return binary_cross_entropy(v[0], target, {.pos_weight = 3}); },
                    {.low = offset - 1, .high = offset + 1, .magnitude = 1e3}));
}

// --- mean squared error ------------------------------------------------------------------------------------

TEST_CASE("mean_squared_error is differentiated and has its textbook value") {
  for (const Shape& s : {Shape{}, Shape{1}, Shape{7}, Shape{3, 5}})
    for (Reduction reduction : {Reduction::mean, Reduction::sum}) {
      RandomStream random(8, "targets");
      const Tensor target = random_tensor(s, random);
      CHECK(gradcheck("mean_squared_error", {s},
                      [&](auto& v) { return mean_squared_error(v[0], target, {.reduction = reduction}); }));
    }
  const Var x = tensor({3}, {1, 2, 4});
  const Tensor target = tensor({3}, {0, 4, 1});
  CHECK(mean_squared_error(x, target).item() == doctest::Approx(14.0 / 3).epsilon(1e-15));
  CHECK(mean_squared_error(x, target, {.reduction = Reduction::sum}).item() == 14);
}

TEST_CASE("quantile_loss is differentiated and has its textbook value") {
  RandomStream numbers(7, "quantiles");
  const Tensor target = random_tensor({3, 4}, numbers);
  const std::vector<double> quantiles = {0.1, 0.5, 0.8};
  // Its kink is where a prediction meets its target.
  const auto fill = [&](int input, const Tensor& values, RandomStream& random) {
    fill_away_from_zero(input, values, random);
    for (int64_t i = 0; i < values.size(); ++i) values.on_host(Access::change)[i] += target.on_host()[i];
  };
  for (const Reduction reduction : {Reduction::mean, Reduction::sum})
    CHECK(gradcheck("quantile_loss", {{3, 4}, {3, 4}, {3, 4}},
                    [&](auto& v) {
                      return quantile_loss({v[0], v[1], v[2]}, target, quantiles, {.reduction = reduction});
                    },
                    {.fill = fill}));

  // 0.2 below each target of 1, and 0.4 above: q · 0.2 and (1 - q) · 0.4.
  const Var low(tensor({2}, {0.8, 0.8})), high(tensor({2}, {1.4, 1.4}));
  const Tensor ones = tensor({2}, {1, 1});
  const std::vector<double> two = {0.1, 0.75};
  CHECK(quantile_loss({low, high}, ones, two, {.reduction = Reduction::sum}).item() ==
        doctest::Approx(2 * (0.1 * 0.2 + 0.25 * 0.4)).epsilon(1e-14));
  CHECK(quantile_loss({low, high}, ones, two).item() ==
        doctest::Approx((0.1 * 0.2 + 0.25 * 0.4) / 2).epsilon(1e-14));
  // Among constants, the quantile of the targets has the least loss.
  const Tensor many = tensor({5}, {1, 2, 3, 4, 5});
  const std::vector<double> third = {0.3};
  const auto at = [&](double value) {
    return quantile_loss({Var(Tensor::full({5}, value))}, many, third).item();
  };
  CHECK(at(2) < at(1.5));
  CHECK(at(2) < at(2.5));
}

TEST_CASE("gaussian_loss is differentiated and is minus the log of the normal density") {
  RandomStream random(9, "targets");
  const Tensor target = random_tensor({3, 4}, random), weights = random_tensor({3, 4}, random, 0, 1);
  for (const Tensor& w : {Tensor(), weights})
    for (const Reduction reduction : {Reduction::mean, Reduction::sum})
      CHECK(gradcheck("gaussian_loss", {{3, 4}, {3, 4}}, [&](auto& v) {
        return gaussian_loss(v[0], v[1] + 2, target, {reduction, w});
      }));
  const double density = std::exp(-0.5 * 1.5 * 1.5) / (2 * std::sqrt(2 * std::numbers::pi));
  CHECK(gaussian_loss(tensor({1}, {1}), tensor({1}, {2}), tensor({1}, {4})).item() ==
        doctest::Approx(-std::log(density)).epsilon(1e-14));
}

TEST_CASE(
    "weights of elements: of 0 and 1 they leave out, of any they are means of their own, and none scores nothing") {
  RandomStream random(10, "elements");
  const Tensor x = random_tensor({2, 5}, random), target = random_tensor({2, 5}, random, 0, 1);
  const std::vector<double> quantiles = {0.5};
  using Loss = std::function<Var(const Var&, const Tensor&, Reduction, const Tensor&)>;
  const std::vector<Loss> losses = {[](auto& x, auto& t, auto r, auto& w) {
                                      return binary_cross_entropy(x, t, {.reduction = r, .weights = w});
                                    },
                                    [](auto& x, auto& t, auto r, auto& w) {
                                      return mean_squared_error(x, t, {r, w});
                                    },
                                    [&](auto& x, auto& t, auto r, auto& w) {
                                      return quantile_loss({x}, t, quantiles, {r, w});
                                    },
                                    [](auto& x, auto& t, auto r, auto& w) {
                                      return gaussian_loss(x, Tensor::full(x.shape(), 2), t, {r, w});
                                    }};
  Tensor first = Tensor::zeros({2, 5});
  first[0].fill(1);
  const Tensor weights = random_tensor({2, 5}, random, 0, 2);
  for (const Loss& loss : losses) {
    // Without a reduction: each element's, which add up to the sum.
    const Tensor each = loss(x, target, Reduction::none, weights).value();
    CHECK(each.shape() == x.shape());
    CHECK(sum(each).item() ==
          doctest::Approx(loss(x, target, Reduction::sum, weights).item()).epsilon(1e-14));
    CHECK(each[1].to_host() == loss(x[1], target[1], Reduction::none, weights[1]).value().to_host());
    CHECK(
        gradcheck("losses", {{2, 5}}, [&](auto& v) { return loss(v[0], target, Reduction::none, weights); }));
    for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
      CHECK(loss(x, target, reduction, first).item() ==
            doctest::Approx(loss(x[0], target[0], reduction, {}).item()).epsilon(1e-14));
      CHECK(loss(x, target, reduction, Tensor::full({2, 5}, 3)).item() ==
            doctest::Approx((reduction == Reduction::sum ? 3 : 1) * loss(x, target, reduction, {}).item())
                .epsilon(1e-14));
      CHECK(loss(x, target, reduction, Tensor::zeros({2, 5})).item() == 0);
      CHECK(gradcheck("weighted loss", {{2, 5}},
                      [&](auto& v) { return loss(v[0], target, reduction, weights); }));
      CHECK(lacks(error_of([&] { loss(x, target, reduction, Tensor::zeros({5})); }),
                  {"weights [5]", "[2, 5]"}) == "");
    }
  }
  const std::vector<double> two = {0.1, 0.9};
  const Tensor both = quantile_loss({x, x}, target, two, {Reduction::none, {}}).value();
  CHECK(both.shape() == target.shape());
  CHECK(sum(both).item() ==
        doctest::Approx(quantile_loss({x, x}, target, two, {Reduction::sum, {}}).item()).epsilon(1e-14));
}

TEST_CASE("a quantile outside of (0, 1), one too few, and a weight of positives that is none are refused") {
  const Var x = Tensor::zeros({2});
  const Tensor target = Tensor::zeros({2});
  for (const double quantile : {0.0, 1.0, -0.5, double{NAN}}) {
    const double quantiles[] = {0.5, quantile};
    CHECK(lacks(error_of([&] {
                  quantile_loss({x, x}, target, quantiles);
                }),
                {"quantile_loss", fmt::format("quantile {} ", quantile), "(0, 1)"}) == "");
  }
  const double one[] = {0.5};
  CHECK(lacks(error_of([&] {
                quantile_loss({x, x}, target, one);
              }),
              {"2 predictions for 1 quantiles"}) == "");
  CHECK(lacks(error_of([&] { quantile_loss({}, target, {}); }), {"0 predictions"}) == "");
  for (const real weight : {real(0), real(-1), real{INFINITY}, real{NAN}})
    CHECK(lacks(error_of([&] { binary_cross_entropy(x, target, {.pos_weight = weight}); }),
                {"binary_cross_entropy", fmt::format("pos_weight {} ", weight)}) == "");
}

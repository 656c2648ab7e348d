// The losses: gradients, values against the definition in long double, masks, weights, extreme logits.
#include "framework/loss.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "framework/gradcheck.h"
#include "tests/framework/decoder.h"

using namespace unroll;

namespace {

// By the definition: Σ w (log Σ exp x - x_t), over Σ w for the mean.
double cross_entropy_by_definition(const Tensor& x, const IdTensor& target,
                                   const CrossEntropyOptions& options) {
  long double total = 0, weights = 0;
  const int64_t cols = x.cols();
  const auto elements = x.on_host();
  for (int64_t r = 0; r < x.rows(); ++r) {
    if (target.data()[r] == options.ignore_index) continue;
    const double* row = elements.data() + r * cols;
    const long double top = *std::max_element(row, row + cols);
    long double sum = 0;
    for (int64_t k = 0; k < cols; ++k) sum += std::exp(static_cast<long double>(row[k]) - top);
    const long double weight = options.weights.defined() ? options.weights.on_host()[r] : 1;
    total += weight * (std::log(sum) + top - row[target.data()[r]]);
    weights += weight;
  }
  return static_cast<double>(options.reduction == Reduction::sum ? total : total / weights);
}

}  // namespace

// --- softmax cross-entropy ---------------------------------------------------------------------------------

TEST_CASE("softmax_cross_entropy is differentiated with masks and weights, for sum and mean") {
  for (const Shape& s : {Shape{1, 1}, Shape{1, 5}, Shape{4, 1}, Shape{3, 7}, Shape{2, 3, 5}, Shape{9, 33}}) {
    Shape rows;
    for (int i = 0; i + 1 < s.rank(); ++i) rows.append(s[i]);
    for (Reduction reduction : {Reduction::mean, Reduction::sum})
      for (int32_t ignore : {-1, -100, 0})
        for (bool weighted : {false, true}) {
          const Targets t(rows, s[-1], 5, ignore);
          const CrossEntropyOptions options{
              .reduction = reduction, .ignore_index = ignore, .weights = weighted ? t.weights : Tensor()};
          CHECK(gradcheck("softmax_cross_entropy", {s},
                          [&](auto& v) { return softmax_cross_entropy(v[0], t.ids, options); },
                          {.low = -3, .high = 3, .magnitude = 3}));
          RandomStream random(6, "logits");
          const Tensor x = random_tensor(s, random, -3, 3);
          if (ignore != 0 || s[-1] > 1)
            CHECK(softmax_cross_entropy(x, t.ids, options).item() ==
                  doctest::Approx(cross_entropy_by_definition(x, t.ids, options)).epsilon(1e-13));
        }
  }
}

TEST_CASE("softmax_cross_entropy without a reduction: each target's loss, which a caller may weigh") {
  for (const Shape& s : {Shape{5}, Shape{4, 1}, Shape{3, 7}, Shape{2, 3, 5}}) {
    Shape rows;
    for (int i = 0; i + 1 < s.rank(); ++i) rows.append(s[i]);
    for (int32_t ignore : {-1, -100, 0})
      for (bool weighted : {false, true}) {
        const Targets t(rows, s[-1], 5, ignore);
        CrossEntropyOptions options{.reduction = Reduction::none,
                                    .ignore_index = ignore,
                                    .weights = weighted ? t.weights : Tensor(),
                                    .class_weights = weighted ? Tensor::full({s[-1]}, 2) : Tensor()};
        CHECK(gradcheck("softmax_cross_entropy", {s},
                        [&](auto& v) { return softmax_cross_entropy(v[0], t.ids, options); },
                        {.low = -3, .high = 3, .magnitude = 3}));
        RandomStream random(6, "logits");
        const Tensor x = random_tensor(s, random, -3, 3);
        const Tensor each = softmax_cross_entropy(x, t.ids, options).value();
        CHECK(each.shape() == rows);
        double total = 0;
        for (int64_t r = 0; r < each.size(); ++r) {
          total += each.on_host()[r];
          if (t.ids.data()[r] == ignore) CHECK(each.on_host()[r] == 0);
        }
        options.reduction = Reduction::sum;
        CHECK(total == doctest::Approx(softmax_cross_entropy(x, t.ids, options).item()).epsilon(1e-13));
      }
  }
  // Rows that are not scored may hold anything.
  Tensor logits = Tensor::zeros({2, 3});
  logits[1].fill(std::numeric_limits<real>::quiet_NaN());
  Tape tape;
  const Var x = tape.watch(logits);
  const Var each = softmax_cross_entropy(x, ids({2}, {0, -1}), {.reduction = Reduction::none});
  CHECK(each.value().on_host()[1] == 0);
  tape.backward(sum(each));
  for (const real dx : x.grad()[1].to_host()) CHECK(dx == 0);
}

TEST_CASE("the fused loss without a reduction is that of the logits") {
  RandomStream random(8, "fused");
  const Targets t({2, 3}, 5, 5, -1);
  const CrossEntropyOptions options{.reduction = Reduction::none, .weights = t.weights};
  CHECK(gradcheck("softmax_cross_entropy", {{2, 3, 4}, {5, 4}, {5}},
                  [&](auto& v) { return softmax_cross_entropy(v[0], v[1], v[2], t.ids, options); }));
  const Tensor x = random_tensor({2, 3, 4}, random), w = random_tensor({5, 4}, random),
               b = random_tensor({5}, random);
  CHECK(softmax_cross_entropy(x, w, b, t.ids, options).value().to_host() ==
        softmax_cross_entropy(linear(x, w, b), t.ids, options).value().to_host());
}

TEST_CASE("softmax_cross_entropy of one row of logits takes a single target") {
  const IdTensor target = ids({}, {2});
  CHECK(gradcheck("softmax_cross_entropy", {{5}},
                  [&](auto& v) { return softmax_cross_entropy(v[0], target); }));
}

TEST_CASE("softmax_cross_entropy is exact at logits of a thousand") {
  const Tensor x = tensor({4, 2}, {1e3, -1e3, 1e3, -1e3, -1e3, -1e3, 1e3, 1e3});
  const IdTensor target = ids({4}, {0, 1, 0, 1});
  Tape tape;
  const Var logits = tape.watch(x);
  const Var loss = softmax_cross_entropy(logits, target, {.reduction = Reduction::sum});
  // 0 + 2000 + 2 log 2, of numbers around 2000
  CHECK(std::abs(loss.item() - (2000 + 2 * std::log(2.0))) <= 4 * eps * 2000);
  tape.backward(loss);
  CHECK(logits.grad().to_host() == std::vector<real>{0, 0, 1, -1, -0.5, 0.5, 0.5, -0.5});
}

TEST_CASE("softmax_cross_entropy is differentiated at logits of a thousand") {
  const IdTensor target = ids({3}, {4, 0, 2});
  for (double offset : {-1e3, 1e3})
    CHECK(gradcheck("softmax_cross_entropy", {{3, 5}},
                    [&](auto& v) { return softmax_cross_entropy(v[0], target); },
                    {.low = offset - 2, .high = offset + 2, .magnitude = 1e3}));
  // one logit a thousand above or below the others
  for (double outlier : {-1e3, 1e3})
    CHECK(gradcheck("softmax_cross_entropy", {{3, 5}},
                    [&](auto& v) { return softmax_cross_entropy(v[0], target); },
                    {.fill =
                         [=](int, const Tensor& x, RandomStream& random) {
                           for (double& v : x.on_host(Access::change)) v = random.uniform();
                           for (int at : {4, 6}) x.on_host(Access::change)[at] = outlier;
                         },
                     .magnitude = 1e3}));
}

TEST_CASE("with every target ignored the loss is 0 and so is every gradient") {
  Decoder d(5, 3, 4);
  d.target.fill(-1);
  for (Reduction reduction : {Reduction::mean, Reduction::sum}) {
    const CrossEntropyOptions options{.reduction = reduction, .chunk_rows = 2};
    const Gradients fused =
        gradients_of(d, [&](auto&... v) { return softmax_cross_entropy(v..., d.target, options); });
    CHECK(fused.loss == 0);
    for (const Tensor& g : {fused.x, fused.w, fused.b})
      for (const double v : g.on_host()) CHECK(v == 0);

    Tape tape;
    const Var logits = tape.watch(tensor({5, 4}, std::vector<real>(20, 1e3)));
    const Var loss = softmax_cross_entropy(logits, d.target, options);
    CHECK(loss.item() == 0);
    tape.backward(loss);
    for (const double v : logits.grad().on_host()) CHECK(v == 0);
  }
}

TEST_CASE(
    "of no rows the fused loss is 0 and so is every gradient, and a mean of quantile losses is refused") {
  Decoder d(0, 3, 4);
  const Gradients fused = gradients_of(d, [&](auto&... v) { return softmax_cross_entropy(v..., d.target); });
  CHECK(fused.loss == 0);
  for (const Tensor& g : {fused.w, fused.b})
    for (const double v : g.on_host()) CHECK(v == 0);
  const std::vector<double> half = {0.5};
  CHECK(lacks(error_of([&] { quantile_loss({Var(Tensor({0}))}, Tensor({0}), half); }),
              {"quantile_loss", "[0]"}) == "");
}

TEST_CASE("with weights that are all zero the loss is 0 and so is every gradient") {
  const Decoder d(5, 3, 4);
  for (Reduction reduction : {Reduction::mean, Reduction::sum}) {
    const CrossEntropyOptions options{.reduction = reduction, .weights = Tensor::zeros({5})};
    const Gradients fused =
        gradients_of(d, [&](auto&... v) { return softmax_cross_entropy(v..., d.target, options); });
    CHECK(fused.loss == 0);
    for (const Tensor& g : {fused.x, fused.w, fused.b})
      for (const double v : g.on_host()) CHECK(v == 0);
  }
}

TEST_CASE("weights whose sum is negative are weights: all -1 give the mean of all 1") {
  const Decoder d(5, 3, 4);
  const auto with = [&](real weight) {
    const CrossEntropyOptions options{.weights = Tensor::full({5}, weight)};
    return gradients_of(d, [&](auto&... v) { return softmax_cross_entropy(v..., d.target, options); });
  };
  const Gradients plain = with(1), negative = with(-1);
  CHECK(plain.loss > 0);
  CHECK(negative.loss == plain.loss);
  CHECK(same_bits(negative.w, plain.w));
}

TEST_CASE("a weight below 0 turns its loss and its gradients around in the sum, as of an advantage") {
  const Decoder d(5, 3, 4);
  const auto with = [&](const std::vector<real>& weights) {
    const CrossEntropyOptions options{.reduction = Reduction::sum, .weights = tensor({5}, weights)};
    return gradients_of(d, [&](auto&... v) { return softmax_cross_entropy(v..., d.target, options); });
  };
  const Gradients up = with({2, 0.5, 1, 3, 0.25}), down = with({-2, -0.5, -1, -3, -0.25});
  CHECK(up.loss > 0);
  CHECK(down.loss == -up.loss);
  for (const auto& [a, b] : {std::pair{up.x, down.x}, {up.w, down.w}, {up.b, down.b}}) {
    const auto of_up = a.on_host(), of_down = b.on_host();
    for (int64_t i = 0; i < a.size(); ++i) CHECK(of_down[i] == -of_up[i]);
  }
  const Gradients mixed = with({2, -0.5, 0, 0, 0}), first = with({2, 0, 0, 0, 0}),
                  second = with({0, 0.5, 0, 0, 0});
  CHECK(mixed.loss == doctest::Approx(first.loss - second.loss).epsilon(1e-12));
}

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

TEST_CASE("weights of classes are weights of their targets, beside those of each, fused and not") {
  const Tensor logits = tensor({3, 2}, {1, 2, -1, 0.5, 0.25, 3});
  const IdTensor target = ids({3}, {1, 0, 1});
  const Tensor of_class = tensor({2}, {4, 0.5}), of_target = tensor({3}, {1, 2, 3});
  const double both = softmax_cross_entropy(logits, target, {.weights = tensor({3}, {0.5, 8, 1.5})}).item();
  CHECK(softmax_cross_entropy(logits, target, {.weights = of_target, .class_weights = of_class}).item() ==
        both);
  const Tensor eye = tensor({2, 2}, {1, 0, 0, 1});
  CHECK(softmax_cross_entropy(logits, eye, Tensor::zeros({2}), target,
                              {.weights = of_target, .class_weights = of_class})
            .item() == doctest::Approx(both).epsilon(1e-14));
  // Ignored targets have no class.
  CHECK(softmax_cross_entropy(logits, ids({3}, {1, -1, -1}), {.class_weights = of_class}).item() ==
        doctest::Approx(softmax_cross_entropy(Var(logits[0]), ids({}, {1})).item()).epsilon(1e-14));
  CHECK(gradcheck("class weights", {{3, 2}},
                  [&](auto& v) { return softmax_cross_entropy(v[0], target, {.class_weights = of_class}); }));
  CHECK(lacks(error_of([&] { softmax_cross_entropy(logits, target, {.class_weights = of_target}); }),
              {"class weights [3]", "[2]", "[3, 2]"}) == "");
}

// --- errors ------------------------------------------------------------------------------------------------

TEST_CASE("a loss whose operands do not fit is an error that names it and both shapes") {
  const auto x = [](const Shape& shape) { return Var(Tensor::zeros(shape)); };
  const auto id = [](const Shape& shape) { return IdTensor::zeros(shape); };
  const auto message = [](auto f, const std::vector<std::string>& parts) {
    CHECK(lacks(error_of(f), parts) == "");
  };

  message([&] { softmax_cross_entropy(x({3, 4}), id({4})); }, {"softmax_cross_entropy", "[3, 4]", "[4]"});
  message([&] { softmax_cross_entropy(x({}), id({})); }, {"softmax_cross_entropy", "[]"});
  message([&] { softmax_cross_entropy(x({3}), IdTensor()); }, {"softmax_cross_entropy", "targets are empty"});
  message(
      [&] {
        softmax_cross_entropy(x({3, 4}), id({3}), {.weights = Tensor::zeros({2})});
      },
      {"softmax_cross_entropy", "[3]", "[2]"});
  message(
      [&] {
        softmax_cross_entropy(x({2, 4}), ids({2}, {0, 4}));
      },
      {"softmax_cross_entropy", "4", "[2, 4]"});
  message(
      [&] {
        softmax_cross_entropy(x({2, 4}), ids({2}, {0, -2}));
      },
      {"softmax_cross_entropy", "-2", "[2, 4]"});
  message(
      [&] {
        softmax_cross_entropy(x({3, 4}), x({5, 6}), x({5}), id({3}));
      },
      {"softmax_cross_entropy", "[3, 4]", "[5, 6]"});
  message(
      [&] {
        softmax_cross_entropy(x({3, 4}), x({5, 4}), x({4}), id({3}));
      },
      {"softmax_cross_entropy", "[5, 4]", "[4]"});
  message(
      [&] {
        softmax_cross_entropy(x({3, 4}), x({5, 4}), x({5}), id({2}));
      },
      {"softmax_cross_entropy", "[2]"});
  message(
      [&] {
        softmax_cross_entropy(x({2, 4}), x({5, 4}), x({5}), ids({2}, {5, 0}));
      },
      {"softmax_cross_entropy", "5"});
  message([&] { binary_cross_entropy(x({3}), Tensor::zeros({4})); }, {"binary_cross_entropy", "[3]", "[4]"});
  const std::vector<double> half = {0.5}, one = {1.0};
  message([&] { quantile_loss({x({3})}, Tensor::zeros({4}), half); }, {"quantile_loss", "[3]", "[4]"});
  message([&] { quantile_loss({x({3}), x({3})}, Tensor::zeros({3}), half); }, {"quantile_loss", "2", "1"});
  message([&] { quantile_loss({x({3})}, Tensor::zeros({3}), one); }, {"quantile_loss", "1", "(0, 1)"});
  message([&] { mean_squared_error(x({3}), Tensor::zeros({1})); }, {"mean_squared_error", "[3]", "[1]"});
}

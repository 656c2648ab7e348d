// The losses: gradients, values against the definition in long double, masks, weights, extreme logits.
#include "framework/loss.h"

#include <cmath>
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

// --- mean squared error ------------------------------------------------------------------------------------

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

TEST_CASE("margins leave out the targets that are told to be, whatever their number") {
  RandomStream random(4, "margins");
  const Tensor logits = random_tensor({4, 5}, random), margins = random_tensor({4}, random);
  const auto results = [&](const IdTensor& of, int32_t ignored) {
    Tape tape;
    const Var x = tape.watch(logits), m = tape.watch(margins);
    const Var loss = softmax_cross_entropy(x, of, {.ignore_index = ignored, .margins = m});
    tape.backward(loss);
    return std::vector<std::vector<real>>{values(loss), x.grad().to_host(), m.grad().to_host()};
  };
  const auto usual = results(ids({4}, {1, -1, 0, -1}), -1);
  for (const int32_t ignored : {2, -100})
    CHECK((results(ids({4}, {1, ignored, 0, ignored}), ignored) == usual));
  CHECK(lacks(error_of([&] { results(ids({4}, {1, -1, 0, 2}), 2); }), {"target -1"}) == "");
  // A target of weight 0 need not be a class.
  const Tensor few = random_tensor({3, 4}, random);
  for (const Reduction reduction : {Reduction::mean, Reduction::none})
    CHECK(same_bits(softmax_cross_entropy(few, ids({3}, {1, 77, 0}),
                                          {.reduction = reduction, .weights = tensor({3}, {1, 0, 2})})
                        .value(),
                    softmax_cross_entropy(few, ids({3}, {1, -1, 0}),
                                          {.reduction = reduction, .weights = tensor({3}, {1, 1, 2})})
                        .value()));
  CHECK(lacks(error_of([&] {
                softmax_cross_entropy(few, ids({3}, {1, 77, 0}), {.weights = tensor({3}, {1, 1, 2})});
              }),
              {"target 77"}) == "");
}

TEST_CASE("options of a cross-entropy that exclude each other are refused, fused and not") {
  const Tensor x = Tensor::zeros({2, 3});
  const IdTensor target = ids({2}, {0, 1});
  const CrossEntropyOptions both{.class_weights = Tensor::full({3}, 1), .label_smoothing = real(0.1)},
      single{.reduction = Reduction::none, .margins = Var(Tensor::zeros({2}))};
  for (const auto& [options, words] :
       {std::pair{both, std::vector<std::string>{"label_smoothing 0.1", "class weights [3]"}},
        {single, {"margins [2]", "Reduction::none"}}}) {
    CHECK(lacks(error_of([&] { softmax_cross_entropy(x, target, options); }), words) == "");
    CHECK(
        lacks(
            error_of([&] {
              softmax_cross_entropy(x, Var(Tensor::zeros({3, 3})), Var(Tensor::zeros({3})), target, options);
            }),
            words) == "");
  }
}

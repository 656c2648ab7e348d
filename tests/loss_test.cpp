// The losses: gradients, values against the definition in long double, masks, weights, extreme logits; and
// the loss that is fused with its product against the one that is not.
#include "framework/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/parameters.h"
#include "tests/gradcheck.h"
#include "tests/support.h"

using namespace unroll;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

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

// Targets of [rows] in `classes`, weights in [0.5, 1.5], some targets ignored.
struct Targets {
  Targets(const Shape& shape, int classes, uint64_t seed, int32_t ignore) : ids(shape), weights(shape) {
    RandomStream random(seed, "targets");
    for (int64_t r = 0; r < shape.size(); ++r) {
      ids.data()[r] = static_cast<int32_t>(random.below(static_cast<uint32_t>(classes)));
      if (r % 3 == 1) ids.data()[r] = ignore;
      weights.on_host(Access::change)[r] = 0.5 + random.uniform();
    }
  }
  IdTensor ids;
  Tensor weights;
};

// A decoder's weights and what goes into it.
struct Decoder {
  Decoder(int rows, int in, int classes) : target({rows}) {
    RandomStream random(17, "decoder");
    x = random_tensor({rows, in}, random), w = random_tensor({classes, in}, random),
    b = random_tensor({classes}, random);
    target = random_ids({rows}, random, static_cast<uint32_t>(classes));
  }
  Tensor x, w, b;
  IdTensor target;
};

struct Gradients {
  double loss;
  Tensor x, w, b;
};
// Gradients of what `f` makes of x, w and b.
template <class F>
Gradients gradients_of(const Decoder& d, F&& f) {
  Tape tape;
  const Var x = tape.watch(d.x), w = tape.watch(d.w), b = tape.watch(d.b);
  const Var loss = f(x, w, b);
  tape.backward(loss);
  return {loss.item(), x.grad().clone(), w.grad().clone(), b.grad().clone()};
}
// Two ways to sum the same numbers, none longer than `terms`: apart by at most 2·terms·eps of the largest sum
// of moduli.
void check_equal(const Gradients& a, const Gradients& b, int terms, double magnitude) {
  const double bound = 2 * terms * eps * magnitude;
  CHECK(std::abs(a.loss - b.loss) <= bound);
  CHECK(distance(a.x, b.x) <= bound);
  CHECK(distance(a.w, b.w) <= bound);
  CHECK(distance(a.b, b.b) <= bound);
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

// --- fused with the decoder's product ----------------------------------------------------------------------

TEST_CASE("the fused loss is differentiated with respect to x, w and b for chunks of any size") {
  struct Case {
    Shape x;
    int classes;
  };
  for (const auto& [s, classes] :
       {Case{{1, 1}, 1}, Case{{5, 3}, 7}, Case{{2, 3, 4}, 5}, Case{{7, 1}, 2}, Case{{4}, 3}}) {
    Shape rows;
    for (int i = 0; i + 1 < s.rank(); ++i) rows.append(s[i]);
    const Targets t(rows, classes, 9, -1);
    const int n = static_cast<int>(rows.size());
    for (int chunk : {1, 3, n, n + 1, 0})
      for (Reduction reduction : {Reduction::mean, Reduction::sum}) {
        const CrossEntropyOptions options{.reduction = reduction, .weights = t.weights, .chunk_rows = chunk};
        CHECK(gradcheck("fused softmax_cross_entropy", {s, {classes, s[-1]}, {classes}},
                        [&](auto& v) { return softmax_cross_entropy(v[0], v[1], v[2], t.ids, options); },
                        {.seeds = 2, .magnitude = 4}));
      }
  }
}

TEST_CASE("the fused loss equals the plain one on the logits of linear, in value and gradients") {
  constexpr int rows = 11, in = 5, classes = 13;
  const Decoder d(rows, in, classes);
  const Targets t({rows}, classes, 3, -1);
  for (Reduction reduction : {Reduction::mean, Reduction::sum}) {
    CrossEntropyOptions options{.reduction = reduction, .weights = t.weights};
    const Gradients plain = gradients_of(
        d, [&](auto& x, auto& w, auto& b) { return softmax_cross_entropy(linear(x, w, b), t.ids, options); });
    for (int chunk : {0, 1, 3, rows - 1, rows, rows + 1}) {
      options.chunk_rows = chunk;
      const Gradients fused =
          gradients_of(d, [&](auto&... v) { return softmax_cross_entropy(v..., t.ids, options); });
      // Sums over rows and classes; logits below in + 1, times weights below 1.5.
      check_equal(fused, plain, rows + classes + in, 1.5 * rows * (in + 1));
    }
  }
}

TEST_CASE("the fused loss is right with a factor above it") {
  const Decoder d(7, 4, 6);
  const auto loss = [&](auto&... v) { return softmax_cross_entropy(v..., d.target, {.chunk_rows = 3}); };
  const Gradients one = gradients_of(d, loss);
  const Gradients three = gradients_of(d, [&](auto&... v) { return loss(v...) * 3; });
  const Gradients minus = gradients_of(d, [&](auto&... v) { return -loss(v...); });
  for (const auto& [factor, scaled] : {std::pair{3.0, three}, std::pair{-1.0, minus}}) {
    CHECK(scaled.loss == factor * one.loss);
    const std::pair<Tensor, Tensor> pairs[] = {{one.x, scaled.x}, {one.w, scaled.w}, {one.b, scaled.b}};
    for (const auto& [a, b] : pairs)
      for (int64_t i = 0; i < a.size(); ++i) CHECK(b.on_host()[i] == factor * a.on_host()[i]);
  }
}

TEST_CASE("two fused losses add up, alone, with a factor each, and beside a penalty on the same weights") {
  const Decoder d(7, 4, 6);
  RandomStream random(4, "second targets");
  const IdTensor other = random_ids({7}, random, 6);
  const auto loss = [&](const IdTensor& target, auto&... v) {
    return softmax_cross_entropy(v..., target, {.chunk_rows = 2});
  };
  const Gradients fused = gradients_of(d, [&](auto& x, auto& w, auto& b) {
    return loss(d.target, x, w, b) * 0.5 + loss(other, x, w, b) * 2 + sum(w * w) * 0.1 + sum(x * x);
  });
  const Gradients plain = gradients_of(d, [&](auto& x, auto& w, auto& b) {
    const Var logits = linear(x, w, b);
    return softmax_cross_entropy(logits, d.target) * 0.5 + softmax_cross_entropy(logits, other) * 2 +
           sum(w * w) * 0.1 + sum(x * x);
  });
  check_equal(fused, plain, 7 + 4 + 6, 7 * 5 + 28);
}

TEST_CASE("the fused loss leaves the slab alone when backward is never called") {
  ParameterSet params;
  const Decoder d(7, 4, 6);
  Parameter& w = params.add("w", {6, 4}, Init::uniform(-1, 1));
  Parameter& b = params.add("b", {6}, Init::uniform(-1, 1));
  const Tensor slab = params.gradients();
  RandomStream random(1, "slab");
  for (double& v : slab.on_host(Access::change)) v = random.uniform();
  const Tensor before = slab.clone(), values_before = params.values().clone();
  {
    Tape tape;
    softmax_cross_entropy(d.x, w.var(), b.var(), d.target);
    softmax_cross_entropy(tape.watch(d.x), w.var(), b.var(), d.target) * 3;
  }
  CHECK(same_bits(slab, before));
  CHECK(same_bits(params.values(), values_before));
  CHECK_FALSE(w.node.gradient.written());
  CHECK_FALSE(b.node.gradient.written());
}

TEST_CASE("the fused loss has the same value without a tape, and leaves constants without a gradient") {
  const Decoder d(7, 4, 6);
  const double bare = softmax_cross_entropy(d.x, d.w, d.b, d.target).item();
  const Gradients all = gradients_of(d, [&](auto&... v) { return softmax_cross_entropy(v..., d.target); });
  CHECK(bare == all.loss);
  Tape tape;
  const Var w = tape.watch(d.w);
  tape.backward(softmax_cross_entropy(d.x, w, d.b, d.target));
  CHECK(same_bits(w.grad(), all.w));
}

TEST_CASE("the fused loss is exact at logits of a thousand") {
  const Tensor x = tensor({2, 1}, {1, -1}), w = tensor({3, 1}, {1e3, -1e3, 0}), b = Tensor::zeros({3});
  const Gradients g = [&] {
    Tape tape;
    const Var vx = tape.watch(x), vw = tape.watch(w), vb = tape.watch(b);
    const Var loss = softmax_cross_entropy(vx, vw, vb, ids({2}, {0, 0}), {.reduction = Reduction::sum});
    tape.backward(loss);
    return Gradients{loss.item(), vx.grad().clone(), vw.grad().clone(), vb.grad().clone()};
  }();
  CHECK(g.loss == 2000);
  CHECK(g.x.to_host() == std::vector<real>{0, -2000});
  CHECK(g.w.to_host() == std::vector<real>{1, -1, 0});
  CHECK(g.b.to_host() == std::vector<real>{-1, 1, 0});
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
                      [&](auto& v) { return mean_squared_error(v[0], target, reduction); }));
    }
  const Var x = tensor({3}, {1, 2, 4});
  const Tensor target = tensor({3}, {0, 4, 1});
  CHECK(mean_squared_error(x, target).item() == doctest::Approx(14.0 / 3).epsilon(1e-15));
  CHECK(mean_squared_error(x, target, Reduction::sum).item() == 14);
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
                      return quantile_loss({v[0], v[1], v[2]}, target, quantiles, reduction);
                    },
                    {.fill = fill}));

  // 0.2 below each target of 1, and 0.4 above: q · 0.2 and (1 - q) · 0.4.
  const Var low(tensor({2}, {0.8, 0.8})), high(tensor({2}, {1.4, 1.4}));
  const Tensor ones = tensor({2}, {1, 1});
  const std::vector<double> two = {0.1, 0.75};
  CHECK(quantile_loss({low, high}, ones, two, Reduction::sum).item() ==
        doctest::Approx(2 * (0.1 * 0.2 + 0.25 * 0.4)).epsilon(1e-14));
  CHECK(quantile_loss({low, high}, ones, two).item() ==
        doctest::Approx((0.1 * 0.2 + 0.25 * 0.4) / 2).epsilon(1e-14));
  // Of a constant, the loss is least at the quantile of the targets.
  const Tensor many = tensor({5}, {1, 2, 3, 4, 5});
  const std::vector<double> third = {0.3};
  const auto at = [&](double value) {
    return quantile_loss({Var(Tensor::full({5}, value))}, many, third).item();
  };
  CHECK(at(2) < at(1.5));
  CHECK(at(2) < at(2.5));
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

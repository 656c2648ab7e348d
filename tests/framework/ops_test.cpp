// Operations on elements and rows: gradients by central differences, values by hand; errors of all by their words.
#include "framework/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/gradcheck.h"
#include "framework/loss.h"
#include "tests/support.h"

using namespace unroll;
using Pair = std::pair<Shape, Shape>;

namespace {

const std::vector<Shape> all_ranks = {{}, {1}, {7}, {33}, {3, 5}, {1, 1}, {2, 3, 4}, {2, 1, 3, 5}};

const std::vector<Shape> with_rows = {{1}, {5}, {3, 1}, {1, 4}, {3, 7}, {2, 3, 5}, {2, 1, 3, 9}};

GradcheckOptions in_range(double low, double high) { return {.low = low, .high = high}; }

// Operands of a division: the second input stays away from zero.
GradcheckOptions for_division() {
  return {.fill = [](int input, const Tensor& x, RandomStream& random) {
    for (double& v : x.on_host(Access::change)) {
      v = 2 * random.uniform() - 1;
      if (input == 1) v += v < 0 ? -0.5 : 0.5;
    }
  }};
}

const std::vector<Pair> equal_or_repeated = {
    {{3, 4}, {3, 4}},    {{}, {}},         {{1}, {1}},       {{3, 4}, {4}},       {{4}, {3, 4}},
    {{2, 3, 4}, {3, 4}}, {{5}, {2, 3, 5}}, {{2, 1, 3}, {3}}, {{3, 4}, {}},        {{}, {3, 4}},
    {{5}, {1}},          {{1}, {2, 3}},    {{3, 1}, {1}},    {{2, 3, 4, 5}, {5}}, {{1, 1}, {1, 1}},
    {{7, 33}, {33}},     {{33}, {7, 33}},  {{1, 5}, {5}}};

const std::vector<Pair> repeated_at_ones = {
    {{5, 2, 1}, {5, 2, 3}}, {{1, 3}, {2, 3}},    {{2, 1}, {2, 3}},          {{1, 1}, {3}},
    {{3, 1}, {1, 4}},       {{2, 1, 4}, {3, 1}}, {{4, 1, 1, 5}, {3, 2, 1}}, {{2, 1, 3}, {2, 5, 1}},
    {{5, 1}, {5, 4}},       {{3}, {4, 1}},       {{2, 3, 1}, {4}},          {{1, 3, 1, 2}, {2, 1, 2, 1}}};

}  // namespace

// --- products ----------------------------------------------------------------------------------------------

TEST_CASE("matmul is differentiated with respect to both factors") {
  const std::vector<Pair> cases = {
      {{3, 4}, {4, 5}},          {{1, 1}, {1, 1}},          {{1, 7}, {7, 1}},
      {{5, 1}, {1, 3}},          {{2, 3, 4}, {4, 5}},       {{2, 1, 3, 2}, {2, 7}},
      {{17, 9}, {9, 33}},        {{2, 3, 4}, {2, 4, 5}},    {{2, 3, 1, 4}, {2, 3, 4, 2}},
      {{1, 1, 1}, {1, 1, 1}},    {{2, 1, 3, 4}, {5, 4, 2}}, {{3, 4}, {2, 4, 2}},
      {{2, 3, 4}, {5, 1, 4, 2}}, {{1, 3, 4}, {2, 4, 2}},    {{2, 1, 1, 1, 3, 2}, {2, 1, 2, 1, 2, 3}}};
  for (const auto& [a, b] : cases)
    CHECK(gradcheck("matmul", {a, b}, [](auto& v) { return matmul(v[0], v[1]); }));
}

TEST_CASE("matmul multiplies rows with columns") {
  const Var a = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), b = tensor({3, 2}, {7, 8, 9, 10, 11, 12});
  CHECK(values(matmul(a, b)) == std::vector<real>{58, 64, 139, 154});
  CHECK(matmul(a, b).shape() == Shape{2, 2});
}

TEST_CASE("matmul of two batches multiplies the matrices of each, also where there are none") {
  RandomStream random(1, "batches");
  const Tensor a = random_tensor({3, 2, 5}, random), b = random_tensor({3, 5, 4}, random);
  const Tensor y = matmul(Var(a), Var(b)).value();
  CHECK(y.shape() == Shape{3, 2, 4});
  for (int i = 0; i < 3; ++i) CHECK(same_bits(y[i], matmul(Var(a[i]), Var(b[i])).value()));
  CHECK(matmul(Var(Tensor({0, 2, 5})), Var(Tensor({0, 5, 4}))).shape() == Shape{0, 2, 4});
  Tape tape;
  const Var x = tape.watch(Tensor({2, 3, 0})), w = tape.watch(Tensor({2, 0, 4}));
  const Var sums_of_nothing = matmul(x, w);
  CHECK(values(sums_of_nothing) == std::vector<real>(24, 0));
  tape.backward(sum(sums_of_nothing));
  CHECK(x.grad().shape() == Shape{2, 3, 0});
}

TEST_CASE("linear is differentiated with respect to x, w and b") {
  for (const auto& [x, w] : std::vector<Pair>{{{3, 4}, {5, 4}},
                                              {{1, 1}, {1, 1}},
                                              {{4}, {3, 4}},
                                              {{2, 3, 4}, {1, 4}},
                                              {{7, 1}, {5, 1}},
                                              {{17, 9}, {33, 9}}}) {
    CHECK(gradcheck("linear", {x, w, {w[0]}}, [](auto& v) { return linear(v[0], v[1], v[2]); }));
    CHECK(gradcheck("linear without bias", {x, w}, [](auto& v) { return linear(v[0], v[1]); }));
  }
}

TEST_CASE("linear is x times w transposed plus b") {
  const Var x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), w = tensor({2, 3}, {1, 0, -1, 2, 1, 0}),
            b = tensor({2}, {10, 20});
  CHECK(values(linear(x, w, b)) == std::vector<real>{8, 24, 8, 33});
  CHECK(values(linear(x, w)) == std::vector<real>{-2, 4, -2, 13});
}

// --- elements ----------------------------------------------------------------------------------------------

TEST_CASE("operations on single elements are differentiated for every rank") {
  for (const Shape& s : all_ranks) {
    CHECK(gradcheck(
        "exp", {s}, [](auto& v) { return exp(v[0]); }, in_range(-2, 2)));
    CHECK(gradcheck(
        "log", {s}, [](auto& v) { return log(v[0]); }, in_range(0.2, 3)));
    CHECK(gradcheck(
        "sqrt", {s}, [](auto& v) { return sqrt(v[0]); }, in_range(0.2, 3)));
    CHECK(gradcheck(
        "sigmoid", {s}, [](auto& v) { return sigmoid(v[0]); }, in_range(-4, 4)));
    CHECK(gradcheck(
        "tanh", {s}, [](auto& v) { return tanh(v[0]); }, in_range(-4, 4)));
    CHECK(gradcheck(
        "softplus", {s}, [](auto& v) { return softplus(v[0]); }, in_range(-4, 4)));
    CHECK(gradcheck("relu", {s}, [](auto& v) { return relu(v[0]); }, {.fill = fill_away_from_zero}));
    CHECK(gradcheck("abs", {s}, [](auto& v) { return abs(v[0]); }, {.fill = fill_away_from_zero}));
    CHECK(gradcheck("scale", {s}, [](auto& v) { return scale(v[0], -2.5); }));
    CHECK(gradcheck("shift", {s}, [](auto& v) { return shift(v[0], 0.75); }));
  }
}

TEST_CASE("sigmoid and tanh are saturated, not broken, far from zero") {
  for (double far : {40.0, 700.0, 1e3, 1e300}) {
    const Var x = tensor({2}, {-far, far});
    CHECK(values(tanh(x)) == std::vector<real>{-1, 1});
    CHECK(values(sigmoid(x))[0] >= 0);
    CHECK(values(sigmoid(x))[0] < 1e-17);
    CHECK(values(sigmoid(x))[1] == 1);
    Tape tape;
    const Var s = tape.watch(x.value()), t = tape.watch(x.value());
    tape.backward(sum(sigmoid(s) + tanh(t)));
    for (const double d : s.grad().on_host()) CHECK((d >= 0 && d < 1e-17));
    for (const double d : t.grad().on_host()) CHECK((d >= 0 && d < 1e-17));
  }
}

TEST_CASE("operations on single elements have their textbook values") {
  const std::vector<real> x = {-2.5, -1, -0.125, 0, 0.5, 1, 3.75};
  const Var v = tensor({7}, x), positive = tensor({3}, {0.25, 1, 9});
  for (size_t i = 0; i < x.size(); ++i) {
    CHECK(values(exp(v))[i] == doctest::Approx(std::exp(x[i])).epsilon(1e-14));
    CHECK(values(sigmoid(v))[i] == doctest::Approx(1 / (1 + std::exp(-x[i]))).epsilon(1e-14));
    CHECK(values(tanh(v))[i] == doctest::Approx(std::tanh(x[i])).epsilon(1e-14));
    CHECK(values(relu(v))[i] == std::max(x[i], real(0)));
  }
  CHECK(values(sqrt(positive)) == std::vector<real>{0.5, 1, 3});
  CHECK(values(log(positive))[2] == doctest::Approx(std::log(9.0)).epsilon(1e-14));
  CHECK(values(scale(positive, 2)) == std::vector<real>{0.5, 2, 18});
  CHECK(values(shift(positive, 2)) == std::vector<real>{2.25, 3, 11});
}

TEST_CASE("add, sub, mul and div are differentiated with either operand repeated") {
  for (const auto& [a, b] : equal_or_repeated) {
    CHECK(gradcheck("add", {a, b}, [](auto& v) { return v[0] + v[1]; }));
    CHECK(gradcheck("sub", {a, b}, [](auto& v) { return v[0] - v[1]; }));
    CHECK(gradcheck("mul", {a, b}, [](auto& v) { return v[0] * v[1]; }));
    CHECK(gradcheck(
        "div", {a, b}, [](auto& v) { return v[0] / v[1]; }, for_division()));
  }
}

TEST_CASE("extents of one are repeated, in value and in gradient") {
  for (const auto& [a, b] : repeated_at_ones) {
    CHECK(gradcheck("add", {a, b}, [](auto& v) { return v[0] + v[1]; }));
    CHECK(gradcheck("mul", {b, a}, [](auto& v) { return v[0] * v[1]; }));
    CHECK(gradcheck(
        "div", {a, b}, [](auto& v) { return v[0] / v[1]; }, for_division()));
    CHECK(gradcheck("minimum", {a, b}, [](auto& v) { return minimum(v[0], v[1]); }));
  }
  const Var column = tensor({2, 1}, {10, 20}), line = tensor({3}, {1, 2, 3});
  CHECK(values(column + line) == std::vector<real>{11, 12, 13, 21, 22, 23});
  CHECK((line - column).shape() == Shape{2, 3});
  const Var each = tensor({2, 1, 2}, {1, 2, 3, 4});
  CHECK(values(each * column) == std::vector<real>{10, 20, 20, 40, 30, 40, 60, 80});
  CHECK((Var(Tensor({3, 0})) + Var(Tensor({3, 1}))).shape() == Shape{3, 0});
}

TEST_CASE("maximum and minimum are differentiated, and equals share the gradient") {
  for (const auto& [a, b] : equal_or_repeated) {
    CHECK(gradcheck("maximum", {a, b}, [](auto& v) { return maximum(v[0], v[1]); }));
    CHECK(gradcheck("minimum", {a, b}, [](auto& v) { return minimum(v[0], v[1]); }));
  }
  Tape tape;
  const Var a = tape.watch(tensor({3}, {1, 2, 3})), b = tape.watch(tensor({3}, {2, 2, 2}));
  const Var larger = maximum(a, b), smaller = minimum(a, b);
  CHECK(values(larger) == std::vector<real>{2, 2, 3});
  CHECK(values(smaller) == std::vector<real>{1, 2, 2});
  tape.backward(sum(larger) + 2 * sum(smaller));
  CHECK(a.grad().to_host() == std::vector<real>{2, 1.5, 1});
  CHECK(b.grad().to_host() == std::vector<real>{1, 1.5, 2});
}

TEST_CASE("softplus is right where exp is not, and abs has the slope 0 at 0") {
  const Var x = tensor({4}, {-800, -1, 1, 800});
  CHECK(values(softplus(x))[0] < 1e-300);
  CHECK(values(softplus(x))[1] == doctest::Approx(std::log1p(std::exp(-1.0))).epsilon(1e-14));
  CHECK(values(softplus(x))[3] == 800);
  Tape tape;
  const Var zero = tape.watch(tensor({1}, {0})), same = tape.watch(tensor({1}, {0}));
  tape.backward(sum(softplus(zero)) + sum(abs(same)));
  CHECK(zero.grad().item() == 0.5);
  CHECK(same.grad().item() == 0);
}

TEST_CASE("one variable as both operands receives both contributions") {
  for (const Shape& s : {Shape{}, Shape{1}, Shape{3, 5}}) {
    CHECK(gradcheck("x + x", {s}, [](auto& v) { return v[0] + v[0]; }));
    CHECK(gradcheck("x - x", {s}, [](auto& v) { return v[0] - v[0]; }));
    CHECK(gradcheck("x * x", {s}, [](auto& v) { return v[0] * v[0]; }));
    CHECK(gradcheck(
        "x / x", {s}, [](auto& v) { return v[0] / v[0]; }, in_range(0.5, 2)));
    CHECK(gradcheck("x * x + exp x", {s}, [](auto& v) { return v[0] * v[0] + exp(v[0]); }));
  }
  CHECK(gradcheck("matmul of x and x", {{4, 4}}, [](auto& v) { return matmul(v[0], v[0]); }));
  CHECK(gradcheck("linear of w and w", {{4, 4}, {4}}, [](auto& v) { return linear(v[0], v[0], v[1]); }));
}

TEST_CASE("a division by a number is one where the number's reciprocal is not") {
  constexpr real least = std::numeric_limits<real>::min(), most = std::numeric_limits<real>::max();
  const Var x = tensor({3}, {0, least, 3 * least}), y = tensor({2}, {most, most / 2});
  CHECK(values(x / (least / 8)) == std::vector<real>{0, 8, 24});
  CHECK(values(y / most) == std::vector<real>{1, real(0.5)});
  CHECK(values(y / real(8)) == std::vector<real>{most / 8, most / 16});
  CHECK(values(tensor({2}, {0, -1}) / real(0))[1] == -std::numeric_limits<real>::infinity());
  Tape tape;
  const Var small = tape.watch(tensor({2}, {least, least}));
  tape.backward(sum(small / (least / 8) * tensor({2}, {0, least / 16})));
  CHECK(small.grad().to_host() == std::vector<real>{0, real(0.5)});
}

TEST_CASE("a shorter operand is repeated over the dimensions before its own") {
  const Var a = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), b = tensor({3}, {10, 20, 30}), c = tensor({}, {2});
  CHECK(values(a + b) == std::vector<real>{11, 22, 33, 14, 25, 36});
  CHECK(values(b - a) == std::vector<real>{9, 18, 27, 6, 15, 24});
  CHECK(values(a * c) == std::vector<real>{2, 4, 6, 8, 10, 12});
  CHECK(values(c / a)[5] == doctest::Approx(2.0 / 6).epsilon(1e-15));
  CHECK((b + a).shape() == Shape{2, 3});
  CHECK((c + a).shape() == Shape{2, 3});
  const Var one = tensor({1}, {1}),
            also_one = tensor({1, 1}, {1});  // of two single numbers the rank of the larger
  CHECK((one + also_one).shape() == Shape{1, 1});
  CHECK((also_one + one).shape() == Shape{1, 1});
  CHECK((c + one).shape() == Shape{1});
  CHECK(values(-a + 1) == std::vector<real>{0, -1, -2, -3, -4, -5});
  CHECK(values(2 * a - 1) == std::vector<real>{1, 3, 5, 7, 9, 11});
}

TEST_CASE("the functions without a name of their own compute their formulas and are differentiated") {
  const Var x = tensor({5}, {-4, -1, 0.5, 2, 5});
  CHECK(values(unary(Unary::hard_sigmoid, x)) == std::vector<real>{0, real(-1) / 6 + real(0.5),
                                                                   real(0.5) / 6 + real(0.5),
                                                                   real(2) / 6 + real(0.5), 1});
  CHECK(values(unary(Unary::hard_tanh, x)) == std::vector<real>{-1, -1, 0.5, 1, 1});
  CHECK(values(unary(Unary::softsign, x)) ==
        std::vector<real>{-0.8, -0.5, real(0.5) / real(1.5), real(2) / 3, real(5) / 6});
}

TEST_CASE("every function of an element is differentiated") {
  for (size_t f = 0; f < std::size(unary_names); ++f) {
    const bool positive =
        Unary(f) == Unary::log || Unary(f) == Unary::sqrt;  // no others have a limited range
    CHECK(gradcheck(unary_names[f], {{3, 4}}, [&](auto& v) { return unary(static_cast<Unary>(f), v[0]); },
                    {.low = positive ? 0.1 : -0.9, .high = 0.9}));
  }
}

// --- rows and reductions -----------------------------------------------------------------------------------

TEST_CASE("softmax and log_softmax are differentiated") {
  for (const Shape& s : with_rows) {
    CHECK(gradcheck(
        "softmax", {s}, [](auto& v) { return softmax(v[0]); }, in_range(-3, 3)));
    CHECK(gradcheck(
        "log_softmax", {s}, [](auto& v) { return log_softmax(v[0]); }, in_range(-3, 3)));
  }
}

TEST_CASE("softmax and log_softmax along any dimension") {
  for (const Shape& s : {Shape{5}, Shape{4, 3}, Shape{2, 3, 4}, Shape{2, 1, 3, 2}})
    for (int axis = -s.rank(); axis < s.rank(); ++axis) {
      CHECK(gradcheck(
          "softmax", {s}, [&](auto& v) { return softmax(v[0], axis); }, in_range(-3, 3)));
      CHECK(gradcheck(
          "log_softmax", {s}, [&](auto& v) { return log_softmax(v[0], axis); }, in_range(-3, 3)));
    }
  const Tensor x = tensor({2, 2}, {0, std::log(3.0), std::log(3.0), std::log(9.0)});
  const Tensor y = softmax(x, 0).value();
  for (const auto& [at, share] : {std::pair{0, 0.25}, {1, 0.25}, {2, 0.75}, {3, 0.75}})
    CHECK(values(y)[at] == doctest::Approx(share).epsilon(1e-15));
  CHECK(lacks(error_of([&] { softmax(x, 2); }), {"softmax: no dimension 2", "[2, 2]"}) == "");
  CHECK(lacks(error_of([&] { log_softmax(Tensor::zeros({})); }), {"log_softmax", "[]"}) == "");
}

TEST_CASE("softmax and log_softmax keep their footing at logits of a thousand") {
  // Rows around +1000 and -1000: subtracting two such numbers rounds by eps·1000.
  for (double offset : {-1e3, 1e3}) {
    GradcheckOptions options{.low = offset - 2, .high = offset + 2, .magnitude = 1e3};
    CHECK(gradcheck(
        "softmax", {{3, 5}}, [](auto& v) { return softmax(v[0]); }, options));
    CHECK(gradcheck(
        "log_softmax", {{3, 5}}, [](auto& v) { return log_softmax(v[0]); }, options));
  }
  const Var x = tensor({2, 3}, {1e3, -1e3, 0, -1e3, -1e3, -1e3});
  CHECK(values(softmax(x))[0] == 1);
  CHECK(values(softmax(x))[1] == 0);
  CHECK(values(softmax(x))[4] == doctest::Approx(1.0 / 3).epsilon(1e-15));
  CHECK(values(log_softmax(x))[1] == -2e3);
  CHECK(values(log_softmax(x))[5] == doctest::Approx(-std::log(3.0)).epsilon(1e-12));
}

TEST_CASE("softmax has rows that sum to one and log_softmax is its logarithm") {
  RandomStream random(3, "softmax");
  const Var x = random_tensor({4, 9}, random, -5, 5);
  const Tensor y = softmax(x).value(), z = log_softmax(x).value();
  for (int r = 0; r < 4; ++r) {
    double total = 0;
    for (int k = 0; k < 9; ++k) {
      total += y[r].on_host()[k];
      CHECK(std::log(y[r].on_host()[k]) == doctest::Approx(z[r].on_host()[k]).epsilon(1e-13));
    }
    CHECK(total == doctest::Approx(1).epsilon(1e-14));
  }
}

TEST_CASE("sum, mean and max of all elements are differentiated") {
  for (const Shape& s : all_ranks) {
    CHECK(gradcheck("sum", {s}, [](auto& v) { return sum(v[0]); }));
    CHECK(gradcheck("mean", {s}, [](auto& v) { return mean(v[0]); }));
    CHECK(gradcheck("max", {s}, [](auto& v) { return max(v[0]); }, {.fill = fill_apart}));
  }
}

TEST_CASE("sum, mean and max over one dimension are differentiated for every axis") {
  for (const Shape& s : all_ranks)
    for (int axis = -s.rank(); axis < s.rank(); ++axis) {
      CHECK(gradcheck("sum", {s}, [=](auto& v) { return sum(v[0], axis); }));
      CHECK(gradcheck("mean", {s}, [=](auto& v) { return mean(v[0], axis); }));
      CHECK(gradcheck("max", {s}, [=](auto& v) { return max(v[0], axis); }, {.fill = fill_apart}));
    }
}

TEST_CASE("reductions remove their dimension") {
  const Var x = tensor({2, 3}, {1, 5, 3, 4, 2, 6});
  CHECK(values(sum(x, 0)) == std::vector<real>{5, 7, 9});
  CHECK(values(sum(x, 1)) == std::vector<real>{9, 12});
  CHECK(values(mean(x, -1)) == std::vector<real>{3, 4});
  CHECK(values(max(x, 0)) == std::vector<real>{4, 5, 6});
  CHECK(values(max(x, 1)) == std::vector<real>{5, 6});
  CHECK(sum(x).item() == 21);
  CHECK(mean(x).item() == 3.5);
  CHECK(max(x).item() == 6);
  CHECK(sum(x).shape() == Shape{});
  CHECK(sum(tensor({2, 1, 2}, {1, 2, 3, 4}), 1).shape() == Shape{2, 2});
}

TEST_CASE("the gradient of max goes to the first of equals") {
  Tape tape;
  const Var x = tape.watch(tensor({2, 4}, {1, 7, 7, 2, 5, 5, 5, 5}));
  tape.backward(sum(max(x, 1)));
  CHECK(x.grad().to_host() == std::vector<real>{0, 1, 0, 0, 1, 0, 0, 0});
}

TEST_CASE("layer_norm is differentiated with respect to x, gain and bias") {
  for (const Shape& s : {Shape{4, 6}, Shape{1, 5}, Shape{2, 3, 7}, Shape{5}, Shape{3, 1}, Shape{9, 33}}) {
    const int n = s[-1];
    // x̂ is of order 1 before gain and bias
    CHECK(gradcheck("layer_norm", {s, {n}, {n}}, [](auto& v) { return layer_norm(v[0], v[1], v[2], 0.1); },
                    {.magnitude = 1}));
    if (n > 2)
      CHECK(gradcheck("layer_norm", {s, {n}, {n}}, [](auto& v) { return layer_norm(v[0], v[1], v[2]); },
                      {.magnitude = 1}));
  }
}

TEST_CASE("layer_norm gives rows of mean 0 and variance 1 before gain and bias") {
  const Var x = tensor({2, 4}, {1, 2, 3, 4, -10, 0, 0, 10}), gain = tensor({4}, {1, 1, 2, 1}),
            bias = tensor({4}, {0, 0, 1, 0});
  const auto y = values(layer_norm(x, gain, bias, 0));
  const double d1 = std::sqrt(1.25), d2 = std::sqrt(50.0);
  const std::vector<double> expected = {-1.5 / d1, -0.5 / d1, 2 * 0.5 / d1 + 1, 1.5 / d1, -10 / d2,
                                        0,         1,         10 / d2};
  for (size_t i = 0; i < expected.size(); ++i) CHECK(y[i] == doctest::Approx(expected[i]).epsilon(1e-14));
}

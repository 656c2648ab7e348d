// Every operation: its gradient by central differences, its values by hand, its errors by their words.
#include "framework/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/gradcheck.h"
#include "tests/support.h"

using namespace unroll;

namespace {

const std::vector<Shape> all_ranks = {{}, {1}, {7}, {33}, {3, 5}, {1, 1}, {2, 3, 4}, {2, 1, 3, 5}};
const std::vector<Shape> with_rows = {{1}, {5}, {3, 1}, {1, 4}, {3, 7}, {2, 3, 5}, {2, 1, 3, 9}};

GradcheckOptions in_range(double low, double high) { return {.low = low, .high = high}; }

// Operands of a division: the second input stays away from zero.
GradcheckOptions for_division() {
  return {.fill = [](int input, const Tensor& x, RandomStream& random) {
    for (double& v : x.span()) {
      v = 2 * random.uniform() - 1;
      if (input == 1) v += v < 0 ? -0.5 : 0.5;
    }
  }};
}

using Pair = std::pair<Shape, Shape>;
const std::vector<Pair> equal_or_repeated = {
    {{3, 4}, {3, 4}},    {{}, {}},         {{1}, {1}},       {{3, 4}, {4}},       {{4}, {3, 4}},
    {{2, 3, 4}, {3, 4}}, {{5}, {2, 3, 5}}, {{2, 1, 3}, {3}}, {{3, 4}, {}},        {{}, {3, 4}},
    {{5}, {1}},          {{1}, {2, 3}},    {{3, 1}, {1}},    {{2, 3, 4, 5}, {5}}, {{1, 1}, {1, 1}},
    {{7, 33}, {33}},     {{33}, {7, 33}},  {{1, 5}, {5}}};

}  // namespace

// --- products ----------------------------------------------------------------------------------------------

TEST_CASE("matmul is differentiated with respect to both factors") {
  const std::vector<Pair> cases = {{{3, 4}, {4, 5}},  {{1, 1}, {1, 1}},    {{1, 7}, {7, 1}},
                                   {{5, 1}, {1, 3}},  {{2, 3, 4}, {4, 5}}, {{2, 1, 3, 2}, {2, 7}},
                                   {{17, 9}, {9, 33}}};
  for (const auto& [a, b] : cases)
    CHECK(gradcheck("matmul", {a, b}, [](auto& v) { return matmul(v[0], v[1]); }));
}

TEST_CASE("matmul multiplies rows with columns") {
  const Var a = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), b = tensor({3, 2}, {7, 8, 9, 10, 11, 12});
  CHECK(values(matmul(a, b)) == std::vector<real>{58, 64, 139, 154});
  CHECK(matmul(a, b).shape() == Shape{2, 2});
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
    CHECK(gradcheck("relu", {s}, [](auto& v) { return relu(v[0]); }, {.fill = fill_away_from_zero}));
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
    for (const double d : s.grad().span()) CHECK((d >= 0 && d < 1e-17));
    for (const double d : t.grad().span()) CHECK((d >= 0 && d < 1e-17));
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

// --- rows and reductions -----------------------------------------------------------------------------------

TEST_CASE("softmax and log_softmax are differentiated") {
  for (const Shape& s : with_rows) {
    CHECK(gradcheck(
        "softmax", {s}, [](auto& v) { return softmax(v[0]); }, in_range(-3, 3)));
    CHECK(gradcheck(
        "log_softmax", {s}, [](auto& v) { return log_softmax(v[0]); }, in_range(-3, 3)));
  }
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
      total += y[r].data()[k];
      CHECK(std::log(y[r].data()[k]) == doctest::Approx(z[r].data()[k]).epsilon(1e-13));
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

// --- shape -------------------------------------------------------------------------------------------------

TEST_CASE("reshape, transpose, row and slice are differentiated") {
  CHECK(gradcheck("reshape", {{2, 6}}, [](auto& v) { return reshape(v[0], {3, 4}); }));
  CHECK(gradcheck("reshape", {{1}}, [](auto& v) { return reshape(v[0], {}); }));
  CHECK(gradcheck("reshape", {{2, 3, 4}}, [](auto& v) { return reshape(v[0], {24}); }));
  for (const Shape& s : {Shape{3, 5}, Shape{1, 1}, Shape{1, 7}, Shape{33, 17}})
    CHECK(gradcheck("transpose", {s}, [](auto& v) { return transpose(v[0]); }));
  for (const Shape& s : {Shape{3}, Shape{3, 5}, Shape{1, 4}, Shape{5, 2, 3}})
    for (int i = 0; i < s[0]; ++i) CHECK(gradcheck("row", {s}, [=](auto& v) { return row(v[0], i); }));
  for (const Shape& s : {Shape{5}, Shape{3, 5}, Shape{1, 4}, Shape{2, 3, 4}, Shape{2, 1, 3, 5}})
    for (int axis = -s.rank(); axis < s.rank(); ++axis)
      for (int begin = 0; begin < s[axis]; ++begin)
        for (int end = begin + 1; end <= s[axis]; ++end)
          CHECK(
              gradcheck("slice", {s}, [=](auto& v) { return slice(v[0], axis, begin, end); }, {.seeds = 1}));
}

TEST_CASE("pieces of one variable give their gradients back into their places") {
  CHECK(gradcheck("overlapping slices and rows", {{4, 3}}, [](auto& v) {
    return concat({slice(v[0], 0, 0, 3), slice(v[0], 0, 1, 4), reshape(row(v[0], 2), {1, 3})}, 0);
  }));
  CHECK(gradcheck("a slice and the whole", {{4, 3}}, [](auto& v) {
    return concat({v[0] * v[0], slice(v[0], 1, 1, 2)}, 1);
  }));
}

TEST_CASE("concat and stack are differentiated with respect to every part") {
  for (int axis : {0, 1, 2, -1, -2, -3}) {
    const int k = axis < 0 ? axis + 3 : axis;
    const Shape s{2, 3, 4};
    CHECK(gradcheck("concat", {s, s.with(k, 1), s.with(k, 5)}, [=](auto& v) {
      return concat({v[0], v[1], v[2]}, axis);
    }));
  }
  CHECK(gradcheck("concat of one", {{3}}, [](auto& v) { return concat({v[0]}, 0); }));
  CHECK(gradcheck("concat of x and x", {{3, 2}}, [](auto& v) { return concat({v[0], v[0]}, 1); }));
  for (const Shape& s : {Shape{}, Shape{1}, Shape{5}, Shape{2, 3}, Shape{2, 1, 3}})
    CHECK(gradcheck("stack", {s, s, s}, [](auto& v) { return stack({v[0], v[1], v[2]}); }));
  CHECK(gradcheck("stack of x and x", {{3}}, [](auto& v) { return stack({v[0], v[0]}); }));
}

TEST_CASE("operations on shapes put elements where the picture says") {
  const Var x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), y = tensor({2, 1}, {7, 8});
  CHECK(values(transpose(x)) == std::vector<real>{1, 4, 2, 5, 3, 6});
  CHECK(transpose(x).shape() == Shape{3, 2});
  CHECK(values(reshape(x, {3, 2})) == values(x));
  CHECK(values(concat({x, y}, 1)) == std::vector<real>{1, 2, 3, 7, 4, 5, 6, 8});
  CHECK(values(concat({x, x}, 0)) == std::vector<real>{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  CHECK(values(concat({y, x}, -1)) == std::vector<real>{7, 1, 2, 3, 8, 4, 5, 6});
  CHECK(concat({x, y}, 1).shape() == Shape{2, 4});
  CHECK(stack({x, x, x}).shape() == Shape{3, 2, 3});
  CHECK(values(stack({y, y})) == std::vector<real>{7, 8, 7, 8});
  CHECK(values(slice(x, 1, 1, 3)) == std::vector<real>{2, 3, 5, 6});
  CHECK(values(slice(x, 0, 1, 2)) == std::vector<real>{4, 5, 6});
  CHECK(slice(x, 0, 1, 2).shape() == Shape{1, 3});
  CHECK(values(row(x, 1)) == std::vector<real>{4, 5, 6});
  CHECK(row(x, 1).shape() == Shape{3});
  CHECK(values(gather(x, ids({2}, {2, 0}))) == std::vector<real>{3, 4});
}

TEST_CASE("gather is differentiated with respect to what it picks from") {
  CHECK(gradcheck("gather", {{3, 5}}, [](auto& v) { return gather(v[0], ids({3}, {4, 0, 2})); }));
  CHECK(gradcheck("gather", {{1, 1}}, [](auto& v) { return gather(v[0], ids({1}, {0})); }));
  CHECK(gradcheck("gather", {{2, 3, 4}}, [](auto& v) {
    return gather(v[0], ids({2, 3}, {3, 3, 0, 1, 2, 3}));
  }));
  CHECK(gradcheck("gather of a row", {{7}}, [](auto& v) { return gather(v[0], ids({}, {6})); }));
}

// --- layers' operations ------------------------------------------------------------------------------------

TEST_CASE("embedding is differentiated with repeated ids and rows that nobody asks for") {
  CHECK(gradcheck("embedding", {{5, 3}}, [](auto& v) {
    return embedding(v[0], ids({7}, {1, 4, 1, 1, 0, 4, 1}));
  }));
  CHECK(gradcheck("embedding", {{1, 1}}, [](auto& v) { return embedding(v[0], ids({1}, {0})); }));
  CHECK(gradcheck("embedding", {{6, 2}}, [](auto& v) {
    return embedding(v[0], ids({2, 3}, {5, 5, 2, 0, 2, 5}));
  }));
  CHECK(gradcheck("embedding of one id", {{6, 2}}, [](auto& v) { return embedding(v[0], ids({}, {3})); }));
  CHECK(gradcheck("embedding, twice and beside a product", {{4, 3}}, [](auto& v) {
    return std::vector<Var>{embedding(v[0], ids({2}, {3, 0})), v[0] * v[0],
                            embedding(v[0], ids({3}, {0, 0, 2}))};
  }));
}

TEST_CASE("embedding copies the rows of its table") {
  const Var table = tensor({3, 2}, {1, 2, 3, 4, 5, 6});
  const Var y = embedding(table, ids({2, 2}, {2, 0, 1, 2}));
  CHECK(values(y) == std::vector<real>{5, 6, 1, 2, 3, 4, 5, 6});
  CHECK(y.shape() == Shape{2, 2, 2});
}

TEST_CASE("dropout is differentiated for a fixed mask") {
  const RandomKey key{.seed = 5, .place = place_of("here"), .step = 3};
  for (const Shape& s : {Shape{1}, Shape{33}, Shape{3, 5}, Shape{4, 2, 3}})
    for (real rate : {0.0, 0.3, 0.9})
      for (bool locked : {false, true})
        CHECK(gradcheck("dropout", {s}, [=](auto& v) { return dropout(v[0], rate, key, locked); },
                        {.dropout = true}));
}

TEST_CASE("dropout keeps an element with probability 1 - rate and scales it, so that the mean stays") {
  constexpr int n = 40000;
  for (real rate : {0.1, 0.5, 0.8}) {
    Tape tape;
    const Var x = tape.watch(Tensor::full({n}, 3));
    const auto y = values(dropout(x, rate, {.seed = 11, .place = 1, .step = 2}));
    const auto kept = static_cast<double>(n - std::count(y.begin(), y.end(), 0));
    const auto [least, most] = std::minmax_element(y.begin(), y.end());
    CHECK(*least == 0);
    CHECK(*most == doctest::Approx(3 / (1 - rate)).epsilon(1e-14));
    CHECK(kept == static_cast<double>(std::count(y.begin(), y.end(), *most)));  // either 0 or scaled
    // five standard deviations of a binomial distribution: one key in two million lies outside
    CHECK(std::abs(kept - n * (1 - rate)) < 5 * std::sqrt(n * rate * (1 - rate)));
  }
}

TEST_CASE("mask_rows leaves rows out, whatever they hold, and is differentiated") {
  const real nan = std::nan("");
  const Tensor x = tensor({2, 2, 2}, {1, 2, nan, nan, nan, 3, 4, 5}), kept = tensor({2, 2}, {1, 0, 0, 0.5});
  CHECK(values(mask_rows(x, kept)) == std::vector<real>{1, 2, 0, 0, 0, 0, 4, 5});
  CHECK(gradcheck("mask_rows", {{2, 2, 3}}, [&](auto& v) { return mask_rows(v[0], kept) * v[0]; }));
  CHECK(lacks(error_of([&] { mask_rows(x, tensor({2}, {1, 0})); }), {"mask_rows", "[2]", "[2, 2, 2]"}) == "");
}

TEST_CASE("flip turns the first dimension around and is differentiated") {
  CHECK(values(flip(tensor({3, 2}, {1, 2, 3, 4, 5, 6}))) == std::vector<real>{5, 6, 3, 4, 1, 2});
  for (const Shape& s : {Shape{1}, Shape{4}, Shape{3, 2}, Shape{2, 3, 2}})
    CHECK(gradcheck("flip", {s}, [](auto& v) { return flip(v[0]); }));
}

TEST_CASE("the functions without a name of their own compute their formulas and are differentiated") {
  const Var x = tensor({5}, {-4, -1, 0.5, 2, 5});
  CHECK(values(unary(Unary::hard_sigmoid, x)) == std::vector<real>{0, real(-1) / 6 + real(0.5),
                                                                   real(0.5) / 6 + real(0.5),
                                                                   real(2) / 6 + real(0.5), 1});
  CHECK(values(unary(Unary::hard_tanh, x)) == std::vector<real>{-1, -1, 0.5, 1, 1});
  CHECK(values(unary(Unary::softsign, x)) ==
        std::vector<real>{-0.8, -0.5, real(0.5) / real(1.5), real(2) / 3, real(5) / 6});
  for (size_t f = static_cast<size_t>(Unary::relu) + 1; f < std::size(unary_names); ++f)
    CHECK(gradcheck(unary_names[f], {{3, 4}}, [&](auto& v) { return unary(static_cast<Unary>(f), v[0]); },
                    {.low = -0.9, .high = 0.9}));
}

TEST_CASE("masks depend on seed, place and step, and on nothing else") {
  const auto mask = [](RandomKey key) {
    Tape tape;
    return values(dropout(tape.watch(Tensor::full({64}, 1)), 0.5, key));
  };
  const RandomKey key{.seed = 1, .place = 2, .step = 3};
  CHECK(mask(key) == mask(key));
  CHECK(mask(key) != mask({.seed = 2, .place = 2, .step = 3}));
  CHECK(mask(key) != mask({.seed = 1, .place = 3, .step = 3}));
  CHECK(mask(key) != mask({.seed = 1, .place = 2, .step = 4}));
  CHECK(mask(key) != mask({.seed = 1 + (uint64_t{1} << 32), .place = 2, .step = 3}));
  CHECK(mask(key) != mask({.seed = 1, .place = 2 + (uint64_t{1} << 32), .step = 3}));
}

TEST_CASE("a locked mask is the same for all steps, another for every element of one step") {
  Tape tape;
  const RandomKey key{.seed = 7};
  const Var x = tape.watch(Tensor::full({6, 5, 8}, 1));
  const Tensor locked = dropout(x, 0.5, key, true).value(), free = dropout(x, 0.5, key).value();
  for (int t = 1; t < 6; ++t) {
    CHECK(same_bits(locked[t], locked[0]));
    CHECK_FALSE(same_bits(free[t], free[0]));
  }
  CHECK_FALSE(same_bits(locked[0][0], locked[0][1]));
}

TEST_CASE("dropout does nothing without a tape, under NoTape, and on a tape that says so") {
  const Tensor x = Tensor::full({32}, 2);
  const RandomKey key{.seed = 7};
  CHECK(same_bits(dropout(x, 0.5, key).value(), x));
  {
    Tape tape({.dropout = false});
    CHECK(same_bits(dropout(tape.watch(x), 0.5, key).value(), x));
  }
  Tape tape;
  CHECK_FALSE(same_bits(dropout(tape.watch(x), 0.5, key).value(), x));
  const Var watched = tape.watch(x);
  const int64_t recorded = tape.size();
  CHECK(same_bits(dropout(watched, 0, key).value(), x));
  CHECK(tape.size() == recorded);
  NoTape guard;
  CHECK(same_bits(dropout(x, 0.5, key).value(), x));
}

TEST_CASE("lstm_cell is differentiated through h, through c and through both") {
  for (const auto& [batch, hidden] : std::vector<std::pair<int, int>>{{1, 1}, {3, 5}, {2, 7}, {5, 33}}) {
    const std::vector<Shape> shapes = {{batch, 4 * hidden}, {batch, hidden}};
    CHECK(gradcheck(
        "lstm_cell", shapes,
        [](auto& v) {
          const auto [h, c] = lstm_cell(v[0], v[1]);
          return std::vector<Var>{h, c};
        },
        in_range(-2, 2)));
    CHECK(gradcheck(
        "lstm_cell's h", shapes, [](auto& v) { return lstm_cell(v[0], v[1]).h; }, in_range(-2, 2)));
    CHECK(gradcheck(
        "lstm_cell's c", shapes, [](auto& v) { return lstm_cell(v[0], v[1]).c; }, in_range(-2, 2)));
  }
}

TEST_CASE("lstm_cell computes the equations, gates in the order i f g o") {
  const auto s = [](double x) { return 1 / (1 + std::exp(-x)); };
  const Var gates = tensor({1, 8}, {0.5, -1, 2, 0.25, -0.75, 1.5, 1, -2}),
            c_prev = tensor({1, 2}, {0.3, -0.6});
  const auto [h, c] = lstm_cell(gates, c_prev);
  const double c0 = s(2) * 0.3 + s(0.5) * std::tanh(-0.75), c1 = s(0.25) * -0.6 + s(-1) * std::tanh(1.5);
  CHECK(values(c)[0] == doctest::Approx(c0).epsilon(1e-14));
  CHECK(values(c)[1] == doctest::Approx(c1).epsilon(1e-14));
  CHECK(values(h)[0] == doctest::Approx(s(1) * std::tanh(c0)).epsilon(1e-14));
  CHECK(values(h)[1] == doctest::Approx(s(-2) * std::tanh(c1)).epsilon(1e-14));
}

TEST_CASE("lstm_cell survives gates of a thousand") {
  Tape tape;
  const Var gates = tape.watch(tensor({2, 4}, {1e3, 1e3, 1e3, 1e3, -1e3, -1e3, -1e3, -1e3}));
  const Var c_prev = tape.watch(tensor({2, 1}, {0.5, 0.5}));
  const auto [h, c] = lstm_cell(gates, c_prev);
  CHECK(values(c) == std::vector<real>{1.5, 0});
  CHECK(values(h)[0] == doctest::Approx(std::tanh(1.5)).epsilon(1e-14));
  CHECK(values(h)[1] == 0);
  tape.backward(sum(h));
  for (const double d : gates.grad().span()) CHECK(std::isfinite(d));
  for (const double d : c_prev.grad().span()) CHECK(std::isfinite(d));
}

// --- errors ------------------------------------------------------------------------------------------------

TEST_CASE("a shape that does not fit is an error that names the operation and both shapes") {
  const auto x = [](const Shape& shape) { return Var(Tensor::zeros(shape)); };
  const auto id = [](const Shape& shape) { return IdTensor::zeros(shape); };
  const auto message = [](auto f, const std::vector<std::string>& parts) {
    CHECK(lacks(error_of(f), parts) == "");
  };

  message([&] { matmul(x({3, 4}), x({5, 6})); }, {"matmul", "[3, 4]", "[5, 6]"});
  message([&] { linear(x({3, 4}), x({6, 5}), x({6})); }, {"linear", "[3, 4]", "[6, 5]"});
  message([&] { linear(x({3, 4}), x({6, 4}), x({5})); }, {"linear", "[5]", "[6, 4]"});
  message([&] { linear(x({3, 4}), x({6, 5})); }, {"linear", "[3, 4]", "[6, 5]"});
  message([&] { linear(x({}), x({6, 5})); }, {"linear", "[]", "[6, 5]"});
  message([&] { add(x({3, 4}), x({3})); }, {"add", "[3, 4]", "[3]"});
  message([&] { sub(x({3, 4}), x({2, 4})); }, {"sub", "[3, 4]", "[2, 4]"});
  message([&] { mul(x({2, 3, 4}), x({2, 4})); }, {"mul", "[2, 3, 4]", "[2, 4]"});
  message([&] { div(x({5}), x({4})); }, {"div", "[5]", "[4]"});
  message([&] { sum(x({3, 4}), 2); }, {"sum", "2", "[3, 4]"});
  message([&] { mean(x({3, 4}), -3); }, {"mean", "-3", "[3, 4]"});
  message([&] { max(x({3, 4}), 5); }, {"max", "5", "[3, 4]"});
  message([&] { mean(x({3, 0}), 1); }, {"mean", "[3, 0]"});
  message([&] { max(x({3, 0}), 1); }, {"max", "[3, 0]"});
  message([&] { max(x({0})); }, {"max", "[0]"});
  message([&] { layer_norm(x({3, 4}), x({5}), x({4})); }, {"layer_norm", "[3, 4]", "[5]"});
  message([&] { layer_norm(x({3, 4}), x({4}), x({1})); }, {"layer_norm", "[3, 4]", "[1]"});
  message([&] { reshape(x({3, 4}), {5, 2}); }, {"reshape", "[3, 4]", "[5, 2]"});
  message([&] { transpose(x({2, 3, 4})); }, {"transpose", "[2, 3, 4]"});
  message([&] { concat({x({3, 4}), x({2, 5})}, 0); }, {"concat", "[3, 4]", "[2, 5]"});
  message([&] { concat({x({3, 4}), x({3})}, 0); }, {"concat", "[3, 4]", "[3]"});
  message([&] { concat({x({3, 4})}, 2); }, {"concat", "2", "[3, 4]"});
  message([&] { concat({}, 0); }, {"concat"});
  message([&] { stack({x({3, 4}), x({4, 3})}); }, {"stack", "[3, 4]", "[4, 3]"});
  message([&] { stack({}); }, {"stack"});
  message([&] { stack({x({1, 2, 3, 4})}); }, {"stack", "[1, 2, 3, 4]"});
  message([&] { slice(x({3, 4}), 1, 2, 5); }, {"slice", "2", "5", "[3, 4]"});
  message([&] { slice(x({3, 4}), 1, 3, 2); }, {"slice", "[3, 4]"});
  message([&] { slice(x({3, 4}), 2, 0, 1); }, {"slice", "[3, 4]"});
  message([&] { row(x({3, 4}), 3); }, {"row", "3", "[3, 4]"});
  message([&] { row(x({3, 4}), -1); }, {"row", "-1", "[3, 4]"});
  message([&] { gather(x({3, 4}), id({4})); }, {"gather", "[3, 4]", "[4]"});
  message([&] { gather(x({2, 3, 4}), id({3, 2})); }, {"gather", "[2, 3, 4]", "[3, 2]"});
  message([&] { gather(x({1, 4}), ids({1}, {4})); }, {"gather", "4", "[1, 4]"});
  message([&] { embedding(x({4}), id({3})); }, {"embedding", "[4]", "[3]"});
  message([&] { embedding(x({4, 2}), ids({2}, {1, 4})); }, {"embedding", "4", "[4, 2]"});
  message([&] { embedding(x({4, 2}), ids({2}, {-1, 0})); }, {"embedding", "-1", "[4, 2]"});
  message([&] { embedding(x({4, 2}), id({1, 1, 1, 1})); }, {"embedding", "[4, 2]", "[1, 1, 1, 1]"});
  message([&] { dropout(x({3, 4}), 1, {}); }, {"dropout", "1", "[3, 4]"});
  message([&] { dropout(x({3, 4}), -0.5, {}); }, {"dropout", "-0.5", "[3, 4]"});
  message([&] { lstm_cell(x({3, 8}), x({3, 3})); }, {"lstm_cell", "[3, 8]", "[3, 3]"});
  message([&] { lstm_cell(x({3, 9}), x({3, 2})); }, {"lstm_cell", "[3, 9]", "[3, 2]"});
}

TEST_CASE("an operation that throws leaves the tape as it was") {
  Tape tape;
  const Var x = tape.watch(Tensor::zeros({3, 4}));
  const int64_t before = tape.size();
  CHECK_THROWS_AS(matmul(x, x), Error);
  CHECK_THROWS_AS(add(x, Var(Tensor::zeros({3}))), Error);
  CHECK(tape.size() == before);
}

// --- the checker itself ------------------------------------------------------------------------------------

namespace {

// y = x², its gradient as `slope` has it: dx[i] = slope(i, x[i]) dy[i]
template <class Slope>
Var square_with(const Var& x, Slope slope) {
  Tensor y = x.value().clone();
  for (double& v : y.span()) v *= v;
  return record("square", y, inputs(x), [=](const Var& out) {
    const Into dx = x.gradient();
    for (int64_t i = 0; i < dx.tensor.size(); ++i) {
      const double part = slope(i, x.value().data()[i]) * out.grad().data()[i];
      dx.tensor.data()[i] = dx.add ? dx.tensor.data()[i] + part : part;
    }
  });
}

// y = a b, which forgets to say something, or says it twice.
enum class Fault { none, one_input_missing, always_overwrites, always_adds };
Var product_with(Fault fault, const Var& a, const Var& b) {
  Tensor y = a.value().clone();
  for (int64_t i = 0; i < y.size(); ++i) y.data()[i] *= b.value().data()[i];
  return record("product", y, inputs(a, b), [=](const Var& out) {
    const auto contribute = [&](const Var& x, const Var& other) {
      if (!x.wants_grad()) return;
      const Into dx = x.gradient();
      const bool adds = (dx.add && fault != Fault::always_overwrites) || fault == Fault::always_adds;
      if (fault == Fault::always_adds && !dx.add) dx.tensor.fill(0.25);  // what a fresh buffer may hold
      for (int64_t i = 0; i < dx.tensor.size(); ++i) {
        const double part = other.value().data()[i] * out.grad().data()[i];
        dx.tensor.data()[i] = adds ? dx.tensor.data()[i] + part : part;
      }
    };
    contribute(a, b);
    if (fault != Fault::one_input_missing) contribute(b, a);
  });
}

}  // namespace

TEST_CASE("the checker passes a right gradient and reports how far it was off") {
  const auto result = gradcheck(
      "square", {{3, 5}}, [](auto& v) { return square_with(v[0], [](int64_t, double x) { return 2 * x; }); });
  CHECK(result);
  CHECK(result.worst > 0);
  CHECK(result.worst < 1e-8);
}

TEST_CASE("the checker refuses a gradient with a wrong factor, however small") {
  for (double factor : {0.0, -2.0, 1.0, 2.01, 2.00002}) {
    const auto result = gradcheck("square", {{3, 5}}, [=](auto& v) {
      return square_with(v[0], [=](int64_t, double x) { return factor * x; });
    });
    CHECK_FALSE(result);
    CHECK(result.worst > 1e-6);
  }
}

TEST_CASE("the checker refuses a gradient with one wrong element and names it") {
  const auto result = gradcheck("square", {{3, 5}}, [](auto& v) {
    return square_with(v[0], [](int64_t i, double x) { return i == 7 ? 2 * x + 1e-5 : 2 * x; });
  });
  CHECK_FALSE(result);
  CHECK(lacks(result.failure.substr(0, result.failure.find('\n')),
              {"square", "input 0", "[3, 5]", "element 7"}) == "");
}

TEST_CASE("the checker refuses a missing term, a missing input, and a gradient that is not a number") {
  CHECK_FALSE(gradcheck("square + x", {{4}}, [](auto& v) {
    return square_with(v[0], [](int64_t, double x) { return 2 * x; }) + Var(v[0].value());  // + x is cut off
  }));
  const auto missing = gradcheck("product", {{4}, {4}},
                                 [](auto& v) { return product_with(Fault::one_input_missing, v[0], v[1]); });
  CHECK_FALSE(missing);
  CHECK(missing.failure.find("input 1") != std::string::npos);
  CHECK_FALSE(gradcheck("square", {{4}}, [](auto& v) {
    return square_with(v[0], [](int64_t, double) { return std::numeric_limits<double>::quiet_NaN(); });
  }));
}

TEST_CASE("the checker refuses a backward that always overwrites or always adds") {
  CHECK(gradcheck("product", {{4}, {4}}, [](auto& v) { return product_with(Fault::none, v[0], v[1]); }));
  CHECK_FALSE(gradcheck("product", {{4}, {4}},
                        [](auto& v) { return product_with(Fault::always_overwrites, v[0], v[1]); }));
  CHECK_FALSE(gradcheck("product of x and x", {{4}},
                        [](auto& v) { return product_with(Fault::always_overwrites, v[0], v[0]); },
                        {.twice = false}));
  CHECK_FALSE(
      gradcheck("product", {{4}, {4}}, [](auto& v) { return product_with(Fault::always_adds, v[0], v[1]); }));
}

TEST_CASE("the checker refuses to judge at a kink") {
  const auto result = gradcheck("relu at zero", {{3}}, [](auto& v) { return relu(v[0]); },
                                {.fill = [](int, const Tensor& x, RandomStream&) { x.fill(0); }});
  CHECK_FALSE(result);
}

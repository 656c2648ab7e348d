// Functions of elements beyond those of the cells, comparisons and choices; and reading and adding in place: gradients by
// central differences, values by hand, errors by their words.
#include <cmath>
#include <limits>

#include "framework/gradcheck.h"
#include "framework/ops.h"
#include "tests/support.h"

using namespace unroll;

namespace {

const std::vector<Shape> ranks = {{}, {1}, {33}, {3, 5}, {2, 1, 3, 1, 2, 2}};
const double inf = std::numeric_limits<double>::infinity(),
             no_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("functions of one element that no cell has are differentiated for every rank") {
  const std::pair<const char*, Var (*)(const Var&)> functions[] = {
      {"erf", erf}, {"gelu", gelu}, {"gelu_tanh", gelu_tanh}, {"silu", silu}, {"sin", sin}, {"cos", cos}};
  for (const auto& [name, f] : functions) {
    // x (1 + erf(…)) / 2 is off by a rounding of x where the sum is nearly 0.
    const bool cancels = std::string_view(name).starts_with("gelu");
    const GradcheckOptions options{.low = -4, .high = 4, .magnitude = cancels ? 4.0 : 0.0};
    for (const Shape& s : ranks)
      CHECK(gradcheck(
          name, {s}, [f = f](auto& v) { return f(v[0]); }, options));
  }
}

TEST_CASE("gelu, silu and erf have their limits, and pass NaN on") {
  const Var x = tensor({4}, {-30, -8, 8, 30});
  const std::vector<real> y = values(gelu(x));
  CHECK((y[0] == 0 && y[1] == doctest::Approx(-8 * 6.22e-16).epsilon(0.03)));
  CHECK((y[2] == doctest::Approx(8) && y[3] == 30));
  CHECK(std::abs(gelu_tanh(x)(1)) < 1e-14);
  CHECK(gelu_tanh(x)(3) == 30);
  CHECK(values(erf(x)) == std::vector<real>{-1, -1, 1, 1});
  CHECK(values(silu(x))[0] == doctest::Approx(-30 * std::exp(-30.0)));
  for (Var (*const f)(const Var&) :
       std::initializer_list<Var (*)(const Var&)>{gelu, gelu_tanh, silu, erf, sin, cos})
    CHECK(std::isnan(f(tensor({1}, {no_number})).item()));
}

TEST_CASE("pow is differentiated by base and exponent, and at its edges") {
  const GradcheckOptions positive{.low = 0.3, .high = 2};
  for (const auto& [a, b] :
       std::vector<std::pair<Shape, Shape>>{{{3, 4}, {3, 4}}, {{2, 3}, {}}, {{}, {3}}, {{2, 1}, {3}}})
    CHECK(gradcheck(
        "pow", {a, b}, [](auto& v) { return pow(v[0], v[1]); }, positive));
  CHECK(gradcheck("pow 3", {{7}}, [](auto& v) { return pow(v[0], 3); }));
  CHECK(gradcheck("pow -2", {{7}}, [](auto& v) { return pow(v[0], -2); }, {.fill = fill_away_from_zero}));
  Tape tape;
  const Var x = tape.watch(tensor({4}, {0, 0, 2, -2})), e = tape.watch(tensor({4}, {0, 2, 0, 2}));
  const Var y = pow(x, e);
  CHECK(values(y) == std::vector<real>{1, 0, 1, 4});
  tape.backward(sum(slice(y, 0, 0, 3)));
  CHECK(x.grad().to_host() == std::vector<real>{0, 0, 0, 0});
  const std::vector<real> de = e.grad().to_host();
  CHECK((de[0] == 0 && de[1] == 0));
  CHECK(de[2] == doctest::Approx(std::log(2.0)));
}

TEST_CASE("clamp passes the gradient of what lies between its bounds, bounds included") {
  CHECK(gradcheck("clamp", {{3, 7}}, [](auto& v) { return clamp(v[0], -0.31, 0.44); }, {.fill = fill_apart}));
  Tape tape;
  const Var x = tape.watch(tensor({6}, {-2, -1, 0, 1, 2, no_number}));
  const Var y = clamp(x, -1, 1);
  CHECK(std::isnan(y(5)));
  CHECK(values(slice(y, 0, 0, 5)) == std::vector<real>{-1, -1, 0, 1, 1});
  tape.backward(sum(y * 3));
  CHECK(x.grad().to_host() == std::vector<real>{0, 3, 3, 3, 0, 0});
  CHECK(lacks(error_of([&] { clamp(x, 2, 1); }), {"clamp", "[6]", "2", "1"}) == "");
}

TEST_CASE("comparisons are masks of ones and zeros, for either operand repeated, and differ from NaN") {
  const Var a = tensor({2, 2}, {1, 2, 3, no_number}), b = tensor({2}, {2, 2});
  CHECK((a < b).to_host() == std::vector<real>{1, 0, 0, 0});
  CHECK((a <= b).to_host() == std::vector<real>{1, 1, 0, 0});
  CHECK((a > b).to_host() == std::vector<real>{0, 0, 1, 0});
  CHECK((b >= a).to_host() == std::vector<real>{1, 1, 0, 0});
  CHECK(equal(a, b).to_host() == std::vector<real>{0, 1, 0, 0});
  CHECK(not_equal(a, b).to_host() == std::vector<real>{1, 0, 1, 1});
  CHECK((a > 1.5).to_host() == std::vector<real>{0, 1, 1, 0});
  CHECK((a <= 1).to_host() == std::vector<real>{1, 0, 0, 0});
  CHECK(less(tensor({2, 1}, {0, 5}), tensor({3}, {1, 2, 9})).to_host() ==
        std::vector<real>{1, 1, 1, 0, 0, 1});
  CHECK(lacks(error_of([&] { (void)less(a, tensor({3}, {1, 2, 3})); }), {"less", "[2, 2]", "[3]"}) == "");
  Tape tape;
  const Var x = tape.watch(tensor({2}, {1, 3}));
  tape.backward(sum(x * Var(x > 2)));
  CHECK(x.grad().to_host() == std::vector<real>{0, 1});
}

TEST_CASE("where takes the one or the other, with the gradient of what it took") {
  const Tensor mask = tensor({3, 1}, {1, 0, 2});
  for (const auto& [a, b] :
       std::vector<std::pair<Shape, Shape>>{{{3, 4}, {3, 4}}, {{4}, {3, 1}}, {{}, {2, 3, 4}}})
    CHECK(gradcheck("where", {a, b}, [&](auto& v) { return where(mask, v[0], v[1]); }));
  CHECK(gradcheck("where or a number", {{4}}, [&](auto& v) { return where(mask, v[0], 2.5); }));
  CHECK(gradcheck("masked_fill", {{2, 3, 4}}, [&](auto& v) { return masked_fill(v[0], mask, 2.5); }));
  // Elements that are not taken may be anything, and so may their gradients.
  Tape tape;
  const Var x = tape.watch(tensor({3}, {1, 0, 4}));
  const Var y = where(x > 0, log(where(x > 0, x, 1)), -inf);
  CHECK(values(y) == std::vector<real>{0, -inf, std::log(real(4))});
  tape.backward(sum(masked_fill(y, equal(x, Tensor::zeros({1})), 0)));
  CHECK(x.grad().to_host() == std::vector<real>{1, 0, 0.25});
  const Var one = tensor({3}, {1, 2, 3});
  CHECK(lacks(error_of([&] { where(tensor({2}, {0, 1}), one, one); }), {"where", "[2]", "[3]"}) == "");
  CHECK(lacks(error_of([&] { where({}, one, one); }), {"where", "condition", "empty"}) == "");
  CHECK(lacks(error_of([&] { masked_fill(one, tensor({2}, {0, 1}), 0); }), {"where", "[2]", "[3]"}) == "");
}

TEST_CASE("x += y is a new x, and what read the old one keeps its gradient") {
  Tape tape;
  const Var a = tape.watch(tensor({2}, {1, 2})), b = tape.watch(tensor({2}, {3, 5}));
  Var x = a * a;
  const Var before = x;
  x += b;
  x *= 2;
  x -= tensor({2}, {1, 1});
  x /= b;
  CHECK(values(before) == std::vector<real>{1, 4});
  CHECK(values(x) == std::vector<real>{7.0 / 3, 17.0 / 5});
  x -= 1;
  x += 0.5;
  x /= 2;
  tape.backward(sum(x) + sum(before));
  CHECK(a.grad()(0) == doctest::Approx(2 * (1 + 2 / 3.0 / 2)));
  CHECK(b.grad()(1) == doctest::Approx((2 / 5.0 - 17 / 25.0) / 2));
}

TEST_CASE("elements are read by their indices, from the end by negative ones, and no others are there") {
  const Tensor t = tensor({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(t(0, 0, 0) == 0);
  CHECK(t(1, 2, 0) == 10);
  CHECK(t(-1, -1, -1) == 11);
  CHECK(Var(t)(0, -1, 1) == 5);
  CHECK(ids({2}, {7, 9})(-1) == 9);
  CHECK(Tensor::full({}, 3)() == 3);
  CHECK(t[-1](0, 1) == 7);
  CHECK(lacks(error_of([&] { (void)t(0, 3, 0); }), {"no element (0, 3, 0)", "[2, 3, 2]"}) == "");
  CHECK(lacks(error_of([&] { (void)t(-3, 0, 0); }), {"no element (-3, 0, 0)", "[2, 3, 2]"}) == "");
  CHECK(lacks(error_of([&] { (void)t(1); }), {"no element (1)", "[2, 3, 2]"}) == "");
  CHECK(lacks(error_of([&] { (void)Tensor()(0); }), {"empty"}) == "");
}

// The oracle for gradients itself, with planted faults.
#include "framework/gradcheck.h"

#include <limits>

#include "framework/ops.h"
#include "tests/support.h"

using namespace unroll;

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
enum class Fault { none, one_input_missing, one_input_unnamed, always_overwrites, always_adds };
Var product_with(Fault fault, const Var& a, const Var& b) {
  Tensor y = a.value().clone();
  for (int64_t i = 0; i < y.size(); ++i) y.data()[i] *= b.value().data()[i];
  const Vars named = fault == Fault::one_input_unnamed ? Vars{a} : Vars{a, b};
  return record("product", y, inputs(named), [=](const Var& out) {
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

TEST_CASE("a frozen parameter collects nothing and is not compared; the others are") {
  ParameterSet params(1);
  Parameter &w = params.add("w", {3}, Init::constant(2)),
            &frozen = params.add("frozen", {3}, Init::constant(3));
  frozen.frozen = true;
  CHECK(gradcheck("product", params, {{3}}, [&](auto& v) { return v[0] * w.var() * frozen.var(); }));
  CHECK_FALSE(gradcheck("product", params, {{3}}, [&](auto& v) {
    return product_with(Fault::one_input_missing, v[0] * frozen.var(), w.var());
  }));
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

TEST_CASE(
    "of some elements and a direction through all, the direction finds the wrong one that was not drawn") {
  const auto checked = [](int64_t wrong) {
    return gradcheck("square", {{4, 10}},
                     [=](auto& v) {
                       return square_with(v[0],
                                          [=](int64_t i, double x) { return i == wrong ? 2.01 * x : 2 * x; });
                     },
                     {.elements = 3});
  };
  CHECK(checked(-1));
  int by_direction_alone = 0;
  for (int64_t wrong = 0; wrong < 40; ++wrong) {
    const std::string failure = checked(wrong).failure;
    CHECK(lacks(failure.substr(failure.rfind('\n') + 1), {"a direction through all elements"}) == "");
    by_direction_alone += failure.find("at element") == std::string::npos;
    if (wrong == 0 || wrong == 39)
      CHECK(failure.find(fmt::format("at element {}:", wrong)) != std::string::npos);
  }
  CHECK(by_direction_alone == 40 - 3);
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

// Right while both collect gradients; were `a` frozen, nothing would be recorded, and b would get none.
TEST_CASE("the checker refuses a contribution to what inputs(…) leave out, and names the operation") {
  const auto unnamed = gradcheck("product", {{4}, {4}},
                                 [](auto& v) { return product_with(Fault::one_input_unnamed, v[0], v[1]); });
  CHECK(lacks(unnamed.failure, {"product", "inputs(…) leave out", "[4]"}) == "");
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

TEST_CASE("the checker refuses a value that differs when nothing records") {
  const auto result =
      gradcheck("square", {{3}}, [](auto& v) { return v[0] * v[0] + (Tape::recording() ? 0 : 1); });
  CHECK(lacks(result.failure, {"square", "output 0 differs when nothing records"}) == "");
}

TEST_CASE("inputs that are skipped are not checked, in whatever order they are named, and the others are") {
  const auto check = [](std::vector<int> skip) {
    const auto wrong = [](const Var& x) { return square_with(x, [](int64_t, double at) { return at; }); };
    return gradcheck("first and last are wrong", {{3}, {3}, {3}},
                     [&](auto& v) { return add(add(wrong(v[0]), v[1] * v[1]), wrong(v[2])); },
                     {.skip = skip});
  };
  CHECK(check({0, 2}));
  CHECK(check({2, 0}));
  for (const std::vector<int>& others : {std::vector<int>{}, {0}, {2}, {1, 0}}) CHECK_FALSE(check(others));
}

TEST_CASE("the checker refuses a gradient that is wrong only where the other input is constant") {
  const auto product = [](const Var& a, const Var& b) {
    return record("product", mul(a, b).value(), inputs(a, b), [=](const Var& out) {
      if (a.wants_grad()) contribute(mul(out.grad().clone(), b.value()).value(), a);
      if (b.wants_grad())
        contribute(mul(out.grad().clone(), a.wants_grad() ? a.value() : b.value()).value(), b);
    });
  };
  const GradcheckResult result =
      gradcheck("product", {{3}, {3}}, [&](auto& v) { return product(v[0], v[1]); });
  CHECK_FALSE(result);
  CHECK(result.failure.find("input 1 [3] at element 0: with the other inputs constant") != std::string::npos);
  CHECK(result.failure.find("input 0") == std::string::npos);
}

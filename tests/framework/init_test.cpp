// First values of parameters: what Xavier, orthogonal and one's own draw.
#include <cmath>

#include "framework/parameters.h"
#include "tests/support.h"

using namespace unroll;

namespace {

Tensor drawn(const Shape& shape, const Init& init, uint64_t seed = 1) {
  ParameterSet params(seed);
  return params.add("w", shape, init).leaf_value().clone();
}

}  // namespace

TEST_CASE("orthogonal rows, or columns where they are fewer, have the length of the gain and right angles") {
  for (const Shape& shape : {Shape{3, 5}, Shape{5, 3}, Shape{4, 4}, Shape{6, 2, 2}, Shape{1, 7}}) {
    const Tensor w = drawn(shape, Init::orthogonal(2)).reshape({shape[0], -1});
    const Var products = w.dim(0) <= w.dim(1) ? matmul(w, transpose(Var(w))) : matmul(transpose(Var(w)), w);
    for (int i = 0; i < products.dim(0); ++i)
      for (int j = 0; j < products.dim(1); ++j) CHECK(std::abs(products(i, j) - (i == j ? 4 : 0)) < 1e-13);
  }
  CHECK_FALSE(same_bits(drawn({4, 4}, Init::orthogonal(), 1), drawn({4, 4}, Init::orthogonal(), 2)));
  CHECK(same_bits(drawn({4, 4}, Init::orthogonal(), 2), drawn({4, 4}, Init::orthogonal(), 2)));
  CHECK(drawn({3}, Init::orthogonal()).to_host() == std::vector<real>(3, 0));
}

TEST_CASE("Xavier's bound is that of both sides") {
  for (const auto& [shape, fans] :
       std::vector<std::pair<Shape, double>>{{{40, 60}, 100}, {{10, 20, 5}, 150}}) {
    const double bound = 2 * std::sqrt(6 / fans);
    double largest = 0, squares = 0;
    for (const real v : drawn(shape, Init::xavier(2)).to_host()) {
      largest = std::max(largest, std::abs(double{v}));
      squares += double{v} * double{v};
    }
    CHECK(largest <= bound);
    CHECK(largest > 0.9 * bound);
    CHECK(squares / static_cast<double>(shape.size()) == doctest::Approx(bound * bound / 3).epsilon(0.1));
  }
  CHECK(drawn({3}, Init::xavier()).to_host() == std::vector<real>(3, 0));
}

TEST_CASE("one's own has every element written, with random numbers that depend on seed and path") {
  const Init own = Init::own([](const Shape& shape, std::span<real> values, RandomStream& random) {
    CHECK(shape == Shape{2, 3});
    for (real& v : values) v = static_cast<real>(random.normal());
  });
  CHECK(same_bits(drawn({2, 3}, own), drawn({2, 3}, own)));
  CHECK_FALSE(same_bits(drawn({2, 3}, own, 1), drawn({2, 3}, own, 2)));
  CHECK(lacks(error_of([] { drawn({2}, Init::own({})); }), {"init", "[2]", "no function"}) == "");
}

TEST_CASE("a parameter's first values may be chosen until its first use, those of all at any time") {
  ParameterSet params;
  Parameter& w = params.add("w", {2, 2}, Init::constant(1));
  Parameter& gain = params.add("gain", {2}, Init::centered_at(1, 2));
  w.init = Init::constant(5);
  CHECK(w.leaf_value()(1, 1) == 5);
  params.initialize(Init::xavier());
  CHECK(w.leaf_value()(0, 0) != 5);
  CHECK(gain.leaf_value().to_host() == std::vector<real>{1, 1});  // 1 + 0
}

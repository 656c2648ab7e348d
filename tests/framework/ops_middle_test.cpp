// Operations along one dimension: gradients by central differences, values by hand, errors by their words.
#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/gradcheck.h"
#include "framework/ops.h"
#include "tests/support.h"

using namespace unroll;

namespace {

struct Along {
  Shape shape;
  int axis;
};
const std::vector<Along> cases = {{{1}, 0},          {{7}, -1},        {{3, 5}, 0},  {{3, 5}, 1},
                                  {{2, 4, 3}, 1},    {{2, 4, 33}, -2}, {{40, 2}, 0}, {{2, 1, 3, 2, 1, 2}, 2},
                                  {{1, 1, 5, 1}, -2}};
const double inf = std::numeric_limits<double>::infinity(), no_number = std::numeric_limits<double>::quiet_NaN();

IdTensor random_places(const Shape& shape, int bound, uint64_t seed) {
  RandomStream random(seed, "places");
  return random_ids(shape, random, static_cast<uint32_t>(bound));
}

}  // namespace

TEST_CASE("logsumexp and cumsum are differentiated along every dimension") {
  for (const auto& [shape, axis] : cases) {
    CHECK(gradcheck("logsumexp", {shape}, [axis = axis](auto& v) { return logsumexp(v[0], axis); },
                    {.low = -3, .high = 3}));
    CHECK(gradcheck("cumsum", {shape}, [axis = axis](auto& v) { return cumsum(v[0], axis); }));
  }
}

TEST_CASE("what is left of a dimension may keep it: the same numbers, which meet x again") {
  using Kept = Var (*)(const Var&, int, bool);
  for (const Kept f : {Kept(sum), Kept(mean), Kept(max), Kept(logsumexp)})
    for (const auto& [shape, axis] : cases) {
      RandomStream random(3, "x");
      const Var x = random_tensor(shape, random), kept = f(x, axis, true), gone = f(x, axis, false);
      CHECK(kept.shape() == shape.with(axis, 1));
      CHECK(same_bits(kept.value().reshape(gone.shape()), gone.value()));
      CHECK(gradcheck("kept", {shape}, [f, axis = axis](auto& v) { return v[0] * f(v[0], axis, true); },
                      {.low = 0.5, .high = 2}));
    }
}

TEST_CASE("draws from a softmax fall as often as its probabilities say, at any temperature, and repeat") {
  const int draws = 20'000;
  const std::vector<real> row = {0.5, -1, -std::numeric_limits<real>::infinity(), 2};
  Tensor logits({draws, 4});
  {
    const auto numbers = logits.on_host(Access::overwrite);
    for (int i = 0; i < 4 * draws; ++i) numbers[i] = row[static_cast<size_t>(i % 4)];
  }
  for (const double temperature : {0.5, 1.0, 3.0}) {
    RandomStream random(5, "draws"), again(5, "draws");
    const IdTensor drawn = draw_from_softmax(logits, temperature, random);
    CHECK(drawn.shape() == Shape{draws});
    CHECK(random.position() == 2 * draws);  // a number of 53 bits each
    const IdTensor repeated =
        temperature == 1 ? draw_from_softmax(logits, again) : draw_from_softmax(logits, temperature, again);
    CHECK(std::ranges::equal(std::as_const(drawn).span(), std::as_const(repeated).span()));
    double total = 0;
    for (const real x : row) total += std::exp(static_cast<double>(x) / temperature);
    for (int k = 0; k < 4; ++k) {
      const double p = std::exp(static_cast<double>(row[static_cast<size_t>(k)]) / temperature) / total;
      const double share = static_cast<double>(std::ranges::count(std::as_const(drawn).span(), k)) /
                           static_cast<double>(draws);
      CHECK(std::abs(share - p) <=
            5 * std::sqrt(p * (1 - p) / draws));  // 5 deviations; and never the impossible one
    }
  }
  RandomStream random(6, "draws");
  CHECK(draw_from_softmax(tensor({3}, {0, 1000, 0}), 1e-3, random).shape() == Shape{});
  CHECK(draw_from_softmax(tensor({3}, {0, 1000, 0}), 1e-3, random).data()[0] == 1);
}

TEST_CASE("a draw from a softmax refuses what is none") {
  RandomStream random(7, "draws");
  const auto refused = [&](const std::vector<real>& row, double temperature) {
    return error_of([&] {
      draw_from_softmax(tensor({1, static_cast<int>(row.size())}, row), temperature, random);
    });
  };
  const real infinite = std::numeric_limits<real>::infinity();
  CHECK(lacks(refused({1, 2}, 0), {"draw_from_softmax", "temperature 0", "[1, 2]", "argmax"}) == "");
  CHECK(lacks(refused({1, 2}, -1), {"temperature -1"}) == "");
  CHECK(lacks(refused({1, std::numeric_limits<real>::quiet_NaN()}, 1), {"logit 1 of row 0", "nan"}) == "");
  CHECK(lacks(refused({infinite, 2}, 1), {"logit 0 of row 0", "inf"}) == "");
  CHECK(lacks(refused({-infinite, -infinite}, 1), {"row 0", "nothing to draw"}) == "");
  CHECK(lacks(refused({}, 1), {"dimension -1", "[1, 0]"}) == "");
  CHECK(random.position() == 0);
}

TEST_CASE(
    "logsumexp is right far from zero, where all is impossible, and where something is infinite or no number") {
  const auto of = [](const std::vector<real>& v) {
    const Var row = tensor({1, static_cast<int>(v.size())}, v);
    const real along = logsumexp(row)(0), across = logsumexp(transpose(row), 0)(0);
    CHECK((along == across || std::isnan(along)));
    CHECK(std::isnan(along) == std::isnan(across));
    return along;
  };
  CHECK(of({1000, 1000}) == doctest::Approx(1000 + std::log(2.0)).epsilon(1e-15));
  CHECK(of({-1000, -1e9}) == -1000);
  CHECK(of({-inf, -inf}) == -inf);
  CHECK(of({-inf, 3}) == 3);
  CHECK(of({inf, 3}) == inf);
  CHECK(std::isnan(of({1, no_number, 3})));
  Tape tape;
  const Var x = tape.watch(tensor({2, 2}, {-inf, -inf, -inf, 3}));
  tape.backward(sum(where(tensor({2}, {0, 1}), logsumexp(x), 0)));
  CHECK(x.grad().to_host() == std::vector<real>{0, 0, 0, 1});
}

TEST_CASE("cumsum adds up, forwards in value and backwards in gradient") {
  Tape tape;
  const Var x = tape.watch(tensor({3, 2}, {1, 10, 2, 20, 3, 30}));
  const Var y = cumsum(x, 0);
  CHECK(values(y) == std::vector<real>{1, 10, 3, 30, 6, 60});
  CHECK(values(cumsum(x, 1)) == std::vector<real>{1, 11, 2, 22, 3, 33});
  tape.backward(sum(y * tensor({3, 1}, {1, 2, 4})));
  CHECK(x.grad().to_host() == std::vector<real>{7, 7, 6, 6, 4, 4});
  CHECK(cumsum(Var(Tensor({0, 3})), 0).shape() == Shape{0, 3});
}

TEST_CASE("argmax and topk find the first of equals, and NaN before any number") {
  const Var x = tensor({2, 4}, {1, 3, 3, 2, 5, no_number, 9, no_number});
  const auto list = [](const IdTensor& t) { return t.to_host(); };
  CHECK(list(argmax(x)) == std::vector<int32_t>{1, 1});
  CHECK(list(argmax(x, 0)) == std::vector<int32_t>{1, 1, 1, 1});
  CHECK(argmax(x).shape() == Shape{2});
  const TopK top = topk(x, 3);
  CHECK(list(top.indices) == std::vector<int32_t>{1, 2, 3, 1, 3, 2});
  CHECK(values(row(top.values, 0)) == std::vector<real>{3, 3, 2});
  CHECK(top.values(1, 2) == 9);
  const Var y = tensor({4, 2}, {1, 8, 4, 7, 3, 6, 2, 5});
  const TopK across = topk(y, 2, 0);
  CHECK(list(across.indices) == std::vector<int32_t>{1, 0, 2, 1});
  CHECK(values(across.values) == std::vector<real>{4, 8, 3, 7});
  CHECK(topk(y, 0).values.shape() == Shape{4, 0});
  CHECK(lacks(error_of([&] { topk(y, 3); }), {"topk", "3", "[4, 2]"}) == "");
  CHECK(lacks(error_of([&] { argmax(Var(Tensor({2, 0}))); }), {"argmax", "[2, 0]", "empty"}) == "");
  CHECK(lacks(error_of([&] { argmax(y, 2); }), {"argmax", "2", "[4, 2]"}) == "");
}

TEST_CASE("topk is differentiated, and sorts all of a row") {
  for (const auto& [shape, axis] : cases)
    CHECK(gradcheck("topk", {shape},
                    [axis = axis](auto& v) { return topk(v[0], v[0].dim(axis) / 2 + 1, axis).values; },
                    {.fill = fill_apart}));
  RandomStream random(5, "sorted");
  const Tensor x = random_tensor({3, 100}, random);
  const TopK top = topk(x, 100);
  for (int r = 0; r < 3; ++r)
    for (int i = 0; i < 100; ++i) {
      CHECK(top.values(r, i) == x(r, top.indices(r, i)));
      if (i > 0) CHECK(top.values(r, i) <= top.values(r, i - 1));
    }
  // With three dimensions, too, the indices are in the order of the values.
  const Tensor z = random_tensor({2, 6, 3, 2}, random);
  const TopK middle = topk(z, 4, 1);
  for (int o = 0; o < 2; ++o)
    for (int i = 0; i < 4; ++i)
      for (int m = 0; m < 3; ++m)
        for (int l = 0; l < 2; ++l)
          CHECK(middle.values(o, i, m, l) == z(o, middle.indices(o, i, m, l), m, l));
}

TEST_CASE("gather and index_select are differentiated along every dimension, numbers that come twice too") {
  for (const auto& [shape, axis] : cases) {
    const int n = shape[axis];
    const IdTensor each = random_places(shape.with(axis, 5), n, 1), rows = random_places({6}, n, 2);
    CHECK(gradcheck("gather", {shape}, [&, axis = axis](auto& v) { return gather(v[0], axis, each); }));
    CHECK(gradcheck("index_select", {shape},
                    [&, axis = axis](auto& v) { return index_select(v[0], axis, rows); }));
  }
  CHECK(gradcheck("gather of rows", {{2, 3, 5}}, [](auto& v) {
    return gather(v[0], random_places({2, 3}, 5, 3));
  }));
}

TEST_CASE("gather and index_select take what the numbers say") {
  const Var x = tensor({2, 3}, {0, 1, 2, 3, 4, 5});
  CHECK(values(gather(x, 1, ids({2, 2}, {2, 0, 1, 1}))) == std::vector<real>{2, 0, 4, 4});
  CHECK(values(gather(x, 0, ids({1, 3}, {1, 0, 1}))) == std::vector<real>{3, 1, 5});
  CHECK(values(index_select(x, 1, ids({4}, {2, 2, 0, 1}))) == std::vector<real>{2, 2, 0, 1, 5, 5, 3, 4});
  CHECK(values(index_select(x, -2, ids({1}, {1}))) == std::vector<real>{3, 4, 5});
  CHECK(index_select(x, 0, IdTensor({0})).shape() == Shape{0, 3});
  CHECK(lacks(error_of([&] {
                gather(x, 1, ids({2, 1}, {0, 3}));
              }),
              {"gather", "3", "0 … 2", "[2, 3]"}) == "");
  CHECK(lacks(error_of([&] { gather(x, 1, ids({1, 2}, {0, 0})); }), {"gather", "[1, 2]", "[2, 3]"}) == "");
  CHECK(lacks(error_of([&] { gather(x, 2, ids({2, 2}, {0, 0, 0, 0})); }), {"gather", "2", "[2, 3]"}) == "");
  CHECK(lacks(error_of([&] { index_select(x, 0, ids({1}, {-1})); }), {"index_select", "-1", "[2, 3]"}) == "");
  CHECK(lacks(error_of([&] {
                index_select(x, 0, ids({1, 1}, {0}));
              }),
              {"index_select", "[1, 1]", "[2, 3]"}) == "");
  // The caller's numbers may be filled anew before the backward.
  Tape tape;
  const Var w = tape.watch(tensor({3}, {1, 2, 3}));
  IdTensor changing = ids({2}, {2, 0});
  const Var y = sum(index_select(w, 0, changing));
  changing.fill(1);
  tape.backward(y);
  CHECK(w.grad().to_host() == std::vector<real>{1, 0, 1});
}

// Operations on shapes: gradients by central differences, places by hand.
#include <array>
#include <limits>

#include "framework/gradcheck.h"
#include "framework/ops.h"
#include "tests/support.h"

using namespace unroll;

TEST_CASE("reshape, transpose, row and slice are differentiated") {
  CHECK(gradcheck("reshape", {{2, 6}}, [](auto& v) { return reshape(v[0], {3, 4}); }));
  CHECK(gradcheck("reshape", {{1}}, [](auto& v) { return reshape(v[0], {}); }));
  CHECK(gradcheck("reshape", {{2, 3, 4}}, [](auto& v) { return reshape(v[0], {24}); }));
  for (const Shape& s : {Shape{3, 5}, Shape{1, 1}, Shape{1, 7}, Shape{33, 17}})
    CHECK(gradcheck("transpose", {s}, [](auto& v) { return transpose(v[0]); }));
  for (const Shape& s : {Shape{3}, Shape{3, 5}, Shape{1, 4}, Shape{5, 2, 3}})
    for (int i = 0; i < s[0]; ++i) CHECK(gradcheck("row", {s}, [=](auto& v) { return v[0][i]; }));
  for (const Shape& s : {Shape{5}, Shape{3, 5}, Shape{1, 4}, Shape{2, 3, 4}, Shape{2, 1, 3, 5}})
    for (int axis = -s.rank(); axis < s.rank(); ++axis)
      for (int begin = 0; begin < s[axis]; ++begin)
        for (int end = begin + 1; end <= s[axis]; ++end)
          CHECK(
              gradcheck("slice", {s}, [=](auto& v) { return slice(v[0], axis, begin, end); }, {.seeds = 1}));
}

TEST_CASE("transpose exchanges any two dimensions") {
  for (const Shape& s : {Shape{3, 5}, Shape{2, 3, 4}, Shape{1, 4, 1}, Shape{3, 2, 4, 5}, Shape{2, 1, 3, 1}})
    for (int i = -s.rank(); i < s.rank(); ++i)
      for (int j = 0; j < s.rank(); ++j) {
        CHECK(gradcheck("transpose", {s}, [=](auto& v) { return transpose(v[0], i, j); }, {.seeds = 1}));
        const Var x = Tensor(s);
        CHECK(transpose(x, i, j).shape() == s.with(i, s[j]).with(j, s[i]));
      }
  const Var x = tensor({2, 3, 2}, {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121});
  CHECK(values(transpose(x, 0, 1)) == std::vector<real>{0, 1, 100, 101, 10, 11, 110, 111, 20, 21, 120, 121});
  CHECK(values(transpose(x, 0, 2)) == std::vector<real>{0, 100, 10, 110, 20, 120, 1, 101, 11, 111, 21, 121});
}

TEST_CASE("broadcast_to repeats, and sums what comes back") {
  const std::vector<std::pair<Shape, Shape>> cases = {{{}, {3}},
                                                      {{1}, {2, 3}},
                                                      {{2, 1}, {2, 3}},
                                                      {{2, 1}, {4, 2, 3}},
                                                      {{1, 3}, {2, 3}},
                                                      {{2, 3}, {2, 3}},
                                                      {{1, 1, 2}, {3, 4, 2}},
                                                      {{2, 1, 1, 3}, {2, 4, 5, 3}},
                                                      {{1, 2, 1, 3}, {4, 2, 5, 3}},
                                                      {{1}, {1, 1}}};
  for (const auto& [from, to] : cases)
    CHECK(gradcheck("broadcast_to", {from}, [to = to](auto& v) { return broadcast_to(v[0], to); }));
  CHECK(values(broadcast_to(tensor({2, 1}, {1, 2}), {2, 2, 3})) ==
        std::vector<real>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2});
  CHECK(broadcast_to(Var(Tensor({2, 1})), {2, 0}).shape() == Shape{2, 0});
}

TEST_CASE("permute puts every dimension where it is wanted, in value and in gradient") {
  const Var x = tensor({2, 3, 2}, {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121});
  CHECK(values(permute(x, {2, 0, 1})) ==
        std::vector<real>{0, 10, 20, 100, 110, 120, 1, 11, 21, 101, 111, 121});
  const Tensor six({2, 3, 1, 4, 2, 3});
  RandomStream random(7, "axes");
  std::vector<int> axes = {0, 1, 2, 3, 4, 5};
  for (int turn = 0; turn < 20; ++turn) {
    for (size_t i = axes.size(); i > 1; --i)
      std::swap(axes[i - 1], axes[random.below(static_cast<uint32_t>(i))]);
    CHECK(gradcheck("permute", {six.shape()}, [&](auto& v) { return permute(v[0], axes); }, {.seeds = 1}));
    const Tensor numbers = random_tensor(six.shape(), random);
    const Tensor y = permute(numbers, axes).value();
    for (int i = 0; i < 6; ++i) CHECK(y.dim(i) == six.dim(axes[static_cast<size_t>(i)]));
    std::array<int, 6> at{};
    for (int i = 0; i < 6; ++i)
      at[static_cast<size_t>(axes[static_cast<size_t>(i)])] = y.dim(i) - 1 - (y.dim(i) > 2);
    const auto in_y = [&](int i) { return at[static_cast<size_t>(axes[static_cast<size_t>(i)])]; };
    CHECK(y(in_y(0), in_y(1), in_y(2), in_y(3), in_y(4), in_y(5)) ==
          numbers(at[0], at[1], at[2], at[3], at[4], at[5]));
  }
  CHECK(permute(x, {0, -1, 1}).shape() == Shape{2, 2, 3});
  CHECK(values(permute(x, {0, 1, 2})) == values(x));
  CHECK(lacks(error_of([&] { permute(x, {0, 1}); }), {"permute", "{0, 1}", "[2, 3, 2]"}) == "");
  CHECK(lacks(error_of([&] { permute(x, {0, 1, -2}); }), {"permute", "{0, 1, -2}", "[2, 3, 2]"}) == "");
}

TEST_CASE("an extent of -1 is what is left, if something whole is") {
  const Var x = tensor({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(reshape(x, {-1}).shape() == Shape{12});
  CHECK(reshape(x, {3, -1, 2}).shape() == Shape{3, 2, 2});
  CHECK(x.value().reshape({4, -1}).shape() == Shape{4, 3});
  CHECK(gradcheck("reshape", {{2, 6}}, [](auto& v) { return reshape(v[0], {-1, 4}); }));
  CHECK(lacks(error_of([&] {
                reshape(x, {5, -1});
              }),
              {"reshape", "[5, -1]", "no number", "[2, 6]", "12"}) == "");
  CHECK(lacks(error_of([&] { reshape(x, {-1, -1}); }), {"reshape", "-1", "[2, 6]"}) == "");
  CHECK(lacks(error_of([&] { reshape(x, {-2, 6}); }), {"reshape", "-2", "[2, 6]"}) == "");
  CHECK(lacks(error_of([&] {
                reshape(Var(Tensor({0, 3})), {0, -1});
              }),
              {"[0, -1]", "any number", "[0, 3]"}) == "");
}

TEST_CASE("chunk and pad take a dimension apart and make it longer") {
  const Var x = tensor({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Vars parts = chunk(x, 3, 1);
  REQUIRE(parts.size() == 3);
  CHECK(values(parts[1]) == std::vector<real>{2, 3, 7, 8});
  CHECK(values(parts[2]) == std::vector<real>{4, 9});
  CHECK(chunk(x, 4, 1).size() == 3);  // 2, 2, 1: as even as they can be
  CHECK(chunk(x, 9, -2).size() == 2);
  CHECK(chunk(Var(Tensor({0, 2})), 2, 0)[0].shape() == Shape{0, 2});
  CHECK(gradcheck("chunk", {{3, 5}}, [](auto& v) { return concat(chunk(v[0], 2, 1), 1) * v[0]; }));
  CHECK(values(pad(x, 1, 1, 0, 9)) == std::vector<real>{9, 0, 1, 2, 3, 4, 9, 5, 6, 7, 8, 9});
  CHECK(pad(x, 0, 0, 3).shape() == Shape{5, 5});
  for (const int axis : {0, 1, -1})
    CHECK(gradcheck("pad", {{2, 3, 2}}, [=](auto& v) { return pad(v[0], axis, 2, 1, 0.5); }));
  CHECK(lacks(error_of([&] { chunk(x, 0, 1); }), {"chunk", "0", "[2, 5]"}) == "");
  CHECK(lacks(error_of([&] { pad(x, 1, -1, 0); }), {"pad", "-1", "[2, 5]"}) == "");
  CHECK(lacks(error_of([&] { pad(x, 2, 1, 0); }), {"pad", "2", "[2, 5]"}) == "");
}

TEST_CASE("negative places count from the end") {
  const Var x = tensor({3, 2}, {0, 1, 2, 3, 4, 5});
  CHECK(values(row(x, -1)) == std::vector<real>{4, 5});
  CHECK(values(x[-1]) == std::vector<real>{4, 5});
  CHECK(values(slice(x, 0, -2, 3)) == std::vector<real>{2, 3, 4, 5});
  CHECK(values(slice(x, 0, 0, -1)) == std::vector<real>{0, 1, 2, 3});
  CHECK(values(slice(x, 1, -1)) == std::vector<real>{1, 3, 5});
  CHECK(values(slice(x, 0, 3)).empty());
  CHECK(gradcheck("row", {{3, 2}}, [](auto& v) { return row(v[0], -2); }));
  CHECK(gradcheck("slice", {{3, 2}}, [](auto& v) { return slice(v[0], 0, -2, -1); }));
  CHECK(lacks(error_of([&] { x[-4]; }), {"row", "-4", "[3, 2]"}) == "");
  CHECK(lacks(error_of([&] { slice(x, 0, -4, 2); }), {"slice", "-4", "[3, 2]"}) == "");
  CHECK(lacks(error_of([&] { slice(x, 1, 3); }), {"slice", "3", "[3, 2]"}) == "");
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

TEST_CASE("flip turns the first dimension around and is differentiated") {
  CHECK(values(flip(tensor({3, 2}, {1, 2, 3, 4, 5, 6}))) == std::vector<real>{5, 6, 3, 4, 1, 2});
  for (const Shape& s : {Shape{1}, Shape{4}, Shape{3, 2}, Shape{2, 3, 2}})
    CHECK(gradcheck("flip", {s}, [](auto& v) { return flip(v[0]); }));
}

TEST_CASE("a shape counts its elements, or says that it cannot") {
  constexpr int largest = std::numeric_limits<int>::max();
  CHECK(Shape{}.size() == 1);
  CHECK(Shape{largest, 2}.size() == 2 * int64_t{largest});
  CHECK(Shape{largest, largest, largest, 0}.size() == 0);
  CHECK(lacks(error_of([] { (void)Shape{largest, largest, largest}.size(); }), {"too many elements"}) == "");
}

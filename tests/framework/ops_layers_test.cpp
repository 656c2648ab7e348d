// The layers' operations: embedding, dropout and masks, the LSTM's cell.
#include <algorithm>
#include <cmath>

#include "framework/gradcheck.h"
#include "framework/ops.h"
#include "framework/parameters.h"
#include "tests/support.h"

using namespace unroll;

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

TEST_CASE("of no steps dropout leaves none out, with a mask over time either") {
  Tape tape;
  const Var none = tape.watch(Tensor({0, 2}));
  for (bool locked : {false, true})
    CHECK(dropout(none, 0.5, {.seed = 11, .place = 1, .step = 2}, locked).shape() == Shape{0, 2});
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
  const Tensor four = Tensor::zeros({1, 2, 1, 2});  // as large as x may be, and no mask of its rows
  CHECK(lacks(error_of([&] { mask_rows(Var(four), four); }), {"mask_rows", "[1, 2, 1, 2]"}) == "");
}

TEST_CASE("an embedding's gradient goes to the rows that were taken, whatever the ids hold by then") {
  Tape tape;
  const Var table = tape.watch(Tensor::full({3, 2}, 1));
  IdTensor id = ids({2}, {0, 2});
  const Var y = embedding(table, id);
  id.data()[0] = 1, id.data()[1] = -1;
  tape.backward(sum(y));
  CHECK(values(table.grad()) == std::vector<double>{1, 1, 0, 0, 1, 1});
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
  const Tensor steps =
      dropout(tape.watch(Tensor::full({64}, 1)), 0.5, key, true).value();  // of one element each
  for (const double v : steps.on_host()) CHECK(v == values(steps)[0]);
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
    CHECK(gradcheck("lstm_cell", shapes,
                    [](auto& v) {
                      const auto [h, c] = lstm_cell(v[0], v[1]);
                      return std::vector<Var>{h, c};
                    },
                    {.low = -2, .high = 2}));
    CHECK(gradcheck("lstm_cell's h", shapes, [](auto& v) { return lstm_cell(v[0], v[1]).h; },
                    {.low = -2, .high = 2}));
    CHECK(gradcheck("lstm_cell's c", shapes, [](auto& v) { return lstm_cell(v[0], v[1]).c; },
                    {.low = -2, .high = 2}));
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
  for (const double d : gates.grad().on_host()) CHECK(std::isfinite(d));
  for (const double d : c_prev.grad().on_host()) CHECK(std::isfinite(d));
}

TEST_CASE("each part of a step has masks of dropout of its own, and they repeat") {
  ParameterSet params;
  const Scope place = params / "drop";
  const auto masks_of = [&](uint32_t part) {
    Tape tape({.part = part});
    const Var x = tape.watch(Tensor::full({40}, 1));
    auto all = values(dropout(x, real(0.5), place.next_key()));
    for (const real v : values(dropout(x, real(0.5), place.next_key()))) all.push_back(v);
    return all;
  };
  const auto first = masks_of(0), second = masks_of(1), third = masks_of(2);
  CHECK(first != second);
  CHECK(second != third);
  CHECK(first != third);
  CHECK(masks_of(0) == first);
  CHECK(masks_of(1) == second);
}

// Cells from outside that are unlike ours: three numbers of a unit in c, or no recurrent matrix.
#include "framework/gradcheck.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "layers/stepper.h"
#include "tests/layers/frozen.h"
#include "tests/support.h"

using namespace unroll;

namespace {

// A forget gate that sees x alone: h = f·h_prev + (1-f)·W x (minGRU: Feng et al. 2024).
struct WithoutMatrix {
  static constexpr const char* name = "min_gru";
  static constexpr bool has_c = false;
  explicit WithoutMatrix(const LayerScope& scope)
      : weight(scope.add("weight_ih", {2 * scope.hidden, scope.input}).var()) {}
  RecurrentVars step(const Var& x, const Var&, const RecurrentVars& before) const {
    const Vars parts = chunk(linear(x, weight), 2, 1);
    const Var f = sigmoid(parts[0]);
    return {f * before.h + (1 - f) * parts[1], {}};
  }
  Var weight;
};

// Three numbers of a unit in c: sums of what came in, of their weights, and the scale of both (sLSTM: Beck et al. 2024).
struct OfThreeParts {
  static constexpr const char* name = "slstm";
  static constexpr bool has_c = true;
  static constexpr int c_parts = 3;
  explicit OfThreeParts(const LayerScope& scope)
      : weight(scope.add("weight_ih", {3 * scope.hidden, scope.input}).var()) {}
  RecurrentVars step(const Var& x, const Var&, const RecurrentVars& before) const {
    const Vars sums = chunk(linear(x, weight), 3, 1), state = chunk(before.c, 3, 1);
    const Var log_f = state[2] - softplus(-sums[1]);
    const Var m = maximum(log_f, sums[0]), i = exp(sums[0] - m), f = exp(log_f - m);
    const Var c = f * state[0] + i * tanh(sums[2]), n = f * state[1] + i;
    return {c / n, concat({c, n, m}, 1)};
  }
  Var weight;
};

}  // namespace

TEST_CASE("a cell with several numbers of a unit in c is differentiated with all that stands around it") {
  const RecurrentConfig plain{.input = 3, .hidden = 3, .layers = 2};
  const auto with = [&](auto change) {
    RecurrentConfig c = plain;
    change(c);
    return c;
  };
  for (const RecurrentConfig& config :
       {plain, with([](auto& c) { c.dropout = 0.4f, c.residual = true; }),
        with([](auto& c) { c.zoneout_h = 0.3f; }), with([](auto& c) { c.bidirectional = true; })}) {
    ParameterSet params(17);
    const Recurrent<OfThreeParts> layers(params / "cell", config);
    const RecurrentState zero = layers.zero_state(3);
    CHECK(zero.c.dim(2) == 9);
    const IdTensor resets = ids({4, 3}, {0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0});
    CHECK(gradcheck("slstm", params, {{4, 3, 3}, zero.h.shape()},
                    [&](auto& v) {
                      const auto out = layers(v[0], {v[1], zero.c}, {ids({3}, {4, 0, 3})}, resets);
                      return std::vector<Var>{out.y, out.state.h, out.state.c};
                    },
                    {.seeds = 1}));
  }
  // A row is what it is alone, and a state goes on where it stopped.
  ParameterSet params(4);
  const Recurrent<OfThreeParts> layers(params / "cell", plain);
  RandomStream random(6, "x");
  const Var x = random_tensor({5, 2, 3}, random);
  const auto padded = layers(x, layers.zero_state(2), {ids({2}, {5, 3})});
  const auto first = layers(slice(slice(x, 0, 0, 2), 1, 1, 2), layers.zero_state(1));
  const auto rest = layers(slice(slice(x, 0, 2, 3), 1, 1, 2), first.state);
  CHECK(distance(slice(padded.state.c, 1, 1, 2).value(), rest.state.c.value()) < 1e-14);
  CHECK(distance(slice(padded.state.h, 1, 1, 2).value(), rest.state.h.value()) < 1e-14);
  ParameterSet others;
  CHECK(lacks(error_of([&] {
                Recurrent<OfThreeParts>(others / "a", {.input = 2, .hidden = 2, .zoneout_c = 0.5f});
              }),
              {"slstm", "zoneout_c", "3 numbers"}) == "");
  CHECK(lacks(error_of([&] {
                layers(x, {Tensor::zeros({2, 2, 3}), Tensor::zeros({2, 2, 3})});
              }),
              {"slstm", "[2, 2, 3]", "[2, 2, 9]"}) == "");
}

TEST_CASE("a cell without a recurrent matrix has all options but those that act in its product") {
  ParameterSet params;
  const Recurrent<WithoutMatrix> layer(
      params / "layer", {.input = 3, .hidden = 3, .layers = 2, .residual = true, .bidirectional = false});
  CHECK(gradcheck("min_gru", params, {{4, 2, 3}}, [&](auto& v) {
    return layer(v[0], layer.zero_state(2), {ids({2}, {4, 2})}).y;
  }));
  ParameterSet others;
  CHECK(lacks(error_of([&] {
                Recurrent<WithoutMatrix>(others / "a", {.input = 2, .hidden = 2, .weight_drop = 0.5f});
              }),
              {"min_gru", "weight_drop 0.5", "product"}) == "");
  CHECK(lacks(error_of([&] {
                Recurrent<WithoutMatrix>(others / "b", {.input = 2, .hidden = 2, .recurrent_dropout = 0.25f});
              }),
              {"min_gru", "recurrent_dropout 0.25"}) == "");
}

// The GRU: gradients, engines, and what it shares with the LSTM. The suite gru is compiled in double,
// gru_float in float.
#include "layers/recurrent/gru.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support.h"
#ifdef UNROLL_DOUBLE
#include "framework/gradcheck.h"
#endif

using namespace unroll;

namespace {

constexpr Engine engines[] = {Engine::fused, Engine::composed};

struct Case {
  RecurrentConfig config;
  int steps = 3, batch = 2;
  bool padded = false;

  std::vector<Shape> shapes() const {  // x and h0
    return {{steps, batch, config.input}, {config.layers * config.directions(), batch, config.hidden}};
  }
  Lengths lengths() const {
    if (!padded) return {};
    IdTensor result({batch});
    for (int b = 0; b < batch; ++b) result.data()[b] = (7 * b + steps - 1) % (steps + 1);
    return {result, Padding::before};
  }
  std::string name() const {
    const RecurrentConfig& c = config;
    return fmt::format(
        "{} gru {}->{} layers {} steps {} batch {} dropout {} recurrent {} weight {} zoneout {}{}{}{}",
        name_of(c.engine), c.input, c.hidden, c.layers, steps, batch, c.dropout, c.recurrent_dropout,
        c.weight_drop, c.zoneout_h, padded ? " padded" : "", c.residual ? " residual" : "",
        c.bidirectional ? " bidirectional" : "");
  }
};

Case random_case(RandomStream& random, uint32_t largest) {
  const auto size = [&] { return static_cast<int>(1 + random.below(largest)); };
  const auto chance = [&] { return random.below(2) == 0; };
  const auto rate = [&] { return chance() ? 0.f : 0.1f + 0.6f * static_cast<float>(random.uniform()); };
  Case c{.config = {.input = size(), .hidden = size(), .layers = size() > 1 ? 2 : 1},
         .steps = size(),
         .batch = size(),
         .padded = chance()};
  if (c.config.layers > 1) {
    c.config.dropout = rate(), c.config.locked_dropout = c.config.dropout > 0 && chance();
    c.config.residual = chance();
  }
  c.config.recurrent_dropout = rate();
  c.config.weight_drop = rate();
  c.config.zoneout_h = rate();
  c.config.bidirectional = chance();
  return c;
}

}  // namespace

#ifdef UNROLL_DOUBLE

TEST_CASE("both engines are differentiated, plain and with options together") {
  RandomStream random(4, "cases");
  for (int i = 0; i < (on_gpu() ? 15 : 60); ++i)  // launches cost there
    for (Engine engine : engines) {
      Case c = i == 0 ? Case{.config = {.input = 3, .hidden = 4, .layers = 2}, .steps = 4, .batch = 3}
                      : random_case(random, 3);
      c.config.engine = engine;
      const bool dropout = i % 4 > 0;
      ParameterSet params(17);
      const Gru gru(params / "gru", c.config);
      const Lengths lengths = c.lengths();
      CHECK(gradcheck(c.name(), params, c.shapes(),
                      [&](auto& v) {
                        const auto out = gru(v[0], {v[1]}, lengths);
                        return std::vector<Var>{out.y, out.state.h};
                      },
                      {.seeds = 1, .elements = i == 0 ? 0 : 6, .dropout = dropout, .twice = !dropout}));
    }
}

TEST_CASE("a GRU computes its equations, gates in the order r z n") {
  const auto s = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (Engine engine : engines) {
    ParameterSet params(3);
    const Gru gru(params / "gru", {.input = 1, .hidden = 1, .engine = engine});
    const auto value = [&](const char* name) {
      return params.find(std::string("gru.") + name + "_l0")->leaf_value().to_host();
    };
    const auto ih = value("weight_ih"), hh = value("weight_hh"), b = value("bias"), bn = value("bias_hn");
    double h = -0.5;
    const auto out = gru(tensor({2, 1, 1}, {1.5, -1}), {tensor({1, 1, 1}, {h})});
    for (int t = 0; t < 2; ++t) {
      const double x = t ? -1 : 1.5;
      const double r = s(ih[0] * x + b[0] + hh[0] * h), z = s(ih[1] * x + b[1] + hh[1] * h);
      const double n = std::tanh(ih[2] * x + b[2] + r * (hh[2] * h + bn[0]));
      h = (1 - z) * n + z * h;
      CHECK(values(out.y)[t] == doctest::Approx(h).epsilon(1e-14));
    }
    CHECK(values(out.state.h)[0] == doctest::Approx(h).epsilon(1e-14));
  }
}

#endif

// Each engine computes sums of at most n terms in its own order; 16 such sums deep, with slopes of at most 1
// and sums of at most n terms back, rounding stays below what is asked here, far below any other difference.
TEST_CASE("fused and composed agree, forward and backward, with the same masks") {
  RandomStream random(5, "cases");
  for (int i = 0; i < 100; ++i) {
    Case c = random_case(random, 6);
    CAPTURE(c.name());
    std::vector<std::vector<Tensor>> results;
    for (Engine engine : engines) {
      c.config.engine = engine;
      ParameterSet params(17);
      const Gru gru(params / "gru", c.config);
      RandomStream data(static_cast<uint64_t>(i), "data");
      const Tensor of_x = random_tensor(c.shapes()[0], data), of_h = random_tensor(c.shapes()[1], data);
      Tape tape;
      const Var x = tape.watch(of_x), h = tape.watch(of_h);
      const auto out = gru(x, {h}, c.lengths());
      const Tensor dy = random_tensor(out.y.shape(), data), dh = random_tensor(out.state.h.shape(), data);
      std::vector<Tensor> result = {out.y.value(), out.state.h.value()};
      tape.backward(sum(out.y * Var(dy)) + sum(out.state.h * Var(dh)));
      params.complete_gradients();
      result.insert(result.end(), {x.grad(), h.grad(), params.gradients().clone()});
      results.push_back(result);
    }
    for (size_t k = 0; k < results[0].size(); ++k) {
      double largest = 1;
      for (const real v : results[1][k].on_host())
        largest = std::max(largest, std::abs(static_cast<double>(v)));
      CHECK(distance(results[0][k], results[1][k]) < 1000 * std::numeric_limits<real>::epsilon() * largest);
    }
  }
}

// Its bits on a CPU. On a device a product of one row may sum in another order than that of a batch, which is as far off as two
// engines are (above).
TEST_CASE("a padded batch gives a GRU row by row what the rows give alone") {
  constexpr int steps = 4, input = 3, hidden = 5;
  const std::vector<int32_t> lengths = {4, 1, 3};
  for (Engine engine : engines) {
    ParameterSet params(8);
    const Gru gru(params / "gru",
                  {.input = input, .hidden = hidden, .layers = 2, .bidirectional = true, .engine = engine});
    RandomStream random(9, "x");
    const Tensor x = random_tensor({steps, 3, input}, random), h = random_tensor({4, 3, hidden}, random);
    for (int b = 0; b < 3; ++b)
      for (int t = lengths[static_cast<size_t>(b)]; t < steps; ++t)
        x[t][b].fill(std::numeric_limits<real>::quiet_NaN());
    Tape tape;
    const Var vx = tape.watch(x), vh = tape.watch(h);
    const auto all = gru(vx, {vh}, {ids({3}, lengths)});
    const auto row_of = [](const Tensor& whole, int b) { return slice(whole, 1, b, b + 1).value(); };
    for (int b = 0; b < 3; ++b) {
      const auto part = [&](const Tensor& whole) {
        return row_of(whole.slice(0, lengths[static_cast<size_t>(b)]), b);
      };
      const auto one = gru(part(x), {row_of(h, b)});
      const auto check_equal = [](const Tensor& x, const Tensor& y) {
        if (on_gpu())
          CHECK(distance(x, y) <
                1000 * std::numeric_limits<real>::epsilon());  // of numbers that are at most 1
        else
          CHECK(same_bits(x, y));
      };
      check_equal(part(all.y.value()), one.y.value());
      check_equal(row_of(all.state.h.value(), b), one.state.h.value());
    }
    tape.backward(sum(all.y) + sum(all.state.h));
    for (const Tensor& d : {vx.grad(), vh.grad()})
      CHECK(std::ranges::none_of(d.to_host(), [](real v) { return std::isnan(v); }));
    params.complete_gradients();
    CHECK(std::ranges::none_of(params.gradients().to_host(), [](real v) { return std::isnan(v); }));
  }
}

TEST_CASE("a GRU names its parameters, and its state crosses windows as values") {
  ParameterSet params;
  // The engine that promises the same bits wherever a window ends; of cuDNN nobody knows.
  const Gru gru(params / "gru", {.input = 3, .hidden = 4, .layers = 2, .engine = Engine::fused});
  std::vector<std::string> found;
  for (const auto& p : params.all())
    found.push_back(p->name + " " + p->shape.text() + (p->decay ? "" : " no decay"));
  CHECK(found == std::vector<std::string>{"gru.weight_ih_l0 [12, 3]", "gru.weight_hh_l0 [12, 4]",
                                          "gru.bias_l0 [12] no decay", "gru.bias_hn_l0 [4] no decay",
                                          "gru.weight_ih_l1 [12, 4]", "gru.weight_hh_l1 [12, 4]",
                                          "gru.bias_l1 [12] no decay", "gru.bias_hn_l1 [4] no decay"});
  RandomStream random(1, "x");
  const Tensor x =
      random_tensor({6, 2, 3}, random);  // windows of fewer than 3 steps have other products on a GPU
  RecurrentState state = gru.zero_state(2);
  Tape tape;
  const auto first = gru(x.slice(0, 3), state);
  state = first.state;
  const auto second = gru(x.slice(3, 6), state);
  CHECK(same_bits(second.y.value(), gru(x, gru.zero_state(2)).y.value().slice(3, 6)));
  tape.backward(sum(second.y));
}

TEST_CASE("what a GRU cannot do is an error in its own name") {
  ParameterSet params;
  const auto build = [&](const RecurrentConfig& config) {
    return error_of([&] { Gru(params / "gru", config); });
  };
  CHECK(lacks(build({.input = 0, .hidden = 3}), {"gru", "input 0"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .zoneout_h = 1}), {"gru: zoneout_h 1"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .residual = true}), {"gru: residual", "layers above 1"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .zoneout_h = 0.5f, .engine = Engine::cudnn}),
              {"cudnn", "fused"}) == "");
  CHECK(params.all().empty());
  const Gru gru(params / "gru", {.input = 2, .hidden = 3});
  CHECK(lacks(error_of([&] {
                gru(Var(Tensor::zeros({4, 2, 2})), {Tensor::zeros({1, 3, 3})});
              }),
              {"gru", "[1, 3, 3]", "[1, 2, 3]"}) == "");
  CHECK(lacks(error_of([&] {
                gru(Var(Tensor::zeros({4, 2, 1})), gru.zero_state(2));
              }),
              {"gru", "[4, 2, 1]"}) == "");
}

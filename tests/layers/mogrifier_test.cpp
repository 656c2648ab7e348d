// The mogrifier: PyTorch's numbers, where its rounds begin and what they leave alone, and what does not change without them. With
// the other options together, engines and gradients: the suites over the table of options.
#include "layers/recurrent/mogrifier.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/gradcheck.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "layers/recurrent/recurrent_layer.h"
#include "layers/recurrent/rnn.h"
#include "layers/stepper.h"
#include "tests/reference.h"

using namespace unroll;

namespace {

constexpr Engine engines[] = {Engine::fused, Engine::composed};

double gate_of(double sum) { return 2 / (1 + std::exp(-sum)); }

}  // namespace

TEST_CASE(
    "two layers give PyTorch's values and gradients, with full matrices and products, odd rounds and even") {
  const Json& file = reference("mogrifier.json");
  Worst worst;
  for (const Engine engine : engines)
    for (const auto& [name, c] : file.at("cases").items()) {
      ParameterSet params;
      const Lstm lstm(params / "lstm", {.input = file.at("input"),
                                        .hidden = file.at("hidden"),
                                        .layers = file.at("layers"),
                                        .mogrifier = c.at("rounds"),
                                        .mogrifier_rank = c.at("rank"),
                                        .engine = engine});
      REQUIRE(params.all().size() == c.at("parameters").size());
      const auto own = [](const auto& p) { return p->name.substr(5); };
      for (const auto& p : params.all()) p->leaf_value().copy_from(tensor_of(c.at("parameters").at(own(p))));
      const auto tensor = [&, &c = c](const char* of) { return tensor_of(c.at(of)); };
      Tape tape;
      const Var x = tape.watch(tensor("x")), h0 = tape.watch(tensor("h0")), c0 = tape.watch(tensor("c0"));
      const auto [y, last] = lstm(x, {h0, c0});
      tape.backward(sum(y * Var(tensor("dy"))) + sum(last.h * Var(tensor("dhn"))) +
                    sum(last.c * Var(tensor("dcn"))));
      // Sums of at most 15 numbers of order 1 in another order, through 10 steps: elements below 0.01 count as that.
      const auto compare = [&, &c = c, &name = name](const char* of, const Tensor& found) {
        worst(relative(found, c.at(of), 1e-2), fmt::format("{} {} {}", name_of(engine), name, of));
      };
      compare("y", y.value()), compare("hn", last.h.value()), compare("cn", last.c.value());
      compare("dx", x.grad()), compare("dh0", h0.grad()), compare("dc0", c0.grad());
      for (const auto& p : params.all())
        worst(relative(p->node.gradient.value(p->shape), c.at("gradients").at(own(p)), 1e-2),
              fmt::format("{} {} gradient of {}", name_of(engine), name, own(p)));
    }
  CHECK_MESSAGE(worst.error < 1e-11, worst.text());
}

TEST_CASE("each round's weights have a name, a shape and first values as those of the layer") {
  for (const int rank : {0, 2}) {
    ParameterSet params(3);
    const Gru gru(params / "gru",
                  {.input = 3, .hidden = 4, .mogrifier = 3, .mogrifier_rank = rank, .bidirectional = true});
    std::vector<std::string> found, expected;
    for (const auto& p : params.all()) {
      const std::string name = p->name.substr(4);
      if (!name.starts_with("mogrifier_")) continue;
      found.push_back(name + " " + p->shape.text());
      CHECK(p->decay);
      double largest = 0;
      for (const real v : p->leaf_value().span()) largest = std::max(largest, std::abs(v));
      CHECK(largest <= 0.5);  // 1/√4
      CHECK(largest > 0.1);   // of six numbers or more: less with a probability below 0.2⁶
    }
    for (const std::string suffix : {"_l0", "_l0_reverse"})
      for (const auto& [name, scaled, seen] :
           {std::tuple{"mogrifier_q1", 3, 4}, {"mogrifier_r2", 4, 3}, {"mogrifier_q3", 3, 4}}) {
        if (rank) {
          expected.push_back(fmt::format("{}_left{} [{}, {}]", name, suffix, scaled, rank));
          expected.push_back(fmt::format("{}_right{} [{}, {}]", name, suffix, rank, seen));
        } else {
          expected.push_back(fmt::format("{}{} [{}, {}]", name, suffix, scaled, seen));
        }
      }
    CHECK(found == expected);
  }
}

TEST_CASE("the rounds begin with h as recurrent dropout leaves it") {
  constexpr int batch = 40;
  for (const Engine engine : engines) {
    RecurrentConfig config{.input = 2, .hidden = 1, .mogrifier = 3, .engine = engine};
    ParameterSet params(3), same(3);
    const Rnn whole(params / "rnn", config);
    config.recurrent_dropout = 0.5f;
    const Rnn dropped(same / "rnn", config);
    params.initialize(Init::uniform(-2, 2)), same.initialize(Init::uniform(-2, 2));
    RandomStream random(1, "x");
    const Tensor x = random_tensor({1, batch, 2}, random), h = random_tensor({1, batch, 1}, random, 0.5, 1);
    const auto y_from = [&](real factor) { return whole(x, {Var(h) * factor, {}}).y.value(); };
    const Tensor none = y_from(0), twice = y_from(2);  // a factor of the mask: 0, or 1 / (1 - 0.5)
    Tape tape;
    const Tensor y = dropped(x, {Var(h), {}}).y.value();
    int dropped_rows = 0;
    for (int b = 0; b < batch; ++b) {
      const double at = y.span()[b], off_none = std::abs(at - none.span()[b]),
                   off_twice = std::abs(at - twice.span()[b]);
      CHECK(std::min(off_none, off_twice) < 1e-14);
      dropped_rows += off_none < off_twice;
    }
    CHECK(dropped_rows > 0);
    CHECK(dropped_rows < batch);
  }
}

TEST_CASE("what the rounds scale enters products alone: a GRU mixes with the state before") {
  const auto s = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (const Engine engine : engines) {
    ParameterSet params(3);
    const Gru gru(params / "gru", {.input = 1, .hidden = 1, .mogrifier = 2, .engine = engine});
    params.initialize(Init::uniform(-2, 2));
    const auto value = [&](const char* name) {
      return params.find(fmt::format("gru.{}_l0", name))->leaf_value().to_host();
    };
    const auto ih = value("weight_ih"), hh = value("weight_hh"), b = value("bias"), bn = value("bias_hn"),
               q = value("mogrifier_q1"), r = value("mogrifier_r2");
    double h = -0.5;
    const auto out = gru(tensor({2, 1, 1}, {1.5, -1}), {tensor({1, 1, 1}, {h}), {}});
    for (int t = 0; t < 2; ++t) {
      double x = t ? -1 : 1.5, seen = h;
      x *= gate_of(q[0] * seen);
      seen *= gate_of(r[0] * x);
      const double reset = s(ih[0] * x + b[0] + hh[0] * seen), z = s(ih[1] * x + b[1] + hh[1] * seen),
                   n = std::tanh(ih[2] * x + b[2] + reset * (hh[2] * seen + bn[0]));
      h = (1 - z) * n + z * h;
      CHECK(values(out.y)[t] == doctest::Approx(h).epsilon(1e-14));
    }
  }
}

TEST_CASE("gates of zeros leave every bit of every cell") {
  RandomStream random(9, "x");
  const Tensor x = random_tensor({4, 3, 3}, random);
  for (const CellFacts& cell : our_cells)
    for (const Engine engine : engines)
      for (const int rank : {0, 2}) {
        RecurrentConfig config{.input = 3, .hidden = 5, .layers = 2, .engine = engine};
        ParameterSet params(8), same(8);
        const RecurrentLayer plain(params / "layer", cell.kind, config);
        config.mogrifier = 4, config.mogrifier_rank = rank;
        const RecurrentLayer layer(same / "layer", cell.kind, config);
        CHECK_FALSE(
            same_bits(layer(x, layer.zero_state(3)).y.value(), plain(x, plain.zero_state(3)).y.value()));
        for (const auto& p : same.all())
          if (p->name.find("mogrifier") != std::string::npos) p->leaf_value().fill(0);
        CHECK(same_bits(layer(x, layer.zero_state(3)).y.value(), plain(x, plain.zero_state(3)).y.value()));
      }
}

TEST_CASE("gradients of a GRU and a plain network, whose widths and rank are all different") {
  for (const CellKind cell : {CellKind::gru, CellKind::rnn})
    for (const Engine engine : engines)
      for (const int rounds : {1, 4, 5}) {
        ParameterSet params(17);
        const RecurrentLayer layer(params / "layer", cell,
                                   {.input = 2,
                                    .hidden = 4,
                                    .layers = 2,
                                    .recurrent_dropout = 0.3f,
                                    .mogrifier = rounds,
                                    .mogrifier_rank = rounds == 4 ? 0 : 3,
                                    .engine = engine});
        params.initialize(Init::uniform(-0.6f, 0.6f));
        CHECK(gradcheck(fmt::format("{} {} {}", name_of(engine), facts_of(cell).name, rounds), params,
                        {{3, 2, 2}, {2, 2, 4}}, [&](auto& v) {
                          const auto out = layer(v[0], {v[1], {}});
                          return std::vector<Var>{out.y, out.state.h};
                        }));
      }
}

TEST_CASE(
    "a padded batch gives row by row the bits that the rows give alone, and a stepper goes the same way") {
  constexpr int steps = 4, batch = 3;
  const std::vector<int32_t> lengths = {4, 2, 3};
  for (const CellFacts& cell : our_cells)
    for (const Engine engine : engines) {
      ParameterSet params(8);
      const RecurrentLayer layer(
          params / "layer", cell.kind,
          {.input = 3, .hidden = 5, .layers = 2, .mogrifier = 5, .mogrifier_rank = 2, .engine = engine});
      RandomStream random(9, "x");
      const Tensor x = random_tensor({steps, batch, 3}, random);
      for (int b = 0; b < batch; ++b)
        for (int t = lengths[static_cast<size_t>(b)]; t < steps; ++t)
          x[t][b].fill(std::numeric_limits<real>::quiet_NaN());
      const Tensor y = layer(x, layer.zero_state(batch), {ids({batch}, lengths)}).y.value();
      for (int b = 0; b < batch; ++b) {
        const auto part = [&](const Tensor& whole) {
          return slice(whole.slice(0, lengths[static_cast<size_t>(b)]), 1, b, b + 1).value();
        };
        CHECK(same_bits(part(y), layer(part(x), layer.zero_state(1)).y.value()));
      }
      CHECK(layer.plain_step_room() == 0);
      Stepper step(layer);
      for (int t = 0; t < steps; ++t)
        CHECK(distance(step(x[t].slice(0, 1)), y[t].slice(0, 1)) < 1e-14);  // sums of 5 numbers below 1
    }
}

TEST_CASE("rounds and ranks that make no sense are errors that say why") {
  ParameterSet params;
  const auto build = [&](int rounds, int rank) {
    return error_of(
        [&] { Gru(params / "gru", {.input = 2, .hidden = 3, .mogrifier = rounds, .mogrifier_rank = rank}); });
  };
  CHECK(build(-1, 0) == "gru: mogrifier -1 must not be negative");
  CHECK(build(0, 2) == "gru: mogrifier_rank is about the rounds of a mogrifier, and mogrifier is 0");
  CHECK(lacks(build(5, 3), {"mogrifier_rank (3)", "less than hidden (3)"}) == "");
  CHECK(params.all().empty());
}

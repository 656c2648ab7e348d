// The LSTM: gradients of both engines, and state in and out.
#include "layers/recurrent/lstm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/gradcheck.h"
#include "framework/ops.h"
#include "tests/support.h"

using namespace unroll;

namespace {

constexpr Engine engines[] = {Engine::fused, Engine::composed};

std::vector<Var> all_of(const Lstm::Output& out) { return {out.y, out.state.h, out.state.c}; }

// x, h0 and c0
std::vector<Shape> shapes(int steps, int batch, const RecurrentConfig& c) {
  return {{steps, batch, c.input}, {c.layers, batch, c.hidden}, {c.layers, batch, c.hidden}};
}

std::string described(const RecurrentConfig& c, int steps, int batch) {
  return fmt::format("{} lstm {}->{} layers {} steps {} batch {} dropout {}", name_of(c.engine), c.input,
                     c.hidden, c.layers, steps, batch, c.dropout);
}

}  // namespace

// --- gradients ---------------------------------------------------------------------------------------------

TEST_CASE("both engines are differentiated with respect to parameters, input and initial state") {
  struct Case {
    int input, hidden, layers, steps, batch;
  };
  for (Engine engine : engines)
    for (const auto& [input, hidden, layers, steps, batch] :
         {Case{1, 1, 1, 1, 1}, Case{3, 2, 1, 1, 2}, Case{1, 3, 1, 4, 1}, Case{3, 5, 1, 2, 3},
          Case{2, 3, 2, 3, 1}, Case{5, 1, 2, 5, 2}, Case{3, 3, 3, 1, 1}, Case{1, 2, 3, 4, 3},
          Case{3, 7, 2, 2, 2}}) {
      const RecurrentConfig config{.input = input, .hidden = hidden, .layers = layers, .engine = engine};
      ParameterSet params(11);
      const Lstm lstm(params / "lstm", config);
      CHECK(gradcheck(described(config, steps, batch), params, shapes(steps, batch, config),
                      [&](auto& v) {
                        return all_of(lstm(v[0], {v[1], v[2]}));
                      },
                      {.seeds = 2}));
    }
}

TEST_CASE("both engines are differentiated when only one of their three outputs is used") {
  for (Engine engine : engines)
    for (int which : {0, 1, 2}) {
      const RecurrentConfig config{.input = 3, .hidden = 2, .layers = 2, .engine = engine};
      ParameterSet params(12);
      const Lstm lstm(params / "lstm", config);
      CHECK(gradcheck(fmt::format("output {} of {}", which, described(config, 3, 2)), params,
                      shapes(3, 2, config),
                      [&](auto& v) {
                        return all_of(lstm(v[0], {v[1], v[2]}))[which];
                      },
                      {.seeds = 2}));
    }
}

TEST_CASE("both engines are differentiated with dropout between layers") {
  for (Engine engine : engines)
    for (int layers : {2, 3}) {
      const RecurrentConfig config{
          .input = 3, .hidden = 5, .layers = layers, .dropout = 0.4f, .engine = engine};
      ParameterSet params(13);
      const Lstm lstm(params / "lstm", config);
      // the masks count the layer's calls on a tape, so a second call differs from the first
      CHECK(gradcheck(described(config, 4, 2), params, shapes(4, 2, config),
                      [&](auto& v) {
                        return all_of(lstm(v[0], {v[1], v[2]}));
                      },
                      {.seeds = 2, .dropout = true, .twice = false}));
    }
}

TEST_CASE("both engines are differentiated from a state of zeros that nothing depends on") {
  for (Engine engine : engines) {
    const RecurrentConfig config{.input = 3, .hidden = 3, .layers = 2, .engine = engine};
    ParameterSet params(14);
    const Lstm lstm(params / "lstm", config);
    const RecurrentState zero = lstm.zero_state(2);
    CHECK(gradcheck(described(config, 3, 2), params, {{3, 2, 3}},
                    [&](auto& v) { return all_of(lstm(v[0], zero)); }));
  }
}

TEST_CASE("both engines are differentiated where the gates are saturated") {
  for (Engine engine : engines) {
    const RecurrentConfig config{.input = 2, .hidden = 3, .engine = engine};
    ParameterSet params(15);
    const Lstm lstm(params / "lstm", config);
    params.initialize(Init::uniform(-6, 6));
    CHECK(gradcheck(described(config, 3, 2), params, shapes(3, 2, config),
                    [&](auto& v) {
                      return all_of(lstm(v[0], {v[1], v[2]}));
                    },
                    {.magnitude = 20}));
  }
}

// --- values ------------------------------------------------------------------------------------------------

TEST_CASE("the LSTM computes its equations, gates in the order i f g o") {
  const auto s = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (Engine engine : engines) {
    ParameterSet params;
    const Lstm lstm(params / "lstm", {.input = 1, .hidden = 1, .engine = engine});
    params.values();
    params.find("lstm.weight_ih_l0")->leaf_value().copy_from(tensor({4, 1}, {0.5, -0.25, 1, 0.75}));
    params.find("lstm.weight_hh_l0")->leaf_value().copy_from(tensor({4, 1}, {-1, 0.5, 0.25, 2}));
    params.find("lstm.bias_l0")->leaf_value().copy_from(tensor({4}, {0.1, 0.2, -0.3, 0.4}));
    double h = 0.5, c = -0.25;
    const auto out =
        lstm(tensor({2, 1, 1}, {2, -1}), {Var(tensor({1, 1, 1}, {h})), Var(tensor({1, 1, 1}, {c}))});
    for (int t = 0; t < 2; ++t) {
      const double x = t == 0 ? 2 : -1;
      const double i = s(0.5 * x - h + 0.1), f = s(-0.25 * x + 0.5 * h + 0.2),
                   g = std::tanh(x + 0.25 * h - 0.3);
      const double o = s(0.75 * x + 2 * h + 0.4);
      c = f * c + i * g;
      h = o * std::tanh(c);
      CHECK(values(out.y)[t] == doctest::Approx(h).epsilon(1e-14));
    }
    CHECK(values(out.state.h)[0] == doctest::Approx(h).epsilon(1e-14));
    CHECK(values(out.state.c)[0] == doctest::Approx(c).epsilon(1e-14));
  }
}

TEST_CASE("parameters have the field's names, one bias per gate, and biases do not decay") {
  ParameterSet params;
  // (With the engine cudnn the biases lie behind all matrices.)
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 5, .layers = 2, .engine = Engine::fused});
  std::vector<std::string> found;
  for (const auto& p : params.all())
    found.push_back(p->name + " " + p->shape.text() + (p->decay ? "" : " no decay"));
  CHECK(found == std::vector<std::string>{"lstm.weight_ih_l0 [20, 3]", "lstm.weight_hh_l0 [20, 5]",
                                          "lstm.bias_l0 [20] no decay", "lstm.weight_ih_l1 [20, 5]",
                                          "lstm.weight_hh_l1 [20, 5]", "lstm.bias_l1 [20] no decay"});
}

TEST_CASE("forget_bias is added to the forget gate's first bias and to nothing else") {
  constexpr int hidden = 5;
  ParameterSet plain(3), biased(3);
  const Lstm a(plain / "lstm", {.input = 2, .hidden = hidden, .layers = 2});
  const Lstm b(biased / "lstm", {.input = 2, .hidden = hidden, .layers = 2, .forget_bias = 1});
  plain.values(), biased.values();
  for (const auto& p : plain.all()) {
    const Tensor other = biased.find(p->name)->leaf_value();
    const bool bias = p->name.find("bias") != std::string::npos;
    for (int64_t i = 0; i < p->size(); ++i) {
      const double difference = other.on_host()[i] - p->leaf_value().on_host()[i];
      CHECK(difference == doctest::Approx(bias && i >= hidden && i < 2 * hidden ? 1 : 0).epsilon(1e-6));
    }
  }
}

// --- state -------------------------------------------------------------------------------------------------

TEST_CASE("state passed on as RecurrentVars keeps the gradient across windows, as from encoder to decoder") {
  for (Engine engine : engines) {
    const RecurrentConfig config{.input = 2, .hidden = 3, .layers = 2, .engine = engine};
    ParameterSet params(21);
    const Lstm encoder(params / "encoder", config), decoder(params / "decoder", config);
    CHECK(
        gradcheck("encoder and decoder", params, {{3, 2, 2}, {2, 2, 2}, {2, 2, 3}, {2, 2, 3}}, [&](auto& v) {
          return all_of(decoder(v[1], encoder(v[0], {v[2], v[3]}).state));
        }));
    // the same layer over two windows on one tape is the layer over one window of both
    RandomStream random(5, "x");
    const Tensor x = random_tensor({5, 2, 2}, random), weights = random_tensor({5, 2, 3}, random);
    const auto gradient_of_x = [&](bool split) {
      params.spend_gradients();
      Tape tape;
      const Var in = tape.watch(x);
      Var y;
      if (split) {
        const auto first = encoder(slice(in, 0, 0, 2), encoder.zero_state(2));
        y = concat({first.y, encoder(slice(in, 0, 2, 5), first.state).y}, 0);
      } else {
        y = encoder(in, encoder.zero_state(2)).y;
      }
      tape.backward(sum(y * Var(weights)));
      params.complete_gradients();
      std::vector<Tensor> result = {y.value(), in.grad()};
      for (const auto& p : params.all()) result.push_back(p->node.gradient.value(p->shape).clone());
      return result;
    };
    const auto one = gradient_of_x(false), two = gradient_of_x(true);
    // sums of at most 20 terms of order 1
    for (size_t i = 0; i < one.size(); ++i) CHECK(distance(one[i], two[i]) < 2 * 20 * 2.3e-16 * 10);
  }
}

TEST_CASE("state passed on as RecurrentState carries the values and drops the gradient") {
  for (Engine engine : engines) {
    ParameterSet params(22);
    const Lstm lstm(params / "lstm", {.input = 2, .hidden = 3, .layers = 2, .engine = engine});
    RandomStream random(6, "x");
    const Tensor x1 = random_tensor({3, 2, 2}, random), x2 = random_tensor({4, 2, 2}, random);
    RecurrentState state = lstm.zero_state(2);
    CHECK(std::ranges::all_of(state.h.to_host(), [](real v) { return v == 0; }));
    const real* buffer = state.h.data();

    Tape tape;
    const Var a = tape.watch(x1), b = tape.watch(x2);
    const auto first = lstm(a, state);
    state = first.state;
    CHECK(same_bits(state.h, first.state.h.value()));
    CHECK(same_bits(state.c, first.state.c.value()));
    CHECK(state.h.data() == buffer);
    const auto second = lstm(b, state);
    tape.backward(sum(second.y));
    CHECK_FALSE(a.has_grad());
    CHECK(b.has_grad());

    NoTape guard;  // the values are those of one window over both
    const auto whole = lstm(concat({Var(x1), Var(x2)}, 0), lstm.zero_state(2));
    CHECK(distance(whole.y.value().slice(3, 7), second.y.value()) < 1e-15);
    state.reset();
    CHECK(std::ranges::all_of(state.h.to_host(), [](real v) { return v == 0; }));
    CHECK(std::ranges::all_of(state.c.to_host(), [](real v) { return v == 0; }));
  }
}

TEST_CASE("assigning the state before backward changes no gradient") {
  for (Engine engine : engines) {
    ParameterSet params(23);
    const Lstm lstm(params / "lstm", {.input = 2, .hidden = 3, .layers = 2, .engine = engine});
    RandomStream random(7, "x");
    const Tensor x = random_tensor({3, 2, 2}, random), h = random_tensor({2, 2, 3}, random),
                 c = random_tensor({2, 2, 3}, random);
    const auto gradients = [&](bool early) {
      params.spend_gradients();
      RecurrentState state{h.clone(), c.clone()};
      Tape tape;
      const auto out = lstm(x, state);
      if (early) state = out.state;
      tape.backward(sum(out.y));
      if (!early) state = out.state;
      params.complete_gradients();
      return params.gradients().clone();
    };
    CHECK(same_bits(gradients(false), gradients(true)));
  }
}

TEST_CASE("a window of one step at a time gives what one window of all gives") {
  for (Engine engine : engines) {
    ParameterSet params(24);
    const Lstm lstm(params / "lstm", {.input = 2, .hidden = 3, .layers = 3, .engine = engine});
    RandomStream random(8, "x");
    const Tensor x = random_tensor({6, 2, 2}, random);
    const Tensor whole = lstm(x, lstm.zero_state(2)).y.value();
    RecurrentState state = lstm.zero_state(2);
    for (int t = 0; t < 6; ++t) {
      const auto out = lstm(x.slice(t, t + 1), state);
      CHECK(distance(out.y.value()[0], whole[t]) < 1e-15);
      state = out.state;
    }
  }
}

// --- dropout -----------------------------------------------------------------------------------------------

TEST_CASE("dropout acts between layers, on a tape, anew with every step and every call") {
  for (Engine engine : engines) {
    ParameterSet params(25);
    const Lstm two(params / "two", {.input = 2, .hidden = 8, .layers = 2, .dropout = 0.5f, .engine = engine});
    RandomStream random(9, "x");
    const Tensor x = random_tensor({3, 2, 2}, random);
    const auto run = [&](const Lstm& lstm, TapeOptions options, int calls = 1) {
      Tape tape(options);
      Tensor y;
      for (int i = 0; i < calls; ++i) y = lstm(tape.watch(x), lstm.zero_state(2)).y.value();
      return y;
    };
    const Tensor plain = two(x, two.zero_state(2)).y.value();
    CHECK(same_bits(run(two, {.dropout = false}), plain));
    CHECK(same_bits(run(two, {}), run(two, {})));
    CHECK_FALSE(same_bits(run(two, {}), plain));
    CHECK_FALSE(same_bits(run(two, {}, 2), run(two, {})));
    const Tensor before = run(two, {});
    params.set_step(1);
    CHECK_FALSE(same_bits(run(two, {}), before));
  }
}

// --- errors ------------------------------------------------------------------------------------------------

TEST_CASE("input and state that do not fit are errors that name the shapes") {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 2, .hidden = 3, .layers = 2});
  const auto call = [&](const Shape& x, const Shape& h, const Shape& c) {
    return error_of([&] { lstm(Tensor::zeros(x), {Var(Tensor::zeros(h)), Var(Tensor::zeros(c))}); });
  };
  const Shape good{2, 4, 3};
  CHECK(call({5, 4, 2}, good, good) == "");
  CHECK(lacks(call({5, 4, 3}, good, good), {"lstm", "[5, 4, 3]", "2"}) == "");
  CHECK(lacks(call({5, 2}, good, good), {"lstm", "[5, 2]"}) == "");
  CHECK(lacks(call({0, 4, 2}, good, good), {"lstm", "[0, 4, 2]"}) == "");
  CHECK(lacks(call({5, 1, 2}, good, good), {"lstm", "[2, 4, 3]", "[2, 1, 3]", "[5, 1, 2]"}) == "");
  CHECK(lacks(call({5, 4, 2}, {1, 4, 3}, good), {"lstm", "[1, 4, 3]", "[2, 4, 3]"}) == "");
  CHECK(lacks(call({5, 4, 2}, good, {2, 4, 2}), {"lstm", "[2, 4, 2]", "[2, 4, 3]"}) == "");
  RecurrentState state = lstm.zero_state(4);
  CHECK_FALSE(error_of([&] {
                state = RecurrentVars{Var(Tensor::zeros({2, 3, 3})), Var(Tensor::zeros({2, 3, 3}))};
              }).empty());
}

TEST_CASE("a configuration that makes no sense is an error that names what is wrong") {
  ParameterSet params;
  const auto build = [&](const RecurrentConfig& config) {
    return error_of([&] { Lstm(params / "lstm", config); });
  };
  CHECK(lacks(build({.input = 0, .hidden = 3}), {"lstm", "input 0"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = -1}), {"lstm", "hidden -1"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .layers = 0}), {"lstm", "layers 0"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .dropout = 1}), {"lstm", "dropout 1"}) == "");
  CHECK(build({.input = 2, .hidden = 3, .dropout = 0.5f}) == "lstm: dropout needs layers above 1");
  CHECK(params.all().empty());
}

TEST_CASE("forget_bias is the forget gate's where gates are coupled, and in both directions") {
  ParameterSet plain(3), biased(3);
  RecurrentConfig config{.input = 2, .hidden = 5, .coupled_gates = true, .bidirectional = true};
  const Lstm a(plain / "lstm", config);
  config.forget_bias = 2;
  const Lstm b(biased / "lstm", config);
  for (const char* name : {"lstm.bias_l0", "lstm.bias_l0_reverse"})
    for (int i = 0; i < 15; ++i)
      CHECK(biased.at(name).leaf_value()(i) - plain.at(name).leaf_value()(i) ==
            doctest::Approx(i < 5 ? 2 : 0).epsilon(1e-6));
}

TEST_CASE("numbers of options that are not finite are refused") {
  ParameterSet params;
  constexpr float infinite = std::numeric_limits<float>::infinity();
  const auto build = [&](float cell_clip, float forget_bias) {
    const RecurrentConfig config{.input = 2, .hidden = 3, .cell_clip = cell_clip, .forget_bias = forget_bias};
    return error_of([&] { Lstm(params / "lstm", config); });
  };
  CHECK(build(infinite, 0) == "lstm: cell_clip inf is not a finite number");
  CHECK(build(0, -infinite) == "lstm: forget_bias -inf is not a finite number");
  CHECK(build(0, std::nanf("")) == "lstm: forget_bias nan is not a finite number");
}

TEST_CASE("counts and limits below 0, and a rank without a mogrifier or as wide as the layer, are refused") {
  ParameterSet params;
  const auto build = [&](const RecurrentConfig& config) {
    return error_of([&] { Lstm(params / "lstm", config); });
  };
  CHECK(build({.input = 2, .hidden = 3, .cell_clip = -1}) == "lstm: cell_clip -1 must not be negative");
  CHECK(build({.input = 2, .hidden = 3, .mogrifier = -1}) == "lstm: mogrifier -1 must not be negative");
  CHECK(lacks(build({.input = 2, .hidden = 3, .mogrifier_rank = 2}), {"mogrifier_rank", "mogrifier is 0"}) ==
        "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .mogrifier = 2, .mogrifier_rank = 3}),
              {"mogrifier_rank (3)", "hidden (3)"}) == "");
  CHECK(params.all().empty());
}

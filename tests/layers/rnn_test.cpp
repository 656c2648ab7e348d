// The plain network: gradients, engines, and what it shares with the other cells. The suite rnn is compiled in double, rnn_float
// in float.
#include "layers/recurrent/rnn.h"

#include <cmath>

#include "tests/layers/agreement.h"
#include "tests/layers/lstm_cases.h"
#ifdef UNROLL_DOUBLE
#include "framework/gradcheck.h"
#endif

using namespace unroll;

namespace {

constexpr int steps = 4, batch = 3;

// Plain, and every option alone, in windows with and without lengths.
template <class Use>
void each_case(Use use) {
  const RecurrentConfig plain{.input = 3, .hidden = 4, .layers = 2};
  std::vector<RecurrentConfig> all = options_alone(Rnn::facts, plain);
  all.push_back(plain);
  for (const RecurrentConfig& config : all)
    for (const Lengths& lengths : {Lengths{}, Lengths{ids({batch}, {4, 0, 2}), Padding::before}}) {
      std::string name = lengths.steps.defined() ? "rnn, padded" : "rnn";
      for (const RecurrentOption& option : recurrent_options)
        if (is_set(option, config)) name += fmt::format(", {} {}", option.name, value_of(option, config));
      use(name, config, lengths);
    }
}

}  // namespace

#ifdef UNROLL_DOUBLE

TEST_CASE("both engines are differentiated, plain and with each option") {
  each_case([](const std::string& name, RecurrentConfig config, const Lengths& lengths) {
    for (const Engine engine : {Engine::fused, Engine::composed})
      for (const bool dropout : {false, true}) {
        config.engine = engine;
        ParameterSet params(17);
        const Rnn rnn(params / "rnn", config);
        CHECK(gradcheck(fmt::format("{} {}", name_of(engine), name), params,
                        {{steps, batch, 3}, rnn.zero_state(batch).h.shape()},
                        [&](auto& v) {
                          const auto out = rnn(v[0], {v[1]}, lengths);
                          return std::vector<Var>{out.y, out.state.h};
                        },
                        {.seeds = 1, .dropout = dropout, .twice = !dropout}));
      }
  });
}

TEST_CASE("a plain network computes its equation, by either function") {
  for (const Engine engine : {Engine::fused, Engine::composed})
    for (const Unary f : plain_functions) {
      ParameterSet params(3);
      const Rnn rnn(params / "rnn", {.input = 1, .hidden = 1, .nonlinearity = f, .engine = engine});
      const auto value = [&](const char* name) {
        return params.find(std::string("rnn.") + name + "_l0")->leaf_value().data()[0];
      };
      double h = -0.5;
      const auto [y, last] = rnn(tensor({2, 1, 1}, {1.5, -1}), {tensor({1, 1, 1}, {h})});
      for (int t = 0; t < 2; ++t) {
        const double sum = value("weight_ih") * (t ? -1 : 1.5) + value("weight_hh") * h + value("bias");
        h = f == Unary::relu ? std::max(sum, 0.0) : std::tanh(sum);
        CHECK(values(y)[t] == doctest::Approx(h).epsilon(1e-14));
      }
      CHECK(values(last.h)[0] == doctest::Approx(h).epsilon(1e-14));
    }
}

#endif

TEST_CASE("fused and composed agree to rounding with each option, the masks being the same bits") {
  each_case([](const std::string& name, const RecurrentConfig& config, const Lengths& lengths) {
    const WindowCase window{.name = name,
                            .layer =
                                [=](ParameterSet& params, Engine engine) {
                                  RecurrentConfig c = config;
                                  c.engine = engine;
                                  return RecurrentLayer(params / "rnn", CellKind::rnn, c);
                                },
                            .steps = steps,
                            .batch = batch,
                            .lengths = lengths};
    check_agreement(window, {Window(window, Engine::fused).run()}, config.input, config.hidden, false);
  });
}

TEST_CASE("a plain network names its parameters") {
  ParameterSet params;
  const Rnn rnn(params / "rnn", {.input = 3, .hidden = 4});
  std::vector<std::string> found;
  for (const auto& p : params.all())
    found.push_back(p->name + " " + p->shape.text() + (p->decay ? "" : " no decay"));
  CHECK(found == std::vector<std::string>{"rnn.weight_ih_l0 [4, 3]", "rnn.weight_hh_l0 [4, 4]",
                                          "rnn.bias_l0 [4] no decay"});
  CHECK(lacks(error_of(
                  [&] { Rnn(params / "other", {.input = 3, .hidden = 4, .nonlinearity = Unary::sigmoid}); }),
              {"rnn: nonlinearity", "tanh, relu"}) == "");
}

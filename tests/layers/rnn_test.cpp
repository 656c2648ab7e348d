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

TEST_CASE("a configuration is described in a line, in PyTorch's terms, and without what is random") {
  const CellFacts &lstm = facts_of(CellKind::lstm), &gru = facts_of(CellKind::gru),
                  &rnn = facts_of(CellKind::rnn);
  CHECK(describe_layers(lstm, {.input = 20, .hidden = 200, .layers = 2, .dropout = 0.5f, .forget_bias = 1}) ==
        "2 LSTM layers of 200");
  CHECK(describe_layers(gru, {.hidden = 30, .weight_drop = 0.5f, .mogrifier = 2, .mogrifier_rank = 3}) ==
        "1 GRU layer of 30 (weight_drop, mogrifier)");
  CHECK(describe_layers(lstm, {.hidden = 12, .layers = 3, .last_hidden = 8, .peepholes = true}) ==
        "3 LSTM layers of 12, the last of 8 (peepholes)");
  CHECK(torch_module(lstm, {.input = 20, .hidden = 50, .layers = 2, .weight_drop = 0.5f, .projection = 10}) ==
        "nn.LSTM(20, 50, 2, proj_size=10)");
  CHECK(torch_module(gru, {.input = 20, .hidden = 50, .layers = 2, .dropout = 0.5f, .bidirectional = true}) ==
        "nn.GRU(20, 50, 2, bidirectional=True)");
  CHECK(describe_layers(gru, {.hidden = 30, .bidirectional = true}) == "1 GRU layer of 30 (bidirectional)");
  CHECK(torch_module(rnn, {.input = 3, .hidden = 4, .nonlinearity = Unary::relu}) ==
        "nn.RNN(3, 4, 1, nonlinearity='relu')");
  CHECK(torch_module(lstm, {.hidden = 4, .recurrent_dropout = 0.5f, .zoneout_h = 0.1f, .layer_norm = true}) ==
        "none: nn.LSTM does not know zoneout_h, layer_norm");
  CHECK(unknown_to_torch({.dropout = 0.5f, .weight_drop = 0.5f, .projection = 3}) == "");

  const RecurrentConfig drawn{.input = 3,
                              .hidden = 4,
                              .layers = 2,
                              .dropout = 0.1f,
                              .locked_dropout = true,
                              .recurrent_dropout = 0.2f,
                              .weight_drop = 0.3f,
                              .zoneout_h = 0.4f,
                              .zoneout_c = 0.5f,
                              .projection = 2,
                              .mogrifier = 2,
                              .residual = true,
                              .forget_bias = 1},
      kept = without_dropping(drawn);
  for (const RecurrentOption& option : recurrent_options) {
    const std::string name = option.name;
    const bool is_random = name.ends_with("dropout") || name == "weight_drop" || name.starts_with("zoneout");
    CAPTURE(name);
    CHECK(value_of(option, kept) == value_of(option, is_random ? RecurrentConfig() : drawn));
  }
}

// Traces of the cells: gates and states of each step obey the cell's equations and add up to what the engines
// compute.
#include <cmath>

#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "layers/recurrent/rnn.h"
#include "layers/stepper.h"
#include "tests/layers/lstm_cases.h"
#include "tests/support.h"

using namespace unroll;

namespace {

// Two evaluations of a few products of at most 20 terms below 1, over at most 5 steps.
constexpr double bound = 1e4 * std::numeric_limits<real>::epsilon();

struct Window {
  ParameterSet params{7};
  RecurrentLayer layer;
  Tensor x;
  RecurrentState state;
  Window(CellKind cell, const RecurrentConfig& config, int steps = 4, int batch = 2)
      : layer(params / "cell", cell, config), state(layer.zero_state(batch)) {
    RandomStream random(5, "x");
    x = random_tensor({steps, batch, config.input}, random);
    state.h.copy_from(random_tensor(state.h.shape(), random));
    if (state.c.defined()) state.c.copy_from(random_tensor(state.c.shape(), random));
  }
};

}  // namespace

TEST_CASE("a trace adds up to the layers' results: every cell, option and engine") {
  for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::rnn}) {
    std::vector<RecurrentConfig> configs =
        options_alone(facts_of(cell), {.input = 3, .hidden = 4, .layers = 2});
    configs.push_back({.input = 3, .hidden = 4, .layers = 1});
    configs.push_back({.input = 3, .hidden = 4, .layers = 3});
    for (RecurrentConfig config : configs)
      for (const Engine engine : {Engine::fused, Engine::composed}) {
        config.engine = engine;
        const Window w(cell, config);
        CAPTURE(facts_of(cell).name);
        CAPTURE(name_of(engine));
        const RecurrentOutput out = w.layer(w.x, w.state);
        const RecurrentTrace trace = w.layer.trace(w.x, w.state);
        CHECK(distance(trace.y.value(), out.y.value()) < bound);
        CHECK(distance(trace.state.h.value(), out.state.h.value()) < bound);
        const auto layers = static_cast<size_t>(config.layers * config.directions());
        REQUIRE(trace.cells.size() == layers);
        CHECK(trace.gate_names.size() == (cell == CellKind::lstm ? 4u : cell == CellKind::gru ? 3u : 0u));
        for (const CellTrace& of_cell : trace.cells) {
          CHECK(of_cell.h.size() == 4);
          CHECK(of_cell.c.size() == (cell == CellKind::lstm ? 4u : 0u));
          for (const Vars& gates : of_cell.gates) CHECK(gates.size() == trace.gate_names.size());
        }
        if (!config.bidirectional && !config.residual)
          for (int t = 0; t < 4; ++t)
            CHECK(distance(trace.cells.back().h[static_cast<size_t>(t)].value(), trace.y.value()[t]) == 0);
      }
  }
}

TEST_CASE(
    "the gates of an LSTM make its states: c = f c + i g, h = o tanh(c), and i = 1 - f where they are coupled") {
  for (const bool coupled : {false, true}) {
    const Window w(CellKind::lstm, {.input = 3, .hidden = 4, .layers = 2, .coupled_gates = coupled});
    const RecurrentTrace trace = w.layer.trace(w.x, w.state);
    CHECK(std::vector<std::string>(trace.gate_names.begin(), trace.gate_names.end()) ==
          std::vector<std::string>{"i", "f", "g", "o"});
    for (size_t k = 0; k < 2; ++k)
      for (size_t t = 0; t < 4; ++t) {
        const Vars& gates = trace.cells[k].gates[t];
        const Tensor before = t > 0 ? trace.cells[k].c[t - 1].value() : w.state.c[static_cast<int>(k)];
        const auto i = values(gates[0]), f = values(gates[1]), g = values(gates[2]), o = values(gates[3]),
                   c = values(trace.cells[k].c[t]), h = values(trace.cells[k].h[t]), c0 = before.to_host();
        for (size_t n = 0; n < c.size(); ++n) {
          CHECK(std::abs(c[n] - (f[n] * c0[n] + i[n] * g[n])) < bound);
          CHECK(std::abs(h[n] - o[n] * std::tanh(c[n])) < bound);
          if (coupled) CHECK(std::abs(i[n] + f[n] - 1) < bound);
        }
      }
  }
}

TEST_CASE("the gates of a GRU make its state: h = (1 - z) n + z h") {
  const Window w(CellKind::gru, {.input = 3, .hidden = 4});
  const RecurrentTrace trace = w.layer.trace(w.x, w.state);
  for (size_t t = 0; t < 4; ++t) {
    const auto z = values(trace.cells[0].gates[t][1]), n = values(trace.cells[0].gates[t][2]),
               h = values(trace.cells[0].h[t]),
               before = t > 0 ? values(trace.cells[0].h[t - 1]) : w.state.h[0].to_host();
    for (size_t j = 0; j < h.size(); ++j)
      CHECK(std::abs(h[j] - ((1 - z[j]) * n[j] + z[j] * before[j])) < bound);
  }
}

TEST_CASE(
    "a stepper shows the gates of a sequence that it runs: those of the window, and it goes on from there") {
  for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::rnn}) {
    const RecurrentConfig config{.input = 3, .hidden = 4, .layers = 2};
    Window w(cell, config);
    const RecurrentTrace all = w.layer.trace(w.x, w.state);
    Stepper seen(w.layer, 2), plain(w.layer, 2);
    seen.set_state(w.state), plain.set_state(w.state);
    const Tape tape;  // which it leaves alone
    for (int t = 0; t < 4; ++t) {
      const RecurrentTrace one = seen.trace(w.x[t]);
      CHECK(distance(plain(w.x[t]), one.y.value()[0]) < bound);
      for (size_t k = 0; k < 2; ++k)
        for (size_t g = 0; g < all.gate_names.size(); ++g)
          CHECK(distance(one.cells[k].gates[0][g].value(),
                         all.cells[k].gates[static_cast<size_t>(t)][g].value()) < bound);
    }
    CHECK(tape.size() == 0);
    CHECK(distance(seen.state().h, all.state.h.value()) < bound);
    CHECK(lacks(error_of([&] { (void)seen.trace(w.x[0][0]); }), {"stepper", "[2, 3]"}) == "");
  }
}

TEST_CASE("resets and lengths act in a trace as in the layers") {
  const Window w(CellKind::lstm, {.input = 3, .hidden = 4, .layers = 2});
  const Lengths lengths{ids({2}, {3, 4})};
  const IdTensor resets = ids({4, 2}, {0, 0, 1, 0, 0, 0, 0, 1});
  const RecurrentOutput out = w.layer(w.x, w.state, lengths, resets);
  const RecurrentTrace trace = w.layer.trace(w.x, w.state, lengths, resets);
  CHECK(distance(trace.y.value(), out.y.value()) < bound);
  CHECK(distance(trace.state.c.value(), out.state.c.value()) < bound);
}

TEST_CASE("under a tape that keeps gradients, each state of a trace has its own") {
  const Window w(CellKind::lstm, {.input = 3, .hidden = 4, .layers = 2});
  Tape tape({.dropout = false, .keep_gradients = true});
  const RecurrentTrace trace = w.layer.trace(w.x, w.state);
  tape.backward(sum(row(trace.y, 3)));
  // The last step's h is summed alone; dL/dc of it is o (1 - tanh(c)²).
  const auto o = values(trace.cells[1].gates[3][3]), c = values(trace.cells[1].c[3]),
             dc = trace.cells[1].c[3].grad().to_host();
  for (const real d : trace.cells[1].h[3].grad().to_host()) CHECK(d == 1);
  for (size_t j = 0; j < c.size(); ++j)
    CHECK(std::abs(dc[j] - o[j] * (1 - std::tanh(c[j]) * std::tanh(c[j]))) < bound);
  CHECK(trace.cells[0].h[0].has_grad());
}

// Rows that begin anew inside a window: each document as if it were alone, by every engine, in both directions, with every
// option; and nothing flows over. The suite resets is compiled in double, resets_float in float.
#include <array>
#include <cmath>
#include <limits>

#include "layers/recurrent/rnn.h"
#include "layers/regularization.h"
#include "tests/layers/agreement.h"
#include "tests/layers/lstm_cases.h"
#ifdef UNROLL_DOUBLE
#include "framework/gradcheck.h"
#endif

using namespace unroll;

namespace {

constexpr Engine engines[] = {Engine::fused, Engine::composed};

// A third of all steps begin something.
IdTensor random_resets(int steps, int batch, uint64_t seed) {
  RandomStream random(seed, "resets");
  IdTensor result({steps, batch});
  for (int32_t& begins : result.span())
    begins = random.below(3) == 0 ? 1 + static_cast<int32_t>(random.below(9)) : 0;
  return result;
}

// Any cell, called as a RecurrentLayer is.
struct Case {
  CellKind cell = CellKind::lstm;
  RecurrentConfig config;
  int steps = 5, batch = 3;
  Lengths lengths = {};
  IdTensor resets = {};

  std::string name() const {
    std::string text = fmt::format("{} {} of {} layers, {} steps, batch {}", name_of(config.engine),
                                   facts_of(cell).name, config.layers, steps, batch);
    for (const RecurrentOption& option : recurrent_options)
      if (is_set(option, config)) text += fmt::format(", {} {}", option.name, value_of(option, config));
    if (lengths.steps.defined())
      text += lengths.padding == Padding::before ? ", padded before" : ", padded after";
    return text;
  }
  WindowCase window() const {
    return {.name = name(),
            .layer =
                [c = *this](ParameterSet& params, Engine engine) {
                  RecurrentConfig config = c.config;
                  config.engine = engine;
                  return RecurrentLayer(params / "layer", c.cell, config);
                },
            .steps = steps,
            .batch = batch,
            .lengths = lengths,
            .resets = resets};
  }
};

// Each cell with each of its options, in windows without lengths and with one of both kinds; and LSTMs with options together.
std::vector<Case> cases() {
  std::vector<Case> result;
  uint64_t seed = 1;
  for (const CellFacts& cell : our_cells) {
    const RecurrentConfig plain{.input = 3, .hidden = 4, .layers = 2};
    std::vector<RecurrentConfig> configs = options_alone(cell, plain);
    configs.push_back(plain);
    for (const RecurrentConfig& config : configs) {
      const Lengths padded{ids({3}, {5, 2, 4}), seed % 4 == 1 ? Padding::after : Padding::before};
      for (const Lengths& lengths : {Lengths{}, padded})
        result.push_back(
            {.cell = cell.kind, .config = config, .lengths = lengths, .resets = random_resets(5, 3, seed++)});
    }
  }
  RandomStream random(8, "cases");
  for (int i = 0; i < 40; ++i) {
    const LstmCase c = random_lstm_case(random, 5);
    result.push_back({.config = c.config,
                      .steps = c.steps,
                      .batch = c.batch,
                      .lengths = c.lengths(),
                      .resets = random_resets(c.steps, c.batch, seed++)});
  }
  return result;
}

bool draws(const RecurrentConfig& config) {
  return std::ranges::any_of(recurrent_options, [&](const RecurrentOption& option) {
    return is_set(option, config) && (option.acts == RecurrentOption::Acts::in_training ||
                                      option.acts == RecurrentOption::Acts::expected);
  });
}

Var zeros_like(const Shape& shape) { return Var(Tensor::zeros(shape)); }

// Like Window::run, but every document of every row is a call of its own. The first one begins with the window's
// state (backwards: the last one), any other with zeros. The final state is that of the last document (backwards: of
// the first).
Results run_alone(const WindowCase& c, Engine engine) {
  Window w(c, engine);
  const int directions = w.layer.config().directions(), states = w.h0.dim(0);
  Tape tape;
  const Var x = tape.watch(w.x), h0 = tape.watch(w.h0), c0 = w.c0.defined() ? tape.watch(w.c0) : Var();
  Vars ys, hs, cs;
  for (int b = 0; b < c.batch; ++b) {
    const int length = c.lengths.steps.defined() ? c.lengths.steps.data()[b] : c.steps;
    const int first = c.lengths.padding == Padding::before ? c.steps - length : 0, last = first + length;
    const auto of_row = [&](const Var& state, int k) {
      return slice(slice(state, 0, k, k + 1), 1, b, b + 1);
    };
    const bool anew = length > 0 && c.resets.data()[first * c.batch + b] != 0;
    Vars y, h, cell;
    for (int k = 0; k < states; ++k) {
      h.push_back(of_row(h0, k));
      if (has(c0)) cell.push_back(of_row(c0, k));
    }
    const Vars h_before = h, c_before = cell;
    if (first > 0) y.push_back(zeros_like({first, 1, w.layer.config().output()}));
    for (int begin = first, end = first; begin < last; begin = end) {
      for (end = begin + 1; end < last && c.resets.data()[end * c.batch + b] == 0;) ++end;
      const auto from = [&](const Vars& of_window) {
        Vars in;
        for (int k = 0; k < states; ++k) {
          const bool goes_on = k % directions ? end == last : begin == first && !anew;
          in.push_back(goes_on ? of_window[static_cast<size_t>(k)]
                               : zeros_like(of_window[static_cast<size_t>(k)].shape()));
        }
        return concat(in, 0);
      };
      const auto out = w.layer(slice(slice(x, 1, b, b + 1), 0, begin, end),
                               {from(h_before), has(c0) ? from(c_before) : Var()});
      y.push_back(out.y);
      for (int k = 0; k < states; ++k)
        if (k % directions == 0 || begin == first) {
          h[static_cast<size_t>(k)] = slice(out.state.h, 0, k, k + 1);
          if (has(c0)) cell[static_cast<size_t>(k)] = slice(out.state.c, 0, k, k + 1);
        }
    }
    if (last < c.steps) y.push_back(zeros_like({c.steps - last, 1, w.layer.config().output()}));
    ys.push_back(concat(y, 0)), hs.push_back(concat(h, 0));
    if (has(c0)) cs.push_back(concat(cell, 0));
  }
  const Var y = concat(ys, 1), h = concat(hs, 1), cell = has(c0) ? concat(cs, 1) : Var();
  Results results = {{"y", y.value().clone()}, {"h", h.value().clone()}};
  Var loss = sum(y * Var(w.of_y)) + sum(h * Var(w.of_h));
  if (has(c0)) {
    results.emplace_back("c", cell.value().clone());
    loss = loss + sum(cell * Var(w.of_c));
  }
  tape.backward(loss);
  results.insert(results.end(), {{"dx", x.grad()}, {"dh0", h0.grad()}});
  if (has(c0)) results.emplace_back("dc0", c0.grad());
  for (const auto& p : w.params.all())
    results.emplace_back("d " + p->name, p->node.gradient.value(p->shape).clone());
  return results;
}

// Half of a plain network's step: a cell from outside, which has the engine composed alone.
struct Halved : RnnCell {
  using RnnCell::RnnCell;
  RecurrentVars step(const Var& x, const Var& h_in, const RecurrentVars& before) const {
    return {RnnCell::step(x, h_in, before).h * real(0.5), {}};
  }
};

}  // namespace

TEST_CASE("fused and composed agree to rounding with resets, with every option, lengths and directions") {
  for (const Case& c : cases()) {
    const WindowCase w = c.window();
    check_agreement(w, {Window(w, Engine::fused).run()}, c.config.input, c.config.hidden, false);
  }
}

TEST_CASE("a window with resets gives what each of its documents gives alone, values and gradients") {
  int compared = 0;
  for (const Case& c : cases()) {
    if (draws(c.config)) continue;  // masks are drawn by call
    const WindowCase w = c.window();
    check_agreement(w, {run_alone(w, Engine::fused), run_alone(w, Engine::composed)}, c.config.input,
                    c.config.hidden, false);
    ++compared;
  }
  CHECK(compared > 30);
}

TEST_CASE("without a tape zoneout's expectation keeps nothing of the document before") {
  for (const CellFacts& cell : our_cells)
    for (const Engine engine : engines) {
      RecurrentConfig config{.input = 3, .hidden = 4, .layers = 2, .zoneout_h = 0.3f, .engine = engine};
      if (cell.has_c) config.zoneout_c = 0.4f;
      ParameterSet params(3);
      const RecurrentLayer layer(params / "layer", cell.kind, config);
      RandomStream random(2, "x");
      const Tensor x = random_tensor({6, 2, 3}, random);
      const RecurrentState zero = layer.zero_state(2);
      // Both rows begin anew at step 4, so that the rest is a window of its own.
      const auto whole = layer(x, zero, {}, ids({6, 2}, {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0}));
      const auto rest = layer(x.slice(4, 6), zero);
      const double rounding =
          64 * std::numeric_limits<real>::epsilon();  // of products by 2 steps instead of 6
      CHECK(distance(whole.y.value().slice(4, 6), rest.y.value()) <= rounding);
      CHECK(distance(whole.state.h.value(), rest.state.h.value()) <= rounding);
      if (cell.has_c) CHECK(distance(whole.state.c.value(), rest.state.c.value()) <= rounding);
      CHECK(distance(whole.y.value(), layer(x, zero).y.value()) > 1000 * rounding);
    }
}

// The loss is of the second document alone: what the first one holds moves no bit of it, and has no gradient; NaN does not
// come through either. With all that is drawn, since masks depend on the number of the call.
TEST_CASE("nothing flows over a border: neither values nor gradients, with every option and engine") {
  constexpr int steps = 6, border = 3;
  const IdTensor resets = ids({steps, 2}, {0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0});
  for (const CellFacts& cell : our_cells)
    for (RecurrentConfig config : options_alone(cell, {.input = 3, .hidden = 4, .layers = 2}))
      for (const Engine engine : engines) {
        config.engine = engine;
        const Case c{.cell = cell.kind, .config = config, .steps = steps, .batch = 2, .resets = resets};
        CAPTURE(c.name());
        const auto run = [&](bool second, real first_of_other) {
          Window w(c.window(), engine);
          const int begin = second ? border : 0, end = second ? steps : border;
          for (int t = 0; t < steps; ++t)
            if ((t >= border) != second) w.x[t].fill(first_of_other);
          Tape tape;
          const Var x = tape.watch(w.x), h0 = tape.watch(w.h0), c0 = cell.has_c ? tape.watch(w.c0) : Var();
          const Var y = slice(w.layer(x, {h0, c0}, {}, resets).y, 0, begin, end);
          std::vector<Tensor> found = {y.value().clone()};
          if (std::isfinite(first_of_other)) {
            tape.backward(sum(y * y));
            found.push_back(x.grad().clone()), found.push_back(h0.grad().clone());
            if (cell.has_c) found.push_back(c0.grad().clone());
          }
          return found;
        };
        for (const bool second : {true, false}) {
          CAPTURE(second);
          const auto usual = run(second, real(0.5)), other = run(second, real(-2)),
                     bad = run(second, std::numeric_limits<real>::quiet_NaN());
          CHECK(same_bits(usual[0], bad[0]));
          for (size_t i = 0; i < usual.size(); ++i) CHECK(same_bits(usual[i], other[i]));
          const Tensor dx = usual[1];
          CHECK(largest(second ? dx.slice(0, border) : dx.slice(border, steps)) == 0);
          if (largest(usual[0]) > 0)  // some units of relu give nothing
            CHECK(largest(second ? dx.slice(border, steps) : dx.slice(0, border)) > 0);
          // The second document knows nothing of the state before the window; backwards the first one of none after it.
          const int directions = config.directions();
          for (int k = 0; k < usual[2].dim(0); ++k)
            if ((k % directions == 0) == second) CHECK(largest(usual[2][k]) == 0);
        }
      }
}

TEST_CASE("resets that mean nothing change no bit; at the first step the state is that of zeros") {
  for (const CellFacts& cell : our_cells)
    for (const Engine engine : engines) {
      Case c{.cell = cell.kind,
             .config = {.input = 3, .hidden = 4, .layers = 2, .bidirectional = true},
             .lengths = {ids({3}, {5, 2, 0})}};
      const Results usual = Window(c.window(), engine).run();
      const auto same = [&](const IdTensor& resets) {
        c.resets = resets;
        const Results found = Window(c.window(), engine).run();
        for (size_t i = 0; i < usual.size(); ++i) {
          CAPTURE(usual[i].first);
          CHECK(same_bits(found[i].second, usual[i].second));
        }
      };
      same(IdTensor::from({5, 3}, std::vector<int32_t>(15, 0)));
      // In padding, also where it begins: backwards that would cut the state off on its way to the last real step.
      same(ids({5, 3}, {0, 0, 7, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1}));

      c.lengths = {}, c.config.bidirectional = false;
      c.resets = ids({5, 3}, {1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
      const Results anew = Window(c.window(), engine).run();
      c.resets = {};
      Window w(c.window(), engine);
      w.h0.fill(0);
      if (w.c0.defined()) w.c0.fill(0);
      const Results zeros = w.run();
      for (size_t i = 0; i < zeros.size(); ++i)
        if (zeros[i].first == "dh0" || zeros[i].first == "dc0")
          CHECK(largest(anew[i].second) == 0);
        else
          CHECK(same_bits(anew[i].second, zeros[i].second));
    }
}

TEST_CASE("a change of outputs over a border is none") {
  // y (1, 2), (4, 6), (5, 5): the changes (3, 4) and (1, -1), the first row's step 1 begins anew.
  const Var y(tensor({3, 2, 1}, {1, 2, 4, 6, 5, 5}));
  const auto term = [&](const IdTensor& resets) {
    return temporal_activation_regularization(y, 8, resets).item();
  };
  CHECK(term({}) == 8 * (9 + 16 + 1 + 1) / real(4));
  CHECK(term(ids({3, 2}, {1, 1, 1, 0, 0, 0})) == 8 * (16 + 1 + 1) / real(4));
  CHECK(term(ids({3, 2}, {1, 1, 0, 0, 0, 0})) == term({}));
}

TEST_CASE("another shape is refused with both shapes") {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 4, .engine = Engine::fused});
  const Var x(Tensor::zeros({5, 2, 3}));
  for (const Shape& shape : {Shape{2}, Shape{5}, Shape{2, 5}, Shape{4, 2}, Shape{5, 2, 1}})
    CHECK(lacks(error_of([&] { lstm(x, lstm.zero_state(2), {}, IdTensor(shape)); }),
                {"resets " + shape.text(), "[5, 2]"}) == "");
}

TEST_CASE("cuDNN is asked for no resets") {
  ParameterSet params;
  RecurrentConfig config{.input = 4, .hidden = 4, .resets = true};
  CHECK(Lstm::choose(config).engine == Engine::fused);
  config.resets = false;
  if (Lstm::choose(config).engine != Engine::cudnn) return;  // no such device here
  const Lstm lstm(params / "lstm", config);
  CHECK(
      input_error_of([&] {
        lstm(Var(Tensor::zeros({3, 2, 4})), lstm.zero_state(2), {}, ids({3, 2}, {0, 0, 1, 0, 0, 0}));
      }) ==
      "engine 'cudnn' cannot serve: cuDNN has no reset inside a window, and resets = true in the layer's configuration "
      "would have chosen another engine; 'fused' and 'composed' can");
}

#ifdef UNROLL_DOUBLE

TEST_CASE("engines are differentiated with resets, plain and with each option") {
  for (Case c : cases())
    for (const Engine engine : engines) {
      c.config.engine = engine;
      const bool dropout = draws(c.config);
      ParameterSet params(17);
      const RecurrentLayer layer(params / "layer", c.cell, c.config);
      const RecurrentState zero = layer.zero_state(c.batch);
      std::vector<Shape> shapes = {{c.steps, c.batch, c.config.input}, zero.h.shape()};
      if (zero.c.defined()) shapes.push_back(zero.c.shape());
      CHECK(gradcheck(
          c.name(), params, shapes,
          [&](auto& v) {
            const auto out = layer(v[0], {v[1], zero.c.defined() ? v[2] : Var()}, c.lengths, c.resets);
            std::vector<Var> all = {out.y, out.state.h};
            if (zero.c.defined()) all.push_back(out.state.c);
            return all;
          },
          {.seeds = 1, .elements = 6, .dropout = dropout, .twice = !dropout}));
    }
}

TEST_CASE("a cell from outside is differentiated with resets") {
  static_assert(!HasFused<Halved>);
  ParameterSet params(17);
  const Recurrent<Halved> layer(params / "halved",
                                {.input = 3, .hidden = 4, .layers = 2, .bidirectional = true});
  const IdTensor resets = random_resets(5, 2, 4);
  CHECK(gradcheck("halved", params, {{5, 2, 3}, {4, 2, 4}}, [&](auto& v) {
    const auto out = layer(v[0], {v[1]}, {}, resets);
    return std::vector<Var>{out.y, out.state.h};
  }));
}

#endif

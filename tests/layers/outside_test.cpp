// A stranger's additions that leave the library untouched: an activation, a cell, and an option for any cell. Checks
// the gradients of each, and that everything around a cell acts on theirs as on our own.

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/gradcheck.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "layers/stepper.h"
#include "tests/layers/frozen.h"
#include "tests/support.h"

using namespace unroll;

// --- an activation --------------------------------------------------------------------------------------

namespace {

// y = 1.7159 tanh(2x/3)        dx = dy · 2/3 · (1.7159 - y² / 1.7159)       (LeCun et al. 1998)
Var scaled_tanh(const Var& x) {
  constexpr real height = 1.7159, width = real{2} / 3;
  const Tensor y(x.shape());
  {
    const auto from = x.value().on_host();
    const auto to = y.on_host(Access::overwrite);
    for (int64_t i = 0; i < y.size(); ++i) to[i] = height * std::tanh(width * from[i]);
  }
  return record("scaled_tanh", y, inputs(x), [=](const Var& y) {
    const Tensor dx(x.shape());
    const auto value = y.value().on_host(), dy = y.grad().on_host();
    {
      const auto to = dx.on_host(Access::overwrite);
      for (int64_t i = 0; i < dx.size(); ++i) to[i] = dy[i] * width * (height - value[i] * value[i] / height);
    }
    contribute(dx, x);
  });
}

// --- a cell ---------------------------------------------------------------------------------------------

// The minimal gated unit (Zhou et al. 2016), its gate after the product as in Gru:
//   f = σ(a + q);   n = φ(a + f q);   h = (1-f) h_prev + f n,   a = x W_ihᵀ + b and q = h W_hhᵀ of f and n
struct MinimalGatedUnit {
  static constexpr const char* name = "mgu";
  static constexpr bool has_c = false;

  explicit MinimalGatedUnit(const LayerScope& scope)
      : weight_ih(scope.add("weight_ih", {2 * scope.hidden, scope.input}).var()),
        weight_hh(scope.add("weight_hh", {2 * scope.hidden, scope.hidden}).var()),
        bias(scope.add("bias", {2 * scope.hidden}).var()) {}

  RecurrentVars step(const Var& x, const Var& h_in, const RecurrentVars& before) const {
    const int hidden = before.h.dim(1);
    const Var a = linear(x, weight_ih, bias), q = linear(h_in, weight_hh);  // [batch, 2*hidden]
    const auto part = [&](const Var& sums, int k) { return slice(sums, 1, k * hidden, (k + 1) * hidden); };
    const Var f = sigmoid(part(a, 0) + part(q, 0));
    const Var n = scaled_tanh(part(a, 1) + f * part(q, 1));
    return {(-f + 1) * before.h + f * n, {}};
  }

  Var weight_ih, weight_hh, bias;
};

// --- an option of any cell ------------------------------------------------------------------------------

// Before a step x and h scale each other, as the option `mogrifier` has it, in two rounds:
//   x ← 2σ(h Qᵀ) x;   h ← 2σ(x Rᵀ) h
template <class Cell>
struct Mogrified : Cell {
  explicit Mogrified(const LayerScope& scope)
      : Cell(scope),
        q(scope.add("mogrifier_q", {scope.input, scope.hidden}).var()),
        r(scope.add("mogrifier_r", {scope.hidden, scope.input}).var()) {}

  RecurrentVars step(const Var& x, const Var& h_in, const RecurrentVars& before) const {
    const Var scaled_x = 2 * sigmoid(linear(h_in, q)) * x;
    return Cell::step(scaled_x, 2 * sigmoid(linear(scaled_x, r)) * h_in, before);
  }

  Var q, r;
};

// A cell that derives from one of ours and inherits no engine.
template <class Cell>
struct Aside : Cell {
  using Cell::Cell;
};

// --- helpers --------------------------------------------------------------------------------------------

struct Around {  // what stands around a cell
  std::string name;
  RecurrentConfig config;
  Lengths lengths = {};
};

std::vector<Around> one_by_one(bool has_c) {
  const RecurrentConfig plain{.input = 3, .hidden = 3, .layers = 2};
  std::vector<Around> result;
  const auto add = [&](const char* name, auto change) {
    change(result.emplace_back(Around{.name = name, .config = plain}));
  };
  add("plain", [](Around&) {});
  add("dropout", [](Around& a) { a.config.dropout = 0.4f; });
  add("locked dropout", [](Around& a) { a.config.dropout = 0.4f, a.config.locked_dropout = true; });
  add("recurrent dropout", [](Around& a) { a.config.recurrent_dropout = 0.3f; });
  add("weight drop", [](Around& a) { a.config.weight_drop = 0.5f; });
  add("zoneout of h", [](Around& a) { a.config.zoneout_h = 0.3f; });
  if (has_c) add("zoneout of c", [](Around& a) { a.config.zoneout_c = 0.6f; });
  add("residual", [](Around& a) { a.config.residual = true; });
  add("bidirectional", [](Around& a) { a.config.bidirectional = true; });
  add("lengths", [](Around& a) { a.lengths = {ids({3}, {4, 0, 2})}; });
  add("lengths, padded before", [](Around& a) { a.lengths = {ids({3}, {4, 0, 2}), Padding::before}; });
  add("all", [&](Around& a) {
    a = {"all",
         {.input = 3,
          .hidden = 3,
          .layers = 2,
          .dropout = 0.4f,
          .locked_dropout = true,
          .recurrent_dropout = 0.3f,
          .weight_drop = 0.5f,
          .zoneout_h = 0.3f,
          .zoneout_c = has_c ? 0.2f : 0,
          .residual = true,
          .bidirectional = true},
         {ids({3}, {4, 0, 2})}};
  });
  return result;
}

std::vector<Var> all_of(const Var& y, const RecurrentVars& state, bool has_c) {
  return has_c ? std::vector<Var>{y, state.h, state.c} : std::vector<Var>{y, state.h};
}

constexpr int steps = 4, batch = 3;

template <class Cell>
void check_gradients(int elements = 0) {
  for (const Around& around : one_by_one(Cell::has_c))
    for (const bool dropout : {false, true}) {
      ParameterSet params(17);
      const Recurrent<Cell> layers(params / "cell", around.config);
      const RecurrentState zero = layers.zero_state(batch);
      std::vector<Shape> shapes = {{steps, batch, 3}, zero.h.shape()};
      if (Cell::has_c) shapes.push_back(zero.c.shape());
      CHECK(gradcheck(std::string(Cell::name) + " " + around.name, params, shapes,
                      [&](auto& v) {
                        const auto out = layers(v[0], {v[1], Cell::has_c ? v[2] : Var()}, around.lengths);
                        return all_of(out.y, out.state, Cell::has_c);
                      },
                      {.seeds = 1, .elements = elements, .dropout = dropout, .twice = !dropout}));
    }
}

}  // namespace

TEST_CASE("an activation from outside is differentiated") {
  CHECK(
      gradcheck("scaled_tanh", {{3, 4}}, [](auto& v) { return scaled_tanh(v[0]); }, {.low = -4, .high = 4}));
  CHECK(values(scaled_tanh(tensor({2}, {0, 1e3}))) == std::vector<real>{0, 1.7159});
}

TEST_CASE("a cell from outside is differentiated with all that stands around it") {
  check_gradients<MinimalGatedUnit>();
}

TEST_CASE("an option from outside is differentiated on a cell from outside and on our own") {
  check_gradients<Mogrified<MinimalGatedUnit>>();
  check_gradients<Mogrified<LstmCell>>(6);
  check_gradients<Mogrified<GruCell>>(6);
}

template <class Cell>
static void check_weights_frozen(bool bidirectional, size_t weights) {
  ParameterSet params(17);
  const Recurrent<Cell> layers(params / "cell",
                               {.input = 3, .hidden = 3, .layers = 2, .bidirectional = bidirectional});
  size_t listed = 0;
  for (size_t k = 0; k < layers.cells().size(); ++k) listed += layers.weights(static_cast<int>(k)).size();
  CHECK(layers.weights(0).size() == weights);
  CHECK(listed == params.all().size());
  const RecurrentState zero = layers.zero_state(batch);
  std::vector<Shape> shapes = {{steps, batch, 3}, zero.h.shape()};
  if (Cell::has_c) shapes.push_back(zero.c.shape());
  check_frozen(Cell::name, params, shapes, [&](auto& v) {
    const auto out = layers(v[0], {v[1], Cell::has_c ? v[2] : Var()});
    return all_of(out.y, out.state, Cell::has_c);
  });
}

TEST_CASE("the weights of a cell from outside are listed, and collect gradients whatever else is frozen") {
  check_weights_frozen<MinimalGatedUnit>(true, 3);
  check_weights_frozen<Mogrified<MinimalGatedUnit>>(false, 5);
  check_weights_frozen<Mogrified<LstmCell>>(false, 5);
  check_weights_frozen<Mogrified<GruCell>>(false, 6);
}

TEST_CASE("a cell from outside computes its equations") {
  ParameterSet params(3);
  const Recurrent<MinimalGatedUnit> mgu(params / "mgu", {.input = 1, .hidden = 1});
  const auto value = [&](const char* name) {
    return params.find(std::string("mgu.") + name)->leaf_value().data();
  };
  const real *ih = value("weight_ih_l0"), *hh = value("weight_hh_l0"), *b = value("bias_l0");
  double h = -0.5;
  const auto out = mgu(tensor({2, 1, 1}, {1.5, -1}), {Var(tensor({1, 1, 1}, {h})), {}});
  for (int t = 0; t < 2; ++t) {
    const double x = t ? -1 : 1.5;
    const double f = 1 / (1 + std::exp(-(ih[0] * x + b[0] + hh[0] * h)));
    h = (1 - f) * h + f * 1.7159 * std::tanh(2. / 3 * (ih[1] * x + b[1] + f * hh[1] * h));
    CHECK(values(out.y)[t] == doctest::Approx(h).epsilon(1e-14));
  }
  CHECK(values(out.state.h)[0] == doctest::Approx(h).epsilon(1e-14));
}

// Under the same names a cell of ours between the same layers draws the same masks and does the same
// arithmetic as the engine composed: bit for bit, so whatever stands around our cells stands around others.
TEST_CASE("what stands around a cell is what stands around an Lstm") {
  for (const Around& around : one_by_one(true)) {
    CAPTURE(around.name);
    RecurrentConfig c = around.config;
    c.engine = Engine::composed;
    std::vector<std::vector<Tensor>> results;
    for (const bool outside : {false, true}) {
      ParameterSet params(5);
      RandomStream random(1, "x");
      const int states = c.layers * c.directions();
      const Tensor of_x = random_tensor({steps, batch, c.input}, random);
      const Tensor h = random_tensor({states, batch, c.hidden}, random), s = random_tensor(h.shape(), random);
      const auto run = [&](const auto& layers) {
        Tape tape;
        const Var x = tape.watch(of_x);
        const auto out = layers(x, {Var(h), Var(s)}, around.lengths);
        std::vector<Tensor> result = {out.y.value(), out.state.h.value(), out.state.c.value()};
        tape.backward(sum(out.y * out.y) + sum(out.state.c));
        params.complete_gradients();
        result.insert(result.end(), {x.grad(), params.gradients().clone()});
        results.push_back(result);
      };
      if (outside)
        run(Recurrent<Aside<LstmCell>>(params / "lstm", c));
      else
        run(Lstm(params / "lstm", c));
    }
    for (size_t k = 0; k < results[0].size(); ++k) CHECK(same_bits(results[0][k], results[1][k]));
  }
}

TEST_CASE("a padded batch gives a cell from outside row by row the bits that the rows give alone") {
  const std::vector<int32_t> lengths = {4, 1, 3};
  ParameterSet params(8);
  const Recurrent<Mogrified<MinimalGatedUnit>> mgu(
      params / "mgu", {.input = 3, .hidden = 5, .layers = 2, .residual = true, .bidirectional = true});
  RandomStream random(9, "x");
  const Tensor x = random_tensor({steps, batch, 3}, random), h = random_tensor({4, batch, 5}, random);
  for (int b = 0; b < batch; ++b)
    for (int t = lengths[static_cast<size_t>(b)]; t < steps; ++t)
      x[t][b].fill(std::numeric_limits<real>::quiet_NaN());
  Tape tape;
  const Var vx = tape.watch(x), vh = tape.watch(h);
  const auto all = mgu(vx, {vh, {}}, {ids({batch}, lengths)});
  for (int b = 0; b < batch; ++b) {
    const auto row_of = [&](const Tensor& whole) { return slice(whole, 1, b, b + 1).value(); };
    const auto part = [&](const Tensor& whole) {
      return row_of(whole.slice(0, lengths[static_cast<size_t>(b)]));
    };
    const auto one = mgu(part(x), {Var(row_of(h)), {}});
    CHECK(same_bits(part(all.y.value()), one.y.value()));
    CHECK(same_bits(row_of(all.state.h.value()), one.state.h.value()));
  }
  tape.backward(sum(all.y) + sum(all.state.h));
  for (const Tensor& d : {vx.grad(), vh.grad()})
    CHECK(std::ranges::none_of(d.span(), [](real v) { return std::isnan(v); }));
}

TEST_CASE("an option whose gates stand open leaves its cell's bits") {
  RandomStream random(9, "x");
  const Tensor x = random_tensor({steps, batch, 3}, random);
  ParameterSet params(8), same(8);
  const Lstm plain(params / "lstm", {.input = 3, .hidden = 5, .engine = Engine::composed});
  const Recurrent<Mogrified<LstmCell>> mogrified(same / "lstm", {.input = 3, .hidden = 5});
  const auto y = [&] { return mogrified(x, mogrified.zero_state(batch)).y.value(); };
  CHECK(distance(y(), plain(x, plain.zero_state(batch)).y.value()) > 1e-3);
  for (const char* name : {"lstm.mogrifier_q_l0", "lstm.mogrifier_r_l0"})
    same.find(name)->leaf_value().fill(0);
  CHECK(same_bits(y(), plain(x, plain.zero_state(batch)).y.value()));  // 2σ(0) is 1
}

TEST_CASE("an option from outside computes what the one of the library does, to the bit") {
  RandomStream random(9, "x");
  const Tensor x = random_tensor({steps, batch, 3}, random);
  ParameterSet params(8), same(8);
  const Recurrent<MinimalGatedUnit> within(params / "mgu",
                                           {.input = 3, .hidden = 5, .layers = 2, .mogrifier = 2});
  const Recurrent<Mogrified<MinimalGatedUnit>> outside(same / "mgu", {.input = 3, .hidden = 5, .layers = 2});
  const std::pair<std::string, std::string> names[] = {{"mogrifier_q1", "mogrifier_q"},
                                                       {"mogrifier_r2", "mogrifier_r"}};
  for (const std::string layer : {"_l0", "_l1"})
    for (const auto& [of_library, own] : names)
      same.find("mgu." + own + layer)
          ->leaf_value()
          .copy_from(params.find("mgu." + of_library + layer)->leaf_value());
  CHECK(same_bits(within(x, within.zero_state(batch)).y.value(),
                  outside(x, outside.zero_state(batch)).y.value()));
}

TEST_CASE("the state of a cell from outside crosses a window as an Lstm's does") {
  ParameterSet params(8);
  const Recurrent<MinimalGatedUnit> mgu(params / "mgu", {.input = 2, .hidden = 3, .bidirectional = true});
  RecurrentState state = mgu.zero_state(batch);
  CHECK(state.h.shape() == Shape{2, batch, 3});
  CHECK_FALSE(state.c.defined());
  RandomStream random(9, "x");
  const auto out = mgu(random_tensor({steps, batch, 2}, random), state);
  state = out.state;
  CHECK(same_bits(state.h, out.state.h.value()));
  CHECK(state.h.data() != out.state.h.value().data());
  state.reset();
  CHECK(std::ranges::all_of(state.h.span(), [](real v) { return v == 0; }));
}

TEST_CASE("what does not fit a cell from outside is an error under its name") {
  ParameterSet params;
  const auto build = [&](const RecurrentConfig& config) {
    return error_of([&] { Recurrent<MinimalGatedUnit>(params / "mgu", config); });
  };
  CHECK(lacks(build({.input = 2, .hidden = 3, .zoneout_c = 0.5f}), {"mgu", "zoneout_c", "no such thing"}) ==
        "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .zoneout_h = 1}), {"mgu", "zoneout_h 1"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 0}), {"mgu", "hidden 0"}) == "");
  CHECK(lacks(build({.input = 2, .hidden = 3, .residual = true}), {"mgu", "layers above 1"}) == "");
  CHECK(params.all().empty());
  const Recurrent<MinimalGatedUnit> mgu(params / "mgu", {.input = 2, .hidden = 3});
  CHECK(lacks(error_of([&] {
                mgu(Var(Tensor::zeros({4, 2, 1})), mgu.zero_state(2));
              }),
              {"mgu", "[4, 2, 1]"}) == "");
  CHECK(lacks(error_of([&] {
                mgu(Var(Tensor::zeros({4, 2, 2})), mgu.zero_state(3));
              }),
              {"mgu", "[1, 3, 3]", "[1, 2, 3]"}) == "");
}

TEST_CASE(
    "a cell that derives from one of ours computes its own step: it inherits no engine, nor a stepper's short way") {
  ParameterSet params(3);
  const Recurrent<Mogrified<LstmCell>> mogrified(params / "lstm", {.input = 3, .hidden = 5, .layers = 2});
  CHECK(mogrified.choice().engine == Engine::composed);
  CHECK(mogrified.choice().text == "lstm: composed, the one engine of this cell");
  CHECK(Recurrent<Aside<GruCell>>::choose({.input = 3, .hidden = 5}).engine == Engine::composed);
  for (const Engine engine : {Engine::fused, Engine::cudnn})
    CHECK(lacks(input_error_of([&] {
                  Recurrent<MinimalGatedUnit>::choose({.input = 3, .hidden = 5, .engine = engine});
                }),
                {std::string(name_of(engine)), "mgu", "'composed' can"}) == "");

  RandomStream random(9, "x");
  const Tensor x = random_tensor({steps, batch, 3}, random);
  const RecurrentLayer layer = mogrified;
  CHECK(layer.plain_step_room() == 0);
  const Var y = layer(x, layer.zero_state(batch)).y;
  Stepper stepper(layer, batch);
  for (int t = 0; t < steps; ++t) CHECK(same_bits(stepper(x[t]), y.value()[t]));
}

TEST_CASE(
    "a cell that derives from an LSTM has the LSTM's options; another has those that stand around a cell") {
  ParameterSet params(3);
  const Recurrent<Mogrified<LstmCell>> projected(params / "lstm", {.input = 3, .hidden = 5, .projection = 2});
  CHECK(projected.zero_state(1).h.shape() == Shape{1, 1, 2});
  CHECK(lacks(error_of([&] {
                Recurrent<MinimalGatedUnit>(params / "mgu", {.input = 3, .hidden = 5, .projection = 2});
              }),
              {"mgu", "projection", "LSTM"}) == "");
}

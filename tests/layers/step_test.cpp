// One step of a cell as a layer: PyTorch's cells, the layer over a window, gradients, and what it refuses.
#include "layers/recurrent/step.h"

#include "framework/gradcheck.h"
#include "tests/reference.h"
#include "tests/support.h"

using namespace unroll;

namespace {

// A copy of the recorded steps through the parameters of a layer.
template <class Step>
void check_recorded(const std::string& kind, Engine engine, Worst& worst) {
  const Json& c = reference("layers.json").at("steps").at(kind);
  ParameterSet params;
  const Step cell(params / "cell", {.input = 3, .hidden = 4, .engine = engine});
  std::vector<std::string> weights;
  for (const auto& p : params.all()) {
    const std::string name = p->name.substr(5, p->name.size() - 8);  // "weight_ih" of "cell.weight_ih_l0"
    p->leaf_value().copy_from(tensor_of(c.at(name)));
    weights.push_back(name);
  }
  CHECK(weights.size() == (kind == "gru" ? 4 : 3));
  Tape tape;
  const Var x = tape.watch(tensor_of(c.at("x"))), h = tape.watch(tensor_of(c.at("h")));
  const bool has_c = kind == "lstm";
  const Var first_c = has_c ? tape.watch(tensor_of(c.at("c"))) : Var();
  RecurrentVars state{h, first_c};
  Vars read;
  for (int t = 0; t < x.dim(0); ++t) read.push_back((state = cell(row(x, t), state)).h);
  if (has_c) read.push_back(state.c);
  const Var y = stack(read);
  worst(relative(y.value(), c.at("y"), 1e-3), kind);
  tape.backward(sum(y * tensor_of(c.at("dy"))));
  worst(relative(x.grad(), c.at("dx"), 1e-3), "dx of " + kind);
  worst(relative(h.grad(), c.at("dh"), 1e-3), "dh of " + kind);
  if (has_c) worst(relative(first_c.grad(), c.at("dc"), 1e-3), "dc of " + kind);
  for (const std::string& name : weights)
    worst(relative(params.at("cell." + name + "_l0").var().grad(), c.at("d" + name), 1e-3),
          "d" + name + " of " + kind);
}

template <class Step>
void check_against_layer(const RecurrentConfig& config) {
  for (const Engine engine : {Engine::fused, Engine::composed}) {
    RecurrentConfig c = config;
    c.engine = engine;
    ParameterSet params(3), same(3);
    const Step cell(params / "cell", c);
    const auto& layer = cell.layer();
    const RecurrentVars zero = cell.zero_state(2);
    const bool has_c = zero.c.value().defined();
    RandomStream random(4, "x");
    const Tensor x = random_tensor({5, 2, 3}, random);
    RecurrentVars state = zero;
    Vars ys;
    for (int t = 0; t < 5; ++t) ys.push_back((state = cell(row(x, t), state)).h);
    const auto whole = layer(x, layer.zero_state(2));
    CHECK(distance(stack(ys).value(), whole.y.value()) < 1e-13);
    if (has_c) CHECK(distance(state.c.value(), whole.state.c.value()[0]) < 1e-13);

    std::vector<Shape> shapes = {{3, 2, 3}, zero.h.shape()};
    if (has_c) shapes.push_back(zero.c.shape());
    CHECK(gradcheck("steps", params, shapes, [&](auto& v) {
      RecurrentVars s{v[1], has_c ? v[2] : Var()};
      for (int t = 0; t < 3; ++t) s = cell(row(v[0], t), s);
      return has_c ? std::vector<Var>{s.h, s.c} : std::vector<Var>{s.h};
    }));
  }
}

}  // namespace

TEST_CASE("steps of the cells are PyTorch's LSTMCell, GRUCell and RNNCell, values and gradients") {
  Worst worst;
  for (const Engine engine : {Engine::fused, Engine::composed}) {
    check_recorded<LstmStepLayer>("lstm", engine, worst);
    check_recorded<GruStepLayer>("gru", engine, worst);
    check_recorded<RnnStepLayer>("rnn", engine, worst);
  }
  CHECK_MESSAGE(worst.error < 1e-11, worst.text());
}

TEST_CASE("steps are the layer's over a window, and differentiated through several steps") {
  check_against_layer<LstmStepLayer>({.input = 3, .hidden = 3});
  check_against_layer<LstmStepLayer>(
      {.input = 3, .hidden = 4, .projection = 2, .layer_norm = true, .peepholes = true, .mogrifier = 2});
  check_against_layer<GruStepLayer>({.input = 3, .hidden = 3});
  check_against_layer<RnnStepLayer>({.input = 3, .hidden = 3});
}

TEST_CASE("zoneout draws a mask of its own in each step, on a tape alone") {
  ParameterSet params(3);
  const GruStepLayer cell(params / "cell", {.input = 2, .hidden = 40, .zoneout_h = 0.5f});
  const Var x = Tensor::full({1, 2}, 1);
  Tape tape;
  const RecurrentVars zero = cell.zero_state(1);
  const auto kept = [&](const Var& h) {  // where a state of zeros stays
    std::vector<real> result = values(h);
    for (real& v : result) v = v == 0;
    return result;
  };
  const auto first = kept(cell(x, zero).h), second = kept(cell(x, zero).h);
  CHECK(first != second);
}

TEST_CASE("a step refuses what it has not, and shapes that do not fit") {
  ParameterSet params;
  const auto refused = [&](const RecurrentConfig& c) {
    return error_of([&] { LstmStepLayer(params / "cell", c); });
  };
  CHECK(lacks(refused({.input = 2, .hidden = 3, .layers = 2}), {"lstm", "one layer", "2 layers"}) == "");
  CHECK(lacks(refused({.input = 2, .hidden = 3, .bidirectional = true}), {"lstm", "two directions"}) == "");
  CHECK(lacks(refused({.input = 2, .hidden = 3, .recurrent_dropout = 0.5f}), {"lstm", "recurrent_dropout"}) ==
        "");
  CHECK(lacks(refused({.input = 2, .hidden = 3, .weight_drop = 0.5f}), {"lstm", "weight_drop"}) == "");
  CHECK(lacks(refused({.input = 2, .hidden = 3, .residual = true}), {"lstm", "residual"}) == "");
  const LstmStepLayer cell(params / "lstm", {.input = 2, .hidden = 3});
  const auto called = [&](const Shape& x, const Shape& h, const Shape& c) {
    return error_of([&] { cell(Var(Tensor::zeros(x)), {Tensor::zeros(h), Tensor::zeros(c)}); });
  };
  CHECK(called({4, 2}, {4, 3}, {4, 3}) == "");
  CHECK(lacks(called({1, 4, 2}, {4, 3}, {4, 3}), {"lstm", "[1, 4, 2]", "[batch, 2]"}) == "");
  CHECK(lacks(called({4, 5}, {4, 3}, {4, 3}), {"lstm", "[4, 5]", "[batch, 2]"}) == "");
  CHECK(lacks(called({4, 2}, {3, 3}, {4, 3}), {"lstm", "h [3, 3]", "[4, 3]"}) == "");
  CHECK(lacks(called({4, 2}, {4, 3}, {4, 2}), {"lstm", "c [4, 2]", "[4, 3]"}) == "");
}

TEST_CASE("a step refuses every option that acts between layers or on a window") {
  ParameterSet params;
  const auto refused = [&](const RecurrentConfig& c) {
    return error_of([&] { GruStepLayer(params / "c", c); });
  };
  CHECK(lacks(refused({.input = 2, .hidden = 3, .dropout = 0.5f}), {"gru", "dropout acts"}) == "");
  CHECK(lacks(refused({.input = 2, .hidden = 3, .last_hidden = 2}), {"gru", "last_hidden acts"}) == "");
  CHECK(lacks(refused({.input = 2, .hidden = 3, .resets = true}), {"gru", "resets acts"}) == "");
  CHECK(params.all().empty());
}

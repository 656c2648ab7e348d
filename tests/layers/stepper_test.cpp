// Stepping: the values of the layers called on a whole window, to rounding; and that it leaves no trace.
#include "layers/stepper.h"

#include <limits>

#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "tests/layers/lstm_cases.h"
#include "tests/support.h"

using namespace unroll;

namespace {

constexpr double unit = std::numeric_limits<real>::epsilon() / 2;  // of one rounding
constexpr double elementary = 8 * unit;  // of sigmoid and tanh: 3 units of the last place (kernels_test)

// max_i Σ_j |w_ij|
double norm(const Tensor& w) {
  double result = 0;
  for (int i = 0; i < w.dim(0); ++i) {
    double sum = 0;
    for (real v : w[i].span()) sum += std::abs(static_cast<double>(v));
    result = std::max(result, sum);
  }
  return result;
}
// How far two sums of the same n terms may lie apart, each in an order of its own (Higham 2002, section 3.1).
double of_sums(int n, double terms) { return 2 * n * unit / (1 - n * unit) * terms; }

// How far apart two evaluations of the same LSTM may be, step by step and layer by layer, to first order:
// what each rounds by itself, and what the difference of their operands grows to. Gates are σ(a) and tanh(a)
// with |a| at most `sum`; σ's slope is at most 1/4, tanh's 1.
class Bound {
 public:
  Bound(const Lstm& lstm, const Stepper& stepper, double largest_input)
      : lstm_(lstm), stepper_(stepper), input_(largest_input), h_(lstm.cells().size()), c_(h_.size()) {}

  // After a step of the stepper: of h of the last layer.
  double step() {
    largest_h_ = std::max(largest_h_, largest(stepper_.state().h));
    largest_c_ = std::max(largest_c_, largest(stepper_.state().c));
    double below = 0;
    for (size_t k = 0; k < h_.size(); ++k) {
      const LstmCell& layer = lstm_.cells()[k];
      const Var &weight_ih = layer.weight_ih, &weight_hh = layer.weight_hh, &bias = layer.bias;
      const double ih = norm(weight_ih.value()), hh = norm(weight_hh.value());
      const double sum = largest(bias.value()) + ih * (k == 0 ? input_ : largest_h_) + hh * largest_h_;
      const double error = of_sums(weight_ih.dim(1) + weight_hh.dim(1) + 1, sum) + ih * below + hh * h_[k];
      const double gate = 1 / (1 + std::exp(-sum)), gate_error = error / 4 + 2 * elementary;
      // c' = f c + i g,  h = o tanh(c')
      c_[k] = gate * c_[k] + gate_error * (largest_c_ + std::tanh(sum)) + gate * (error + 2 * elementary) +
              4 * unit * (largest_c_ + 1);
      below = h_[k] = gate_error * std::tanh(largest_c_) + gate * (c_[k] + 2 * elementary) + 2 * unit;
    }
    return below;
  }
  double h() const { return *std::max_element(h_.begin(), h_.end()); }
  double c() const { return *std::max_element(c_.begin(), c_.end()); }

 private:
  const Lstm& lstm_;
  const Stepper& stepper_;
  double input_, largest_h_ = 0, largest_c_ = 0;
  std::vector<double> h_, c_;
};

}  // namespace

TEST_CASE("steps give what the window gives, whichever engine, any number of layers and sequences") {
  RandomStream random(3, "x");
  for (const Engine engine : {Engine::fused, Engine::composed})
    for (const int layers : {1, 3})
      for (const int batch : {1, 4}) {
        constexpr int steps = 6;
        ParameterSet params(static_cast<uint64_t>(layers));
        const Lstm lstm(params / "lstm", {.input = 5, .hidden = 9, .layers = layers, .engine = engine});
        params.initialize(Init::uniform(-0.1f, 0.1f));
        const Tensor x = random_tensor({steps, batch, 5}, random);
        const auto [y, last] = lstm(x, lstm.zero_state(batch));
        Stepper stepper(lstm, batch);
        Bound bound(lstm, stepper, largest(x));
        for (int t = 0; t < steps; ++t) {
          CAPTURE(name_of(engine));
          CAPTURE(layers);
          CAPTURE(t);
          const Tensor h = stepper(x[t]);
          CHECK(distance(h, y.value()[t]) <= bound.step());
        }
        CHECK(distance(stepper.state().h, last.h.value()) <= bound.h());
        CHECK(distance(stepper.state().c, last.c.value()) <= bound.c());
        CHECK(largest(y.value()) > 100 * bound.h());  // so the bound tells right from wrong
      }
}

// A product's bits depend on its row and its column alone (framework/gemm.h), and sums are formed in one
// order.
TEST_CASE("steps of a GRU give the bits of the window's fused engine, any number of layers and sequences") {
  RandomStream random(3, "x");
  for (const int layers : {1, 3})
    for (const int batch : {1, 4}) {
      ParameterSet params(static_cast<uint64_t>(layers));
      const Gru gru(params / "gru",
                    {.input = 5, .hidden = 9, .layers = layers, .dropout = layers > 1 ? 0.5f : 0});
      const Tensor x = random_tensor({6, batch, 5}, random);
      const auto [y, last] = gru(x, gru.zero_state(batch));
      Stepper stepper(gru, batch);
      const Tape tape;
      for (int t = 0; t < 6; ++t) CHECK(same_bits(stepper(x[t]), y.value()[t]));
      CHECK(same_bits(stepper.state().h, last.h.value()));
      CHECK_FALSE(stepper.state().c.defined());
      CHECK(tape.size() == 0);
      stepper.reset();
      CHECK(same_bits(stepper(x[0]), y.value()[0]));
    }
}

TEST_CASE("cells with options step too: the bits of the window without a tape") {
  RandomStream random(2, "x");
  const auto check = [&](const RecurrentLayer& layers) {
    const Tensor x = random_tensor({5, 2, layers.config().input}, random);
    const auto [y, last] = layers(x, layers.zero_state(2));
    Stepper stepper(layers, 2);
    for (int t = 0; t < 5; ++t) CHECK(same_bits(stepper(x[t]), y.value()[t]));
    CHECK(same_bits(stepper.state().h, last.h.value()));
  };
  for (const CellFacts& cell : our_cells)
    for (const RecurrentConfig& config : options_alone(cell, {.input = 3, .hidden = 4, .layers = 2})) {
      if (config.bidirectional) continue;
      ParameterSet params;
      const RecurrentLayer layers(params / cell.name, cell.kind, config);
      if (is_plain_step(config) != (layers.plain_step_room() > 0)) FAIL("the short way of ", cell.name);
      if (!is_plain_step(config)) check(layers);
    }
  ParameterSet params;
  check(RecurrentLayer(params / "rnn", CellKind::rnn, {.input = 3, .hidden = 4, .layers = 2}));
}

TEST_CASE("a token's step gives the logits of the window") {
  for (const bool tied : {false, true}) {
    constexpr int vocab = 11, width = 8, steps = 5;
    ParameterSet params;
    const Embedding embedding(params / "embedding", {.vocab = vocab, .dim = width});
    const Lstm lstm(params / "lstm", {.input = width, .hidden = width, .layers = 2});
    const DenseConfig config{.in = width, .out = vocab};
    const Dense decoder =
        tied ? Dense(params / "out", config, embedding.weight) : Dense(params / "out", config);
    params.initialize(Init::uniform(-0.1f, 0.1f));
    RandomStream random(1, "tokens");
    const IdTensor tokens = random_ids({steps, 1}, random, vocab);
    const Var logits = decoder(lstm(embedding(tokens), lstm.zero_state(1)).y);

    TokenStepper stepper(embedding, lstm, decoder);
    Bound bound(lstm, stepper.layers, largest(embedding.weight.value()));
    const double weights = norm(decoder.weight.value()), bias = largest(decoder.bias.value());
    std::vector<Tensor> stepped;
    for (int t = 0; t < steps; ++t) {
      stepped.push_back(Tensor::from({1, vocab}, stepper(tokens.data()[t])));
      CHECK(distance(stepped[t], logits.value()[t]) <=
            of_sums(width + 1, bias + weights) + weights * bound.step());
    }
    CHECK_FALSE(same_bits(Tensor::from({1, vocab}, stepper(tokens.data()[0])), stepped[0]));
    stepper.layers.reset();
    CHECK(same_bits(Tensor::from({1, vocab}, stepper(tokens.data()[0])), stepped[0]));
  }
}

TEST_CASE("a Dense layer computes into memory that is there what it records") {
  for (const bool bias : {true, false})
    for (const Activation f : {Activation::none, Activation::relu, Activation::tanh, Activation::sigmoid}) {
      ParameterSet params;
      const Dense layer(params / "out", {.in = 7, .out = 5, .bias = bias, .activation = f});
      RandomStream random(5, "x");
      const Tensor x = random_tensor({2, 3, 7}, random), y = Tensor::full({2, 3, 5}, 100);
      layer.compute(x, y);
      CHECK(same_bits(y, layer(x).value()));
    }
}

TEST_CASE("with zoneout steps give the bits of the window without a tape: the expectation of the state") {
  ParameterSet params;
  const Lstm lstm(params / "lstm",
                  {.input = 3, .hidden = 4, .layers = 2, .zoneout_h = 0.2f, .zoneout_c = 0.4f});
  RandomStream random(2, "x");
  const Tensor x = random_tensor({5, 2, 3}, random);
  const auto [y, last] = lstm(x, lstm.zero_state(2));
  Stepper stepper(lstm, 2);
  const Tape tape;
  for (int t = 0; t < 5; ++t) CHECK(same_bits(stepper(x[t]), y.value()[t]));
  CHECK(same_bits(stepper.state().c, last.c.value()));
  CHECK(tape.size() == 0);
}

TEST_CASE("a state keeps its buffers, whatever is assigned to it; a copy has others") {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 4});
  const Gru gru(params / "gru", {.input = 3, .hidden = 4});
  RecurrentState state = lstm.zero_state(2);
  const Tensor h = state.h, c = state.c;
  h.fill(1), c.fill(2);
  const RecurrentState copy = state;
  state = lstm.zero_state(2);
  CHECK(largest(h) + largest(c) == 0);  // what was named to a checkpoint is what was assigned to
  CHECK(largest(copy.h) == 1);
  state = copy;
  CHECK(largest(h) == 1);
  CHECK(largest(c) == 2);
  CHECK(lacks(error_of([&] { state = lstm.zero_state(3); }), {"[1, 3, 4]", "[1, 2, 4]"}) == "");
  CHECK(lacks(error_of([&] { state = gru.zero_state(2); }), {"c"}) == "");
  const RecurrentState half(Tensor::zeros({1, 2, 4}), Tensor::zeros({1, 2, 5}));
  CHECK(lacks(error_of([&] { state = half; }), {"[1, 2, 5]", "[1, 2, 4]"}) == "");
  CHECK(largest(h) == 1);  // and nothing of it was taken

  RecurrentState later;  // of no size until it is assigned
  later.reset();
  CHECK(lacks(error_of([&] { lstm(Var(Tensor::zeros({1, 2, 3})), later); }), {"state", "zero_state"}) == "");
  later = copy;
  CHECK(largest(later.c) == 2);
  later.reset();
  CHECK(largest(copy.c) == 2);

  RecurrentState of_gru = gru.zero_state(2);
  const Tensor h_of_gru = of_gru.h;
  h_of_gru.fill(3);
  const RecurrentState kept = of_gru;
  of_gru = gru.zero_state(2);
  CHECK(largest(h_of_gru) == 0);
  CHECK(largest(kept.h) == 3);

  const RecurrentState none;
  CHECK(lacks(error_of([&] { gru(Var(Tensor::zeros({1, 2, 3})), none); }), {"state", "zero_state"}) == "");
}

TEST_CASE("steps go on from the state that a window left, each stepper by itself") {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 4, .layers = 2});
  RandomStream random(2, "x");
  const Tensor x = random_tensor({5, 2, 3}, random);
  Stepper whole(lstm, 2), rest(lstm, 2), idle(lstm, 2);
  for (int t = 0; t < 3; ++t) whole(x[t]);
  const RecurrentState kept = whole.state();
  rest.set_state(kept);
  for (int t = 3; t < 5; ++t) CHECK(same_bits(whole(x[t]).clone(), rest(x[t])));
  rest.set_state(kept);
  CHECK(same_bits(kept.h, rest.state().h));
  CHECK(!same_bits(kept.h, whole.state().h));
  CHECK(largest(idle.state().h) == 0);
  whole.reset();
  CHECK(largest(whole.state().h) + largest(whole.state().c) == 0);
  CHECK(largest(rest.state().c) > 0);
}

TEST_CASE("a row that begins anew steps as in a window with a reset, the others go on") {
  RandomStream random(2, "x");
  const IdTensor resets = ids({5, 3}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0});
  for (const CellFacts& cell : our_cells)
    for (const float zoneout : {0.f, 0.3f}) {  // the short way, and that of a window
      ParameterSet params;
      const RecurrentLayer layers(params / cell.name, cell.kind,
                                  {.input = 3, .hidden = 4, .layers = 2, .zoneout_h = zoneout});
      const Tensor x = random_tensor({5, 3, 3}, random);
      const auto [y, last] = layers(x, layers.zero_state(3), {}, resets);
      Stepper stepper(layers, 3);
      const double rounding = 64 * unit;  // an LSTM's plain step adds its sums in another order
      for (int t = 0; t < 5; ++t) {
        for (int b = 0; b < 3; ++b)
          if (resets[t].data()[b] != 0) stepper.reset(b);
        CHECK(distance(stepper(x[t]), y.value()[t]) <= rounding);
      }
      CHECK(distance(stepper.state().h, last.h.value()) <= rounding);
      CHECK(distance(layers(x, layers.zero_state(3)).y.value(), y.value()) > 1000 * rounding);
    }
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 4});
  Stepper stepper(lstm, 2);
  for (const int row : {-1, 2})
    CHECK(error_of([&] { stepper.reset(row); }) == fmt::format("a state of a batch of 2 has no row {}", row));
}

TEST_CASE("a step records nothing and drops nothing while a tape is alive") {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 4, .layers = 2, .dropout = 0.9f});
  RandomStream random(2, "x");
  const Tensor x = random_tensor({1, 3}, random);
  Stepper before(lstm), during(lstm);
  const Tensor expected = before(x);
  const Tape tape;
  CHECK(same_bits(during(x), expected));
  CHECK(tape.size() == 0);
}

TEST_CASE("what does not fit is refused with its sizes") {
  ParameterSet params;
  const Embedding embedding(params / "embedding", {.vocab = 10, .dim = 3});
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 4});
  const Dense decoder(params / "out", {.in = 4, .out = 10}), other(params / "other", {.in = 5, .out = 10});
  Stepper stepper(lstm, 2);
  CHECK(lacks(error_of([&] { stepper(Tensor::zeros({2, 4})); }), {"stepper", "[2, 4]", "[2, 3]"}) == "");
  CHECK(lacks(error_of([&] { stepper(Tensor::zeros({3})); }), {"[3]", "[2, 3]"}) == "");
  CHECK(lacks(error_of([&] { TokenStepper(embedding, lstm, other); }), {"stepper", "5", "output 4"}) == "");
  const Lstm both(params / "both", {.input = 3, .hidden = 4, .bidirectional = true});
  const Gru both_gru(params / "both_gru", {.input = 3, .hidden = 4, .bidirectional = true});
  for (const RecurrentLayer& layer : {RecurrentLayer(both), RecurrentLayer(both_gru)})
    CHECK(lacks(error_of([&] { Stepper refused(layer); }), {"stepper", "bidirectional", "whole windows"}) ==
          "");
  TokenStepper tokens(embedding, lstm, decoder);
  CHECK(lacks(error_of([&] { tokens(10); }), {"no token 10", "10"}) == "");
  CHECK(lacks(error_of([&] { tokens(-1); }), {"no token -1"}) == "");
}

TEST_CASE("rows of a state are taken and put back in every layer, of h and of c") {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 4, .layers = 2});
  RecurrentState state = lstm.zero_state(5);
  RandomStream random(2, "state");
  state.h.copy_from(random_tensor({2, 5, 4}, random)), state.c.copy_from(random_tensor({2, 5, 4}, random));
  const RecurrentVars some = state.rows(1, 3);
  const auto part = [](const Tensor& all, int begin, int end) { return slice(all, 1, begin, end).value(); };
  CHECK(same_bits(some.h.value(), part(state.h, 1, 3)));
  CHECK(same_bits(some.c.value(), part(state.c, 1, 3)));
  RecurrentState other = lstm.zero_state(5);
  other.set_rows(3, some);
  for (const auto& [all, from] : {std::pair{other.h, state.h}, {other.c, state.c}}) {
    CHECK(same_bits(part(all, 3, 5), part(from, 1, 3)));
    CHECK(largest(part(all, 0, 3)) == 0);
  }
}

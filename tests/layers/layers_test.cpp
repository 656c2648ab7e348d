// The layers but for the LSTM: what they compute, which parameters they register, and their gradients through
// a ParameterSet.
#include <cmath>

#include "framework/gradcheck.h"
#include "layers/conv1d.h"
#include "layers/dense.h"
#include "layers/dropout.h"
#include "layers/embedding.h"
#include "layers/highway.h"
#include "layers/norm.h"
#include "layers/recurrent/lstm.h"
#include "layers/regularization.h"
#include "tests/reference.h"
#include "tests/support.h"

using namespace unroll;

namespace {

std::vector<std::string> names(const ParameterSet& params) {
  std::vector<std::string> result;
  for (const auto& p : params.all())
    result.push_back(p->name + " " + p->shape.text() + (p->decay ? "" : " no decay"));
  return result;
}

}  // namespace

TEST_CASE("Dense registers weight and bias and is differentiated with every activation") {
  for (bool bias : {true, false})
    for (Activation activation :
         {Activation::none, Activation::tanh, Activation::sigmoid, Activation::relu}) {
      ParameterSet params;
      const Dense layer(params / "out", {.in = 3, .out = 5, .bias = bias, .activation = activation});
      if (bias)
        CHECK(names(params) == std::vector<std::string>{"out.weight [5, 3]", "out.bias [5] no decay"});
      else
        CHECK(names(params) == std::vector<std::string>{"out.weight [5, 3]"});
      // relu: these seeds put no sum within 2h of zero, or the checker would refuse to judge
      for (const Shape& s : {Shape{4, 3}, Shape{3}, Shape{2, 1, 3}})
        CHECK(gradcheck("Dense", params, {s}, [&](auto& v) { return layer(v[0]); }));
    }
}

TEST_CASE("Dense is x times weight transposed plus bias under its activation") {
  ParameterSet params;
  const Dense plain(params / "a", {.in = 2, .out = 2}),
      squashed(params / "b", {.in = 2, .out = 2, .activation = Activation::tanh});
  params.values();
  for (const char* name : {"a.weight", "b.weight"})
    params.find(name)->leaf_value().copy_from(tensor({2, 2}, {1, 2, 3, 4}));
  for (const char* name : {"a.bias", "b.bias"})
    params.find(name)->leaf_value().copy_from(tensor({2}, {0.5, -0.5}));
  const Var x = tensor({1, 2}, {0.25, -1});
  CHECK(values(plain(x)) == std::vector<real>{-1.25, -3.75});
  CHECK(values(squashed(x))[0] == doctest::Approx(std::tanh(-1.25)).epsilon(1e-14));
  CHECK(values(squashed(x))[1] == doctest::Approx(std::tanh(-3.75)).epsilon(1e-14));
}

TEST_CASE("a Dense layer without activation goes into the loss without its logits") {
  for (bool bias : {true, false}) {
    ParameterSet params;
    const Dense layer(params / "out", {.in = 3, .out = 5, .bias = bias});
    const IdTensor target = ids({2, 2}, {4, 0, 2, -1});
    CHECK(gradcheck("softmax_cross_entropy of a layer", params, {{2, 2, 3}},
                    [&](auto& v) { return softmax_cross_entropy(layer, v[0], target, {.chunk_rows = 3}); }));
    RandomStream random(2, "x");
    const Var x = random_tensor({2, 2, 3}, random);
    CHECK(softmax_cross_entropy(layer, x, target).item() ==
          doctest::Approx(softmax_cross_entropy(layer(x), target).item()).epsilon(1e-14));
  }
  ParameterSet params;
  const Dense layer(params / "out", {.in = 3, .out = 5, .activation = Activation::relu});
  CHECK(lacks(error_of([&] {
                softmax_cross_entropy(layer, Var(Tensor::zeros({2, 3})), ids({2}, {0, 1}));
              }),
              {"softmax_cross_entropy", "activation"}) == "");
}

TEST_CASE("a tied Dense layer has no weight of its own and is differentiated through both uses") {
  ParameterSet params;
  const Embedding embed(params / "embed", {.vocab = 5, .dim = 3});
  const Dense out(params / "out", {.in = 3, .out = 5}, embed.weight);
  CHECK(names(params) == std::vector<std::string>{"embed.weight [5, 3]", "out.bias [5] no decay"});
  const IdTensor input = ids({4}, {1, 3, 1, 0}), target = ids({4}, {2, 2, 0, 4});
  CHECK(gradcheck("tied", params, {{4, 3}}, [&](auto& v) {
    const Var x = embed(input) * v[0];
    return std::vector<Var>{softmax_cross_entropy(out, x, target), out(x)};
  }));
}

TEST_CASE("Embedding looks rows up and is differentiated") {
  ParameterSet params(4);
  const Embedding embed(params / "embed", {.vocab = 7, .dim = 3});
  CHECK(names(params) == std::vector<std::string>{"embed.weight [7, 3]"});
  for (const real v : embed.weight.value().on_host()) CHECK(std::abs(v) <= 0.1f);
  const IdTensor tokens = ids({2, 3}, {6, 0, 6, 2, 2, 6});
  CHECK(embed(tokens).shape() == Shape{2, 3, 3});
  CHECK(same_bits(embed(tokens).value()[0][0], embed.weight.value()[6]));
  CHECK(gradcheck("Embedding", params, {}, [&](auto&) { return embed(tokens); }));
}

TEST_CASE("Embedding drops whole words, on a tape, at its rate, and is differentiated") {
  constexpr int vocab = 2000;
  ParameterSet params(4);
  const Embedding embed(params / "embed", {.vocab = vocab, .dim = 3, .dropout = 0.3f});
  IdTensor tokens({2, vocab});  // every word twice
  for (int i = 0; i < vocab; ++i) tokens[0].data()[i] = i, tokens[1].data()[vocab - 1 - i] = i;
  const Tensor plain = embed(tokens).value();
  CHECK(same_bits(plain[0], embed.weight.value()));
  const auto on_tape = [&](TapeOptions options) {
    Tape tape(options);
    return embed(tokens).value();
  };
  CHECK(same_bits(on_tape({.dropout = false}), plain));
  const Tensor y = on_tape({});
  int dropped = 0;
  for (int i = 0; i < vocab; ++i) {
    const bool gone = y[0][i].on_host()[0] == 0;
    dropped += gone;
    for (int k = 0; k < 3; ++k) {
      CHECK(y[0][i].on_host()[k] == (gone ? 0 : plain[0][i].on_host()[k] * (1 / (1 - double{0.3f}))));
      CHECK(y[1][vocab - 1 - i].on_host()[k] == y[0][i].on_host()[k]);  // the other place of the same word
    }
  }
  CHECK(std::abs(dropped - 0.3 * vocab) < 5 * std::sqrt(0.3 * 0.7 * vocab));  // five deviations
  CHECK(same_bits(on_tape({}), y));
  params.set_step(1);
  CHECK_FALSE(same_bits(on_tape({}), y));
  ParameterSet few(4);
  const Embedding small(few / "embed", {.vocab = 7, .dim = 3, .dropout = 0.5f});
  const IdTensor some = ids({2, 3}, {6, 0, 6, 2, 2, 5});
  CHECK(gradcheck("Embedding with dropout", few, {}, [&](auto&) { return small(some); },
                  {.dropout = true, .twice = false}));
  CHECK(lacks(error_of([&] {
                ParameterSet other;
                Embedding(other / "embed", {.vocab = 7, .dim = 3, .dropout = 1});
              }),
              {"embedding", "dropout 1"}) == "");
}

TEST_CASE("a Highway sums each channel's own last values, with the same weights, and is differentiated") {
  ParameterSet params;
  const Highway highway(params / "highway", {.length = 2, .out = 2});
  CHECK(names(params) == std::vector<std::string>{"highway.weight [2, 2]", "highway.bias [2] no decay"});
  params.values();
  params.find("highway.weight")->leaf_value().copy_from(tensor({2, 2}, {1, 10, 100, 1000}));
  params.find("highway.bias")->leaf_value().copy_from(tensor({2}, {0.25, 0.5}));
  // Three rows of two windows of three channels; the first row is not read, nor the channel in the middle.
  const Var x = tensor({3, 2, 3}, {9, 9, 9, 9, 9, 9, 1, 9, 2, 3, 9, 4, 5, 9, 6, 7, 9, 8});
  const std::vector<int> channels = {2, 0};
  const Var y = highway(x, channels);
  CHECK(y.shape() == Shape{2, 2, 2});
  CHECK(values(y) == std::vector<real>{62.25, 51.25, 6200.5, 5100.5, 84.25, 73.25, 8400.5, 7300.5});
  CHECK(gradcheck("Highway", params, {{3, 2, 3}}, [&](auto& v) { return highway(v[0], channels); }));
  CHECK(error_of([&] { (void)last_values(x, 3, 2); }).find("last_values: 2 of channel 3") !=
        std::string::npos);
  CHECK(error_of([&] { (void)last_values(x, 0, 4); }).find("[3, 2, 3]") != std::string::npos);
}

TEST_CASE("a Highway beside an LSTM: both paths of a window are differentiated") {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 2, .hidden = 3});
  const Dense head(params / "head", {.in = 3, .out = 2});
  const Highway highway(params / "highway", {.length = 3, .out = 2});
  const std::vector<int> channels = {1};
  CHECK(gradcheck("Highway beside an LSTM", params, {{4, 2, 2}}, [&](auto& v) {
    const auto [steps, state] = lstm(v[0], lstm.zero_state(2));
    return head(row(steps, 3)) + reshape(highway(v[0], channels), {2, 2});
  }));
}

TEST_CASE("LayerNorm starts as the plain normalisation and is differentiated") {
  ParameterSet params;
  const LayerNorm norm(params / "norm", {.dim = 4});
  CHECK(names(params) == std::vector<std::string>{"norm.weight [4] no decay", "norm.bias [4] no decay"});
  const Var x = tensor({1, 4}, {1, 2, 3, 4});
  const double rstd = 1 / std::sqrt(1.25 + double{1e-5f});
  for (int i = 0; i < 4; ++i) CHECK(values(norm(x))[i] == doctest::Approx((i - 1.5) * rstd).epsilon(1e-14));
  RandomStream random(4, "gain");
  for (const auto& p : params.all())
    for (real& v : p->leaf_value().on_host(Access::change)) v = 0.5 + random.uniform();
  CHECK(gradcheck("LayerNorm", params, {{3, 2, 4}}, [&](auto& v) { return norm(v[0]); }, {.magnitude = 1.5}));
}

TEST_CASE("first values drawn anew leave a gain near 1") {
  ParameterSet params;
  const LayerNorm norm(params / "norm", {.dim = 50});
  params.initialize(Init::uniform(-0.1f, 0.1f));
  for (const double gain : values(norm.weight)) CHECK(std::abs(gain - 1) <= 0.1);
  for (const double shift : values(norm.bias)) CHECK(std::abs(shift) <= 0.1);
}

TEST_CASE("Dropout is on while a tape records, differentiated, and locked over time if asked") {
  ParameterSet params(9);
  const Dropout drop(params / "drop", {.rate = 0.5f}),
      locked(params / "locked", {.rate = 0.5f, .locked = true});
  const Tensor ones = Tensor::full({4, 3, 8}, 1);
  CHECK(same_bits(drop(ones).value(), ones));
  {
    Tape tape({.dropout = false});
    CHECK(same_bits(drop(tape.watch(ones)).value(), ones));
  }
  Tensor first, again, third;
  {
    Tape tape;
    const Var x = tape.watch(ones);
    first = drop(x).value();
    again = drop(x).value();
    third = locked(x).value();
    NoTape guard;
    CHECK(same_bits(drop(x).value(), ones));
  }
  CHECK_FALSE(same_bits(first, ones));
  CHECK_FALSE(same_bits(first, again));  // the second call at this place
  for (int t = 1; t < 4; ++t) {
    CHECK(same_bits(third[t], third[0]));
    CHECK_FALSE(same_bits(first[t], first[0]));
  }
  {
    Tape tape;
    CHECK(same_bits(drop(tape.watch(ones)).value(), first));  // same step, same call: same mask
  }
  params.set_step(1);
  {
    Tape tape;
    CHECK_FALSE(same_bits(drop(tape.watch(ones)).value(), first));
  }
  for (const Dropout* layer : {&drop, &locked})
    CHECK(gradcheck("Dropout", {{4, 3, 5}}, [&](auto& v) { return (*layer)(v[0]) * v[0]; },
                    {.dropout = true, .twice = false}));
}

TEST_CASE("Dropout refuses a rate outside of [0, 1)") {
  ParameterSet params;
  for (float rate : {-0.1f, 1.0f, 1.5f})
    CHECK(lacks(error_of([&] { Dropout(params / "drop", {.rate = rate}); }),
                {"dropout", fmt::format("{}", rate)}) == "");
}

TEST_CASE("activation regularization is of the outputs' squares, the temporal one of their changes") {
  const Var y = tensor({3, 1, 2}, {1, 2, 3, -1, 0, 5});
  CHECK(activation_regularization(y, 3).item() == doctest::Approx(3 * 40 / 6.).epsilon(1e-14));
  // changes 2 -3, -3 6
  CHECK(temporal_activation_regularization(y, 0.5).item() == doctest::Approx(0.5 * 58 / 4.).epsilon(1e-14));
  CHECK(temporal_activation_regularization(slice(y, 0, 0, 1), 0.5).item() == 0);
  ParameterSet none;
  CHECK(gradcheck("activation_regularization", none, {{4, 2, 3}},
                  [](auto& v) { return activation_regularization(v[0], 2); }));
  CHECK(gradcheck("temporal_activation_regularization", none, {{4, 2, 3}},
                  [](auto& v) { return temporal_activation_regularization(v[0], 2); }));
}

TEST_CASE("layers refuse input that does not fit, naming the operation and the shapes") {
  ParameterSet params;
  const Dense dense(params / "out", {.in = 3, .out = 5});
  const LayerNorm norm(params / "norm", {.dim = 4});
  const Embedding embed(params / "embed", {.vocab = 7, .dim = 3});
  const Var x = Tensor::zeros({2, 6});
  CHECK(lacks(error_of([&] { dense(x); }), {"linear", "[2, 6]", "[5, 3]"}) == "");
  const Dense tied(params / "tied", {.in = 3, .out = 5, .bias = false}, embed.weight);
  const Var h = Tensor::zeros({2, 3});
  CHECK(lacks(error_of([&] { tied(h); }), {"dense", "[7, 3]", "[5, 3]"}) == "");
  CHECK(lacks(error_of([&] {
                softmax_cross_entropy(tied, h, ids({2}, {0, 1}));
              }),
              {"dense", "[7, 3]"}) == "");
  CHECK(lacks(error_of([&] { norm(x); }), {"layer_norm", "[2, 6]", "[4]"}) == "");
  CHECK(lacks(error_of([&] { embed(ids({1}, {7})); }), {"embedding", "7", "[7, 3]"}) == "");
  CHECK(lacks(error_of([&] { Dense(params / "none", {.in = 3, .out = 0}); }), {"dense", "out 0"}) == "");
  CHECK(lacks(error_of([&] {
                softmax_cross_entropy(Tensor::zeros({2, 0}), ids({2}, {-1, -1}));
              }),
              {"softmax_cross_entropy", "[2, 0]", "no classes"}) == "");
  CHECK(lacks(error_of([&] { Tensor({1 << 30, 1 << 30, 4}); }), {"too many elements"}) == "");
}

TEST_CASE("cross-entropies of a layer, one for each target, are what the loss takes the mean of") {
  RandomStream random(3, "x");
  // The second: more rows than logits are held of at a time.
  for (const auto& [classes, rows] : {std::pair{7, 6}, {1 << 19, 5}}) {
    ParameterSet params;
    const Dense layer(params / "out", {.in = 2, .out = classes});
    const Tensor x = random_tensor({rows, 1, 2}, random);
    IdTensor target = random_ids({rows, 1}, random, static_cast<uint32_t>(classes));
    target.data()[1] = -1;
    const Tensor losses = softmax_cross_entropies(layer, x, target);
    REQUIRE(losses.shape() == target.shape());
    const double temperatures[] = {0.7, 1};
    const Tensor tempered = softmax_cross_entropies(layer, x, target, temperatures);
    const Tensor scaled = layer(Var(x)).value();
    CHECK(same_bits(tempered[1].reshape(target.shape()), losses));
    CHECK(distance(tempered, softmax_cross_entropies(scaled, target, temperatures)) < 1e-13);
    CHECK(losses.on_host()[1] == 0);
    for (int r = 0; r < rows; ++r)
      if (r != 1)
        CHECK(losses.on_host()[r] ==
              doctest::Approx(softmax_cross_entropy(layer, Var(x[r]), target[r]).item()).epsilon(1e-14));
  }
  // At temperatures, by hand: logits (0, ln 9) are (0, ln 3) at 2.
  const Tensor logits = tensor({2, 2}, {0, real(std::log(9.0)), real(std::log(9.0)), 0});
  const double temperatures[] = {1, 2, 0.5};
  const Tensor at = softmax_cross_entropies(logits, ids({2}, {1, -1}), temperatures);
  REQUIRE(at.shape() == Shape({3, 2}));
  const double odds[] = {9, 3, 81};
  for (int k = 0; k < 3; ++k) {
    CHECK(at.on_host()[2 * k] == doctest::Approx(-std::log(odds[k] / (1 + odds[k]))).epsilon(1e-14));
    CHECK(at.on_host()[2 * k + 1] == 0);
  }
  CHECK(logits.on_host()[1] == real(std::log(9.0)));
  for (const double wrong : {0.0, -1.0, double{NAN}, double{INFINITY}}) {
    const double one[] = {wrong};
    CHECK(lacks(error_of([&] {
                  softmax_cross_entropies(logits, ids({2}, {1, 0}), one);
                }),
                {"temperature"}) == "");
  }
  ParameterSet params;
  const Dense layer(params / "out", {.in = 2, .out = 3}),
      bent(params / "bent", {.in = 2, .out = 3, .activation = Activation::tanh});
  const IdTensor target = ids({2}, {0, 1});
  CHECK(lacks(error_of([&] {
                softmax_cross_entropies(bent, Tensor::zeros({2, 2}), target);
              }),
              {"softmax_cross_entropies", "activation"}) == "");
  CHECK(lacks(error_of([&] {
                softmax_cross_entropies(layer, Tensor::zeros({3, 2}), target);
              }),
              {"softmax_cross_entropies", "[3, 2]", "[2]"}) == "");
  CHECK(lacks(error_of([&] {
                softmax_cross_entropies(layer, Tensor::zeros({2, 2}), ids({2}, {0, 3}));
              }),
              {"softmax_cross_entropies", "target 3", "0 … 2"}) == "");
}

TEST_CASE("RmsNorm divides by the root of the mean square, as PyTorch does, and is differentiated") {
  Worst worst;
  for (const Json& c : reference("layers.json").at("rms_norm"))
    compare(
        c, "rms_norm",
        [](const Json& c, const RecordedInputs& in) {
          ParameterSet params;
          RmsNorm norm(params / "norm", {.dim = 5, .eps = c.at("eps").get<float>()});
          CHECK(names(params) == std::vector<std::string>{"norm.weight [5] no decay"});
          norm.weight = in.at("weight");
          return norm(in.at("x"));
        },
        worst);
  CHECK_MESSAGE(worst.error < 1e-6, worst.text());  // eps is a float here
  ParameterSet params;
  const RmsNorm norm(params / "norm", {.dim = 4});
  for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{2, 3, 4}})
    CHECK(gradcheck("RmsNorm", params, {shape}, [&](auto& v) { return norm(v[0]); },
                    {.fill = fill_away_from_zero}));
  CHECK(values(norm(Tensor::zeros({1, 4}))) == std::vector<real>{0, 0, 0, 0});
  CHECK(lacks(error_of([&] { norm(Var(Tensor::zeros({2, 6}))); }), {"rms_norm", "[2, 6]", "[4]"}) == "");
}

TEST_CASE("a second call of an Embedding on one tape drops other words") {
  ParameterSet params(4);
  const Embedding embed(params / "embed", {.vocab = 50, .dim = 1, .dropout = 0.5f});
  IdTensor tokens({50});
  for (int i = 0; i < 50; ++i) tokens.data()[i] = i;
  const Tape tape;
  const Tensor first = embed(tokens).value(), second = embed(tokens).value();
  CHECK_FALSE(same_bits((Var(first) < 0), (Var(second) < 0)));
}

TEST_CASE("the eps of a LayerNorm is the one that was asked for") {
  ParameterSet params;
  const LayerNorm norm(params / "norm", {.dim = 4, .eps = 0.75f});
  const Var y = norm(tensor({1, 4}, {1, 2, 3, 4}));  // of variance 1.25
  for (int i = 0; i < 4; ++i) CHECK(values(y)[i] == doctest::Approx((i - 1.5) / std::sqrt(2)).epsilon(1e-14));
}

TEST_CASE("a Highway of no rows is refused") {
  for (const int length : {0, -1})
    CHECK(lacks(error_of([&] {
                  (void)last_values(Tensor::zeros({3, 2, 3}), 0, length);
                }),
                {"last_values", "[3, 2, 3]"}) == "");
}

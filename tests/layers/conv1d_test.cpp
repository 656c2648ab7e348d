// Conv1d: values of PyTorch, gradients, and what it refuses.
#include "layers/conv1d.h"

#include <cmath>
#include <limits>

#include "framework/gradcheck.h"
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

TEST_CASE("Conv1d is PyTorch's over steps, with strides, dilation, padding and causal") {
  Worst worst;
  for (const Json& c : reference("layers.json").at("conv1d"))
    compare(
        c, "conv1d " + c.at("kernel").dump(),
        [](const Json& c, const RecordedInputs& in) {
          ParameterSet params;
          Conv1d conv(params / "conv", {.in = 3,
                                        .out = 4,
                                        .kernel = c.at("kernel"),
                                        .stride = c.at("stride"),
                                        .dilation = c.at("dilation"),
                                        .padding = c.at("padding"),
                                        .causal = c.at("causal")});
          CHECK(conv.weight.shape() == in.at("weight").shape());
          conv.weight = in.at("weight"), conv.bias = in.at("bias");
          return conv(in.at("x"));
        },
        worst);
  CHECK_MESSAGE(worst.error < 1e-12, worst.text());
}

TEST_CASE("Conv1d is differentiated, sees nothing behind it if it is causal, and nothing of padding") {
  for (const Conv1dConfig& c :
       {Conv1dConfig{.in = 2, .out = 3, .kernel = 3, .causal = true},
        Conv1dConfig{
            .in = 2, .out = 3, .kernel = 2, .stride = 2, .dilation = 2, .padding = 1, .bias = false}}) {
    ParameterSet params;
    const Conv1d conv(params / "conv", c);
    CHECK(gradcheck("Conv1d", params, {{5, 2, 2}}, [&](auto& v) { return conv(v[0]); }));
  }
  ParameterSet params;
  const Conv1d conv(params / "conv", {.in = 2, .out = 3, .kernel = 3, .dilation = 2, .causal = true});
  RandomStream random(3, "conv");
  const Tensor x = random_tensor({7, 3, 2}, random);
  const Tensor plain = conv(x).value();
  const Tensor later = x.clone();
  for (int t = 4; t < 7; ++t) later[t].fill(9);
  CHECK(same_bits(conv(later).value().slice(0, 4), plain.slice(0, 4)));
  CHECK_FALSE(same_bits(conv(later).value()[4], plain[4]));

  // A row's results are those of the row alone, whatever its padding holds, before or after.
  ParameterSet others;
  const Conv1d wide(others / "wide", {.in = 2, .out = 3, .kernel = 3, .padding = 1});
  for (const auto padding : {Padding::after, Padding::before}) {
    const Lengths lengths{ids({3}, {7, 0, 4}), padding};
    Tensor padded = x.clone();
    const Tensor is_real = real_steps(lengths, 7, 3);
    for (int t = 0; t < 7; ++t)
      for (int b = 0; b < 3; ++b)
        if (is_real(t, b) == 0) padded[t][b].fill(std::numeric_limits<real>::quiet_NaN());
    Tape tape;
    const Var watched = tape.watch(padded), y = wide(watched, lengths);
    tape.backward(sum(y));
    for (const real d : watched.grad().on_host()) CHECK(std::isfinite(d));
    for (const real d : others.gradients().on_host()) CHECK(std::isfinite(d));
    const int begin = padding == Padding::after ? 0 : 3;
    const Var alone = wide(slice(slice(x, 0, begin, begin + 4), 1, 2, 3));
    CHECK(distance(slice(slice(y, 0, begin, begin + 4), 1, 2, 3).value(), alone.value()) < 1e-14);
    CHECK(max(abs(slice(y, 1, 1, 2))).item() == 0);
  }
}

TEST_CASE("Conv1d refuses what does not fit") {
  ParameterSet params;
  const Conv1d conv(params / "conv", {.in = 2, .out = 3, .kernel = 3});
  const auto refused = [&](const Shape& shape, const Lengths& lengths = {}) {
    return error_of([&] { conv(Var(Tensor::zeros(shape)), lengths); });
  };
  CHECK(lacks(refused({4, 2, 5}), {"conv1d", "[4, 2, 5]", "[steps, batch, 2]"}) == "");
  CHECK(lacks(refused({2, 1, 2}), {"conv1d", "[2, 1, 2]", "reads 3"}) == "");
  CHECK(lacks(refused({4, 2, 2}, {ids({2}, {4, 2})}), {"conv1d", "lengths", "2 outputs", "[4, 2, 2]"}) == "");
  CHECK(lacks(error_of([&] { Conv1d(params / "a", {.in = 2, .out = 3}); }), {"conv1d", "kernel 0"}) == "");
  CHECK(lacks(error_of([&] {
                Conv1d(params / "b", {.in = 2, .out = 3, .kernel = 2, .padding = 1, .causal = true});
              }),
              {"conv1d", "causal", "padding 1"}) == "");
}

TEST_CASE("Conv1d's first values are in ±1/√(in·kernel), and its bias is not decayed") {
  ParameterSet params;
  const Conv1d conv(params / "conv", {.in = 2, .out = 50, .kernel = 8});
  for (Parameter* p : params) {
    const double most = largest(p->var().value());
    CHECK((most <= 0.25 && most > 0.2));
    CHECK(p->decay == (p->name == "conv.weight" ? 1 : 0));
  }
}

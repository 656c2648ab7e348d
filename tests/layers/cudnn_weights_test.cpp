// The engine `cudnn`: where the weights lie that cuDNN reads, and when a copy of them is renewed.
#include "tests/layers/cudnn_cases.h"

using namespace unroll;

TEST_CASE("the parameters are cuDNN's weight space where one bias serves, whatever acts between layers") {
  const Fresh fresh;
  const auto in_place = [](const Case& c) {
    Window window(c.window(), Engine::cudnn);
    window.run();
    // The stand-in remembers the weights of the last call: for all layers, or the last one.
    const std::string first = c.config.dropout > 0 ? "_l1" : "_l0";
    return cudnn().weights ==
           window.params.find((c.lstm ? "lstm.weight_ih" : "gru.weight_ih") + first)->leaf_value().data();
  };
  Case c = two_layers;
  CHECK(in_place(c));
  c.config.bidirectional = true;
  CHECK(in_place(c));
  c.config.dropout = 0.5f;
  CHECK(in_place(c));
  c.config.projection = 2;
  CHECK(in_place(c));
  c = two_layers;
  c.lstm = false;
  CHECK_FALSE(in_place(c));  // a bias inside the reset gate: two biases
}

TEST_CASE("another layout of weights than the expected one is served by a copy") {
  const Fresh fresh;
  for (const WeightLayout layout : {WeightLayout::aligned, WeightLayout::by_layer, WeightLayout::last_first})
    for (const bool lstm : {true, false}) {
      cudnn().layout = layout;
      Case c = two_layers;
      c.lstm = lstm, c.config.bidirectional = true;
      check_all_engines(c, true, 2);
      Window window(c.window(), Engine::cudnn);
      window.run();
      CHECK(cudnn().weights != window.params.all().front()->leaf_value().data());
    }
}

TEST_CASE("in 16 bits cuDNN reads a copy of the weights, and the model's stay as they are") {
  const Fresh fresh;
  for (const Precision p : precisions_of_16_bits()) {
    const WithPrecision rounded(p);
    Window window(two_layers.window(), Engine::cudnn);
    const Tensor before = window.params.values().clone();
    window.run();
    CHECK(same_bits(window.params.values(), before));
    for (const auto& parameter : window.params.all())
      CHECK(cudnn().weights != parameter->leaf_value().data());
    // All of it has half the bytes that the parameters have.
    CHECK(standin::owns(cudnn().weights, static_cast<size_t>(window.params.count()) * 2));
  }
}

TEST_CASE("a copy of the weights has what the last step made of them") {
  const Fresh fresh;
  Case c = two_layers;
  c.lstm = false;
  Window cudnns(c.window(), Engine::cudnn), fused(c.window(), Engine::fused);
  cudnns.run();
  for (const auto& p : cudnns.params.all()) {
    for (real& v : p->leaf_value().on_host(Access::change)) v *= real(1.5);
    for (real& v : fused.params.find(p->name)->leaf_value().on_host(Access::change)) v *= real(1.5);
    p->node.gradient.spend();
  }
  const Results one = cudnns.run(), other = fused.run();
  for (size_t i = 0; i < 3; ++i)
    CHECK(distance(one[i].second, other[i].second) <= 100 * std::numeric_limits<real>::epsilon());
}

TEST_CASE("a copy of the weights is renewed once a step, and without a tape in each call") {
  const Fresh fresh;
  for (const Precision p : precisions()) {
    const WithPrecision rounded(p);
    Case c = two_layers;
    c.lstm = false;
    Window window(c.window(), Engine::cudnn);
    const auto y = [&] {
      return window.layer(Var(window.x), {Var(window.h0), Var()}, window.lengths).y.value().clone();
    };
    const Tensor& weights = window.params.values();
    const auto change = [&] {
      for (real& v : weights.on_host(Access::change)) v *= real(1.5);
    };
    Tensor first;
    {
      Tape tape;
      first = y();
      change();
      CHECK(same_bits(y(), first));  // of this tape: the weights are those it began with
    }
    {
      Tape tape({.part = 1});
      CHECK(same_bits(y(), first));  // whose gradients are of the same step
    }
    Tensor second;
    {
      Tape tape;
      second = y();
      CHECK(distance(second, first) > 0.01);
    }
    change();
    const Tensor third = y();
    CHECK(distance(third, second) > 0.01);
    change();
    CHECK(distance(y(), third) > 0.01);
    {
      Tape tape({.part = 1});  // what went before was no part of a step
      const Tensor fourth = y();
      CHECK(distance(fourth, third) > 0.01);
    }
    { const Tape between; }
    Tape tape({.part = 2});  // not the tape after the one before
    CHECK(distance(y(), third) > 0.01);
    Window fresh_one(c.window(), Engine::cudnn);
    fresh_one.params.values().copy_from(weights);
    const Tensor now = y();
    CHECK(same_bits(fresh_one.layer(Var(window.x), {Var(window.h0), Var()}, window.lengths).y.value(), now));
  }
}

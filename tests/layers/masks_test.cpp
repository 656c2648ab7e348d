// Masks of the LSTM's options: dropout of weights, of h and between layers, and zoneout; at which rates and places they act.
#include <algorithm>
#include <cmath>

#include "framework/ops.h"
#include "tests/layers/lstm_cases.h"

using namespace unroll;

namespace {

constexpr Engine engines[] = {Engine::fused, Engine::composed};

// Five deviations of a count of n at a rate.
bool is_rate(int64_t count, double rate, int64_t n) {
  const double expected = rate * static_cast<double>(n);
  return std::abs(static_cast<double>(count) - expected) < 5 * std::sqrt(expected * (1 - rate));
}

// One call on a tape, from a state of random numbers: what comes out, and gradients of the sum of y.
struct Call {
  Tensor y, c, h0, c0, dh0, dweight_hh;
};
Call call(const RecurrentConfig& config, int steps, int batch, uint32_t step = 0) {
  ParameterSet params(5);
  const Lstm lstm(params / "lstm", config);
  params.set_step(step);
  RandomStream random(1, "x");
  const Tensor x = random_tensor({steps, batch, config.input}, random);
  const Tensor h = random_tensor({config.layers, batch, config.hidden}, random),
               c = random_tensor({config.layers, batch, config.hidden}, random);
  Tape tape;
  const Var h0 = tape.watch(h);
  const auto out = lstm(x, {h0, c});
  tape.backward(sum(out.y));
  Parameter& w = *params.find("lstm.weight_hh_l0");
  return {out.y.value(), out.state.c.value(), h, c, h0.grad(), w.node.gradient.value(w.shape).clone()};
}

}  // namespace

TEST_CASE("zoneout keeps units of the state at its rates, anew with every step of time") {
  constexpr int hidden = 60, batch = 7, steps = 4;
  for (Engine engine : engines) {
    const Call of_h = call({.input = 2, .hidden = hidden, .zoneout_h = 0.2f, .engine = engine}, steps, batch);
    int64_t kept = 0, twice = 0;
    for (int t = 1; t < steps; ++t)
      for (int i = 0; i < batch * hidden; ++i) {
        const auto same = [&](int s) { return of_h.y[s].data()[i] == of_h.y[s - 1].data()[i]; };
        kept += same(t);
        if (t > 1) twice += same(t) && same(t - 1);
      }
    CHECK(is_rate(kept, 0.2, (steps - 1) * batch * hidden));
    CHECK(is_rate(twice, 0.2 * 0.2, (steps - 2) * batch * hidden));
    const Call of_c = call({.input = 2, .hidden = hidden, .zoneout_c = 0.7f, .engine = engine}, 1, batch);
    kept = 0;
    for (int i = 0; i < batch * hidden; ++i) kept += of_c.c.data()[i] == of_c.c0.data()[i];
    CHECK(is_rate(kept, 0.7, batch * hidden));
    const Call both = call(
        {.input = 2, .hidden = hidden, .zoneout_h = 0.5f, .zoneout_c = 0.5f, .engine = engine}, 1, batch);
    kept = 0;  // in h and in c: each has masks of its own
    for (int i = 0; i < batch * hidden; ++i)
      kept += both.y.data()[i] == both.h0.data()[i] && both.c.data()[i] == both.c0.data()[i];
    CHECK(is_rate(kept, 0.25, batch * hidden));
  }
}

TEST_CASE("without a mask zoneout is the expectation of the state") {
  for (Engine engine : engines) {
    ParameterSet params(5), same(5);
    const Lstm plain(params / "lstm", {.input = 2, .hidden = 3, .engine = engine});
    const Lstm zoned(same / "lstm",
                     {.input = 2, .hidden = 3, .zoneout_h = 0.25f, .zoneout_c = 0.5f, .engine = engine});
    RandomStream random(2, "x");
    const Tensor x = random_tensor({1, 4, 2}, random), h = random_tensor({1, 4, 3}, random),
                 c = random_tensor({1, 4, 3}, random);
    const auto a = plain(x, {h, c}), b = zoned(x, {h, c});
    const auto blend = [](double z, const Tensor& before, const Tensor& own) {
      Tensor result(own.shape());
      for (int64_t i = 0; i < own.size(); ++i)
        result.data()[i] = static_cast<real>(z * before.data()[i] + (1 - z) * own.data()[i]);
      return result;
    };
    CHECK(distance(b.state.h.value(), blend(0.25, h, a.state.h.value())) < 1e-15);  // a few roundings below 1
    CHECK(distance(b.state.c.value(), blend(0.5, c, a.state.c.value())) < 1e-15);
  }
}

TEST_CASE("recurrent dropout drops units of h at its rate, the same at every step of a window") {
  for (Engine engine : engines) {
    const RecurrentConfig config{.input = 2, .hidden = 200, .recurrent_dropout = 0.3f, .engine = engine};
    CHECK(is_rate(zeros(call(config, 1, 5).dh0), 0.3, 5 * 200));
    // a unit that is dropped at all steps leaves its column of weight_hh without a gradient
    const Tensor d = call(config, 6, 1).dweight_hh;
    int64_t columns = 0;
    for (int j = 0; j < 200; ++j) {
      int64_t empty = 0;
      for (int i = 0; i < 800; ++i) empty += d[i].data()[j] == 0;
      CHECK((empty == 0 || empty == 800));
      columns += empty == 800;
    }
    CHECK(is_rate(columns, 0.3, 200));
  }
}

TEST_CASE(
    "weight drop drops weights at its rate, anew with every step and call, and changes no stored weight") {
  for (Engine engine : engines) {
    const RecurrentConfig config{.input = 2, .hidden = 40, .weight_drop = 0.4f, .engine = engine};
    CHECK(is_rate(zeros(call(config, 2, 3).dweight_hh), 0.4, 4 * 40 * 40));
    std::vector<Tensor> results;
    for (uint32_t step = 0; step < 5; ++step) results.push_back(call(config, 2, 3, step).y);
    for (size_t i = 0; i < results.size(); ++i)
      for (size_t k = 0; k < i; ++k) CHECK_FALSE(same_bits(results[i], results[k]));
    CHECK(same_bits(call(config, 2, 3, 4).y, results[4]));

    ParameterSet params(5), same(5);
    const Lstm lstm(params / "lstm", config),
        plain(same / "lstm", {.input = 2, .hidden = 40, .engine = engine});
    const Tensor before = params.values().clone(), x = Tensor::full({3, 2, 2}, 1);
    const RecurrentState zero = lstm.zero_state(2);
    Tape tape;
    const auto first = lstm(x, zero), second = lstm(x, zero);
    CHECK_FALSE(same_bits(first.y.value(), second.y.value()));
    tape.backward(sum(first.y) + sum(second.y));
    CHECK(same_bits(params.values(), before));
    NoTape guard;
    CHECK(same_bits(lstm(x, zero).y.value(), plain(x, zero).y.value()));
  }
}

TEST_CASE("two calls add to the gradient of weights that are dropped, whatever the engine") {
  std::vector<Tensor> found;
  for (Engine engine : engines) {
    ParameterSet params(5);
    const Lstm lstm(params / "lstm", {.input = 2, .hidden = 6, .weight_drop = 0.4f, .engine = engine});
    RandomStream random(1, "x");
    const Tensor x = random_tensor({3, 2, 2}, random);
    Tape tape;
    const auto first = lstm(x, lstm.zero_state(2)), second = lstm(x, first.state);
    tape.backward(sum(first.y) + sum(second.y));
    Parameter& w = *params.find("lstm.weight_hh_l0");
    found.push_back(w.node.gradient.value(w.shape).clone());
  }
  CHECK(largest(found[0]) > 0.1);
  CHECK(distance(found[0], found[1]) < 1e-5 * largest(found[0]));
}

TEST_CASE("locked dropout between layers has one mask for all steps of a window") {
  for (bool locked : {true, false})
    for (bool both : {false, true})
      for (Engine engine : engines) {
        // from the second layer back: what was dropped gives the first layer's last step no gradient
        RecurrentConfig config{.input = 2, .hidden = 100, .layers = 2, .dropout = 0.4f, .engine = engine};
        config.locked_dropout = locked, config.bidirectional = both;
        const int width = config.output();
        ParameterSet params(5);
        const Lstm lstm(params / "lstm", config);
        params.values();
        params.find("lstm.weight_hh_l0")->leaf_value().fill(0);
        Tape tape;
        tape.backward(sum(lstm(Tensor::full({8, 1, 2}, 1), lstm.zero_state(1)).y));
        Parameter& w = *params.find("lstm.weight_ih_l1");
        const Tensor d = w.node.gradient.value(w.shape);
        int64_t empty = 0;
        for (int j = 0; j < width; ++j) empty += d[0].data()[j] == 0;
        CHECK(is_rate(empty, locked ? 0.4 : std::pow(0.4, 8), width));
      }
}

TEST_CASE("every layer and direction drops at the rates, each by masks of its own") {
  constexpr int hidden = 100;
  for (Engine engine : engines)
    for (float RecurrentConfig::*const rate :
         {&RecurrentConfig::weight_drop, &RecurrentConfig::recurrent_dropout, &RecurrentConfig::zoneout_h,
          &RecurrentConfig::zoneout_c}) {
      RecurrentConfig config{
          .input = 2, .hidden = hidden, .layers = 2, .bidirectional = true, .engine = engine};
      config.*rate = 0.4f;
      ParameterSet params(5);
      const Lstm lstm(params / "lstm", config);
      RandomStream random(1, "x");
      const Tensor x = random_tensor({1, 1, 2}, random), h = random_tensor({4, 1, hidden}, random),
                   c = random_tensor({4, 1, hidden}, random);
      Tape tape;
      const auto out = lstm(x, {h, c});
      tape.backward(sum(out.y) + sum(out.state.h));
      std::vector<std::vector<bool>> all;
      for (int k = 0; k < 4; ++k) {
        std::vector<bool> dropped;
        if (rate == &RecurrentConfig::zoneout_h || rate == &RecurrentConfig::zoneout_c) {
          const bool of_c = rate == &RecurrentConfig::zoneout_c;
          const Tensor before = (of_c ? c : h)[k], after = (of_c ? out.state.c : out.state.h).value()[k];
          for (int j = 0; j < hidden; ++j) dropped.push_back(after.data()[j] == before.data()[j]);
        } else {  // of the first unit's weights
          Parameter& w = *params.find(fmt::format("lstm.weight_hh_l{}{}", k / 2, k % 2 ? "_reverse" : ""));
          const Tensor d = w.node.gradient.value(w.shape);
          for (int j = 0; j < hidden; ++j) dropped.push_back(d.data()[j] == 0);
        }
        CAPTURE(k);
        CHECK(is_rate(std::ranges::count(dropped, true), 0.4, hidden));
        CHECK(std::ranges::find(all, dropped) == all.end());
        all.push_back(dropped);
      }
    }
}

TEST_CASE("residual adds the input of every layer but the first to its output, as it was before dropout") {
  for (Engine engine : engines)
    for (float rate : {0.f, 0.5f}) {
      ParameterSet params(3), same(3), under(3);
      const Lstm plain(params / "lstm",
                       {.input = 2, .hidden = 3, .layers = 2, .dropout = rate, .engine = engine});
      const Lstm residual(
          same / "lstm",
          {.input = 2, .hidden = 3, .layers = 2, .dropout = rate, .residual = true, .engine = engine});
      const Lstm first(under / "lstm", {.input = 2, .hidden = 3, .engine = engine});
      RandomStream random(1, "x");
      const Tensor x = random_tensor({5, 2, 2}, random);
      const auto y_of = [&](const Lstm& lstm) {
        const Tape tape;  // with masks, the same in each
        return Var(lstm(x, lstm.zero_state(2)).y.value());
      };
      CHECK(same_bits(y_of(residual).value(), (y_of(plain) + y_of(first)).value()));
    }
}

TEST_CASE("residual adds what both directions read") {
  for (Engine engine : engines) {
    ParameterSet params(3), same(3), under(3);
    const RecurrentConfig one{.input = 2, .hidden = 3, .bidirectional = true, .engine = engine};
    RecurrentConfig two = one, added = one;
    two.layers = added.layers = 2, added.residual = true;
    const Lstm first(under / "lstm", one), plain(params / "lstm", two), residual(same / "lstm", added);
    RandomStream random(1, "x");
    const Tensor x = random_tensor({5, 2, 2}, random);
    const auto y_of = [&](const Lstm& lstm) { return Var(lstm(x, lstm.zero_state(2)).y.value()); };
    CHECK(same_bits(y_of(residual).value(), (y_of(plain) + y_of(first)).value()));
  }
}

// Anomalies: an autoencoder learns what a series usually looks like, and windows that it cannot rebuild are unusual.
// It teaches an encoder whose last state is all that a decoder gets, a loss of windows, and a threshold from usual windows.
//
// The series is a wave of changing phase and height with noise; the unusual ones have a spike, or lose their rhythm.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "unroll.h"

using namespace unroll;

constexpr int steps = 24, batch = 32, hidden = 24;
enum class Kind { usual, spike, rhythm };

Tensor windows(RandomStream& random, Kind kind) {  // [steps, batch, 1]
  Tensor x({steps, batch, 1});
  const auto values = x.on_host(Access::overwrite);
  for (int b = 0; b < batch; ++b) {
    const double phase = random.uniform(), height = 0.7 + 0.6 * random.uniform();
    const int at = 4 + static_cast<int>(random.below(steps - 8));
    for (int t = 0; t < steps; ++t) {
      const double period = kind == Kind::rhythm && t >= steps / 2 ? 5 : 12;
      double value = height * std::sin(2 * std::numbers::pi * (t / period + phase)) + 0.05 * random.normal();
      if (kind == Kind::spike && t == at) value += 2;
      values[t * batch + b] = static_cast<real>(value);
    }
  }
  return x;
}

struct Autoencoder {
  ParameterSet params;
  Lstm encoder{params / "encoder", {.input = 1, .hidden = hidden}};
  Lstm decoder{params / "decoder", {.input = 1, .hidden = hidden}};
  Dense out{params / "out", {.in = hidden, .out = 1}};
  Var operator()(const Tensor& x) const {  // rebuilds it, the last step first, from the encoder's state alone
    const auto read = encoder(x, encoder.zero_state(batch));
    return flip(out(decoder(Tensor::zeros(x.shape()), read.state).y));
  }
  std::vector<real> errors(const Tensor& x) const {  // the mean squared error of each window
    const Var each = mean_squared_error((*this)(x), x, {.reduction = Reduction::none});
    return mean(reshape(each, {steps, batch}), 0).value().to_host();
  }
};

int main() {
  Autoencoder model;
  Adam adam(model.params, {.learning_rate = 1e-2});
  RandomStream random(1, "waves");
  for (int step = 1; step <= 400; ++step) {
    const Tensor x = windows(random, Kind::usual);
    Tape tape;
    const Var loss = mean_squared_error(model(x), x);
    tape.backward(loss);
    adam.step({.max_norm = 1});
    if (step % 100 == 0) std::printf("step %3d  loss %.4f\n", step, static_cast<double>(loss.item()));
  }
  const std::vector<real> usual = model.errors(windows(random, Kind::usual));
  const real threshold = 2 * *std::ranges::max_element(usual);
  const auto found = [&](Kind kind) {
    return std::ranges::count_if(model.errors(windows(random, kind)),
                                 [&](real error) { return error > threshold; });
  };
  const auto spikes = found(Kind::spike), rhythms = found(Kind::rhythm), alarms = found(Kind::usual);
  std::printf("found of 32: spikes %ld, lost rhythms %ld; false alarms %ld\n", spikes, rhythms, alarms);
  return spikes >= 29 && rhythms >= 29 && alarms <= 1 ? 0 : 1;
}

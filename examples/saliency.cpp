// Which inputs does a prediction rest on? An ordinary backward pass says so: the gradient of the prediction at what was read.
//
// A small LSTM learns to add two marked numbers of a sequence (the adding problem of Hochreiter and Schmidhuber 1997). Then the
// gradient of its sum at each number is printed as a bar: near 1 where a number was marked, near 0 elsewhere.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "unroll.h"

using namespace unroll;

constexpr int steps = 10;

struct Adder {
  ParameterSet params{};
  Lstm lstm{params / "lstm", {.input = 2, .hidden = 24, .forget_bias = 1}};
  Dense out{params / "out", {.in = 24, .out = 1}};

  Var operator()(const Var& x) const {  // x [steps, batch, 2] -> the sums [batch, 1]
    return out(row(lstm(x, lstm.zero_state(x.dim(1))).y, steps - 1));
  }
};

struct Sequences {
  Tensor x, sum;  // numbers in [0, 1), and 1 where one is marked: [steps, batch, 2]; [batch, 1]
};
Sequences draw(RandomStream& random, int batch) {
  Sequences result{Tensor::zeros({steps, batch, 2}), Tensor::zeros({batch, 1})};
  const auto x = result.x.on_host(Access::change), sum = result.sum.on_host(Access::change);
  for (int b = 0; b < batch; ++b) {
    const int first = int(random.below(steps / 2)), second = steps / 2 + int(random.below(steps / 2));
    for (int t = 0; t < steps; ++t) {
      const bool marked = t == first || t == second;
      const auto value = static_cast<real>(random.uniform());
      x[(t * batch + b) * 2] = value, x[(t * batch + b) * 2 + 1] = marked;
      if (marked) sum[b] += value;
    }
  }
  return result;
}

int main() {
  Adder adder;
  Adam adam(adder.params, {.learning_rate = 1e-2});
  RandomStream random(1, "sequences");
  for (int step = 0; step < 800; ++step) {
    const Sequences some = draw(random, 32);
    Tape tape;
    tape.backward(mean_squared_error(adder(some.x), some.sum));
    adam.step({.max_norm = 1});
  }

  int found = 0;
  for (int k = 0; k < 10; ++k) {
    const Sequences one = draw(random, 1);
    Tape tape({.dropout = false});
    const Var read = tape.watch(one.x);  // a variable, so that it collects a gradient
    tape.backward(sum(adder(read)));
    const auto gradient = read.grad().to_host(), x = one.x.to_host();
    adder.params.spend_gradients();  // the weights have collected some, too
    std::string numbers, bars;
    bool right = true;
    for (size_t t = 0; t < steps; ++t) {
      const real slope = std::abs(gradient[2 * t]);
      const bool marked = x[2 * t + 1] == 1;
      right = right && (slope > real(0.5)) == marked;
      numbers += fmt::format("{:5.2f}{}", x[2 * t], marked ? '*' : ' ');
      bars += fmt::format(" {:<5}", std::string(size_t(std::min(real(5), 4 * slope + real(0.5))), '#'));
    }
    std::printf("%s\n%s\n", numbers.c_str(), bars.c_str());
    found += right;
  }
  std::printf("the gradient tells marked numbers from others in %d of 10\n", found);
  return found >= 9 ? 0 : 1;
}

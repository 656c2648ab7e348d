// Lesson 3: a plain recurrent net. The page to read: examples/lessons/03-plain-rnn/README.md
#include "examples/lessons/03-plain-rnn/check.h"

struct PlainNet {
  explicit PlainNet(uint64_t seed) : params(seed) {}
  ParameterSet params;
  Dense from_x{params / "from_x", {.in = 1, .out = units}};                     // W x + b
  Dense from_h{params / "from_h", {.in = units, .out = units, .bias = false}};  // U h
  Dense out{params / "out", {.in = units, .out = 1}};

  // A step of time: x [batch, 1] and the state before it, h [batch, units], to the state after it.
  Var step(const Var& x, const Var& h) const {
    // ---- your part: the new state, from W x + b and U h
    return tanh(from_x(x));
    // ---- end of your part
  }
};

// Reads x [steps, batch, 1] from a state of zeros; the states after each step.
std::vector<Var> read(const PlainNet& net, const Tensor& x) {
  std::vector<Var> states;
  Var h = Tensor::zeros({x.dim(1), units});
  for (int t = 0; t < x.dim(0); ++t) states.push_back(h = net.step(x[t], h));
  return states;
}

// The mean squared error of late training on a task.
double train(PlainNet& net, const BitTask& task) {
  Adam adam(net.params, {.learning_rate = 1e-2});
  double error = 0;
  for (int step = 0; step < 300; ++step) {
    const auto [x, target] = task.draw(step);
    Tape tape;
    const Var loss = mean_squared_error(net.out(read(net, x).back()), target);
    tape.backward(loss);
    adam.step({.max_norm = 1});
    if (step >= 250) error += loss.item() / 50;
  }
  return error;
}

// |dL/dh| after each step, going back from the last one.
std::vector<double> gradients_back(const PlainNet& net, const BitTask& task) {
  const auto [x, target] = task.draw(0);
  Tape tape({.keep_gradients = true});
  const std::vector<Var> states = read(net, x);
  tape.backward(mean_squared_error(net.out(states.back()), target));
  std::vector<double> norms;
  for (auto h = states.rbegin(); h != states.rend(); ++h) norms.push_back(norm(h->grad()));
  return norms;
}

void lesson() {
  check_step([](const PlainNet& net, const Var& x, const Var& h) { return net.step(x, h); }, PlainNet(1));
  const BitTask count{.steps = 8, .first_only = false}, remember{.steps = 30, .first_only = true};
  PlainNet counter(1), rememberer(1);
  const std::vector<double> before = gradients_back(rememberer, remember);
  const double of_count = train(counter, count), of_remember = train(rememberer, remember);
  check_net(of_count, of_remember, before, gradients_back(rememberer, remember));
}

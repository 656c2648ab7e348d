// Lesson 4: the LSTM cell from its equations. The page to read: examples/lessons/04-lstm-cell/README.md
#include "examples/lessons/04-lstm-cell/check.h"

// One step of time in one layer: what comes in, x [1, inputs], and the state of the step before, h and c [1, units].
RecurrentVars step(const LstmCell& layer, const Var& x, const RecurrentVars& last) {
  const Var sums = linear(x, layer.weight_ih, layer.bias) + linear(last.h, layer.weight_hh);  // [1, 4*units]
  const auto part = [&](int k) { return slice(sums, 1, k * last.c.dim(1), (k + 1) * last.c.dim(1)); };
  const Var i = sigmoid(part(0));  // input gate: how much is written
  const Var f = sigmoid(part(1));  // forget gate: how much is kept
  const Var g = tanh(part(2));     // what could be written
  const Var o = sigmoid(part(3));  // output gate: how much is shown
  // ---- your part: the new memory c, from f, last.c, i and g
  const Var c = g;
  // ---- end of your part
  return {o * tanh(c), c};
}

void lesson() {
  check_step(step);

  // Your cell in the place of the library's: the trained demo reads a sentence, a word at a time.
  const Demo demo(trained_demo());
  const std::vector<int32_t> words = demo.ids(sentence);
  Tape tape({.dropout = false, .keep_gradients = true});
  RecurrentVars first = nothing(demo), second = nothing(demo);
  std::vector<RecurrentVars> states;  // of the second layer, by word
  for (size_t t = 0; t + 1 < words.size(); ++t) {
    first = step(demo.layer(0), demo.row(words[t]), first);
    second = step(demo.layer(1), first.h, second);
    states.push_back(second);
  }
  const Var loss = softmax_cross_entropy(demo.decoder(second.h), IdTensor::from({1}, {words.back()}));
  tape.backward(loss);

  std::vector<double> of_c, of_h;  // going back from the loss
  for (auto state = states.rbegin(); state != states.rend(); ++state) {
    of_c.push_back(norm(state->c.grad()));
    of_h.push_back(norm(state->h.grad()));
  }
  show(demo, words, of_c, of_h);
  check_carousel(demo, words, loss.item(), of_c, of_h);
}

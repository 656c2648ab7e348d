// Lesson 10: attention beside recurrence. The page to read: examples/lessons/10-attention/README.md
#include "examples/lessons/10-attention/check.h"

// keys [batch, steps, width]: what was read, step by step. queries [batch, steps, width]: what the writer asks for.
// sight [batch, 1, steps]: 0 where there is something to see, far below zero where a row has ended.
Look look(const Var& queries, const Var& keys, const Var& sight) {
  // ---- your part: weights [batch, steps, steps], by row how much a step of the writer looks at each step of the reader
  const Var weights = softmax(0 * matmul(queries, transpose(keys, 1, 2)));
  // ---- end of your part
  return {.weights = weights, .context = matmul(weights, keys)};
}

// Reads a row of digits with one LSTM, and writes it with another: the same row, or backwards.
struct Writer {
  ParameterSet params;
  Embedding embed{params / "embed", {.vocab = digits + 1, .dim = width}};
  Lstm reader{params / "reader", {.input = width, .hidden = width}};
  Lstm writer{params / "writer", {.input = width, .hidden = width}};
  Dense out{params / "out", {.in = 2 * width, .out = digits}};

  Written operator()(const Rows& rows, bool with_attention) const {
    const auto [read, state] = reader(embed(rows.input), reader.zero_state(batch), rows.lengths);
    const auto [written, end] = writer(embed(rows.said), state);
    const Look seen = look(transpose(written, 0, 1), transpose(read, 0, 1), rows.sight());
    const Var context = transpose(seen.context, 0, 1);  // [steps, batch, width]
    return {out(concat({written, with_attention ? context : context * 0}, 2)), seen.weights};
  }
};

Trial train(Order order, bool with_attention) {
  Writer model;
  Adam adam(model.params, {.learning_rate = 1e-2});
  RandomStream random(1, "rows of digits");
  for (int step = 0; step < 400; ++step) {
    const Rows rows(random, order);
    Tape tape;
    tape.backward(softmax_cross_entropy(model(rows, with_attention).logits, rows.target));
    adam.step({.max_norm = 1});
  }
  const Rows rows(random, order);  // new ones
  const Written written = model(rows, with_attention);
  return {share_right(written.logits, rows.target), looks_of_longest(written.weights, rows)};
}

void lesson() {
  check_look(look);
  check_trials({.copy = train(Order::copy, true),
                .copy_without = train(Order::copy, false),
                .reverse = train(Order::reverse, true),
                .reverse_without = train(Order::reverse, false)});
}

// Operations whose result or options are structures.
#include "docs/reference/examples/examples.h"

void operations() {
  //! [TopK]
  const Var scores = Tensor::from({2, 3}, {1, 5, 3, 9, 7, 8});
  const TopK best = topk(scores, 2);
  check(best.values.shape() == Shape{2, 2} && best.indices(0, 0) == 1 && best.indices(0, 1) == 2);
  //! [TopK]

  //! [LstmCellOutput]
  const Var gates = Tensor::zeros({1, 4}), c_prev = Tensor::from({1, 1}, {2});  // hidden 1: [batch, 4*hidden]
  const LstmCellOutput after = lstm_cell(gates, c_prev);
  check(near(after.c.item(), 1));                   // f·c + i·g = 0.5·2 + 0.5·0
  check(near(after.h.item(), 0.5 * std::tanh(1)));  // o·tanh(c)
  //! [LstmCellOutput]

  //! [AttentionOptions]
  const Var x = Tensor::from({2, 1, 2}, {1, 0, 0, 1});  // [steps, batch, dim]
  const AttentionOptions options{.heads = 1, .causal = true};
  const Var y = scaled_dot_product_attention(x, x, x, options);
  check(near(y.value()(0, 0, 0), 1));  // the first step sees itself alone
  check(near(attention_weights(x, x, options)(0, 0, 1, 0), 0.33, 0.01));
  //! [AttentionOptions]
}

// Layers without a recurrence.
#include "docs/reference/examples/examples.h"

namespace {

void one_by_one() {
  //! [Dense]
  ParameterSet params;
  const Embedding embed(params / "embed", EmbeddingConfig{.vocab = 10, .dim = 4, .dropout = 0.1f});
  const Dropout drop(params / "drop", DropoutConfig{.rate = 0.4f, .locked = true});
  const LayerNorm norm(params / "norm", LayerNormConfig{.dim = 4});
  const RmsNorm rms(params / "rms", RmsNormConfig{.dim = 4});
  const Dense dense(params / "dense", DenseConfig{.in = 4, .out = 3, .activation = Activation::tanh});
  const Var x = embed(IdTensor::from({2, 1}, {7, 1}));  // [steps, batch] -> [steps, batch, 4]
  check(dense(rms(norm(drop(x)))).shape() == Shape{2, 1, 3});
  const Dense decoder(params / "decoder", {.in = 4, .out = 10, .bias = false}, embed.weight);  // tied
  check(params.find("decoder.weight") == nullptr);
  //! [Dense]

  //! [Conv1d]
  ParameterSet of_conv;
  const Conv1d conv(of_conv / "conv", Conv1dConfig{.in = 4, .out = 2, .kernel = 3, .causal = true});
  check(conv(x).shape() == Shape{2, 1, 2});  // as many steps as x, and none sees a later one
  //! [Conv1d]

  //! [Highway]
  ParameterSet of_highway;
  const Highway highway(of_highway / "highway", HighwayConfig{.length = 2, .out = 3});
  const int channels[] = {0, 3};
  check(highway(x, channels).shape() == Shape{1, 3, 2});  // [batch, out, channels]: added to a forecast
  //! [Highway]
}

void attention_between() {
  //! [AdditiveAttention]
  ParameterSet params;
  const AdditiveAttention look(params / "look", AdditiveAttentionConfig{.query = 3, .keys = 4, .hidden = 5});
  const Tensor encoded = Tensor::full({6, 2, 4}, 1);                 // [past, batch, keys]
  const AttentionMemory memory = look.remember(encoded);             // once for a sequence
  const AttentionOutput seen = look(Tensor::zeros({2, 3}), memory);  // at each step of a decoder
  check(seen.context.shape() == Shape{2, 4} && near(seen.weights.value()(0, 0), 1.0 / 6));
  //! [AdditiveAttention]

  //! [MultiplicativeAttention]
  ParameterSet more;
  const MultiplicativeAttention score(more / "score", MultiplicativeAttentionConfig{.query = 3, .keys = 4});
  check(score(Tensor::zeros({2, 3}), score.remember(encoded)).shape() == Shape{2, 4});
  //! [MultiplicativeAttention]
}

void attention_within() {
  //! [MultiHeadAttention]
  ParameterSet params;
  const MultiHeadAttention attend(params / "attend", MultiHeadAttentionConfig{.dim = 8, .heads = 2});
  const Tensor x = Tensor::full({3, 1, 8}, 1);
  const AttentionCall call{.causal = true};
  const Var whole = attend(x, call);

  AttentionCache cache = attend.cache(3, 1);  // the same, a step at a time
  Var last;
  for (int t = 0; t < 3; ++t) last = attend.step(x[t], cache);
  check(near(last.value()(0, 0), whole.value()(2, 0, 0)));

  // And in windows: keys and values go on, gradients do not.
  AttentionPast past{.keys = Tensor::zeros({0, 1, 8}), .values = Tensor::zeros({0, 1, 8})};
  for (int t = 0; t < 3; ++t) last = attend(x.slice(t, t + 1), past, call);
  check(near(last.value()(0, 0, 0), whole.value()(2, 0, 0)));
  //! [MultiHeadAttention]

  //! [Transformer]
  ParameterSet of_net;
  const Transformer net(of_net / "net", TransformerConfig{.dim = 8, .heads = 2, .layers = 2, .memory = 4});
  RecurrentState state = net.zero_state(1);
  const auto [y, next] = net(x, state);
  state = next;  // the keys and values of the last 4 steps
  check(y.shape() == x.shape());
  //! [Transformer]
}

}  // namespace

void layers() { one_by_one(), attention_between(), attention_within(); }

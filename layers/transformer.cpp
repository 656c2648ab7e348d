#include "layers/transformer.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/one_line.h"

namespace unroll {

static const TransformerConfig& checked(const TransformerConfig& c) {
  require(c.dim > 0 && c.heads > 0 && c.dim % c.heads == 0,
          "transformer: dim {} must be positive, and {} heads divide it", c.dim, c.heads);
  require(c.layers > 0 && c.memory > 0 && c.feed_forward >= 0,
          "transformer: layers {} and memory {} must be positive, feed_forward {} not negative", c.layers,
          c.memory, c.feed_forward);
  for (const float rate : {c.dropout, c.attention_dropout})
    require(rate >= 0 && rate < 1, "transformer: dropout {} is not in [0, 1)", rate);
  return c;
}

static DropoutConfig dropout_of(const TransformerConfig& c) {
  return {.rate = c.dropout, .locked = c.locked_dropout};
}

Transformer::Layer::Layer(const Scope& scope, const TransformerConfig& c)
    : norm1(scope / "norm1", {.dim = c.dim}),
      norm2(scope / "norm2", {.dim = c.dim}),
      self_attn(scope / "self_attn", {.dim = c.dim, .heads = c.heads, .dropout = c.attention_dropout}),
      linear1(scope / "linear1", {.in = c.dim, .out = c.units()}),
      linear2(scope / "linear2", {.in = c.units(), .out = c.dim}),
      after_attention(scope / "dropout1", dropout_of(c)),
      of_units(scope / "dropout", dropout_of(c)),
      after_feed_forward(scope / "dropout2", dropout_of(c)) {}

Var Transformer::Layer::operator()(Var x, AttentionPast& past, const MultiHeadAttention::Call& call) const {
  x += after_attention(self_attn(norm1(x), past, call));
  return x + after_feed_forward(linear2(of_units(gelu(linear1(norm2(x))))));
}

Transformer::Transformer(Scope scope, const TransformerConfig& c) : config_(checked(c)) {
  if (c.last_norm) norm_.emplace(scope / "norm", LayerNormConfig{.dim = c.dim});
  layers_.reserve(static_cast<size_t>(c.layers));
  for (int k = 0; k < c.layers; ++k) layers_.emplace_back(scope / "layers" / std::to_string(k), c);
}

RecurrentState Transformer::zero_state(int batch) const {
  require(batch > 0, "transformer: a state of {} rows", batch);
  return {Tensor::zeros({2 * config_.layers * config_.memory, batch, config_.dim}),
          Tensor::zeros({1, batch, 1})};
}

namespace {

// Which places each row of a window sees. Places count from the memory's first.
struct Sight {
  Tensor firsts;  // [batch] or [steps, batch]
  Tensor count;   // [1, batch, 1]: of the state after the window
};

Sight sight_of(const Tensor& count, const IdTensor& resets, int memory, int steps, int batch) {
  const real all = static_cast<real>(memory), more = static_cast<real>(steps);
  const Tensor most = Tensor::full({}, all);
  const Var first = all - Var(count);
  if (!resets.defined()) return {reshape(first, {batch}).value(), minimum(Var(count) + more, most).value()};
  require(resets.shape() == Shape({steps, batch}), "transformer: resets {} must be [{}, {}]", resets.shape(),
          steps, batch);
  // The host knows where each row starts anew in the window.
  Tensor begins({steps, batch}), kept({1, batch, 1}), since({1, batch, 1});
  {
    const auto begin = begins.on_host(Access::overwrite), keeps = kept.on_host(Access::overwrite),
               steps_since = since.on_host(Access::overwrite);
    for (int b = 0; b < batch; ++b) {
      int last = -1;
      for (int t = 0; t < steps; ++t) {
        if (resets.data()[int64_t{t} * batch + b] != 0) last = t;
        begin[int64_t{t} * batch + b] = last < 0 ? 0 : all + static_cast<real>(last);
      }
      keeps[b] = last < 0;
      steps_since[b] = static_cast<real>(last < 0 ? steps : steps - last);
    }
  }
  return {maximum(begins, reshape(first, {1, batch})).value(),
          minimum(Var(count) * Var(kept) + Var(since), most).value()};
}

}  // namespace

RecurrentOutput Transformer::operator()(const Var& x, const RecurrentVars& state,
                                        const IdTensor& resets) const {
  const int memory = config_.memory;
  require(x.shape().rank() == 3 && x.dim(2) == config_.dim && x.dim(0) > 0,
          "transformer: x {} must be [steps, batch, {}]", x.shape(), config_.dim);
  const int steps = x.dim(0), batch = x.dim(1);
  const Shape of_h{2 * config_.layers * memory, batch, config_.dim}, of_c{1, batch, 1};
  const Tensor h = state.h.value(), count = state.c.value();
  require(h.defined() && count.defined(),
          "transformer: x {} without a state; zero_state(batch) is the first one", x.shape());
  require(h.shape() == of_h && count.shape() == of_c,
          "transformer: state {} and {} must be {} and {} for x {}", h.shape(), count.shape(), of_h, of_c,
          x.shape());
  const Sight sight = sight_of(count, resets, memory, steps, batch);
  const MultiHeadAttention::Call call{
      .causal = true, .window = memory, .firsts = sight.firsts, .linear_biases = true};
  const Tensor next(of_h);
  Var y = x;
  for (int k = 0; k < config_.layers; ++k) {
    const int at = 2 * k * memory;
    AttentionPast past{h.slice(at, at + memory), h.slice(at + memory, at + 2 * memory)};
    y = layers_[static_cast<size_t>(k)](y, past, call);
    next.slice(at, at + memory).copy_from(past.keys.slice(steps, steps + memory));
    next.slice(at + memory, at + 2 * memory).copy_from(past.values.slice(steps, steps + memory));
  }
  return {norm_ ? (*norm_)(y) : y, {next, sight.count}};
}

std::string describe_transformer(const TransformerConfig& c) {
  return fmt::format("Transformer, {} layer{} of {}, {} head{}, {} units, memory {}", c.layers,
                     plural(c.layers), c.dim, c.heads, plural(c.heads), c.units(), c.memory);
}

}  // namespace unroll

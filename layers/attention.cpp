#include "layers/attention.h"

#include <cmath>

namespace unroll {

AttentionOptions within(AttentionOptions options, const Lengths& lengths, int past, int batch) {
  if (!lengths.steps.defined()) return options;
  options.begins = IdTensor({batch}), options.ends = IdTensor({batch});
  for (int b = 0; b < batch; ++b) {
    const StepRange seen = steps_of_row(lengths, past, batch, b);
    options.begins.data()[b] = seen.begin, options.ends.data()[b] = seen.end;
  }
  return options;
}

namespace {

const MultiHeadAttentionConfig& checked(const MultiHeadAttentionConfig& c) {
  require(c.dim > 0 && c.heads > 0 && c.dim % c.heads == 0,
          "multi_head_attention: dim {} must be positive, and {} heads divide it", c.dim, c.heads);
  require(c.key_dim >= 0, "multi_head_attention: key_dim {} is negative", c.key_dim);
  require(c.dropout >= 0 && c.dropout < 1, "multi_head_attention: dropout {} is not in [0, 1)", c.dropout);
  return c;
}

// Padding may hold anything, NaN too, and meets a weight's gradient: 0 · NaN is NaN.
Var without_padding(const Var& x, const Lengths& lengths) {
  const Tensor real_ones = real_steps(lengths, x.dim(0), x.dim(1));
  return real_ones.defined() ? mask_rows(x, real_ones) : x;
}

// Glorot and Bengio 2010.
Init even(int in, int out) {
  const float bound = std::sqrt(6.0f / static_cast<float>(in + out));
  return Init::uniform(-bound, bound);
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(Scope scope, const MultiHeadAttentionConfig& c)
    : config(checked(c)),
      out(scope / "out_proj", {.in = c.dim, .out = c.dim, .bias = c.bias}),
      place_(scope / "dropout") {
  const int n = c.dim;
  if (key_dim() == n) {
    in_weight = scope.add("in_proj_weight", {3 * n, n}, even(n, 3 * n)).var();
  } else {
    query_weight = scope.add("q_proj_weight", {n, n}, even(n, n)).var();
    key_weight = scope.add("k_proj_weight", {n, key_dim()}, even(key_dim(), n)).var();
    value_weight = scope.add("v_proj_weight", {n, key_dim()}, even(key_dim(), n)).var();
  }
  if (!c.bias) return;
  Parameter& bias = scope.add("in_proj_bias", {3 * n}, Init::constant(0));
  bias.decay = 0;
  in_bias = bias.var();
}

Var MultiHeadAttention::projected(const Var& x, int which) const {
  const int n = config.dim;
  const Var weight = key_dim() == n ? slice(in_weight, 0, which * n, (which + 1) * n)
                     : which == 0   ? query_weight
                     : which == 1   ? key_weight
                                    : value_weight;
  return config.bias ? linear(x, weight, slice(in_bias, 0, which * n, (which + 1) * n)) : linear(x, weight);
}

Var MultiHeadAttention::attend(const Var& queries, const Var& keys, const Var& values,
                               const Call& call) const {
  AttentionOptions options{.heads = config.heads,
                           .causal = call.causal,
                           .window = call.window,
                           .firsts = call.firsts,
                           .linear_biases = call.linear_biases,
                           .dropout = config.dropout};
  if (config.dropout > 0) options.key = place_.next_key();
  return out(scaled_dot_product_attention(queries, keys, values,
                                          within(options, call.lengths, keys.dim(0), keys.dim(1))));
}

Vars MultiHeadAttention::all_projected(const Var& x, const Lengths& lengths) const {
  require(key_dim() == config.dim,
          "multi_head_attention: key_dim {} is not dim {}: give it a memory beside x {}", key_dim(),
          config.dim, x.shape());
  require(x.shape().rank() == 3 && x.dim(2) == config.dim,
          "multi_head_attention: x {} must be [steps, batch, {}]", x.shape(), config.dim);
  const Var seen = without_padding(x, lengths);
  return chunk(config.bias ? linear(seen, in_weight, in_bias) : linear(seen, in_weight), 3, 2);
}

Var MultiHeadAttention::operator()(const Var& x, const Call& call) const {
  const Vars parts = all_projected(x, call.lengths);
  return attend(parts[0], parts[1], parts[2], call);
}

Var MultiHeadAttention::operator()(const Var& x, AttentionPast& past, const Call& call) const {
  require(!call.lengths.steps.defined(), "multi_head_attention: lengths beside a past of x {}", x.shape());
  const Vars parts = all_projected(x, {});
  const Shape& of_past = past.keys.shape();
  require(of_past == past.values.shape() && of_past.rank() == 3 && of_past.with(0, x.dim(0)) == x.shape(),
          "multi_head_attention: keys {} and values {} of the past must be [past, {}, {}] for x {}", of_past,
          past.values.shape(), x.dim(1), config.dim, x.shape());
  const Var keys = concat({past.keys, parts[1]}, 0), values = concat({past.values, parts[2]}, 0);
  past = {keys.value(), values.value()};
  return attend(parts[0], keys, values, call);
}

Var MultiHeadAttention::operator()(const Var& queries, const Var& memory, const Call& call) const {
  const int rank = queries.shape().rank();
  require(
      (rank == 2 || rank == 3) && queries.dim(-1) == config.dim && memory.shape().rank() == 3 &&
          memory.dim(2) == key_dim(),
      "multi_head_attention: queries {} must be [steps, batch, {}] or [batch, {}], and memory {} [past, batch, {}]",
      queries.shape(), config.dim, config.dim, memory.shape(), key_dim());
  const Var seen = without_padding(memory, call.lengths);
  const Var values = projected(seen, 2), keys = projected(seen, 1);
  return attend(projected(queries, 0), keys, values, call);
}

AttentionCache MultiHeadAttention::cache(int capacity, int batch) const {
  require(capacity > 0 && batch > 0, "multi_head_attention: a cache of {} steps of {} rows", capacity, batch);
  return {Tensor({capacity, batch, config.dim}), Tensor({capacity, batch, config.dim}), 0};
}

Var MultiHeadAttention::step(const Var& x, AttentionCache& cache) const {
  require(cache.keys.defined() && x.shape() == Shape({cache.keys.dim(1), config.dim}),
          "multi_head_attention: x {} must be [batch, {}] of a cache {}", x.shape(), config.dim,
          cache.keys.shape());
  require(cache.count < cache.keys.dim(0), "multi_head_attention: the cache {} is full after {} steps",
          cache.keys.shape(), cache.count);
  cache.keys[cache.count].copy_from(projected(x, 1).value());
  cache.values[cache.count].copy_from(projected(x, 2).value());
  ++cache.count;
  Tensor keys = cache.keys.slice(0, cache.count), values = cache.values.slice(0, cache.count);
  // The backward reads them, and the next step writes into the cache.
  if (Tape::recording()) keys = keys.clone(), values = values.clone();
  return attend(projected(x, 0), keys, values, {});
}

// --- additive and multiplicative ------------------------------------------------------------------------------------------

AdditiveAttention::AdditiveAttention(Scope scope, const AdditiveAttentionConfig& c)
    : config(c),
      of_query(scope / "query", {.in = c.query, .out = c.hidden, .bias = false}),
      of_key(scope / "key", {.in = c.keys, .out = c.hidden}),
      v(scope.add("v", {c.hidden}, even(c.hidden, 1)).var()) {}

static AttentionMemory remembered(const char* name, const Dense& of_key, const Var& keys,
                                  const Lengths& lengths) {
  require(keys.shape().rank() == 3 && keys.dim(2) == of_key.config.in,
          "{}: keys {} must be [past, batch, {}]", name, keys.shape(), of_key.config.in);
  const Var seen = without_padding(keys, lengths);
  return {seen, of_key(seen), lengths};
}
static void require_query(const char* name, const Var& query, int width, const AttentionMemory& memory) {
  const int rank = query.shape().rank();
  require((rank == 2 || rank == 3) && query.dim(-1) == width && query.dim(-2) == memory.keys.dim(1),
          "{}: query {} must be [batch, {}] or [steps, batch, {}], of as many rows as keys {}", name,
          query.shape(), width, width, memory.keys.shape());
}

AttentionMemory AdditiveAttention::remember(const Var& keys, const Lengths& lengths) const {
  return remembered("additive_attention", of_key, keys, lengths);
}

AttentionOutput AdditiveAttention::operator()(const Var& query, const AttentionMemory& memory) const {
  require_query("additive_attention", query, config.query, memory);
  if (query.shape().rank() == 3) {
    Vars contexts, weights;
    for (int t = 0; t < query.dim(0); ++t) {
      const auto [context, weight] = (*this)(row(query, t), memory);
      contexts.push_back(context), weights.push_back(weight);
    }
    return {stack(contexts), stack(weights)};
  }
  const int past = memory.keys.dim(0), batch = memory.keys.dim(1);
  Var scores = sum(tanh(memory.projected + of_query(query)) * v, -1);  // [past, batch]
  const Tensor real_ones = real_steps(memory.lengths, past, batch);
  if (real_ones.defined()) scores = where(real_ones, scores, real(-1e30));
  Var weights = softmax(scores, 0);
  if (real_ones.defined()) weights *= real_ones;  // a row without a step
  return {sum(memory.keys * reshape(weights, {past, batch, 1}), 0), weights};
}

MultiplicativeAttention::MultiplicativeAttention(Scope scope, const MultiplicativeAttentionConfig& c)
    : config(c), of_key(std::move(scope), {.in = c.keys, .out = c.query, .bias = false}) {}

AttentionMemory MultiplicativeAttention::remember(const Var& keys, const Lengths& lengths) const {
  return remembered("multiplicative_attention", of_key, keys, lengths);
}

static AttentionOptions options_of(const AttentionMemory& memory) {
  return within({.scale = 1}, memory.lengths, memory.keys.dim(0), memory.keys.dim(1));
}

Var MultiplicativeAttention::operator()(const Var& query, const AttentionMemory& memory) const {
  require_query("multiplicative_attention", query, config.query, memory);
  return scaled_dot_product_attention(query, memory.projected, memory.keys, options_of(memory));
}

Tensor MultiplicativeAttention::weights(const Var& query, const AttentionMemory& memory) const {
  require_query("multiplicative_attention", query, config.query, memory);
  return attention_weights(query, memory.projected, options_of(memory));
}

}  // namespace unroll

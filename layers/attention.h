// Attention layers: a step of one sequence looks at the steps of another sequence, or at its own past.
//
//   AdditiveAttention look(params / "look", {.query = 64, .keys = 64, .hidden = 32});
//   const auto memory = look.remember(encoded, lengths);          // once for a sequence [past, batch, keys]
//   const auto [context, weights] = look(query, memory);          // at each step of a decoder [batch, query]
//
//   MultiHeadAttention attend(params / "attend", {.dim = 64, .heads = 4});
//   x += attend(x, {.causal = true});                             // [steps, batch, dim]
//
// Sequences are steps first, as for recurrent layers. Steps that Lengths call padding are skipped.
#pragma once

#include "framework/attention.h"
#include "framework/parameters.h"
#include "layers/dense.h"
#include "layers/recurrent/state.h"

namespace unroll {

// Returns `options` with padding masked out, for a call whose rows differ in length.
AttentionOptions within(AttentionOptions options, const Lengths& lengths, int past, int batch);

struct MultiHeadAttentionConfig {
  int dim = 0;        // of queries and outputs: heads · the width of a head
  int heads = 1;      // must divide dim
  int key_dim = 0;    // size of the memory that keys and values are computed from; 0: dim
  float dropout = 0;  // of the weights
  bool bias = true;
};

struct AttentionCall {
  bool causal = false;   // a step sees itself and the steps before it
  Lengths lengths = {};  // of the sequence that is looked at
  // window, firsts, linear_biases: as in AttentionOptions.
  int window = 0;
  Tensor firsts = {};
  bool linear_biases = false;
};

// The keys and values of the steps so far, and their count, for one step at a time.
struct AttentionCache {
  Tensor keys, values;  // [capacity, batch, dim], the first `count` in use
  int count = 0;
};

// The keys and values of earlier steps, [past, batch, dim] each. They are constants: gradients do not reach them.
struct AttentionPast {
  Tensor keys, values;
};

// Multi-head attention (Vaswani et al. 2017), with the weights of torch.nn.MultiheadAttention: in_proj_weight [3·dim,
// dim] and in_proj_bias [3·dim] (queries, keys, values), out_proj.weight [dim, dim], out_proj.bias [dim]. If key_dim is
// not dim, q_proj_weight [dim, dim], k_proj_weight and v_proj_weight [dim, key_dim] replace in_proj_weight.
struct MultiHeadAttention {
  MultiHeadAttention(Scope scope, const MultiHeadAttentionConfig& config);
  using Call = AttentionCall;  // as the operators take it
  Var operator()(const Var& x,
                 const Call& call = {}) const;  // self-attention: [steps, batch, dim] -> the same
  // Self-attention that also sees `past`. Appends the keys and values of x to `past`. Requires: no lengths.
  Var operator()(const Var& x, AttentionPast& past, const Call& call) const;
  // queries [steps, batch, dim] or [batch, dim], memory [past, batch, key_dim] -> as queries
  Var operator()(const Var& queries, const Var& memory, const Call& call = {}) const;

  // One step of causal attention, for a decoder. Adds the step's key and value to the cache. Throws Error if the cache
  // is full. The cached steps are constants: gradients do not reach them.
  AttentionCache cache(int capacity, int batch) const;
  Var step(const Var& x, AttentionCache& cache) const;  // [batch, dim] -> [batch, dim]

  MultiHeadAttentionConfig config;             // as it was made
  Var in_weight, in_bias;                      // of one input
  Var query_weight, key_weight, value_weight;  // of two
  Dense out;                                   // of the heads' results, side by side: [dim, dim]

 private:
  int key_dim() const { return config.key_dim > 0 ? config.key_dim : config.dim; }
  Vars all_projected(const Var& x, const Lengths& lengths) const;  // of one input: queries, keys, values
  Var projected(const Var& x, int which) const;                    // 0 queries, 1 keys, 2 values
  Var attend(const Var& queries, const Var& keys, const Var& values, const Call& call) const;
  Scope place_;  // of the random numbers
};

// A sequence to attend to, with its lengths, prepared once for many queries by remember().
struct AttentionMemory {
  Var keys;       // [past, batch, keys]
  Var projected;  // [past, batch, …]
  Lengths lengths;
};
// The weighted sum, and its weights.
struct AttentionOutput {
  Var context;  // [batch, keys], or [steps, batch, keys]
  Var weights;  // [past, batch], or [steps, past, batch]
};

struct AdditiveAttentionConfig {
  int query = 0, keys = 0, hidden = 0;
};
// score_t = v · tanh(W query + U key_t + b), context = Σ_t softmax_t(score) key_t (Bahdanau, Cho and Bengio 2015).
// query_weight [hidden, query], key_weight [hidden, keys], key_bias [hidden], v [hidden]. remember() takes keys.
struct AdditiveAttention {
  AdditiveAttention(Scope scope, const AdditiveAttentionConfig& config);
  AttentionMemory remember(const Var& keys, const Lengths& lengths = {}) const;
  // query [batch, query], or several steps [steps, batch, query]. A row that is all padding gets zeros.
  AttentionOutput operator()(const Var& query, const AttentionMemory& memory) const;

  AdditiveAttentionConfig config;  // as it was made
  Dense of_query, of_key;          // W without a bias; U and b
  Var v;
};

struct MultiplicativeAttentionConfig {
  int query = 0, keys = 0;
};
// score_t = query · W key_t, context = Σ_t softmax_t(score) key_t (Luong, Pham and Manning 2015, "general").
// weight [query, keys]. With W = 1 it is scaled_dot_product_attention(query, keys, keys, {.scale = 1}). remember() takes keys.
struct MultiplicativeAttention {
  MultiplicativeAttention(Scope scope, const MultiplicativeAttentionConfig& config);
  AttentionMemory remember(const Var& keys, const Lengths& lengths = {}) const;
  // query [batch, query] -> [batch, keys], or [steps, batch, query] -> [steps, batch, keys]
  Var operator()(const Var& query, const AttentionMemory& memory) const;
  // The attention weights, for inspection: [batch, 1, steps, past]. Nothing is recorded.
  Tensor weights(const Var& query, const AttentionMemory& memory) const;

  MultiplicativeAttentionConfig config;  // as it was made
  Dense of_key;                          // W, without a bias
};

}  // namespace unroll

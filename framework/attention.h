// Scaled dot-product attention, of several heads at once.
#pragma once

#include "framework/random.h"
#include "framework/tape.h"

namespace unroll {

// Options of scaled_dot_product_attention.
struct AttentionOptions {
  int heads = 1;        // each has a part of the last dimension, as wide as the others
  bool causal = false;  // the last query sees all keys, the one before it all but the last key, and so on
  // [batch]: each row sees its keys begins … ends-1. Undefined: from the first key on, to the last. Other keys may
  // hold anything.
  IdTensor begins = {}, ends = {};
  // causal: a query sees the key at its own place and at most this many before it; 0: all
  int window = 0;
  // [steps, batch] or [batch]: the first key that a query sees, a whole number; undefined: as above. For values that
  // depend on what a device computes.
  Tensor firsts = {};
  // causal: scores fall with the distance d between query and key by d·2^(-8h/heads) in head h = 1 … heads, in place of
  // positions (Press, Smith and Lewis 2022)
  bool linear_biases = false;
  real scale = 0;    // of the scores; 0: 1 / √(width of a head)
  real dropout = 0;  // of the weights, in [0, 1), where a tape records with dropout on; draws from `key`
  RandomKey key = {};
  int block_rows = 0;  // queries whose scores are in memory at once, by head; 0: as many as stay in a cache
};

// y_i = Σ_j softmax_j(scale · query_i · key_j) value_j, by head (Vaswani et al. 2017). A query that sees no key gets zeros.
//
// queries [steps, batch, heads·d], keys [past, batch, heads·d], values [past, batch, heads·v] -> [steps, batch, heads·v];
// or a step by itself: queries [batch, heads·d] -> [batch, heads·v].
// Weights [steps, past] exist for a block of queries at a time. The backward computes them anew, so that memory grows with
// steps, not with their square (Rabe and Staats 2021).
Var scaled_dot_product_attention(const Var& queries, const Var& keys, const Var& values,
                                 const AttentionOptions& options = {});
// The weights, to be looked at: [batch, heads, steps, past]; without dropout. Nothing is recorded.
Tensor attention_weights(const Var& queries, const Var& keys, const AttentionOptions& options = {});

}  // namespace unroll

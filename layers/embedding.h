// A table with one row per word.
#pragma once

#include "framework/ops.h"
#include "framework/parameters.h"

namespace unroll {

struct EmbeddingConfig {
  int vocab = 0, dim = 0;
  // Probability that a word is dropped, in [0, 1). Within one call a dropped word is zero at every place, and the
  // others are scaled by 1 / (1 - dropout) (Gal and Ghahramani 2016).
  float dropout = 0;
};

// weight [vocab, dim].  ids [...] -> [..., dim]. Initial values: uniform in ±0.1.
struct Embedding {
  Embedding(Scope scope, const EmbeddingConfig& c)
      : config(checked(c)),
        weight(scope.add("weight", {c.vocab, c.dim}, Init::uniform(-0.1f, 0.1f)).var()),
        place(scope / "dropout") {}
  Var operator()(const IdTensor& ids) const {  // the rows of these ids
    const Var y = embedding(weight, ids);
    if (config.dropout == 0 || !dropout_is_on()) return y;
    const Tensor of_word = dropout_mask({config.vocab, 1}, config.dropout, place.next_key());
    const Tensor of_row = embedding(of_word, ids).value().reshape(ids.shape());
    return mask_rows(y, of_row) * (1 / (1 - real{config.dropout}));
  }

  EmbeddingConfig config;  // as it was made
  Var weight;
  Scope place;  // of the random numbers

 private:
  static const EmbeddingConfig& checked(const EmbeddingConfig& c) {
    require(c.vocab > 0 && c.dim > 0, "embedding: vocab {} and dim {} must be positive", c.vocab, c.dim);
    require(c.dropout >= 0 && c.dropout < 1, "embedding: dropout {} is not in [0, 1)", c.dropout);
    return c;
  }
};

}  // namespace unroll

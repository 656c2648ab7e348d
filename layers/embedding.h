// Rows of a table, one for each word.
#pragma once

#include "framework/ops.h"
#include "framework/parameters.h"

namespace unroll::inline UNROLL_REAL {

struct EmbeddingConfig {
  int vocab = 0, dim = 0;
};

// weight [vocab, dim].  ids [...] -> [..., dim]. First values uniform in ±0.1.
struct Embedding {
  Embedding(Scope scope, const EmbeddingConfig& c)
      : config(c), weight(scope.add("weight", {c.vocab, c.dim}, Init::uniform(-0.1f, 0.1f)).var()) {}
  Var operator()(const IdTensor& ids) const { return embedding(weight, ids); }

  EmbeddingConfig config;
  Var weight;
};

}  // namespace unroll::inline UNROLL_REAL

// A linear-chain conditional random field: a row of tags is scored as a whole (Lafferty, McCallum and Pereira 2001).
#pragma once

#include "framework/loss.h"
#include "framework/parameters.h"
#include "layers/recurrent/state.h"

namespace unroll {

struct CrfConfig {
  int tags = 0;
};

// The score of tags y of a row of T steps, whose emissions x come from layers below:
//   start[y_1] + Σ_t x[t, y_t] + Σ_t transitions[y_t-1, y_t] + end[y_T]
// p(y) = exp(score) / Σ over all rows of tags. Padding steps, as `lengths` say, are ignored, whatever their tags and
// emissions are. A row without steps has loss 0.
//
// transitions [tags, tags] from the row's tag to the column's, start and end [tags]. Initial values: uniform in ±0.1.
struct Crf {
  Crf(Scope scope, const CrfConfig& config);
  // -log p of the tags, in nats: the mean or the sum over rows, or one per row [batch].
  // emissions [steps, batch, tags], tags [steps, batch]
  Var loss(const Var& emissions, const IdTensor& tags, const Lengths& lengths = {},
           Reduction reduction = Reduction::mean) const;
  // The best tags, and their scores.
  struct Path {
    IdTensor tags;  // [steps, batch]: the likeliest of each row, -1 in padding
    Tensor scores;  // [batch]
  };
  // Viterbi's algorithm (1967). Nothing is recorded.
  Path decode(const Var& emissions, const Lengths& lengths = {}) const;

  CrfConfig config;  // as it was made
  Var transitions, start, end;

 private:
  void check(const char* what, const Var& emissions) const;
};

}  // namespace unroll

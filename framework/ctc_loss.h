// Connectionist temporal classification: a row of labels is learned from steps that nobody aligned with it.
#pragma once

#include <vector>

#include "framework/loss.h"

namespace unroll {

// Options of ctc_loss.
struct CtcOptions {
  int32_t blank = 0;  // the class that stands for no label
  Reduction reduction = Reduction::mean;  // over rows, each loss by its number of labels, as in PyTorch
  // A row whose labels do not fit into its steps has an infinite loss, whose gradient is NaN. True: both are 0.
  bool zero_infinity = false;
};

// -log of the probability, in nats, that the steps say a row's labels, over all alignments together. A label stands
// for one or several steps. Blanks may stand between labels, and must stand between equal ones (Graves, Fernández,
// Gomez and Schmidhuber 2006). With Reduction::none one loss per row: [batch].
//
// logits [steps, batch, classes]; labels [batch, most], of which each row uses its first `label_lengths`, none of them the
// blank. Both lengths are [batch]; undefined: all steps, all labels. Steps and labels beyond them may hold anything.
// Computed in double, on the host: logits on a GPU are copied there.
Var ctc_loss(const Var& logits, const IdTensor& labels, const IdTensor& step_lengths,
             const IdTensor& label_lengths, const CtcOptions& options = {});

// The likeliest class of each step, repeats and blanks left out (best path decoding): the labels of each row.
std::vector<std::vector<int32_t>> ctc_best_path(const Var& logits, const IdTensor& step_lengths = {},
                                                int32_t blank = 0);

}  // namespace unroll

// The numbers of `ptb look`: what a model computes while it reads a text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples/ptb/model/saved_model.h"
#include "examples/ptb/scores/agreement.h"
#include "layers/inspection.h"
#include "training/program/look/look_values.h"

namespace ptb {

// A word and its probability.
struct Likely {
  std::string word;
  double p;
};
// The grammar's own prediction of a word.
struct SourceStep {
  std::optional<double> bits;  // none: it never writes this word here
  std::vector<Likely> next;    // empty: nor any sentence that begins so
};

struct LookedText {
  std::vector<std::string> written;  // the words as they stand in the text, `<eos>` for ends of lines
  TokenText tokens;                  // as the model reads them: from `<eos>`
  TextInspection seen;
  std::vector<double> bits;               // of each word
  std::vector<int> rank;                  // of each word among all, from 1
  std::vector<std::vector<Likely>> next;  // the likeliest words, best first
  GradientReach reach, untrained;         // of the model, and of one with the recipe's first values
  std::vector<TapeGraph> tapes;
  std::vector<SourceStep> source;  // empty: the text's source is not known
  std::optional<AgreementTable> agreement;
  std::vector<OfferedUnit> offered;
};

// The text as the model reads it. `path`: the name of the model's file in messages. Throws InputError if the text has
// no words, more than `most_words_of_look`, or words that the vocabulary cannot read; or the model is a Transformer or has a mixture of softmaxes.
constexpr int most_words_of_look = 400;
LookedText read_for_look(const SavedModel& saved, const std::string& text, const std::string& path);
// Fills in the rest of `look`. Throws InputError if the model's probabilities are not finite.
void look_inside(SavedModel& saved, const std::string& text, const std::string& path, LookedText& look);

// The units that tell most, at most one for each property. Measured on sentences that the grammar draws; for models of
// other corpora on the text and on what the model writes.
std::vector<OfferedUnit> offer_units(SavedModel& saved, const std::string& text);

}  // namespace ptb

// The numbers of `ptb look`: what a model computes while it reads a text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agreement.h"
#include "layers/inspection.h"
#include "saved_model.h"

namespace ptb {

// A unit that tells something of what was read.
struct OfferedUnit {
  std::string what;  // "the subject is plural"
  std::string told;  // "99.6 %", "r 0.93"
  std::string how;   // in a sentence: on which text
  int layer = 0, unit = 0;
};

// A word and its probability.
struct Likely {
  std::string word;
  double p;
};
// What the grammar itself says about a word.
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

// `path` is the model's file, as messages call it. Throws InputError: a text without words, of more than `most_words_of_look`, or
// that the vocabulary cannot read; a model whose probabilities are not finite.
constexpr int most_words_of_look = 400;
LookedText look_at(SavedModel& saved, const std::string& text, const std::string& path);

// The units that tell most, of each property at most one: of sentences that the grammar draws; of other models the text, and what
// they write themselves.
std::vector<OfferedUnit> offer_units(SavedModel& saved, const std::string& text);

}  // namespace ptb

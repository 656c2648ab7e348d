// Does a model of the built-in grammar give verbs the number of their subject (Linzen, Dupoux and Goldberg 2016)?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/inspection_units.h"
#include "recipe.h"
#include "saved_model.h"

namespace ptb {

struct AgreementRow {
  int attractors;               // nouns of the other number between subject and verb
  int64_t cases = 0, hits = 0;  // hits: the right form is likelier than the wrong one
  Interval interval = {};       // of the share of hits, 95 %
  double p_right = 0;           // mean of p(right) / (p(right) + p(wrong))
  double share() const { return static_cast<double>(hits) / static_cast<double>(cases); }
};
struct AgreementTable {
  std::vector<AgreementRow> rows;  // of 0 to 3 attractors, as far as there are cases
  UnitTells unit;                  // that tells the subject's number best, in all cases
};

// Verbs of sentences that the grammar draws: for each of 0 to 3 attractors so many, or fewer where the vocabulary lacks words of
// theirs. Equal seeds draw equal cases.
std::vector<AgreementCase> draw_agreement_cases(const Vocabulary& vocabulary, int of_each, uint64_t seed);

AgreementTable evaluate_agreement(const TokenModel& model, const Vocabulary& vocabulary, int of_each);

// A model by its parts.
TokenModel parts_of(LanguageModel& model);

// "agreement 99.5 % of 200 cases (97.2 to 99.9), mean p 0.9978, with 3 nouns of the other number between"
std::string describe(const AgreementRow& row);
std::string describe_unit(const UnitTells& unit);

}  // namespace ptb

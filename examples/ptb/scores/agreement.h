// Does a model of the built-in grammar give verbs the number of their subject (Linzen, Dupoux and Goldberg 2016)?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "examples/ptb/model/recipe.h"
#include "examples/ptb/model/saved_model.h"
#include "layers/inspection.h"

namespace ptb {

struct AgreementRow {
  int attractors;               // nouns of the other number between subject and verb
  int64_t cases = 0, hits = 0;  // hits: the right form is likelier than the wrong one
  Interval interval = {};       // of the share of hits, 95 %
  double p_right = 0;           // mean of p(right) / (p(right) + p(wrong))
  double share() const { return static_cast<double>(hits) / static_cast<double>(cases); }
};
// The unit that tells best, just before a verb, whether its subject is plural. None if all subjects have one number.
struct BestUnit {
  std::optional<UnitTells> unit = {};
  int64_t cases = 0;
};
struct AgreementTable {
  std::vector<AgreementRow> rows;  // of 0 to 3 attractors, as far as there are cases
  BestUnit of_main;                // before verbs of a single main clause
  BestUnit of_all;  // before all: those of relative clauses, "if … then …" and "either … or …" too
};

// Draws verbs of the grammar's sentences: `of_each` for each of 0 to 3 attractors, or fewer if the vocabulary lacks
// their words. Equal seeds draw equal cases.
std::vector<AgreementCase> draw_agreement_cases(const Vocabulary& vocabulary, int of_each, uint64_t seed);

AgreementTable evaluate_agreement(const TokenModel& model, const Vocabulary& vocabulary, int of_each);

// The model's parts. Throws Error unless the middle part is recurrent alone.
TokenModel parts_of(LanguageModel& model);

// A line for each row, and for each unit.
std::vector<std::string> describe(const AgreementTable& table);
// The table as JSON. Layers and units count from 1, as in the lines.
nlohmann::ordered_json agreement_json(const AgreementTable& table);

}  // namespace ptb
